"""UCI and USI: ten thousand lines of nonsense."""

import re

import pyffish
import pytest
from azjax_envs import make
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azjax.engine.stdin import TOO_LONG
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
    st.sampled_from(
        ["b2b3", "d4d3", "a1a1", "7g7f", "P*5e", "Hash", "UCI_ShowWDL", "true", START, "MultiPV"]
    ),
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
