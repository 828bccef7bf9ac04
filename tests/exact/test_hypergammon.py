"""Exact values of hypergammon with one checker of each player, by hand and by GNU Backgammon."""

import importlib.util
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.exact.chance_solver import chance_keys, solve_chance
from azjax.exact.codec import join
from azjax.exact.hypergammon import Boards, TablePlayer, before_roll, find_moves, solve, start_value
from azjax.players.exact import exact_chance_player
from azjax.pytrees import take
from tests import absent

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "hypergammon_values.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, SCRIPT.stem, module)  # where dataclasses look for their types
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def solution(script):
    return solve_chance(script.FewCheckers())


def test_chances_of_bearing_off(script, solution):
    """A checker on points 1 to 6, the opponent's on its point 1: who does not bear off now loses.

    So many of the 36 rolls bear off. Either player then wins a gammon, two points of three. At the
    start no double is rolled, but later on it is.
    """
    rolls = np.array([36, 36, 36, 34, 31, 27])
    own = np.arange(1, 7)  # with one checker, a board has the number of its point
    words = Boards(1).words
    states = before_roll(solution.game, words(own), words(np.ones_like(own)))
    values = solution.state_values(states)
    np.testing.assert_allclose(values, (2 * rolls / 36 - 1) * 2 / 3, atol=1e-6)


def test_the_first_roll_is_no_double(solution):
    """The start's value is the mean of its 15 first rolls, each after its best move."""
    game = solution.game
    start = game.init()
    rolled = jax.vmap(game.chance_step, (None, 0))(start, np.arange(15))
    assert solution.value == pytest.approx(solution.state_values(rolled).mean(), abs=1e-7)


def test_values_are_those_of_gnu_backgammon(script, solution):
    """All positions before a roll that games reach, in points without the cube."""
    if script.program() is None:
        absent.skip("needs makehyper of GNU Backgammon (apt install gnubg)")
    found = script.differences(solution, script.make_database(1))
    assert len(found) == 495
    assert found.max() < 1e-5


@pytest.mark.parametrize("checkers", [1, 2])
def test_the_table_has_the_values_of_the_solver(script, checkers):
    """Of all positions before a roll that games reach; two checkers can hold a point."""
    game = script.FewCheckers(number=checkers)
    solution = solve_chance(game)
    boards = Boards(checkers)
    points = solve(game, boards, find_moves(game, boards))
    own, other = (x.ravel() for x in np.indices(points.shape))
    going_on = (boards.places[own, -1] > 0) & (boards.places[other, -1] > 0)
    own, other = own[going_on], other[going_on]
    states = before_roll(game, boards.words(own), boards.words(other))
    found = np.flatnonzero(np.isin(join(chance_keys(game, states)), solution.keys))
    assert len(found) == {1: 495, 2: 96349}[checkers]
    theirs = game.results[0] * solution.state_values(take(states, found))
    np.testing.assert_allclose(points[own[found], other[found]], theirs, atol=1e-5)
    assert start_value(game, boards, points) == pytest.approx(3 * solution.value, abs=1e-5)
    few = take(states, found[:: len(found) // 50][:42])
    rolled = jax.vmap(game.chance_step)(few, jnp.arange(42) % 21)
    ours = TablePlayer(game, boards, points).move_values(rolled)
    np.testing.assert_allclose(ours, exact_chance_player(solution).move_values(rolled), atol=1e-5)
