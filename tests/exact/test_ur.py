"""Exact values of the Royal Game of Ur by its own solver."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs.ur import Ur

from azjax.exact.chance_solver import solve_chance
from azjax.exact.ur import Boards, TablePlayer, solve
from azjax.players.exact import exact_chance_player
from tests.oracles.dice import rolled_positions


@pytest.fixture(scope="module")
def two_pieces():
    return TablePlayer(Ur(2), solve(Ur(2)))


@pytest.mark.parametrize(
    ("pieces", "positions"), [(1, 248), (2, 13_112), (3, 264_304), (7, 137_913_936)]
)
def test_numbers_of_positions(pieces, positions):
    assert Boards(pieces).positions() == positions


@pytest.mark.parametrize(
    ("own", "other", "chance"), [(14, 14, 4 / 7), (13, 14, 116 / 161), (14, 13, 74 / 161)]
)
def test_the_last_piece_of_each_player(two_pieces, own, other, chance):
    """The chance to win before the roll, worked out by hand."""
    fields = {"own": jnp.uint16(1 << own - 1), "other": jnp.uint16(1 << other - 1)}
    off = {"own_off": jnp.uint8(1), "other_off": jnp.uint8(1)}
    state = dataclasses.replace(two_pieces.game.init(), **fields, **off)
    value = two_pieces.state_values(state)
    assert (value + 1) / 2 == pytest.approx(chance, abs=1e-6)


def test_moves_have_the_values_of_the_general_solver(two_pieces):
    game = two_pieces.game
    solution = solve_chance(game)
    assert two_pieces.state_values(game.init()) == pytest.approx(solution.value, abs=1e-5)
    states = rolled_positions(game, jax.random.key(0), 600, 60)
    ours = two_pieces.move_values(states)
    theirs = exact_chance_player(solution).move_values(states)
    np.testing.assert_allclose(ours, theirs, atol=2e-5)
