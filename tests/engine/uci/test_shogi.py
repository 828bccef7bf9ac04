"""`azjax usi`: moves that cshogi finds legal, and a whole game with it as client."""

import random

import pytest
from azjax_envs import make

from azjax.engine.uci.position import read_position
from azjax.players.engines.uci_games import DIALECTS
from tests.oracles.clients import best_moves, engine_command, uci_output, untrained
from tests.oracles.shogi import cshogi


def test_usi_plays_shogi():
    shogi = make("shogi")
    lines = uci_output(
        ["usi", "isready", "usinewgame", "position startpos moves 7g7f"], shogi, "usi"
    )
    assert "usiok" in lines
    assert "option name USI_Hash type spin default 256 min 1 max 65536" in lines
    assert "option name USI_MultiPV type spin default 1 min 1 max 500" in lines
    assert "readyok" in lines
    fen = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
    positions = ["startpos moves 7g7f", f"sfen {fen} moves 7g7f 3c3d 8h2b+"]
    lines = [x for p in positions for x in (f"position {p}", "go btime 0 wtime 0 byoyomi 1")]
    moves = best_moves(uci_output([*lines, "go mate infinite", "gameover win"], shogi, "usi"))
    for position, move in zip(positions, moves, strict=True):
        board = cshogi.Board()
        for played in position.split(" moves ")[1].split():
            board.push_usi(played)
        assert move in [cshogi.move_to_usi(legal) for legal in board.legal_moves]
    assert uci_output(["go mate infinite"], shogi, "usi") == ["checkmate notimplemented"]
    mated = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
    assert best_moves(uci_output([f"position sfen {mated}", "go"], shogi, "usi")) == ["resign"]


@pytest.mark.parametrize(
    ("start", "moves"),
    [
        ("3k5/9/9/9/9/9/9/9/R4K3 b r 1", "9i6i " + "6a5a 6i5i 5a6a 5i6i " * 3),
        ("4k4/9/9/9/9/9/9/9/3R1K3 b r 1", "6i5i 5a6a 5i6i 6a5a " * 3),
    ],
)
def test_a_perpetual_check_is_left_to_the_client(start, moves):
    """By our rules the side with the rook has lost; but the engine still finds a move."""
    shogi, position = make("shogi"), f"sfen {start} moves {moves}"
    now = read_position(shogi, DIALECTS["usi"], position.split(), None).record.current
    assert (now.over, now.returns) == (True, (-1.0, 1.0))
    board = cshogi.Board(start)
    for move in moves.split():
        board.push_usi(move)
    lines = uci_output([f"position {position}", "go nodes 1"], shogi, "usi")
    assert best_moves(lines)[0] in [cshogi.move_to_usi(legal) for legal in board.legal_moves]


@pytest.mark.parametrize(
    ("position", "remark"),
    [
        ("sfen {} b - 0", True),
        ("sfen {} b - 600", True),
        ("{} b - 1", False),
        ("sfen sfen {} b - 1", False),
        ("sfen {} b -", False),
    ],
)
def test_sfen_as_other_programs_write_it(position, remark):
    """The number of the move may be out of range, and `sfen` missing or there twice."""
    board = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
    lines = [f"position {position.format(board)} moves 7g7f", "go nodes 1"]
    output = uci_output(lines, make("shogi"), "usi")
    assert output[0].startswith("info string position: not a shogi position") == remark
    after = cshogi.Board()
    after.push_usi("7g7f")
    assert best_moves(output)[0] in [cshogi.move_to_usi(legal) for legal in after.legal_moves]


def test_a_mate_waits_for_the_client():
    mated = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
    lines = [f"position sfen {mated}", "go ponder", "isready", "stop"]
    output = uci_output(lines, make("shogi"), "usi")
    assert output == ["info depth 0 score mate 0", "readyok", "bestmove resign"]


def test_a_whole_game_of_shogi_by_cshogi(tmp_path):
    """cshogi is the client and referee; limits are nodes and byoyomi, and the game ends in mate."""
    from cshogi import usi

    file = untrained(tmp_path / "shogi.safetensors", "shogi")
    script = tmp_path / "azjax_usi"
    script.write_text(f"#!/bin/sh\nexec {' '.join(engine_command('usi', file))}\n")
    script.chmod(0o755)
    engine = usi.Engine(str(script))
    engine.isready()
    engine.usinewgame()
    board, moves, chance = cshogi.Board(), [], random.Random(1)
    while not board.is_game_over() and len(moves) < 300:
        if len(moves) % 2:
            move = cshogi.move_to_usi(greedy(board, chance))
        else:
            engine.position(moves=moves)
            limit = {"byoyomi": 200} if len(moves) % 8 == 0 else {"nodes": 4}
            move, _ = engine.go(**limit)
        assert board.is_legal(board.move_from_usi(move)), (moves, move)
        board.push_usi(move)
        moves.append(move)
    assert board.is_game_over()
    assert len(moves) > 20
    engine.position(moves=moves)
    assert engine.go(nodes=4)[0] == "resign"
    process = engine.proc
    engine.quit()
    process.wait(20)
    for pipe in (process.stdin, process.stdout, process.stderr):  # cshogi leaves them open
        if pipe is not None:
            pipe.close()


def greedy(board, chance):
    """Mates in up to five plies, or captures, or moves at random: enough against a new network."""
    if not board.is_check() and (mate := board.mate_move_in_1ply() or board.mate_move(5)):
        return mate
    moves = list(board.legal_moves)
    captures = [
        move
        for move in moves
        if not cshogi.move_is_drop(move) and board.piece(cshogi.move_to(move))
    ]
    return chance.choice(captures or moves)
