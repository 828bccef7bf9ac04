"""What a page says about its game."""

import types

import pytest
from azjax_envs import make
from azjax_envs.tic_tac_toe import TicTacToe

from azjax.web import page_data
from azjax.web.page_data import describe_game, title_of


@pytest.mark.parametrize(
    ("game", "title"),
    [
        (make("go_7x7"), "Go 7x7"),
        (make("go_7x7", komi=9), "Go 7x7, komi 9"),
        (make("go_7x7", komi=9.0, suicide=True), "Go 7x7, komi 9, suicide"),
        (make("gomoku", exactly_five=True), "Gomoku, exactly five"),
    ],
)
def test_the_title_names_the_options_that_the_name_does_not_tell(game, title):
    assert title_of(game) == title


def test_the_title_of_a_game_that_no_name_leads_to():
    class MyOwnGame(TicTacToe):
        name = "my_own_game"

    assert title_of(MyOwnGame()) == "My own game"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("qubic:Qubic", "Qubic"),
        ("my_games.three_d:LineThree", "Line three"),
        ("notebook:make.<locals>.MyGame", "My game"),
        ("my_games:make_qubic", "Make qubic"),
        ("__main__:Game4", "Game4"),
        ("_", "_"),
    ],
)
def test_the_title_of_a_game_that_is_named_by_its_class(name, title):
    assert title_of(types.SimpleNamespace(name=name)) == title


def test_options_of_one_letter_are_written_as_in_mathematics(monkeypatch):
    monkeypatch.setattr(page_data, "game_from_name", lambda name: types.SimpleNamespace(n=4))
    game = types.SimpleNamespace(name="qubic:Qubic", n=3, size=5)
    assert title_of(game) == "Qubic, n = 3"


def test_names_are_looked_up_for_rolls_and_for_moves_that_always_have_the_same():
    ur, names = make("ur_1"), {}
    page_data.add_names(ur, ur.init(), names)
    page_data.add_names(ur, ur.chance_step(ur.init(), 1), names)  # its moves have parts
    assert names == {16 + k: [str(k)] for k in range(5)}
    go, names = make("go_2x2"), {}
    for _ in range(5):
        page_data.add_names(go, go.init(), names)
    assert {action: len(found) for action, found in names.items()} == dict.fromkeys(range(5), 3)
    assert page_data.fixed_names({0: ["a", "a"], 1: ["b", "c"]}, range(3)) == ["a", "1", "2"]


def test_strengths_are_numbers_of_simulations():
    levels = describe_game(make("tic_tac_toe"), 64)["levels"]
    assert [level["label"] for level in levels] == [
        "no search", "8 simulations", "32 simulations", "64 simulations (default)",
        "128 simulations", "512 simulations",
    ]  # fmt: skip
