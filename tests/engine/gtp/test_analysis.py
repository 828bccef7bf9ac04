"""GTP's analyses, which a client follows."""

import dataclasses
import re

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.engine.gtp import analysis
from azjax.engine.gtp.analysis import info_line
from azjax.engine.gtp.game import vertices
from tests.oracles.clients import IdleSearch, gtp_answers

GO = make("go_5x5")


def test_sabakis_commands_show_the_search():
    answers = gtp_answers(
        ["lz-analyze b 1", "3 lz-genmove_analyze b interval 1", "name", "lz-analyze"], GO
    )
    info = r"info move \S+ visits \d+ winrate \d+ prior \d+ order 0 pv( \S+)+"
    assert answers[0][0] == "="
    assert re.fullmatch(rf"(\n?{info})+", answers[0][1])
    assert answers[1][0] == "=3"
    assert re.fullmatch(rf"(\n?{info})+\nplay A5", answers[1][1])
    assert answers[2] == ("=", "azjax")


def test_katagos_commands_have_fractions():
    answers = gtp_answers(["kata-analyze b 1", "kata-genmove_analyze b 1", "name"], GO)
    info = (
        r"info move \S+ visits \d+ utility 0\.25\d* winrate 0\.625\d* prior 0\.\d+ order 0 pv \S+"
    )
    assert re.fullmatch(rf"(\n?{info})+", answers[0][1])
    assert re.fullmatch(rf"(\n?{info})+\nplay A5", answers[1][1])


@pytest.mark.parametrize(
    "words",
    [
        "b 20 avoid b a1,b1 1 avoid w pass 30",
        "allow B a5,C3 1 interval 20",
        "interval 20 minmoves 3 maxmoves 1",
        "w 20 rootInfo true ownership true pvVisits true",
        "maxmoves 0",
    ],
)
def test_keywords_of_other_engines_are_accepted(words):
    info, move = gtp_answers([f"lz-analyze {words}", f"lz-genmove_analyze {words}"], GO)
    assert info[0] == move[0] == "="
    assert move[1].endswith("play A5")


def test_interval_and_maxmoves_are_obeyed(monkeypatch):
    limits = []

    def line(game, found, max_moves, kata):
        limits.append(max_moves)
        return "info\n"

    monkeypatch.setattr(analysis, "info_line", line)
    for command in ("lz-analyze", "lz-genmove_analyze"):
        gtp_answers([f"{command} interval 0 maxmoves 3"], GO)
        often, limits[:] = list(limits), []
        gtp_answers([f"{command} interval 99999"], GO)
        assert set(often) == {3}
        assert limits == [20]  # once, at the end
        if command == "lz-genmove_analyze":  # lz-analyze stops at the next line
            assert len(often) > 1
        limits.clear()


@pytest.mark.parametrize(
    ("words", "moves"),
    [
        ("allow b d4,C3 1", {"C3", "D4"}),
        ("allow b d4 1 allow b c3 9", {"C3", "D4"}),
        ("allow b d4,c3,e1 1 avoid b c3 1 avoid b e1 30", {"D4"}),
        ("b 20 allow w a1 1 allow b b5,a5 1", {"A5", "B5"}),
        ("allow b pass 1", {"pass"}),
    ],
)
def test_only_allowed_moves_are_played(words, moves, monkeypatch):
    searched = []
    start = IdleSearch.start

    def recorded(self, state, *, root_actions=(), **last):
        searched.append({*map(vertices(GO).__getitem__, root_actions)})
        return start(self, state, root_actions=root_actions, **last)

    monkeypatch.setattr(IdleSearch, "start", recorded)
    info, move = gtp_answers([f"lz-analyze {words}", f"lz-genmove_analyze {words}"], GO)
    assert searched == [set(), moves, moves]  # the first compiles
    assert info[0] == move[0] == "="
    assert move[1].rpartition("play ")[2] in moves


def test_an_analysis_without_a_legal_move_is_an_error():
    refused = ("?", "illegal move: no legal move is left to search")
    for words in ("avoid b pass 1 allow b pass 1", "allow b c3 1"):
        searches = [f"lz-analyze {words}", f"lz-genmove_analyze {words}"]
        answers = gtp_answers(["play b c3", "play w c2", *searches, "name"], GO)
        assert answers[2:] == [refused, refused, ("=", "azjax")]


@pytest.mark.parametrize(
    "words", ["interval", "maxmoves few", "avoid b a1", "hello 1", "minmoves", "b 10 20"]
)
def test_unknown_keywords_are_errors(words):
    (mark, text), _ = gtp_answers([f"lz-analyze {words}", "showboard"], GO)
    assert mark == "?"
    assert text.startswith("syntax error")


def test_an_info_line_has_at_most_max_moves():
    found = IdleSearch(GO).start(jax.device_get(GO.init())).run(4).analysis()
    visits = np.array(found.visits)
    visits[:9] = 1
    found = dataclasses.replace(found, visits=visits)
    assert [info_line(GO, found, most).count("order") for most in (1, 5, 20)] == [1, 5, 9]
