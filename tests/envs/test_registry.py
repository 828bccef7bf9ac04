import sys

import jax
import pytest
from azjax_envs import available_games, make


def test_every_listed_name_makes_a_game_of_that_name():
    for name in available_games():
        assert make(name).name == name
        assert make(name) == make(name)
        assert hash(make(name)) == hash(make(name))


@pytest.mark.parametrize(
    "name",
    [
        *("connect_four_4x4", "connect_four_5x6x3", "dots_and_boxes_3x4", "go_2x2", "go_9x9"),
        *("gomoku_9x9", "mnk_4x3x3", "mnk_3x4x3", "hex_5x5", "mancala_4x3", "othello_4x4"),
        "othello_6x6",
    ],
)
def test_a_name_with_a_size_makes_a_game_of_that_name(name):
    assert make(name).name == name
    assert make(make(name).name) == make(name)


def test_options_are_part_of_the_name_only_if_they_are_sizes():
    for name in ("dots_and_boxes_5x5", "go_19x19", "hex_11x11", "mancala_6x4", "othello_8x8"):
        assert make(name).name == name.rpartition("_")[0]
    assert make("hex", size=7, swap=True).name == "hex_7x7"
    assert make("mancala_4x3", empty_capture=True) != make("mancala_4x3")


# The most bytes of a state.
BYTES = {
    "chess": 2500,
    "connect_four": 32,
    "gardner_chess": 1300,
    "go": 14000,
    "go_9x9": 3000,
    "gomoku": 128,
    "gomoku_19x19": 160,
    "hex": 128,
    "mancala": 16,
    "mnk": 16,
    "othello": 48,
    "shogi": 5005,
    "tic_tac_toe": 16,
}


@pytest.mark.parametrize("name", BYTES)
def test_states_are_small(name):
    assert sum(x.nbytes for x in jax.tree.leaves(make(name).init())) <= BYTES[name]


def test_a_game_of_pgx():
    game = make("pgx:connect_four")
    assert make(game.name) == game
    assert make("pgx:connect_four", max_steps=10).max_steps == 10
    with pytest.raises(ValueError, match=r"pgx has no 'go_8x8'; it has .*go_9x9"):
        make("pgx:go_8x8")


def test_a_game_of_pgx_without_pgx(monkeypatch):
    monkeypatch.setitem(sys.modules, "pgx", None)
    with pytest.raises(ValueError, match="pgx:any: pgx is not installed: pip install pgx"):
        make("pgx:any")


def test_size_in_the_name_and_as_options_are_one():
    assert make("connect_four_4x5") == make("connect_four", rows=4, columns=5)
    assert make("connect_four_4x5x3") == make("connect_four_4x5", connect=3)
    assert make("dots_and_boxes_2x3") == make("dots_and_boxes", rows=2, columns=3)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("conect_four", {}, r"unknown game 'conect_four': did you mean 'connect_four'\?$"),
        ("dots_and_bokses_2x2", {}, r"did you mean 'dots_and_boxes_2x2'\?$"),
        ("Connect 4", {}, r"did you mean 'connect_four'\?$"),
        ("connect-four 4x5", {}, r"did you mean 'connect_four_4x5'\?$"),
        ("connect4_4x5", {}, r"did you mean 'connect_four_4x5'\?$"),
        ("tictactoe", {}, r"did you mean 'tic_tac_toe'\?$"),
        ("tic-tac-toe 3x3", {}, r"did you mean 'tic_tac_toe'\?$"),
        ("Go19x19", {}, r"did you mean 'go_19x19'\?$"),
        ("Reversi", {}, r"did you mean 'othello'\?$"),
        ("snakes", {}, "the games are .*connect_four, .*tic_tac_toe"),
        ("", {}, "unknown game ''"),
        ("tic_tac_toe_4x4", {}, "tic_tac_toe has one size only"),
        ("connect_four_4", {}, "does not name a size: write connect_four_<rows>x<columns>"),
        ("connect_four_4x4x4x4", {}, "does not name a size"),
        ("go_9x10", {}, "'go_9x10' does not name a size: write go_<size>x<size>, with numbers"),
        ("connect_four_4x4", {"rows": 4}, "already sets rows: give it once"),
        ("connect_four", {"column": 4}, "no option 'column': did you mean 'columns'"),
        ("connect_four", {"x": 4}, "no option 'x': its options are rows, columns, connect"),
        ("tic_tac_toe", {"size": 4}, "no option 'size': it takes no options"),
        ("connect_four", {"rows": 99}, "rows must be an integer from 1 to 31, not 99"),
        ("dots_and_boxes", {"rows": "3"}, "rows must be an integer from 1 to 31, not '3'"),
        ("connect_four", {"rows": 0}, "rows must be an integer from 1 to 31, not 0"),
        ("connect_four_4x5", {"connect": 6}, "connect must be an integer from 1 to 5, not 6"),
        ("connect_four", {"columns": True}, "columns must be an integer"),
        ("dots_and_boxes_3x32", {}, "columns must be an integer from 1 to 31, not 32"),
        *(("go", {"size": x}, "size must be an integer from 2 to 19") for x in (1, 20, 9.0, True)),
        *(
            ("go", {"komi": komi}, "komi must be a number")
            for komi in ("7", None, float("nan"), float("inf"), True)
        ),
        ("go", {"suicide": 1}, "suicide must be"),
        ("go", {"kommi": 6.5}, "did you mean 'komi'"),
        ("gomoku_4x4", {}, "gomoku: size must be an integer from 5 to 19, not 4"),
        ("gomoku", {"size": 20}, "gomoku: size must be an integer from 5 to 19, not 20"),
        ("gomoku", {"exactly_five": 1}, "gomoku: exactly_five must be true or false, not 1"),
        ("mnk_4x3x5", {}, "mnk: k must be an integer from 1 to 4, not 5"),
        ("mnk", {"m": 0}, "mnk: m must be an integer from 1 to 19, not 0"),
        ("mnk", {"n": 20}, "mnk: n must be an integer from 1 to 19, not 20"),
        *(("hex", {"size": x}, "size must be an integer from 2 to 13, not") for x in (1, 14, 5.0)),
        ("hex", {"swap": "yes"}, "swap must be true or false, not 'yes'"),
        *(
            ("mancala", options, "must be an integer from 1 to 10, not")
            for options in ({"pits": 0}, {"pits": 11}, {"seeds": 0}, {"seeds": 11}, {"seeds": 2.0})
        ),
        ("mancala", {"empty_capture": 1}, "empty_capture must be true or false, not 1"),
        *(
            ("othello", {"size": x}, "othello: size must be 4, 6 or 8, not ")
            for x in (0, 2, 5, 7, 10, -8, 8.0, "8", True, None)
        ),
        ("no_such_module:Game", {}, "cannot import 'no_such_module'"),
        ("azjax_envs.tic_tac_toe:TikTakToe", {}, "no 'TikTakToe': did you mean 'TicTacToe'"),
        ("azjax_envs.tic_tac_toe:TicTacToe", {"size": 4}, "it takes no options"),
        ("azjax_envs.tic_tac_toe:jnp", {}, "is not a game"),
        ("json:JSONDecoder", {}, "is not a game: it must be a class with the methods"),
        (":Game", {}, "write module:Class"),
    ],
)
def test_mistakes_are_one_clear_line(name, options, message):
    with pytest.raises(ValueError, match=message) as error:
        make(name, **options)
    assert "\n" not in str(error.value)


def test_a_game_of_ones_own_in_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "own_games.py").write_text(
        "import dataclasses\n"
        "from azjax_envs.tic_tac_toe import TicTacToe\n"
        "@dataclasses.dataclass(frozen=True)\n"
        "class Mine(TicTacToe):\n"
        "    size: int = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    assert make("own_games:Mine", size=4).size == 4
    assert str(tmp_path) not in sys.path


def test_an_import_error_inside_the_module_is_named(tmp_path, monkeypatch):
    (tmp_path / "broken_games.py").write_text("import a_missing_library\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="No module named 'a_missing_library'"):
        make("broken_games:Game")
