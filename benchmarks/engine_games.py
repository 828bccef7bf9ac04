"""Lets an engine play chess or go against itself, as games to learn from.

    python benchmarks/engine_games.py chess --games 8500 --seed 0 --out games.pgn
    python benchmarks/engine_games.py go_9x9 --games 1000 --seed 0 --out games.sgf

Stockfish searches a fixed number of nodes; three in four of its games end where both sides see
that one is winning by ten pawns. GNU Go plays at level 10 until no dead stone is left. Games begin
with random moves. No two games of chess begin alike, since Stockfish would play the same moves.
Files of chess begin after the random moves, and tell Stockfish's score before each move as
lichess does, "[%eval 0.35]". Each game is written as it ends, so that a run can be stopped, and
begun again with another seed.
"""

import contextlib
import dataclasses
import functools
import random
import time
from pathlib import Path
from typing import Literal

import chess
import tyro
from chess.engine import Cp, Mate, PovScore, Score

from azjax.players.engines.process import EngineProcess


@dataclasses.dataclass(frozen=True)
class Arguments:
    game: tyro.conf.Positional[Literal["chess", "go_9x9"]]
    games: int
    out: Path
    """Games are appended to this file."""
    seed: int = 0
    nodes: int = 400
    """Of Stockfish, for each move."""
    random_moves: int = 16
    """The most at the start of a game; their number is drawn."""


WON = 1000  # hundredths of a pawn
MATE = 100_000  # in hundredths of a pawn
SEEN = 4  # plies in a row with such a score
MOST_PLIES = 300
MOST_LEFT_OUT = 1000  # games in a row
SIZE, KOMI = 9, 7  # as in configs/go_9x9.toml
STOCKFISH = ("stockfish",)
GNU_GO = (
    *("gnugo", "--mode", "gtp", "--level", "10", "--chinese-rules", "--positional-superko"),
    *("--forbid-suicide", "--capture-all-dead", "--never-resign"),
)
LETTERS = "ABCDEFGHJ"  # of GTP, which has no I


def play_chess(
    engine: EngineProcess, rng: random.Random, arguments: Arguments, starts: set[str]
) -> str | None:
    """Returns a game in PGN, and adds its start to `starts`.

    None if it is over at its start or began so before, or is not over after 300 plies.
    """
    board = chess.Board()
    for _ in range(rng.randint(0, arguments.random_moves)):
        if not board.is_game_over():
            board.push(rng.choice([*board.legal_moves]))
    start, to_the_end = board.fen(), rng.random() < 0.25
    if board.is_game_over() or start in starts:
        return None
    starts.add(start)
    board = chess.Board(start)
    words, decided, result = list[str](), 0, ""
    engine.send(["ucinewgame"])
    while not result:
        if len(board.move_stack) == MOST_PLIES:
            return None
        score, move = _search(engine, start, board, arguments.nodes)
        centipawns = score.white().score(mate_score=MATE)
        decided = decided + 1 if abs(centipawns) >= WON else 0
        winner = "1-0" if centipawns > 0 else "0-1"
        told = f"#{score.white().mate()}" if score.is_mate() else f"{centipawns / 100:.2f}"
        words += [f"{{[%eval {told}]}}", board.san(move)]
        board.push(move)
        if board.is_game_over() or board.is_repetition(3) or board.is_fifty_moves():
            result = board.result(claim_draw=True)
        elif decided >= SEEN and not to_the_end:
            result = winner
    return f'[SetUp "1"]\n[FEN "{start}"]\n[Result "{result}"]\n\n{" ".join(words)} {result}\n\n'


def _search(
    engine: EngineProcess, start: str, board: chess.Board, nodes: int
) -> tuple[PovScore, chess.Move]:
    """Returns Stockfish's score of a position, and its move."""
    moves = [move.uci() for move in board.move_stack]
    engine.send([f"position fen {start} moves {' '.join(moves)}", f"go nodes {nodes}"])
    score: Score = Cp(0)
    while (words := engine.read().split())[:1] != ["bestmove"]:
        if "score" in words:
            kind, number = words[words.index("score") + 1 :][:2]
            score = Mate(int(number)) if kind == "mate" else Cp(int(number))
    return PovScore(score, board.turn), chess.Move.from_uci(words[1])


def play_go(engine: EngineProcess, rng: random.Random, arguments: Arguments) -> str | None:
    """Returns a game in SGF."""
    _ask(engine, f"boardsize {SIZE}")
    _ask(engine, "clear_board")
    _ask(engine, f"komi {KOMI}")
    opening, vertices = rng.randint(0, arguments.random_moves), list[str]()
    while vertices[-2:] != ["PASS", "PASS"]:
        colour = "BW"[len(vertices) % 2]
        if len(vertices) < opening:
            vertex = rng.choice(_ask(engine, f"all_legal {colour}").split())
            _ask(engine, f"play {colour} {vertex}")
        else:
            vertex = _ask(engine, f"genmove {colour}").upper()
        vertices.append(vertex)
    nodes = [f";{'BW'[i % 2]}[{_sgf_point(vertex)}]" for i, vertex in enumerate(vertices)]
    result = _ask(engine, "final_score").split()[0]
    return f"(;GM[1]FF[4]SZ[{SIZE}]KM[{KOMI}]RE[{result}]{''.join(nodes)})\n"


def _ask(engine: EngineProcess, command: str) -> str:
    """Returns GNU Go's answer to a command of GTP."""
    engine.send([command])
    answer = engine.read()
    engine.read()
    if not answer.startswith("="):
        raise engine.failure(f"{command}: {answer}")
    return answer[1:].strip()


def _sgf_point(vertex: str) -> str:
    if vertex == "PASS":
        return ""
    return chr(97 + LETTERS.index(vertex[0])) + chr(97 + SIZE - int(vertex[1:]))


def main(arguments: Arguments) -> None:
    rng = random.Random(arguments.seed)
    of_chess = arguments.game == "chess"
    engine = EngineProcess(STOCKFISH if of_chess else GNU_GO, timeout=300)
    play = functools.partial(play_chess, starts=set()) if of_chess else play_go
    began, made, left_out = time.monotonic(), 0, 0
    with contextlib.closing(engine), arguments.out.open("a") as out:
        if of_chess:
            engine.send(["setoption name Hash value 4", "setoption name Threads value 1"])
        while made < arguments.games:
            if (text := play(engine, rng, arguments)) is None:
                left_out += 1
                if left_out == MOST_LEFT_OUT:
                    raise SystemExit("all starts were played; give more --random-moves")
                continue
            left_out = 0
            out.write(text)
            out.flush()
            made += 1
            if made % 100 == 0:
                print(f"{made} games in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(tyro.cli(Arguments))
