import functools
import random

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.evaluation.batch_evaluation import choose
from azjax.exact.solver import solve
from azjax.players.minimax import MinimaxPlayer, minimax_values
from tests.players.positions import after, random_lines, spiel_after


@functools.partial(jax.jit, static_argnums=(0, 1))
def values_of(game, depth, states):
    return jax.vmap(functools.partial(minimax_values, game, depth))(states)


def test_full_depth_is_exact():
    game = make("tic_tac_toe")
    solution = solve(game)
    indices = np.append(solution.decisions[::25], np.zeros(75, np.int32))
    states = solution.states(indices)
    exact = solution.action_values(indices)
    values = np.where(np.isfinite(exact), values_of(game, 9, states), -np.inf)
    np.testing.assert_array_equal(values.max(-1), exact.max(-1))
    best = exact == exact.max(-1, keepdims=True)
    np.testing.assert_array_equal(values == values.max(-1, keepdims=True), best)
    actions = choose(MinimaxPlayer(game, 9), jax.random.key(0), states, 256)
    assert not solution.mistakes(indices, actions).any()
    # Equal moves are all played: the start has nine.
    assert set(actions[-75:]) == set(range(9))


def full_width(state, depth, player):
    """Returns `player`'s value by trying everything; 0 at the horizon."""
    if state.is_terminal():
        return state.returns()[player]
    if depth == 0:
        return 0.0
    values = [full_width(state.child(a), depth - 1, player) for a in state.legal_actions()]
    return max(values) if state.current_player() == player else min(values)


@pytest.mark.parametrize(
    ("name", "spiel", "depth"),
    [
        ("connect_four_4x4x3", "connect_four(rows=4,columns=4,x_in_row=3)", 1),
        ("connect_four_4x4x3", "connect_four(rows=4,columns=4,x_in_row=3)", 2),
        ("connect_four_4x4x3", "connect_four(rows=4,columns=4,x_in_row=3)", 3),
        # A closed box moves again: a horizon of four plies may be three of one player's.
        ("dots_and_boxes_1x2", "dots_and_boxes(num_rows=1,num_cols=2)", 4),
    ],
)
def test_a_limited_depth_is_the_full_width_search_s(name, spiel, depth):
    game = make(name)
    lines = random_lines(spiel, 40, random.Random(depth))
    found = np.asarray(values_of(game, depth, after(game, lines)))
    decided = 0
    for row, state in zip(found, spiel_after(spiel, lines), strict=True):
        legal, mover = state.legal_actions(), state.current_player()
        expected = {a: full_width(state.child(a), depth - 1, mover) for a in legal}
        best = max(expected.values())
        assert max(row[legal]) == best
        assert [a for a in legal if row[a] == best] == [a for a in legal if expected[a] == best]
        decided += best != 0
    assert decided > 3


def test_ended_games_are_no_trouble():
    game = make("connect_four_4x4x3")
    over = after(game, [[0, 1, 0, 1, 0], []])
    actions = jax.jit(MinimaxPlayer(game, 3))(jax.random.key(0), over)
    assert ((actions >= 0) & (actions < 4)).all()
