"""Runs of a game that cannot be made from a name, such as a class in a notebook."""

import shutil
from dataclasses import dataclass

import azjax_envs
import numpy as np
import pytest
from azjax_envs.tic_tac_toe import TicTacToe

import azjax
from azjax.players.load import export_player, untrained_player
from tests import tiny


def own_game(name="mine"):
    @dataclass(frozen=True)
    class Own(TicTacToe):  # of this function: `make` cannot import it
        @property
        def name(self):
            return name

    return Own()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Returns the game and a run of two cycles."""
    game, run = own_game(), tmp_path_factory.mktemp("own") / "run"
    config = tiny.config(cycles=2)
    azjax.train(config, run, game=game)
    return game, run


def test_it_is_loaded_with_the_game(trained):
    game, run = trained
    assert azjax.load_player(run, game=game).game is game
    assert untrained_player(run, game=game).game is game
    position = azjax_envs.init_batch(game, np.array([0, 1], np.uint32), 2)
    assert azjax.act(azjax.load_player(f"{run}:policy", game=game), None, position).shape == (2,)


def test_it_is_resumed_with_the_game(trained, tmp_path):
    game, run = trained
    shutil.copytree(run, tmp_path / "copy")
    config = tmp_path / "copy" / "config.toml"
    config.write_text(config.read_text().replace("cycles = 2", "cycles = 3"))
    assert int(azjax.resume(tmp_path / "copy", game=game).cycle) == 3


def test_its_file_is_loaded_with_the_game(trained, tmp_path):
    game, run = trained
    export_player(run, tmp_path / "own.safetensors", game=game)
    assert azjax.load_player(tmp_path / "own.safetensors", game=game).game is game
    with pytest.raises(azjax.UserError, match=r"unknown game 'mine'.* must be given as game"):
        azjax.load_player(tmp_path / "own.safetensors")


@pytest.mark.parametrize("load", [azjax.load_player, azjax.resume, untrained_player])
def test_without_the_game_the_message_says_what_to_give(trained, load):
    _, run = trained
    with pytest.raises(azjax.UserError) as caught:
        load(run)
    assert "run: unknown game 'mine'" in str(caught.value)
    assert str(caught.value).endswith("must be given as game")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("load", [azjax.load_player, azjax.resume])
def test_another_game_is_named(trained, load):
    _, run = trained
    for other in (own_game("yours"), azjax_envs.make("connect_four")):
        with pytest.raises(azjax.UserError, match=f"run plays mine, not {other.name}$"):
            load(run, game=other)
