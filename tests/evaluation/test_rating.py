import functools
import json
import re
import shutil

import numpy as np
import pytest
from azjax_envs import make
from matplotlib.image import imread

import azjax
from azjax.cli.main import main
from azjax.errors import UserError
from azjax.evaluation import rating
from azjax.evaluation.bradley_terry import fit_ratings
from azjax.running.loop import train
from tests import tiny
from tests.network.own_networks import Dense


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    run = tmp_path_factory.mktemp("rating") / "run"
    settings = {"cycles": 4, "evaluation": {"every": 0}, "gate": {"every": 4}}
    train(tiny.config(**settings, checkpoint={"every": 1, "keep": 3}), run)
    return run


def rate(run, *options):
    return main(["rate", str(run), "--games", "8", "--anchors", "random", "uct:4", *options])


def test_all_checkpoints_are_rated(trained, capsys):
    capsys.readouterr()
    assert rate(trained, "--json", "--seed", "3") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((trained / "rating.json").read_text())
    players = {player["name"]: player for player in printed["players"]}
    assert list(players) == ["cycle 2", "cycle 3", "cycle 4", "random", "uct:4"]
    assert [player["cycle"] for player in players.values()] == [2, 3, 4, None, None]
    assert (printed["zero"], printed["simulations"]) == ("random", 4)
    assert players["random"]["elo"] == players["random"]["low"] == players["random"]["high"] == 0
    pairs = [(match["player_a"], match["player_b"]) for match in printed["matches"]]
    assert pairs == [
        ("cycle 3", "cycle 2"),
        ("cycle 4", "cycle 3"),
        *((f"cycle {cycle}", anchor) for cycle in (2, 3, 4) for anchor in ("random", "uct:4")),
        ("uct:4", "random"),
    ]
    assert all(match["games"] == 8 for match in printed["matches"])
    assert players["cycle 3"]["games"] == 32
    # The ratings are those of the matches that were printed.
    points, independent = np.zeros((2, 5, 5))
    for match in printed["matches"]:
        a, b = (list(players).index(match[side]) for side in ("player_a", "player_b"))
        points[a, b] = match["wins"] + match["draws"] / 2
        points[b, a] = match["losses"] + match["draws"] / 2
        independent[a, b] = independent[b, a] = match["effective_games"] / match["games"]
    expected = fit_ratings(points, anchor=3, independent=independent)
    np.testing.assert_allclose([p["elo"] for p in players.values()], expected.elo, atol=1e-6)
    np.testing.assert_allclose([p["high"] for p in players.values()], expected.high, atol=1e-6)
    scores = points.sum(1) / (points + points.T).sum(1)
    np.testing.assert_allclose([p["score"] for p in players.values()], scores)
    assert imread(trained / "plots" / "rating.png").std() > 0.01


def test_the_list_has_the_strongest_first(trained, capsys):
    capsys.readouterr()
    assert rate(trained) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "random = 0" in lines[0]
    rows = [line for line in lines if "cycle" in line or "uct:4" in line or "│ random" in line]
    assert len(rows) == 5
    elo = [int(row.split("│")[2]) for row in rows]
    assert elo == sorted(elo, reverse=True)


def test_a_broken_checkpoint_is_left_out(trained, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    shutil.rmtree(run / "checkpoints" / "3" / "variables")
    capsys.readouterr()
    assert rate(run, "--json") == 0
    printed = capsys.readouterr()
    names = [player["name"] for player in json.loads(printed.out)["players"]]
    assert names == ["cycle 2", "cycle 4", "random", "uct:4"]
    broken = run / "checkpoints" / "3"
    assert re.fullmatch(rf"checkpoint {broken} is broken \(.*\); it is left out\n", printed.err)


def test_long_games_have_quick_anchors():
    assert rating.default_anchors(make("connect_four")) == ("random", "uct:100", "uct:1000")
    assert rating.default_anchors(make("go_9x9")) == ("random", "uct:100")
    assert rating.default_anchors(make("chess")) == ("random",)


def test_two_runs_rate_alike(trained, capsys):
    """Everything random comes from the seed."""
    outs = []
    for _ in range(2):
        capsys.readouterr()
        assert rate(trained, "--json") == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]


def test_any_players_are_rated():
    game = make("tic_tac_toe")
    load = functools.partial(azjax.load_player, game=game)
    rated = azjax.rate(
        game, {"a": load("uct:8"), "b": load("random"), "c": load("random")}, games=8
    )
    assert (rated.zero, rated.simulations) == ("c", None)
    assert [player.name for player in rated.players] == ["a", "b", "c"]
    assert [(x.player_a, x.player_b) for x in rated.matches] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert rated.players[2].elo == 0 < rated.players[0].elo
    assert "tic_tac_toe: Elo, c = 0" in str(rated)
    rated = azjax.rate(game, [load("random"), load("random")], zero="random (1)", games=2)
    assert [player.name for player in rated.players] == ["random (1)", "random (2)"]


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["random"], {}, "at least two players, but has 1"),
        (
            ["random", "uct:2"],
            {"zero": "exact"},
            "zero = 'exact' must be one of the players: ra",
        ),
        (["random", "hex"], {}, "random \\(2\\) plays hex_3x3, not tic_tac_toe"),
    ],
)
def test_mistakes_in_a_rating_of_players(names, options, message):
    players = [
        azjax.load_player("random", game="hex_3x3")
        if name == "hex"
        else azjax.load_player(name, game="tic_tac_toe")
        for name in names
    ]
    with pytest.raises(UserError, match=message):
        azjax.rate(make("tic_tac_toe"), players, **options)


def test_a_run_with_a_network_of_ones_own(tmp_path):
    game = make("tic_tac_toe")
    network = azjax.flax_network(lambda rngs: Dense(game, rngs=rngs))
    config = tiny.config(cycles=1, evaluation={"every": 0})
    train(config, tmp_path / "run", network=network)
    rated = rating.rate_run(tmp_path / "run", network=network, anchors=("random",), games=2)
    assert [player.name for player in rated.players] == ["cycle 1", "random"]
    with pytest.raises(UserError, match=r"network=\.\.\."):
        rating.rate_run(tmp_path / "run", anchors=("random",), games=2)
