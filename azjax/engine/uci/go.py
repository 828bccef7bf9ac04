"""The `go` command of UCI and USI: its limits, the search, and what the client reads of it."""

import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from azjax.engine.clock import Clock
from azjax.engine.decision import Decision, continue_search
from azjax.engine.search_analysis import SearchAnalysis
from azjax.engine.search_reuse import effective_start, end_search, start_search
from azjax.engine.stdin import TOO_LONG
from azjax.engine.uci.engine import EngineState
from azjax.engine.uci.position import revive
from azjax.files.game_record import GameRecord

_REPORT_S = 1.0
_MAX_NUMBER = 10**12
_MAX_LINE = 16  # moves of a principal variation
_NUMBERS = ("nodes", "movetime", "depth", "wtime", "btime", "winc", "binc", "movestogo", "byoyomi")
_WORDS = (*_NUMBERS, "infinite", "ponder", "mate", "searchmoves")
_AFTER_THE_SEARCH = (["go"], ["position"], ["setoption"], ["gameover"])

RunCommand = Callable[[EngineState, Sequence[str]], EngineState]


@dataclass(frozen=True)
class Limits:
    """The limits of one search; they begin to hold once the search need not wait."""

    simulations: float = math.inf
    seconds: float = math.inf
    depth: float = math.inf  # moves of the principal variation
    infinite: bool = False  # no best move before `stop`
    ponders: bool = False  # no best move before `ponderhit` or `stop`
    moves: tuple[str, ...] = ()  # names of the moves to choose from; empty for all of them

    @property
    def waits(self) -> bool:
        """Whether the best move must wait for a later command."""
        return self.infinite or self.ponders


def read_go(words: Sequence[str], colours: str, player: int, simulations: int) -> Limits:
    """Reads the words after `go`; as in UCI, unknown words and bad numbers are ignored.

    Args:
      words: such as "wtime 1000 btime 900 winc 10".
      colours: the letters of player 0 and 1: "wb" in chess, "bw" in shogi.
      player: the player to move, 0 or 1.
      simulations: the limit if there is no other.
    """
    given = {
        name: min(max(int(number), 0), _MAX_NUMBER)
        for name, number in itertools.pairwise(words)
        if name in _NUMBERS and re.fullmatch("-?[0-9]{1,19}", number)
    }
    own = colours[player]
    seconds = math.inf
    if "movetime" in given:
        seconds = given["movetime"] / 1000
    elif f"{own}time" in given or "byoyomi" in given:
        seconds = Clock(
            left=given.get(f"{own}time", 0) / 1000,
            increment=given.get(f"{own}inc", 0) / 1000,
            moves=given.get("movestogo", 0),
            each=given.get("byoyomi", 0) / 1000,
        ).for_move()
    searched = words[words.index("searchmoves") + 1 :] if "searchmoves" in words else ()
    nodes = given.get("nodes", math.inf)
    depth = given.get("depth", math.inf)
    infinite = "infinite" in words
    if not infinite and math.isinf(min(seconds, nodes, depth)):
        nodes = simulations
    return Limits(
        simulations=nodes,
        seconds=seconds,
        depth=depth,
        infinite=infinite,
        ponders="ponder" in words,
        moves=tuple(itertools.takewhile(lambda word: word not in _WORDS, searched)),
    )


def go(engine: EngineState, words: Sequence[str], run_command: RunCommand) -> EngineState:
    """Runs `go WORDS`: searches, writes the best move, and returns the engine afterwards.

    `run_command` runs another command that comes during the search.
    """
    if words[:1] == ["mate"] and engine.dialect.name == "usi":
        engine.write("checkmate notimplemented\n")
        return engine
    began = since = engine.lines.arrived
    client_game = engine.position()
    record = None
    if client_game is not None and client_game.record is not None:
        record = revive(client_game.record, engine.dialect)
    limits = _read_limits(engine, words, record)
    progress = _start(engine, limits, record)
    reported = _Reported(began, began, 0)
    if progress is not None and progress.simulations:  # a continued tree, which may be full already
        reported = _report(engine, record, progress, reported)
    steps, input_ended, later = _steps(engine, progress, limits, since), False, []
    newgame = f"{engine.dialect.name}newgame"
    while True:
        step = next(steps, None)
        if step is not None:
            progress = step
            reported = _report(engine, record, progress, reported)
        if not limits.waits and (step is None or _depth(progress, limits) >= limits.depth):
            break
        if input_ended or (step is not None and not engine.lines.waiting()):
            continue
        line = engine.lines.next()
        words = [] if line is None else line.split()
        if line is None:
            input_ended = True
        elif line is TOO_LONG or words[:1] in _AFTER_THE_SEARCH or words == [newgame]:
            later.append(line)
        elif words == ["quit"]:
            later = [line]
        elif words[:1] == ["ponderhit"] and limits.ponders:
            # ShogiHome's early ponder sends the time only now.
            if any(word in _WORDS for word in words[1:]):
                limits = _read_limits(engine, words[1:], record)
            limits, since = replace(limits, ponders=False), engine.lines.arrived
            steps = _steps(engine, progress, limits, since)
        elif words == ["isready"]:
            engine.write("readyok\n")
        elif words and words != ["stop"]:
            run_command(engine, words)
        if words in (["stop"], ["quit"]) or (limits.waits and (input_ended or later)):
            break
    ended = time.monotonic()
    engine.lines.give_back(later)
    if record is None or progress is None:
        engine.write(f"bestmove {engine.dialect.no_move}\n")
        return engine
    analysis = progress.analysis()
    if reported.simulations < max(progress.simulations, 1):
        _write_info(engine, record, analysis, ended - began)
    engine.write(f"bestmove {best_move(record, analysis)}\n")
    return replace(engine, last=end_search(progress, record, engine.last, ended))


def _start(engine: EngineState, limits: Limits, record: GameRecord | None) -> Decision | None:
    """Starts the search of a position; says why there is none if the game is over, or unknown."""
    if record is None:
        engine.report_error("the position is not known: there is no move")
        return None
    if record.current.over:
        lost = record.current.returns[record.current.mover] < 0
        engine.write(f"info depth 0 score {'mate' if lost else 'cp'} 0\n")
        return None
    root_actions = _root_actions(engine, limits.moves, record)
    # Only a clock is a reason to keep what was found before.
    anew = not limits.waits and math.isinf(limits.seconds) and math.isinf(limits.depth)
    return start_search(engine.search, record, engine.last, root_actions, anew=anew)


def best_move(record: GameRecord, analysis: SearchAnalysis) -> str:
    """Returns the move, and the expected answer unless it ends the game."""
    line = analysis.principal_variation(analysis.action)[:2]
    moves = record.move_names(line)
    if len(moves) < 2 or record.play(line[0]).play(line[1]).current.over:
        return moves[0]
    return f"{moves[0]} ponder {moves[1]}"


def _root_actions(engine: EngineState, moves: Sequence[str], record: GameRecord) -> list[int]:
    """Returns the actions that moves name; illegal ones are ignored."""
    if not moves:
        return []
    legal = {name: action for action, name in record.legal_moves().items()}
    actions = [legal[move] for move in dict.fromkeys(moves) if move in legal]
    if not actions:
        engine.report_error("searchmoves: none of them is legal here, so all moves are searched")
    return actions


def _read_limits(engine: EngineState, words: Sequence[str], record: GameRecord | None) -> Limits:
    simulations = engine.search.num_simulations
    mover = 0 if record is None else record.current.mover
    return read_go(words, engine.dialect.colours, mover, simulations)


def _steps(
    engine: EngineState, progress: Decision | None, limits: Limits, since: float
) -> Iterator[Decision]:
    """Continues a search whose time runs since the command's arrival and ends with the answer."""
    if progress is None:
        return iter(())
    if limits.waits:
        return continue_search(progress)
    return continue_search(
        progress,
        simulations=limits.simulations,
        seconds=limits.seconds,
        since=effective_start(since, limits.seconds, engine.last),
    )


def _depth(progress: Decision | None, limits: Limits) -> float:
    """Returns the length of the principal variation, computed only if there is a limit on it."""
    if progress is None or math.isinf(limits.depth):
        return 0
    analysis = progress.analysis()
    return len(analysis.principal_variation(analysis.action))


class _Reported(NamedTuple):
    """When a search began, and its last report to the client."""

    began: float
    at: float
    simulations: int


def _report(
    engine: EngineState, record: GameRecord | None, progress: Decision, last: _Reported
) -> _Reported:
    """Writes `info` lines every second, and early on whenever the tree has doubled."""
    now = time.monotonic()
    due = now - last.at >= _REPORT_S or progress.simulations >= 2 * max(last.simulations, 1)
    if record is None or not due:
        return last
    _write_info(engine, record, progress.analysis(), now - last.began)
    return _Reported(last.began, now, progress.simulations)


def _write_info(
    engine: EngineState, record: GameRecord, analysis: SearchAnalysis, seconds: float
) -> None:
    """Writes an `info` line for each of the best moves that the client wants to see."""
    actions = [analysis.action]
    if engine.num_lines > 1:
        actions = analysis.ranked_actions()[: engine.num_lines]
    for rank, action in enumerate(actions, 1):
        line = analysis.principal_variation(action)
        moves = record.move_names(line[:_MAX_LINE])
        value = float(analysis.action_values[action]) if rank > 1 else analysis.value
        number = f"multipv {rank} " if engine.num_lines > 1 else ""
        wdl = f" wdl {' '.join(map(str, to_wdl(value, analysis.draw)))}" if engine.shows_wdl else ""
        engine.write(
            f"info depth {len(line)} {number}time {round(1000 * seconds)} "
            f"nodes {analysis.simulations} nps {round(analysis.simulations / max(seconds, 1e-3))} "
            f"score cp {to_centipawns(value)}{wdl} pv {' '.join(moves)}\n"
        )


def to_centipawns(value: float) -> int:
    """Returns a value in [-1, 1] in centipawns, as Leela Chess Zero does.

    The formula is 90 * tan(1.5637541897 * value); the largest score is about 12,800.
    """
    return round(90 * math.tan(1.5637541897 * min(max(value, -1.0), 1.0)))


def to_wdl(value: float, draws: float) -> tuple[int, int, int]:
    """Returns wins, draws and losses in a thousand, from the value and the network's draws."""
    value = min(max(value, -1.0), 1.0)
    draw = round(1000 * min(draws, 1 - abs(value)))
    win = min(round(500 * (1 + value - draw / 1000)), 1000 - draw)
    return win, draw, 1000 - win - draw
