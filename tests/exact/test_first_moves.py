"""Positions after one move, compared with the solver, which uses no tables or papers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.hex import Hex
from azjax_envs.mancala import Mancala

from azjax.evaluation.scores import score_values
from azjax.exact.first_moves import first_moves, start_result
from azjax.exact.solver import solve


@pytest.mark.parametrize("name", ["hex_3x3", "dots_and_boxes_2x1", "mancala_3x2"])
def test_results_are_those_of_the_solved_game(name):
    game = make(name)
    first = first_moves(game)
    solution = solve(game)
    index = solution.lookup(first.states)
    assert len(index) == 1 + np.asarray(game.legal_action_mask(game.init())).sum()
    np.testing.assert_array_equal(first.results, solution.action_values(index).max(-1))
    assert len(set(first.results)) > 1


# Winning first moves: 5x5 as solved here before, 6x6 to 9x9 as the papers count them.
@pytest.mark.parametrize(("size", "winning"), [(5, 13), (6, 24), (7, 27), (8, 32), (9, 53)])
def test_winning_first_moves_of_hex_are_symmetric(size, winning):
    game = make(f"hex_{size}x{size}")
    first = first_moves(game)
    lost = first.results[1:] < 0  # for the second player, who is to move
    assert first.results[0] == 1
    assert lost.sum() == winning
    np.testing.assert_array_equal(lost, lost[::-1])  # the board turned half around
    assert lost.reshape(size, size)[size // 2, size // 2]  # the centre wins
    # From top to bottom the short diagonal is the shorter way: all of it wins.
    assert np.fliplr(lost.reshape(size, size)).diagonal().all()
    stones = jax.vmap(game.observe)(first.states)[1:, :, :, 1].reshape(size**2, -1)
    np.testing.assert_array_equal(np.asarray(stones), np.eye(size**2))


@pytest.mark.parametrize(
    "game", [make("connect_four_5x6"), make("go_9x9"), make("gomoku_9x9"), make("mancala_6x6")]
)
def test_nothing_is_said_of_games_whose_first_moves_are_not_known(game):
    assert first_moves(game) is None


@pytest.mark.parametrize(
    ("game", "result"),
    [
        (make("othello"), 0),
        (make("gardner_chess"), 0),
        (make("gomoku"), 1),
        (make("hex_11x11"), 1),
        (make("go_7x7", komi=9.0), 0),
        (make("go_7x7", komi=9.5), -1),
        (make("go_5x5", komi=24.5), 1),
        (make("dots_and_boxes_5x4"), 0),
        (make("mancala_5x3"), 1),
        (make("mancala_6x4", empty_capture=True), 1),
        (make("mancala"), 1),
    ],
)
def test_of_some_games_the_start_alone_is_known(game, result):
    first = first_moves(game)
    assert first.name == "the start"
    np.testing.assert_array_equal(first.results, [result])
    assert int(jax.vmap(game.current_player)(first.states)[0]) == 0


@pytest.mark.parametrize(
    "game",
    [
        make("connect_four_4x4"),
        make("go_2x2", komi=-0.5),
        make("go_2x2", komi=0.5),
        make("mnk_3x3x3"),
        make("mnk_3x4x3"),
        make("mnk_4x3x3"),
        Hex(2),
        Hex(2, swap=True),
        Hex(3, swap=True),
        make("othello_4x4"),
        *(Mancala(1, seeds, empty_capture=True) for seeds in range(1, 7)),
        *(Mancala(2, seeds, empty_capture=True) for seeds in (1, 2)),
        Mancala(3, 1, empty_capture=True),
    ],
    ids=lambda game: game.name,
)
def test_published_results_are_those_of_solved_games(game):
    solution = solve(game)
    start = jax.tree.map(lambda x: jnp.asarray(x)[None], game.init())
    assert start_result(game) == solution.action_values(solution.lookup(start)).max()


def test_where_nothing_is_drawn_the_sign_decides():
    first = first_moves(make("hex_3x3"))
    nearly_drawn = score_values(first, 0.01 * first.results)
    assert nearly_drawn.right == 10
    np.testing.assert_allclose(nearly_drawn.squared_error, 0.99**2, rtol=1e-6)
    assert score_values(first, first.results).squared_error == 0
    assert score_values(first, -0.01 * first.results).right == 0
