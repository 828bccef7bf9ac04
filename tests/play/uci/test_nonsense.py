"""UCI and USI: ten thousand lines of nonsense; and shogi."""

import re

import cshogi
import pyffish
import pytest
from azjax_envs import make
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azjax.play.stdin import TOO_LONG
from azjax.play.uci.position import SFEN, read_position
from tests.oracles.clients import best_moves, uci_output

GARDNER = make("gardner_chess")
START = pyffish.start_fen("gardner")

NUMBERS = st.one_of(
    st.integers(-5, 30).map(str), st.sampled_from(["9" * 5000, "1e999", "nan", "٣", "", "²"])
)
WORDS = st.one_of(
    st.sampled_from(
        ["startpos", "fen", "sfen", "moves", "infinite", "ponder", "nodes", "movetime"]
    ),
    st.sampled_from(["wtime", "btime", "winc", "binc", "movestogo", "byoyomi", "depth", "mate"]),
    st.sampled_from(["searchmoves", "name", "value"]),
    st.sampled_from(["b2b3", "d4d3", "a1a1", "7g7f", "P*5e", "Hash", "UCI_ShowWDL", "true", START]),
    NUMBERS,
    st.text(max_size=8),
)
COMMANDS = ["uci", "usi", "isready", "ucinewgame", "usinewgame", "position", "go", "stop"]
COMMANDS += ["ponderhit", "setoption", "debug"]
LINES = st.one_of(
    st.tuples(st.sampled_from(COMMANDS), st.lists(WORDS, max_size=6)).map(
        lambda c: " ".join([c[0], *c[1]])
    ),
    st.sampled_from(["position startpos", "go nodes 2", "position startpos moves b2b3", "stop"]),
    st.text(max_size=30),
    st.binary(max_size=30).map(lambda b: b.decode("latin-1")),
    st.just(TOO_LONG),
).map(lambda line: line if line is TOO_LONG else line.replace("\n", " "))


def no_quit(line):
    return line is TOO_LONG or line.split() != ["quit"]


@pytest.mark.parametrize("dialect", ["uci", "usi"])
def test_ten_thousand_lines_of_nonsense(dialect):
    """Each search has one best move; after each hundred lines the engine works as at the start."""
    game = {"uci": GARDNER, "usi": make("shogi")}[dialect]
    searches = 0

    @settings(
        max_examples=100,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(LINES.filter(no_quit), min_size=100, max_size=100))
    def check(lines):
        nonlocal searches
        end = ["stop", "position startpos", "isready", "go nodes 3"]
        output = uci_output([*lines, *end], game, dialect)
        commands = [x.split() for x in [*lines, *end] if x is not TOO_LONG]
        searched = [words for words in commands if words[:1] == ["go"]]
        mates = sum(words[1:2] == ["mate"] for words in searched) if dialect == "usi" else 0
        assert len(best_moves(output)) == len(searched) - mates
        assert output.count("readyok") == sum(words[:1] == ["isready"] for words in commands)
        assert best_moves(output)[-1] == best_moves(uci_output(["go nodes 3"], game, dialect))[0]
        first = r"(info|bestmove|readyok|uciok|usiok|id|option|checkmate)( |$)"
        assert all(re.match(first, line) for line in output)
        searches += len(searched)

    check()
    assert searches > 300


def test_usi_plays_shogi():
    shogi = make("shogi")
    lines = uci_output(
        ["usi", "isready", "usinewgame", "position startpos moves 7g7f"], shogi, "usi"
    )
    assert "usiok" in lines
    assert "option name USI_Hash type spin default 256 min 1 max 65536" in lines
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
    now = read_position(shogi, SFEN, position.split(), None).record.current
    assert (now.over, now.returns) == (True, (-1.0, 1.0))
    board = cshogi.Board(start)
    for move in moves.split():
        board.push_usi(move)
    lines = uci_output([f"position {position}", "go nodes 1"], shogi, "usi")
    assert best_moves(lines)[0] in [cshogi.move_to_usi(legal) for legal in board.legal_moves]
