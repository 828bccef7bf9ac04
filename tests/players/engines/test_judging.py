"""What engines say about positions: scores and lines of UCI, USI and GTP."""

import math

import numpy as np
import pytest
from azjax_envs import make

from azjax.errors import UserError
from azjax.files.game_record import replay
from azjax.players.engines.gtp import read_reports
from azjax.players.engines.pool import Judgement
from azjax.players.engines.uci import read_info
from azjax.players.engines.uci_games import DIALECTS
from azjax.players.load import load_player
from tests.players.engines.programs import needs, scripted

CHESS = make("chess")
HEX = make("hex", size=3)
LAST = "info move C3 winrate 0.5 order 0 pv C3"


def read(text, told=Judgement(""), protocol="uci"):  # noqa: B008
    return read_info(["info", *text.split()], DIALECTS[protocol], told)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("depth 9 score cp 0 nodes 5 pv e2e4", 0.0),
        ("score cp 272 pv e2e4", math.tanh(0.5)),
        ("score cp -272 pv e2e4", -math.tanh(0.5)),
        ("score cp +100000 pv e2e4", 1.0),
        ("score cp 30 wdl 300 600 100 pv e2e4", 0.2),
        ("score cp 30 wdl 0 0 0 pv e2e4", math.tanh(30 / 544)),
        ("score mate 3 pv e2e4", 1.0),
        ("score mate -2 pv e2e4", -1.0),
        ("score mate + pv e2e4", 1.0),
        ("score mate - pv e2e4", -1.0),
        ("score mate 0", -1.0),
        ("score mate 3 wdl 1000 0 0 pv e2e4", 1.0),
        ("multipv 1 score cp 272 lowerbound pv e2e4", math.tanh(0.5)),  # the only one
        ("multipv 2 score cp 272 pv d2d4", math.nan),
        ("string the score cp 272", math.nan),
        ("depth 3 currmove e2e4 currmovenumber 1", math.nan),
        ("score", math.nan),
        ("score cp", math.nan),
        ("score cp many", math.nan),
    ],
)
def test_scores_of_uci(text, value):
    told = read(text)
    assert told.value == pytest.approx(value, nan_ok=True)
    assert told.line == (("e2e4",) if "e2e4" in text and not math.isnan(value) else ())


def test_the_last_exact_score_counts():
    told = Judgement("")
    for text in ("cp 50 pv e2e4", "cp 90 pv d2d4 d7d5", "cp 300 upperbound pv c2c4"):
        told = read(f"score {text}", told)
    assert told.line == ("d2d4", "d7d5")
    told = read("multipv 2 score cp 1 pv a2a3", told)
    assert told.value == pytest.approx(math.tanh(90 / 544))


def test_points_of_shogi_are_smaller():
    told = read("score cp 600 pv 7g7f", protocol="usi")
    assert told.value == pytest.approx(math.tanh(0.5))


@pytest.mark.parametrize(
    ("text", "sure", "value", "line"),
    [
        ("info move D4 visits 9 winrate 0.75 order 0 pv D4 C3", 1.0, 0.5, ("D4", "C3")),
        ("info move D4 visits 9 winrate 2500 order 0 pv D4", 10_000.0, -0.5, ("D4",)),
        (f"info winrate 0.9 order 1 pv D4 {LAST}", 1.0, 0.0, ("C3",)),
        (f"info winrate 0.1 order 0 pv D4 {LAST}", 1.0, 0.0, ("C3",)),
        ("info move D4 winrate 1.00001 order 0 pv", 1.0, 1.0, ()),
        ("info move D4 winrate nan order 0 pv D4", 1.0, math.nan, ()),
        ("info move D4 visits 9", 1.0, math.nan, ()),
        ("", 1.0, math.nan, ()),
    ],
)  # fmt: skip
def test_reports_of_gtp(text, sure, value, line):
    told = read_reports(text, sure)
    assert told.value == pytest.approx(value, nan_ok=True)
    assert told.line == line


def positions(game, moves):
    record = replay(game, moves)
    line = [(each.moved_by, each.move) for each in record.positions[1:]]
    return [(record.positions[i].state, line[:i]) for i in range(len(moves) + 1)]


@pytest.mark.parametrize(
    ("protocol", "behaviour", "game", "moves", "judgements"),
    [
        ("gtp", "well", HEX, ["b2"], [("a1", None, ()), ("a1", None, ())]),
        ("gtp", "analyses", HEX, ["a1"], [("a1", 0.5, ("a1", "b1")), ("b1", 0.5, ("b1", "c1"))]),
        ("uci", "well", CHESS, ["e2e4"], [("a2a3", 0.0, ()), ("a7a5", 0.0, ())]),
        ("uci", "resign", CHESS, [], [("resign", 0.0, ())]),
    ],
)
def test_engines_judge(tmp_path, protocol, behaviour, game, moves, judgements):
    engine = load_player(scripted(protocol, behaviour, tmp_path / "notes"), game=game)
    found = engine.judge(positions(game, moves))
    assert [(f.move, None if np.isnan(f.value) else f.value, f.line) for f in found] == judgements
    assert engine.judge([]) == []
    engine.close()


@pytest.mark.parametrize("protocol", ["gtp", "uci"])
@pytest.mark.parametrize(("behaviour", "why"), [("die", "it ended when"), ("hang", "no answer to")])
def test_a_judge_that_fails_is_not_forgiven(tmp_path, protocol, behaviour, why):
    game = HEX if protocol == "gtp" else CHESS
    engine = load_player(scripted(protocol, behaviour, tmp_path / "notes", "?timeout=1"), game=game)
    with pytest.raises(UserError, match=why) as error:
        engine.judge(positions(game, []))
    assert "\n" not in str(error.value)


@needs("stockfish")
def test_stockfish_tells_the_chances_of_a_mate():
    engine = load_player("uci:stockfish?nodes=2000", game=CHESS)
    told = engine.judge(positions(CHESS, ["f2f3", "e7e5", "g2g4"]))
    engine.close()
    assert told[-1].move == told[-1].line[0] == "d8h4"
    assert told[-1].value == 1.0
    assert told[0].value < 0.4


@needs("fairy-stockfish")
def test_fairy_stockfish_judges_shogi():
    game = make("shogi")
    engine = load_player("usi:fairy-stockfish?nodes=500", game=game)
    [told] = engine.judge(positions(game, []))
    engine.close()
    assert told.line[0] == told.move
    assert abs(told.value) < 0.6
