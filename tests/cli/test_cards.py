"""Commands print a player's card when they start: `play`, `play --web`, `gtp`, `uci` and `usi`."""

import functools
import io
import sys

import jax
import numpy as np
import pytest

from azjax.cli import play as play_commands
from azjax.cli.main import main
from azjax.games import make_game
from azjax.network.two_headed import make_network
from azjax.players.card import card_texts
from azjax.players.load import describe, load_player
from azjax.players.weights_file import save_player
from tests import tiny
from tests.oracles.clients import Script

RESULTS = card_texts(
    tiny.config().player,
    {
        "cycles": 6,
        "minutes": 12.4,
        "machine": "2 \x1b[2Jcores",  # no terminal may obey this
        "report": [{"player": "search:4", "suite": "all", "positions": 452, "mistakes": 45}],
        "weakest": {"suite": "positions", "name": "plies 0-5", "positions": 40, "mistakes": 10},
        "matches": [],
    },
)
NOTHING = {"training": "0 cycles"}
GAMES = {"gtp": "hex_3x3", "uci": "gardner_chess", "usi": "shogi"}
ANSWERS = {"gtp": "= azjax\n\n= \n\n"}
each_protocol = pytest.mark.parametrize("protocol", GAMES)


@functools.cache
def network(game):
    """Returns a config, and the variables of a network of zeros, which compiles nothing."""
    config = tiny.config(game={"name": game})
    init = make_network(make_game(config), config.network).init
    shapes = jax.eval_shape(init, jax.ShapeDtypeStruct((2,), "uint32"))
    return config, jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes)


def write_player(path, game, about):
    save_player(path, *network(game), about)
    return path


@pytest.fixture
def stop(monkeypatch):
    """Lets commands end where a game or a client would begin."""
    monkeypatch.setattr("azjax.play.terminal.play", lambda *args, **options: None)
    monkeypatch.setattr("azjax.web.server.serve", announce_like_the_server)
    monkeypatch.setattr(jax.config, "update", lambda name, value: None)
    monkeypatch.setattr(play_commands, "_standard_input", lambda: Script(["name", "quit"]))


def announce_like_the_server(player, *, announce, **options):
    announce("preparing")
    announce("play at http://127.0.0.1/ (Ctrl-C to stop)")


def words(text):
    """Returns a text's words: the terminal breaks long lines."""
    return text.split()


def test_play_prints_the_card(stop, tmp_path, capsys):
    file = write_player(tmp_path / "a.safetensors", "tic_tac_toe", RESULTS)
    for player in (str(file), f"{file}:8", "dots_and_boxes_3x3"):
        assert main(["play", player]) == 0
        out, err = capsys.readouterr()
        assert words(out) == words(describe(player))
        assert err == ""
        assert out.replace("\n", "").isprintable()
        for part in ("trained for", "minutes on", "weakest: mistakes in", "search:"):
            assert part in " ".join(words(out))


def test_the_server_prints_the_card_below_the_address(stop, tmp_path, capsys):
    file = write_player(tmp_path / "a.safetensors", "tic_tac_toe", RESULTS)
    assert main(["play", str(file), "--web", "--no-browser"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("play at http://127.0.0.1")
    assert out.splitlines()[2:] == describe(file).splitlines()
    assert r"12 minutes on 2 \x1b[2Jcores" in out
    assert "weakest: mistakes in 25.0% of plies 0-5" in out
    assert err == ""


@each_protocol
def test_engines_print_the_card_to_standard_error(protocol, stop, tmp_path, capsys):
    file = write_player(tmp_path / "a.safetensors", GAMES[protocol], RESULTS)
    assert main([protocol, f"{file}:8"]) == 0
    out, err = capsys.readouterr()
    assert err == f"{describe(file)}\n"
    assert r"12 minutes on 2 \x1b[2Jcores" in err
    assert "weakest: mistakes in 25.0% of plies 0-5" in err
    assert out == ANSWERS.get(protocol, "info string unknown command name\n")


@pytest.mark.parametrize("player", ["hex_7x7", "othello"])
def test_players_that_come_along_are_engines(player, stop, capsys):
    assert main(["gtp", player]) == 0
    out, err = capsys.readouterr()
    assert out == ANSWERS["gtp"]
    assert err == f"{describe(player)}\n"
    assert "minutes on" in err


@each_protocol
def test_a_player_without_a_card_prints_none(protocol, stop, tmp_path, capsys, monkeypatch):
    """Neither does the file of an untrained network, nor a run."""
    file = write_player(tmp_path / "a.safetensors", GAMES[protocol], NOTHING)
    assert main([protocol, str(file)]) == 0
    assert capsys.readouterr().err == ""
    player = load_player(file)
    monkeypatch.setattr("azjax.players.load.load_player", lambda run, **options: player)
    (tmp_path / "run").mkdir()
    for command in ([protocol], ["play"], ["play", "--web", "--no-browser"]):
        assert main([*command, str(tmp_path / "run")]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert "trained for" not in out


class Closed(io.StringIO):
    """A standard error whose reader has gone."""

    def write(self, text):
        raise BrokenPipeError


@pytest.mark.parametrize("stderr", [None, Closed()])
def test_the_protocols_channel_stays_clean_without_a_standard_error(
    stderr, stop, tmp_path, capsys, monkeypatch
):
    file = write_player(tmp_path / "a.safetensors", GAMES["gtp"], RESULTS)
    monkeypatch.setattr(sys, "stderr", stderr)
    assert main(["gtp", str(file)]) == 0
    assert capsys.readouterr().out == ANSWERS["gtp"]
    sys.stderr.close()
