"""What a page says about its game."""

import pytest
from azjax_envs import make
from azjax_envs.tic_tac_toe import TicTacToe

from azjax.web.page_data import title_of


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
