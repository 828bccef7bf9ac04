"""GTP: ten thousand lines of nonsense."""

import re

from azjax_envs import make
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azjax.engine.stdin import TOO_LONG
from tests.oracles.clients import gtp_answers

GO = make("go_5x5")

NUMBERS = st.one_of(
    st.integers(-5, 30).map(str),
    st.sampled_from(["9" * 4000, "-1", "1e999", "nan", "0x5", "٣", "5.5", "", "²"]),
)
WORDS = st.one_of(
    st.sampled_from(["b", "w", "black", "White", "pass", "resign", "C3", "e5", "I1", "a6", "#"]),
    st.tuples(st.sampled_from("abcdeABCDE"), st.integers(1, 5)).map(lambda v: f"{v[0]}{v[1]}"),
    st.sampled_from(["interval", "maxmoves", "avoid", "allow", "a1,b2", "swap-pieces"]),
    NUMBERS,
    st.text(max_size=8),
)
COMMANDS = st.sampled_from(
    [
        *("protocol_version", "name", "version", "list_commands", "known_command", "boardsize"),
        *("clear_board", "play", "genmove", "undo", "showboard", "time_settings", "time_left"),
        *("final_score", "fixed_handicap", "loadsgf", "lz-analyze", "lz-genmove_analyze"),
        *(
            "komi",
            "list_games",
            "set_game",
            "hexgui-analyze_commands",
            "kata-analyze",
            "reg_genmove",
        ),
        *("place_free_handicap", "set_free_handicap", "kgs-time_settings", "kgs-genmove_cleanup"),
        *("final_status_list", "printsgf", "cputime", "gogui-analyze_commands"),
    ]
)
MOVES = st.tuples(st.sampled_from(["play b", "play w", "genmove", "play"]), WORDS).map(" ".join)
LINES = st.one_of(
    MOVES,
    st.tuples(COMMANDS, st.lists(WORDS, max_size=4)).map(lambda c: " ".join([c[0], *c[1]])),
    st.tuples(NUMBERS, COMMANDS, WORDS).map(" ".join),
    st.text(max_size=30),
    st.binary(max_size=30).map(lambda b: b.decode("latin-1")),
    st.just(TOO_LONG),
).map(lambda line: line if line is TOO_LONG else line.replace("\n", " "))


def is_command(line):
    """Returns whether GTP counts a line as a command; comments and control characters are not."""
    if line is TOO_LONG:
        return True
    return bool("".join(c for c in line.partition("#")[0] if c.isprintable() or c == "\t").split())


def test_ten_thousand_lines_of_nonsense():
    """Each line gets one answer, and after each hundred the engine works as at the start."""

    @settings(
        max_examples=100,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(LINES, min_size=100, max_size=100))
    def answers_each(lines):
        lines = [line for line in lines if not re.match(r"\s*\d*\s*quit", line)]
        answers = gtp_answers(
            [*lines, "77 showboard", "clear_board", "play b C3", "genmove w", "quit"], GO
        )
        assert len(answers) == sum(map(is_command, lines)) + 5
        assert [mark for mark, _ in answers[-5:]] == ["=77", "=", "=", "=", "="]

    answers_each()
