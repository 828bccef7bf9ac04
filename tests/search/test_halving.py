"""Rounds of sequential halving made at once: the visits of stock mctx, one simulation at a time."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from mctx._src.seq_halving import get_sequence_of_considered_visits

from azjax.config import GumbelConfig, SearchConfig
from azjax.pytrees import take
from azjax.search.halving import phases
from azjax.search.tree import whole_tree
from tests.oracles.searches import BATCH, compiled_policy, compiled_stock
from tests.search.test_loop import WIDE, problem

whole = jax.jit(whole_tree)


def search_config(game, simulations, considered, *, rescale=False):
    value_scale = 0.1 if game.name == "tic_tac_toe" else 0.25
    gumbel = GumbelConfig(considered, value_scale=value_scale, rescale_values=rescale)
    return SearchConfig("gumbel", simulations, gumbel)


def both(game, config, seed):
    """Returns our output and that of mctx, and how many considered actions each root lacks."""
    arguments = problem(game, seed)
    ours = compiled_policy(game, "gumbel", one_at_a_time=False, config=config)(*arguments)
    stock = compiled_stock(game, "gumbel", config=config)(*arguments)
    legal = np.asarray(jax.vmap(game.legal_action_mask)(arguments[2]).sum(-1))
    considered = min(config.gumbel.max_considered_actions, game.num_actions)
    return ours, stock, np.maximum(considered - legal, 0)


def step_widths(considered, simulations):
    return [phase.width for phase in phases(considered, simulations) for _ in range(phase.steps)]


@pytest.mark.parametrize("considered", [1, 2, 3, 6, 7, 16, 17])
def test_the_steps_are_the_rounds_of_mctx(considered):
    for simulations in range(1, 201):
        levels = get_sequence_of_considered_visits(considered, simulations)
        _, counts = np.unique(levels, return_counts=True)
        assert step_widths(considered, simulations) == list(counts)


# Numbers of simulations and of considered actions, powers of two and others.
CASES = [
    ("connect_four", 1, 16),
    ("connect_four", 33, 7),
    ("connect_four", 64, 4),
    ("dots_and_boxes_2x2", 24, 3),
    ("tic_tac_toe", 24, 6),
    (WIDE, 24, 16),
]
MORE_CASES = [
    *(("connect_four", n, m) for n, m in [(8, 1), (50, 2), (200, 5), (7, 16)]),
    *((name, 48, m) for name in ["othello_4x4", "go_3x3", "mancala_3x2"] for m in (2, 5)),
    *((name, 100, 16) for name in ["gomoku_5x5", "hex_3x3", "gardner_chess", "mnk_4x3x3"]),
]


@pytest.mark.parametrize(
    ("name", "simulations", "considered"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE_CASES)],
)
def test_roots_with_all_considered_actions_equal_stock_mctx(name, simulations, considered):
    """Moves, visits and the whole tree, with noise in half of the positions."""
    game = make(name)
    config = search_config(game, simulations, considered)
    for seed in range(2):
        ours, stock, lacking = both(game, config, seed)
        full = np.flatnonzero(lacking == 0)
        assert len(full) > BATCH // 16
        chex.assert_trees_all_equal(ours.action[full], stock.action[full])
        tree, expected = take(whole(ours.search_tree), full), take(stock.search_tree, full)
        for exact in ("children_visits", "parents", "action_from_parent", "node_visits"):
            chex.assert_trees_all_equal(getattr(tree, exact), getattr(expected, exact))
        # Larger batches may sum the network's products in another order.
        weights = ours.action_weights[full], stock.action_weights[full]
        chex.assert_trees_all_close(*weights, atol=1e-6)
        chex.assert_trees_all_close(tree.node_values, expected.node_values, atol=1e-6)
        assert (tree.node_visits[:, 0] == simulations + 1).all()


@pytest.mark.parametrize(("simulations", "considered"), [(24, 6), (33, 7)])
def test_other_roots_visit_the_actions_that_they_have(simulations, considered):
    """In each round as many as are legal, so the most visited action is in all rounds."""
    game = make("tic_tac_toe")
    ours, _, lacking = both(game, search_config(game, simulations, considered), 0)
    visits = -np.sort(-np.asarray(ours.search_tree.summary().visit_counts), axis=-1)
    widths = np.array(step_widths(considered, simulations))
    assert len(np.unique(lacking)) > 4
    for row, few in zip(visits, considered - lacking, strict=True):
        # A game that is over goes on by its first action, as in mctx.
        made = np.minimum(widths, max(few, 1))
        np.testing.assert_array_equal(row, [(made > rank).sum() for rank in range(len(row))])
    tree = whole(ours.search_tree)
    absent = np.asarray(tree.parents[:, 1:]) < 0
    np.testing.assert_array_equal(absent.sum(-1), simulations - visits.sum(-1))
    assert not np.asarray(tree.node_visits[:, 1:])[absent].any()
    chex.assert_tree_all_finite((ours.action_weights, tree.node_values))
    legal = ~np.asarray(tree.root_invalid_actions)
    chosen = legal[np.arange(BATCH), ours.action]
    assert chosen[legal.any(-1)].all()


def test_rescaled_values_keep_the_number_of_visits():
    """Values that a round's visits rescale may choose other actions, but not other numbers."""
    game = make("connect_four")
    ours, stock, lacking = both(game, search_config(game, 24, 6, rescale=True), 0)
    visits, expected = (np.sort(x.search_tree.summary().visit_counts) for x in (ours, stock))
    np.testing.assert_array_equal(visits[lacking == 0], expected[lacking == 0])


def test_evaluating_actions_one_by_one_changes_nothing(monkeypatch):
    game = make("connect_four")
    config, arguments = search_config(game, 12, 6), problem(game, 1)

    def run():
        compiled = compiled_policy.__wrapped__(game, "gumbel", one_at_a_time=False, config=config)
        return compiled(*arguments), compiled.lower(*arguments).as_text().count("while")

    assert BATCH * 6 <= 1024
    together, loops = run()
    monkeypatch.setattr("azjax.search.loop._MOST_ROWS", BATCH)
    one_by_one, more_loops = run()
    assert more_loops > loops
    chex.assert_trees_all_equal(one_by_one.action, together.action)
    chex.assert_trees_all_close(one_by_one.action_weights, together.action_weights, atol=1e-6)


def test_each_round_gives_a_considered_action_one_visit():
    """A root's visits after more simulations extend those after fewer, round by round."""
    game = make("connect_four")
    before = None
    for simulations in (3, 7):
        config = search_config(game, simulations, 7)
        ours, _, lacking = both(game, config, 2)
        visits = np.asarray(ours.search_tree.summary().visit_counts)[lacking == 0]
        assert visits.max() == 1
        if before is not None:
            assert (visits >= before).all()
        before = visits
    assert jnp.all(before == 1)
