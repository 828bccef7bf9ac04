"""GTP's searches that a client looks on at."""

import dataclasses
import re

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.play.gtp import analysis as gtp_analysis
from azjax.play.gtp.game import vertices
from azjax.play.gtp.search import info_line
from tests.oracles.clients import Idle, gtp_answers

GO = make("go_5x5")


def test_sabaki_sees_the_search():
    answers = gtp_answers(
        ["lz-analyze b 1", "3 lz-genmove_analyze b interval 1", "name", "lz-analyze"], GO
    )
    info = r"info move \S+ visits \d+ winrate \d+ prior \d+ order 0 pv( \S+)+"
    assert answers[0][0] == "="
    assert re.fullmatch(rf"(\n?{info})+", answers[0][1])
    assert answers[1][0] == "=3"
    assert re.fullmatch(rf"(\n?{info})+\nplay A5", answers[1][1])
    assert answers[2] == ("=", "azjax")


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
def test_words_that_other_engines_know_are_read(words):
    analysis, move = gtp_answers([f"lz-analyze {words}", f"lz-genmove_analyze {words}"], GO)
    assert analysis[0] == move[0] == "="
    assert move[1].endswith("play A5")


def test_the_interval_and_the_most_moves_are_obeyed(monkeypatch):
    said = []

    def line(game, findings, most):
        said.append(most)
        return "info\n"

    monkeypatch.setattr(gtp_analysis, "info_line", line)
    for command in ("lz-analyze", "lz-genmove_analyze"):
        gtp_answers([f"{command} interval 0 maxmoves 3"], GO)
        often, said[:] = list(said), []
        gtp_answers([f"{command} interval 99999"], GO)
        assert set(often) == {3}
        assert said == [20]  # once, at the end
        if command == "lz-genmove_analyze":  # the other one stops for the next line
            assert len(often) > 1
        said.clear()


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
def test_only_what_is_allowed_is_played(words, moves, monkeypatch):
    thought_about = []
    start = Idle.start

    def started(self, state, *, among):
        thought_about.append({*map(vertices(GO).__getitem__, among)})
        return start(self, state, among=among)

    monkeypatch.setattr(Idle, "start", started)
    analysis, move = gtp_answers([f"lz-analyze {words}", f"lz-genmove_analyze {words}"], GO)
    assert thought_about == [moves, moves]
    assert analysis[0] == move[0] == "="
    assert move[1].rpartition("play ")[2] in moves


def test_an_analysis_of_no_legal_move_is_refused():
    refused = ("?", "illegal move: none is left to think about")
    for words in ("avoid b pass 1 allow b pass 1", "allow b c3 1"):
        searches = [f"lz-analyze {words}", f"lz-genmove_analyze {words}"]
        answers = gtp_answers(["play b c3", "play w c2", *searches, "name"], GO)
        assert answers[2:] == [refused, refused, ("=", "azjax")]


@pytest.mark.parametrize(
    "words", ["interval", "maxmoves few", "avoid b a1", "hello 1", "minmoves", "b 10 20"]
)
def test_words_that_no_engine_knows_are_none(words):
    (mark, text), _ = gtp_answers([f"lz-analyze {words}", "showboard"], GO)
    assert mark == "?"
    assert text.startswith("syntax error")


def test_an_analysis_tells_of_no_more_moves_than_are_wanted():
    thinking = Idle(GO).start(jax.device_get(GO.init())).more(4).findings()
    visits = np.array(thinking.visits)
    visits[:9] = 1
    found = dataclasses.replace(thinking, visits=visits)
    assert [info_line(GO, found, most).count("order") for most in (1, 5, 20)] == [1, 5, 9]
