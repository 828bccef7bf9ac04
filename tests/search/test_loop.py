import functools

import chex
import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from azjax_envs import make

from azjax.search.descent import Selection, one_at_the_root
from azjax.search.loop import make_loop_fn
from azjax.search.tree import compact, whole_tree
from tests.oracles.searches import (
    BATCH,
    CONSIDERED,
    GAMES,
    POLICIES,
    SIMULATIONS,
    compiled_policy,
    compiled_stock,
    describe_nodes,
    random_params,
    random_positions,
)

whole = jax.jit(lambda tree: whole_tree(compact(tree)))


def problem(game, seed):
    """Returns the arguments of a compiled search: positions, a network and noise for a seed."""
    states_key, params_key, scale_key, key = jax.random.split(jax.random.key(seed), 4)
    return (
        random_params(game, params_key, scale=[0.3, 1.0, 4.0][seed % 3]),
        key,
        random_positions(game, states_key, BATCH),
        jax.random.uniform(scale_key, (BATCH, 1)).round(),
    )


WIDE = "tests.oracles.wide:Wide"  # many actions: rows are assembled from the nodes
# These take some seconds each to compile.
MORE_GAMES = [
    "gardner_chess",
    "go_3x3",
    "gomoku_5x5",
    "hex_3x3",
    "mancala_3x2",
    "mnk_4x3x3",
    "othello_4x4",
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "name", [*GAMES, WIDE, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE_GAMES)]
)
def test_equals_stock_mctx_to_the_last_bit(name, policy):
    game = make(name)
    terminal = 0
    for seed in range(3):
        arguments = problem(game, seed)
        ours = compiled_policy(game, policy)(*arguments)
        stock = compiled_stock(game, policy)(*arguments)
        chex.assert_trees_all_equal(ours.action, stock.action)
        chex.assert_trees_all_equal(ours.action_weights, stock.action_weights)
        tree, summary = ours.search_tree, ours.search_tree.summary()
        expected = stock.search_tree.summary()
        chex.assert_trees_all_equal(summary.visit_counts, expected.visit_counts)
        chex.assert_trees_all_equal(summary.qvalues, expected.qvalues)
        chex.assert_trees_all_equal(summary.value, expected.value)
        chex.assert_trees_all_equal(whole(tree), stock.search_tree)
        chex.assert_tree_all_finite((ours.action_weights, summary))
        terminal += jax.vmap(game.is_terminal)(arguments[2]).sum()
        # Make sure that the searches went deep and differ from each other.
        assert (summary.visit_counts.sum(-1) == SIMULATIONS).all()
        assert len(np.unique(tree.parents, axis=0)) > BATCH // 3
        assert tree.parents.max() > SIMULATIONS // 2
    assert 0 < terminal < BATCH


@pytest.mark.parametrize("policy", POLICIES)
def test_two_chunks_equal_one(policy):
    """A second call of the loop continues a tree that is not full, from where the first ended."""
    game = make("tic_tac_toe")
    selections = {
        "gumbel": Selection(
            one_at_the_root(
                functools.partial(
                    mctx.gumbel_muzero_root_action_selection,
                    num_simulations=SIMULATIONS,
                    max_num_considered_actions=CONSIDERED,
                    qtransform=mctx.qtransform_completed_by_mix_value,
                )
            ),
            functools.partial(
                mctx.gumbel_muzero_interior_action_selection,
                qtransform=mctx.qtransform_completed_by_mix_value,
            ),
        ),
        "puct": puct_selections(),
    }[policy]

    def two_chunks(params, recurrent_fn):
        ours = make_loop_fn(params, recurrent_fn, selections)

        def loop_fn(lower, upper, body, state):
            assert (lower, upper) == (0, SIMULATIONS)
            state = ours(0, SIMULATIONS // 2, body, state)
            return ours(SIMULATIONS // 2, SIMULATIONS, body, state)

        return loop_fn

    for seed in range(2):
        arguments = problem(game, seed)
        whole = compiled_policy(game, policy)(*arguments)
        halves = compiled_stock(game, policy, two_chunks)(*arguments)
        chex.assert_trees_all_equal(halves, whole)


def puct_selections():
    qtransform = functools.partial(mctx.qtransform_by_min_max, min_value=-1.0, max_value=1.0)
    select = functools.partial(mctx.muzero_action_selection, qtransform=qtransform)
    return Selection(one_at_the_root(functools.partial(select, depth=0)), select)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", GAMES)
def test_values_are_means_of_results_for_any_order_of_turns(name, policy):
    """The values are recomputed in numpy from each node's state, without rewards and discounts.

    The value of a simulation, from player 0's perspective, is the result if the game is over at its
    new node, and the network's value otherwise. A node's value is the mean over the nodes below it,
    from its mover's perspective. In dots and boxes the mover is often the parent's.
    """
    game = make(name)
    arguments = problem(game, 1)
    tree = compiled_policy(game, policy)(*arguments).search_tree
    _, over, mover, result = map(np.asarray, describe_nodes(game, tree))
    tree = jax.tree.map(np.asarray, tree)
    worth = np.where(over, result, np.where(mover == 0, 1, -1) * tree.raw_values)
    total, count = worth.astype(np.float64), np.ones_like(worth)
    rows = np.arange(BATCH)
    for node in range(SIMULATIONS, 0, -1):  # a parent is older than its children
        np.add.at(total, (rows, tree.parents[:, node]), total[:, node])
        np.add.at(count, (rows, tree.parents[:, node]), count[:, node])
    expected = total / count * np.where(mover == 0, 1, -1)
    np.testing.assert_array_equal(tree.node_visits, count)
    # The mean of a finished position contains the network's value, but nothing reads it.
    np.testing.assert_allclose(tree.node_values[~over], expected[~over], atol=1e-5)
    same_mover = mover[:, 1:] == mover[rows[:, None], tree.parents[:, 1:]]
    again = same_mover & ~over[:, 1:]
    assert again.any() == (name == "dots_and_boxes_2x2")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", GAMES)
def test_no_illegal_move_is_ever_searched(name, policy):
    """4096 roots are searched with networks that prefer illegal moves."""
    game = make(name)
    run = compiled_policy(game, policy)
    networks = [(1.0, 1e4), (0.0, 1e30), (1e3, 1e3), (1e4, 0.0)]
    checked = 0
    for seed in range(4096 // BATCH):
        scale, illegal = networks[seed % len(networks)]
        states_key, params_key, key = jax.random.split(jax.random.key(seed), 3)
        # With values down to -1, a visited losing move scores the same as an unvisited move.
        value = [0.0, 50.0, -50.0][seed % 3]
        params = random_params(game, params_key, scale=scale, value=value, illegal=illegal)
        states = random_positions(game, states_key, BATCH)
        output = run(params, key, states, jnp.ones((BATCH, 1)))
        legal, over, _, _ = map(np.asarray, describe_nodes(game, output.search_tree))
        visits = np.asarray(whole(output.search_tree).children_visits)
        running = ~over
        assert visits[running & (visits.sum(-1) > 0)].any()
        astray = (visits > 0) & ~legal & running[:, :, None]
        assert not astray.any(), f"{np.argwhere(astray)[:5]} with seed {seed}"
        playing = running[:, 0]
        assert legal[np.arange(BATCH), 0, output.action][playing].all()
        assert not np.asarray(output.action_weights)[playing][~legal[:, 0][playing]].any()
        checked += (running & (visits.sum(-1) > 0)).sum()
    assert checked > 4096
