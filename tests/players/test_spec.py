from pathlib import Path

import pytest
from azjax_envs import make

from azjax.errors import UserError
from azjax.players.exact import ExactPlayer
from azjax.players.load import load_player
from azjax.players.minimax import MinimaxPlayer
from azjax.players.monte_carlo import MonteCarloPlayer
from azjax.players.random_player import RandomPlayer
from azjax.players.spec import parse_run, parse_spec
from azjax.players.uct import UCTPlayer

GAME = make("tic_tac_toe")


def test_every_form():
    assert load_player("random", game=GAME) == RandomPlayer(GAME)
    assert load_player("minimax:4", game=GAME) == MinimaxPlayer(GAME, 4)
    assert load_player("mc:100", game=GAME) == MonteCarloPlayer(GAME, 100)
    assert load_player(" uct:1000 ", game=GAME) == UCTPlayer(GAME, 1000)
    assert isinstance(load_player("exact", game=GAME), ExactPlayer)


@pytest.mark.parametrize("spec", ["random", "minimax:4", "mc:100", "uct:1000", "exact"])
def test_a_player_is_named_as_it_is_written(spec):
    player = load_player(spec, game=GAME)
    assert player.name == spec


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("alphabeta", "there is no player 'alphabeta' and no run directory of that name; players"),
        ("", "there is no player ''"),
        ("uct", "uct needs a whole number from 1 to 1,000,000"),
        ("uct:", "uct needs a whole number from 1 to 1,000,000"),
        (f"uct:{'9' * 5000}", "uct needs a whole number from 1 to 1,000,000"),
        ("uct:0", "uct needs a whole number from 1 to 1,000,000"),
        ("uct:1000001", "uct needs a whole number from 1 to 1,000,000"),
        ("uct:٣", "uct needs a whole number from 1 to 1,000,000"),
        ("mc:-3", "mc needs a whole number from 1 to 1,000,000"),
        ("minimax:2.5", "minimax needs a whole number from 1 to 1,000,000"),
        ("random:7", "random takes no number"),
    ],
)
def test_mistakes_say_what_is_right(spec, complaint):
    with pytest.raises(UserError, match=complaint) as error:
        load_player(spec, game=GAME)
    assert "random, minimax:PLIES, mc:PLAYOUTS" in str(error.value)
    if len(spec) < 100:
        assert len(str(error.value)) < 240, "more than three lines"
    assert "\n" not in str(error.value)


def test_numbers_of_a_network_that_are_too_large():
    for number in ("1000000000", "9" * 5000):
        with pytest.raises(UserError, match="number of simulations from 1 to 1,000,000"):
            load_player(f"connect_four:{number}")


def test_exact_of_a_large_game():
    with pytest.raises(UserError, match="too large to solve"):
        load_player("exact", game=make("connect_four_6x6"))


@pytest.mark.parametrize("text", ["go", "hex_9x9:64"])
def test_a_game_without_a_player_says_how_to_get_one(text):
    with pytest.raises(UserError, match=r"no player of .*; azjax train .* trains one; azjax play"):
        parse_spec(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("connect4", "connect_four"),
        ("Connect Four", "connect_four"),
        ("connect-4:64", "connect_four:64"),
        ("Connect_Four@best", "connect_four@best"),
        ("tictactoe", "tic_tac_toe"),
        ("Tic-Tac-Toe", "tic_tac_toe"),
        ("otello_6x6", "othello_6x6"),
        ("Othello 8x8", "othello_8x8"),
        ("go9x9", "go_9x9"),
        ("hex 7", "hex_7"),
        ("kalah", "mancala"),
        ("mini chess", "gardner_chess"),
        ("randon", "random"),
        ("Exact", "exact"),
        ("ucf:100", "uct:100"),
        ("UCT:50", "uct:50"),
        ("uct1000", "uct:1000"),
        ("mini-max 4", "minimax:4"),
        ("MCTS", "uct:1000"),
        ("gpt:gnugo --level 3", "gtp:gnugo --level 3"),
        ("UCI:stockfish?nodes=10", "uci:stockfish?nodes=10"),
    ],
)
def test_a_name_that_is_nearly_right(text, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        parse_spec(text)
    assert str(error.value) == f"there is no player or run {text!r}; did you mean {meant}?"


def test_players_that_come_with_azjax_have_no_checkpoints():
    with pytest.raises(UserError, match=r"@best: only runs have checkpoints; write connect_four$"):
        parse_spec("connect_four@best")


@pytest.mark.parametrize("name", ["connect_four", "random", "uct"])
def test_a_folder_in_the_way_hides_no_player(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "uct:3" if name == "uct" else name
    before = parse_spec(text)
    (tmp_path / name).mkdir()
    assert parse_spec(text) == before
    (tmp_path / name / "config.toml").touch()
    # A run in a folder of that name takes the place of a trained player, but of no built-in one.
    assert (parse_spec(text) == before) == (name != "connect_four")
    assert parse_spec(f"./{name}").source == parse_spec(f"{name}@best").source == "run"


def test_the_home_directory_is_found(tmp_path, monkeypatch):
    """A shell leaves the ~ of `--against=~/runs/a` and of "~/my runs/a" as it is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my runs" / "a").mkdir(parents=True)
    for text in ("~/my runs/a", "~/my runs/a@best:64", Path("~/my runs/a")):
        assert parse_spec(text).path == tmp_path / "my runs" / "a"
    assert parse_run("~/a@3").path == parse_run(Path("~/a")).path == tmp_path / "a"
    assert parse_spec("~/four.safetensors").path == tmp_path / "four.safetensors"
    assert parse_spec("gtp:~/gnugo --level 3").command[0] == str(tmp_path / "gnugo")
