import sys

import pytest
from azjax_envs import available_games, make


def test_every_listed_name_makes_a_game_of_that_name():
    for name in available_games():
        assert make(name).name == name
        assert make(name) == make(name)
        assert hash(make(name)) == hash(make(name))


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
        ("conect_four", {}, "unknown game 'conect_four': did you mean 'connect_four'"),
        ("dots_and_bokses_2x2", {}, "did you mean 'dots_and_boxes'"),
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
