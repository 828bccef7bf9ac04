import functools
import math
import random

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.exact.solver import solve
from azjax.players.uct import UCTPlayer, uct_search
from tests.oracles import ucb1
from tests.players.positions import after, random_lines, spiel_after

TIC_TAC_TOE = make("tic_tac_toe")


@functools.partial(jax.jit, static_argnums=(0, 3))
def search(game, key, states, simulations):
    return uct_search(UCTPlayer(game, simulations), key, states)


@pytest.mark.parametrize(
    ("name", "spiel"),
    [
        ("tic_tac_toe", "tic_tac_toe"),
        ("dots_and_boxes_1x2", "dots_and_boxes(num_rows=1,num_cols=2)"),
    ],
)
def test_visits_are_those_of_plain_ucb1(name, spiel):
    """Every step down the tree, in every simulation, is one that UCB1 would take."""
    game, simulations = make(name), 200
    lines = [[], *random_lines(spiel, 11, random.Random(0))]
    tree = search(game, jax.random.key(0), after(game, lines), simulations)
    tree = jax.tree.map(np.asarray, tree)
    for row, state in enumerate(spiel_after(spiel, lines)):
        visits = ucb1.replay(
            state,
            math.sqrt(2),
            parents=tree.parents[row],
            actions=tree.action_from_parent[row],
            playouts=tree.raw_values[row],
            tie_breaks=tree.children_prior_logits[row],
        )
        np.testing.assert_array_equal(tree.children_visits[row, 0], visits)
        assert visits.sum() == simulations


def test_playouts_differ_from_node_to_node():
    tree = search(TIC_TAC_TOE, jax.random.key(0), after(TIC_TAC_TOE, [[]] * 12), 200)
    assert 0.2 < tree.raw_values[:, 1:100].std() < 1.0
    assert len(np.unique(tree.children_prior_logits[:, 0])) > 50


def test_wins_in_one_blocks_and_stays_legal():
    states = after(
        TIC_TAC_TOE,
        [
            [0, 3, 1, 4],  # X wins at 2
            [0, 3, 1, 4, 8],  # O wins at 5
            [0, 4, 1],  # O must stop X at 2
            [0, 1, 2, 4, 3, 5, 7, 6],  # one cell is left
            [0, 3, 1, 4, 2],  # over
        ]
        + [[]] * 7,
    )
    actions = jax.jit(UCTPlayer(TIC_TAC_TOE, 200).__call__)(jax.random.key(0), states)
    np.testing.assert_array_equal(actions[:4], [2, 5, 2, 8])
    assert ((actions >= 0) & (actions < 9)).all()
    visits = np.asarray(search(TIC_TAC_TOE, jax.random.key(0), states, 200).children_visits[:, 0])
    illegal = ~np.asarray(jax.vmap(TIC_TAC_TOE.legal_action_mask)(states))
    running = np.arange(12) != 4
    assert visits[running][illegal[running]].sum() == 0


def test_more_simulations_find_the_truth():
    solution = solve(TIC_TAC_TOE)
    decisions = solution.decisions[::40]
    states = solution.states(decisions)
    wrong = {}
    for simulations in (10, 500):
        act = jax.jit(UCTPlayer(TIC_TAC_TOE, simulations).__call__)
        wrong[simulations] = solution.mistakes(decisions, act(jax.random.key(0), states)).sum()
    assert wrong[10] > 8
    assert wrong[500] <= 2


def test_batches_too_large_for_the_memory_are_searched_in_turn(monkeypatch):
    """Each of several chunks, the last one filled up, gets its own states."""
    monkeypatch.setattr(UCTPlayer, "_states_at_once", lambda self: 3)
    won = [0, 3, 1, 4]  # X wins at 2
    lines = [[*won, 8], won, won, won, [*won, 8], [*won, 8], won]
    actions = jax.jit(UCTPlayer(TIC_TAC_TOE, 64).__call__)(
        jax.random.key(0), after(TIC_TAC_TOE, lines)
    )
    np.testing.assert_array_equal(actions, [5, 2, 2, 2, 5, 5, 2])
