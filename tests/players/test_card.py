"""A player's card, and its parts in other texts."""

import json
import re

import pytest

from azjax.players.card import card_texts, report_results, run_metadata
from azjax.players.weights_file import SavedPlayer, load_saved, pretrained
from tests import tiny

PLAYER = tiny.config().player
SEATS = {"first": 1.0, "second": 1.0}
RESULTS = {
    "cycles": 6,
    "minutes": 12.4,
    "machine": "2 cores",
    "report": [
        {"player": "search:4", "suite": "all positions", "positions": 4520, "mistakes": 452},
        {"player": "search:4", "suite": "its own games", "positions": 100, "mistakes": 1},
        {"player": "policy", "suite": "all positions", "positions": 4520, "mistakes": 904},
    ],
    "weakest": {"suite": "all positions", "name": "plies 0-5", "positions": 40, "mistakes": 10},
    "values": [{"player": "search:4", "suite": "first moves", "positions": 10, "right": 9}],
    "matches": [
        {"player": "search:4", "opponent": "uct:100", "games": 8, "score": 0.75} | SEATS,
        {"player": "policy", "opponent": "uct:100", "games": 8, "score": 0.5} | SEATS,
    ],
}


def lines(text="card", **change):
    """Returns the lines of a player's text, whose results are others in some keys."""
    return card_texts(PLAYER, RESULTS | change).get(text, "").splitlines()


def weakness(**change):
    """Returns what a card tells as the weakest, "" without."""
    found = [line for line in lines(**change) if line.startswith("weakest: ")]
    return found[0].removeprefix("weakest: ") if found else ""


def test_the_card_has_all_results():
    assert lines() == [
        "tic_tac_toe scored 75.0% against UCT-100, with 4 simulations.",
        "tic_tac_toe: a 1 x 16 mlp, trained for 6 cycles in 12 minutes on 2 cores",
        "search:4: 90.0% of 4,520 all positions without a mistake",
        "search:4: 99.0% of 100 its own games without a mistake",
        "policy: 80.0% of 4,520 all positions without a mistake",
        "weakest: mistakes in 25.0% of plies 0-5, all positions",
        "search:4: values of first moves right in 9 of 10",
        "search:4: 75.0% of the points in 8 games against uct:100",
        "policy: 50.0% of the points in 8 games against uct:100",
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"matches": []}, "made 452 mistakes in 4,520 all positions, with 4 simulations"),
        ({"matches": [], "report": []}, "was trained for 6 cycles in 12 minutes on 2 cores"),
        (
            {"matches": [], "report": [], "games": 17000},
            "was trained for 6 cycles with 17,000 recorded games in 12 minutes on 2 cores",
        ),
        (
            {"matches": [RESULTS["matches"][0] | {"score": 0.5}]},
            "is as strong as UCT-100, with 4 simulations",
        ),
        (
            {"matches": [RESULTS["matches"][1] | {"player": "search:64", "points": -0.128}]},
            "lost 0.13 points a game to UCT-100, with 64 simulations",
        ),
        (
            {"report": [RESULTS["report"][0] | {"mistakes": 0, "suite": "all reachable cells"}]},
            "makes no mistake in any of the 4,520 reachable cells, with 4 simulations",
        ),
        (
            {"report": [RESULTS["report"][0] | {"loss": 0.00052, "suite": "choices"}]},
            "gives up 0.052% of the points a move in 4,520 choices, with 4 simulations",
        ),
    ],
)
def test_the_card_begins_with_a_sentence_for_people(change, sentence):
    first, *details = lines(**change)
    assert first == f"tic_tac_toe {sentence}."
    assert details[0].startswith("tic_tac_toe: a 1 x 16 mlp")
    assert ("weakest" in "".join(details)) == ("any of" not in sentence)


def test_a_match_of_several_points_tells_them():
    match = RESULTS["matches"][0] | {"points": 0.5175}
    assert lines(matches=[match])[-1] == (
        "search:4: +0.517 points a game in 8 games against uct:100, of which it won 75.0%"
    )
    assert lines(matches=[match])[0].endswith(
        "won 0.52 points a game from UCT-100, with 4 simulations."
    )
    rows = [{"player_b": "uct:100", "games": 4, "score": 0.5, "points": x} for x in (None, -0.25)]
    rows = [row | {"as_first": [1, 0, 1], "as_second": [1, 0, 1]} for row in rows]
    player = {"name": "search:4", "scores": [], "values": [], "matches": rows}
    found = report_results({"players": [player]})["matches"]
    assert [match.get("points") for match in found] == [None, -0.25]
    assert "points" not in found[0]


def test_an_untrained_player_without_results_has_no_card():
    nothing = {"cycles": 0, "report": [], "matches": []}
    assert card_texts(PLAYER, nothing) == {"training": "0 cycles"}
    for told in ({"cycles": 1}, {"before": "9 cycles"}, {"report": RESULTS["report"]}):
        assert card_texts(PLAYER, nothing | told).keys() == {"training", "card", "short"}


def test_a_game_of_chance_tells_what_moves_give_up():
    score = RESULTS["report"][0] | {"loss": 0.00052, "suite": "choices"}
    told = "search:4: 0.052% of the points a move in 4,520 choices given up"
    assert told in lines(report=[score])


def test_the_short_text_names_the_player_of_each_result():
    assert lines("short") == [
        "Scored 75.0% against UCT-100, with 4 simulations.",
        "With 4 simulations: 90.0% of 4,520 all positions without a mistake; "
        "values of first moves right in 9 of 10; 75.0% of the points in 8 games against uct:100.",
        "Policy alone: 80.0% of 4,520 all positions without a mistake; "
        "50.0% of the points in 8 games against uct:100.",
        "Trained for 6 cycles in 12 minutes on 2 cores.",
        "Weakest: mistakes in 25.0% of plies 0-5, all positions.",
    ]


@pytest.mark.parametrize(
    ("score", "opponent", "headline"),
    [
        (1.0, "uct:1000", "won all 9 games against UCT-1000, with 400 simulations"),
        (0.9996, "uct:1000", "scored 100.0% against UCT-1000, with 400 simulations"),
        (0.45, "gtp:gnugo --level 10", "as strong as GNU Go at level 10, with 400 simulations"),
        (
            0.551,
            "uci:fairy-stockfish?depth=2",
            "scored 55.1% against Fairy-Stockfish at depth 2, with 400 simulations",
        ),
        (
            0.0,
            "usi:fairy-stockfish?depth=1",
            "a beginner that lost all 9 games against Fairy-Stockfish at depth 1, with 400 "
            "simulations",
        ),
        (0.4, "gtp:other", "scored 40.0% against gtp:other, with 400 simulations"),
    ],
)
def test_the_headline_is_the_match_with_the_most_simulations(score, opponent, headline):
    match = {"player": "search:400", "opponent": opponent, "games": 9, "score": score} | SEATS
    others = [
        {"player": player, "opponent": "uct:1", "games": 9, "score": 0.1} | SEATS
        for player in ("search:64", "policy")
    ]
    first, *_ = lines("short", matches=[others[0], match, others[1]])
    assert first == f"{headline[0].upper()}{headline[1:]}."


@pytest.mark.parametrize(
    ("mistakes", "headline"),
    [
        (0, "made no mistakes in 2,048 endgames of random games, with 64 simulations"),
        (1, "made 1 mistake in 2,048 endgames of random games, with 64 simulations"),
        (2, "made 2 mistakes in 2,048 endgames of random games, with 64 simulations"),
    ],
)
def test_without_matches_the_headline_is_the_number_of_mistakes(mistakes, headline):
    suite = "endgames (at most 8 empty squares) of random games"
    score = {"player": "search:64", "suite": suite, "positions": 2048, "mistakes": mistakes}
    first, *_ = lines("short", matches=[], report=[score, *RESULTS["report"]])
    assert first == f"{headline[0].upper()}{headline[1:]}."


def test_wrong_values_of_first_moves_tell_where_no_class_has_a_mistake():
    told = "values of first moves wrong in 1 of 10, with 4 simulations"
    assert weakness(weakest=None) == told


def test_the_weaker_seat_tells_where_no_value_is_wrong():
    with_search, alone = RESULTS["matches"]
    matches = [with_search | {"second": 0.5}, alone | {"first": 0.1}]
    assert weakness(weakest=None, values=[], matches=matches) == (
        "50.0% of the points moving second against uct:100, with 4 simulations"
    )
    assert weakness(weakest=None, values=[]) == ""


def test_texts_of_a_file_have_no_control_characters():
    text = "\x1b[2J: 50.0%\nof \x07 a\x9bcore"
    saved = SavedPlayer(PLAYER, {}, {"card": text, "short": text})
    for shown in (saved.describe(), saved.describe("short")):
        assert shown == "\\x1b[2J: 50.0%\nof \\x07 a\\x9bcore"


BEATEN = {"player": "search:64", "opponent": "uci:x?depth=1", "games": 40, "score": 0.05} | SEATS


@pytest.mark.parametrize(
    ("match", "told"),
    [
        ({}, ["5.0% of the points in 40 games against uci:x?depth=1, with 64 simulations"]),
        ({"score": 0.3}, []),
        ({"opponent": "uct:1000", "score": 0}, []),
        ({"player": "policy"}, []),
    ],
)
def test_a_beginner_lost_to_an_engine(match, told):
    assert lines("beginner", matches=[BEATEN | match]) == told


def test_a_card_tells_training_strength_and_weakness(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    lines = [
        {"kind": "start", "cycle": 0, "time_s": 0.0, "machine": "2 x cpu"},
        {"kind": "cycle", "cycle": 6, "time_s": 110.0},
        {"kind": "eval", "cycle": 6, "time_s": 120.0, "mistakes": 3},
        {"kind": "cycle", "cycle": 7, "time_s": 130.0},
    ]
    (run / "metrics.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    buckets = [
        {"name": "plies 0-5", "positions": 40, "mistakes": 1},
        {"name": "plies 6-11", "positions": 60, "mistakes": 3},
        {"name": "plies 12-17", "positions": 2, "mistakes": 1},  # too few to tell
    ]
    suite = {"suite": "all positions", "positions": 102, "mistakes": 5, "buckets": buckets}
    first = {"suite": "the start and all first moves", "positions": 10, "right": 9}
    start = {"suite": "the start", "positions": 1, "right": 1}  # too few to tell
    match = {"player_b": "uct:9", "games": 4, "score": 0.625}
    match |= {"as_first": [2, 0, 0], "as_second": [0, 1, 1]}
    player = {"name": "search:4", "scores": [suite], "values": [first, start], "matches": [match]}
    (run / "report.json").write_text(json.dumps({"cycle": 6, "players": [player]}))
    about = run_metadata(run, 6, PLAYER)
    said = about["card"]
    assert about["training"] == "6 cycles in 2 minutes on 2 x cpu"
    assert "trained for 6 cycles in 2 minutes on 2 x cpu\nsearch:4: 95.1% of 102" in said
    assert "weakest: mistakes in 5.0% of plies 6-11, all positions" in said
    assert "search:4: values of the start and all first moves right in 9 of 10" in said
    assert said.endswith("search:4: 62.5% of the points in 4 games against uct:9")


def test_players_that_come_along_have_whole_cards():
    for path in pretrained().values():
        about = load_saved(path).metadata
        assert re.fullmatch(r"\d+ cycles in \d+ minutes on .*(core|H200).*", about["training"])
        assert len(about["card"].splitlines()) > 2
        assert about["short"].splitlines()[1].startswith("With 64 simulations: ")
