"""Games of chance: what plays them, and what refuses them in one line."""

import json

import jax
import pytest
from azjax_envs import init_batch, make

import azjax
from azjax.cli.main import main
from azjax.config.toml import config_from_dict
from azjax.engine.player_search import make_engine_search
from azjax.errors import UserError
from azjax.network.two_headed import make_network
from azjax.players.random_player import RandomPlayer
from azjax.players.uct import UCTPlayer

REFUSED = "ur_1 is a game of chance: engines know no dice; azjax train,"
NETWORK = {"architecture": "mlp", "blocks": 1, "channels": 4, "value_hidden": 4, "norm": "none"}
DOORS = {
    "GTP": "gtp RUN",
    "UCI": "uci RUN",
    "USI": "usi RUN",
    "GTP without a network": "gtp random --game ur_1",
    "UCI without a network": "uci random --game ur_1",
    "USI without a network": "usi random --game ur_1",
    "GTP by the name of the game": "gtp ur_1",
    "UCI by the name of the game": "uci ur_1",
    "USI by the name of the game": "usi ur_1",
    "the measurement of searches": "bench search --game ur_1",
}
"""What knows no dice, with the command that leads there."""


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A file with a small network for ur_1."""
    file = tmp_path_factory.mktemp("players") / "ur_1.safetensors"
    config = config_from_dict({"game": {"name": "ur_1"}, "network": NETWORK})
    variables = make_network(make("ur_1"), config.network).init(jax.random.key(0))
    azjax.save_player(file, config, variables)
    return file


@pytest.mark.parametrize("door", DOORS)
def test_commands_that_know_no_dice(door, network, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "games.txt").write_text("# ur_1\n1: new 2: new 1:\n")
    line = DOORS[door]
    for name, path in (("RUN", network), ("FILE", "games.txt")):
        line = line.replace(name, str(path))
    assert main(line.split()) == 2
    (said,) = capsys.readouterr().err.strip().split("\n")[-1:]
    assert said.startswith(f"azjax: {REFUSED}") or f": {REFUSED}" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["games.txt"]


@pytest.mark.parametrize("engine", ["gtp", "uci", "usi"])
def test_external_engines_know_no_dice(engine, capsys):
    line = f"match {engine}:engine random --game ur_1 --games 2"
    assert main(line.split()) == 2
    assert "not for ur_1" in (said := capsys.readouterr().err) or "not ur_1" in said


def test_functions_that_know_no_dice(network):
    game = make("ur_1")
    player = azjax.load_player(network)
    for call in (
        lambda: make_engine_search(UCTPlayer(game, 2)),
        lambda: make_engine_search(RandomPlayer(game)),
        lambda: make_engine_search(player),
    ):
        with pytest.raises(UserError, match=REFUSED):
            call()
    with pytest.raises(UserError, match=r"ur_1 is a game of chance: azjax\.exact"):
        azjax.solve(game)


def test_players_and_matches_know_dice(capsys):
    game = make("ur_1")
    states = init_batch(game, jax.random.key(0), 2)
    actions = azjax.act(azjax.load_player("random", game=game), jax.random.key(0), states)
    legal = jax.vmap(game.legal_action_mask)(states)
    assert all(row[action] for row, action in zip(legal, actions, strict=True))
    assert azjax.analyse(game, ["0:"], azjax.load_player("exact", game=game)).moves == ()
    assert main(["match", "random", "uct:2", "--game", "ur_1", "--games", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 4
