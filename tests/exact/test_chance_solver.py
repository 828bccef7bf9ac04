"""Exact values of games of chance."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.cli.main import main
from azjax.exact.chance_solver import solve_chance
from tests.oracles.pig import Pig


def test_endings_of_ur():
    """A 1 bears off: 4/7. One field behind, a 2 bears off, and a 1 gives another roll."""
    game = make("ur_1")
    solution = solve_chance(game)
    # Of the 248 positions, in 31 a piece is off. In none do both players stand on one field.
    assert solution.chance.sum() == 217

    def wins(own, other):
        state = dataclasses.replace(
            game.init(), own=jnp.uint16(1 << own - 1), other=jnp.uint16(1 << other - 1)
        )
        return (solution.state_values(jax.tree.map(lambda x: x[None], state))[0] + 1) / 2

    assert wins(14, 14) == pytest.approx(4 / 7, abs=1e-7)
    assert wins(13, 14) == pytest.approx(116 / 161, abs=1e-7)
    assert wins(14, 13) == pytest.approx(74 / 161, abs=1e-7)


def test_pig_in_small():
    """Pig to 3 points by hand: iterate the two totals without points of the turn."""
    value = solve_chance(Pig(3)).value
    wins = np.zeros((10, 3, 3))
    for turn in range(10):
        wins[turn, max(3 - turn, 0) :] = 1
    for _ in range(200):
        for turn in (2, 1, 0):
            passed, left = 1 - wins[0].T, 3 - turn
            roll = (passed[:left] + wins[turn + 2 : turn + 7, :left].sum(0)) / 6
            wins[turn, :left] = np.maximum(roll, passed[turn:]) if turn else roll
    assert value == pytest.approx(2 * wins[0, 0, 0] - 1, abs=1e-6)


def test_command(capsys):
    assert main(["solve", "ur_1", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["game"] == "ur_1"
    assert 0 < facts["value"] < 0.2  # the first player is ahead
