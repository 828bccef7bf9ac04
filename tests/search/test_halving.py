"""Rounds of sequential halving made at once: the visits of stock mctx, one simulation at a time."""

import chex
import jax
import numpy as np
import pytest
from azjax_envs import make
from mctx._src.seq_halving import get_sequence_of_considered_visits

from azjax.config import GumbelConfig, SearchConfig
from azjax.pytrees import take
from azjax.search.halving import round_widths, rounds_of_all, rounds_of_full
from azjax.search.tree import compact, whole_tree
from tests.oracles.searches import BATCH, compiled_policy, compiled_stock
from tests.search.test_loop import WIDE, problem

whole = jax.jit(lambda tree: whole_tree(compact(tree)))


def search_config(game, simulations, considered, *, rescale=False):
    value_scale = 0.1 if game.name == "tic_tac_toe" else 0.25
    gumbel = GumbelConfig(considered, value_scale=value_scale, rescale_values=rescale)
    return SearchConfig("gumbel", simulations, gumbel)


def both(game, config, seed, steps):
    """Returns our output and that of mctx, and the number of legal actions of each root."""
    arguments = problem(game, seed)
    ours = compiled_policy(game, "gumbel", steps=steps, config=config)(*arguments)
    stock = compiled_stock(game, "gumbel", config=config)(*arguments)
    return ours, stock, np.asarray(jax.vmap(game.legal_action_mask)(arguments[2]).sum(-1))


def widths_of(phases):
    return [phase.width for phase in phases for _ in range(phase.steps)]


@pytest.mark.parametrize("considered", [0, 1, 2, 3, 6, 7, 16, 17])
def test_the_rounds_are_those_of_mctx(considered):
    for simulations in range(1, 201):
        levels = get_sequence_of_considered_visits(considered, simulations)
        _, counts = np.unique(levels, return_counts=True)
        assert round_widths(considered, simulations) == list(counts)
        if considered:
            assert widths_of(rounds_of_full(considered, simulations)) == list(counts)
            widths = widths_of(rounds_of_all(considered, simulations))
            for number in range(min(2, considered), considered + 1):
                rounds = round_widths(number, simulations)
                assert len(widths) >= len(rounds)
                assert all(a >= b for a, b in zip(widths, rounds, strict=False))


# Numbers of simulations and of considered actions, powers of two and others.
CASES = [("connect_four", 33, 7), ("dots_and_boxes_2x2", 24, 3)]
MORE_CASES = [
    ("connect_four", 1, 16),
    ("connect_four", 64, 4),
    ("tic_tac_toe", 24, 16),
    (WIDE, 24, 16),
    *(("connect_four", n, m) for n, m in [(8, 1), (50, 2), (200, 5), (7, 16)]),
    *((name, 48, m) for name in ["othello_4x4", "go_3x3", "mancala_3x2"] for m in (2, 5)),
    *((name, 100, 16) for name in ["gomoku_5x5", "hex_3x3", "gardner_chess", "mnk_4x3x3"]),
]
ALL_CASES = [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE_CASES)]


@pytest.mark.parametrize(("name", "simulations", "considered"), ALL_CASES)
def test_rounds_equal_stock_mctx(name, simulations, considered):
    """Also where fewer actions are legal than are considered, with noise in half of the roots."""
    game = make(name)
    config = search_config(game, simulations, considered)
    legal = []
    for seed in range(2):
        ours, stock, number = both(game, config, seed, "rounds")
        rows = np.flatnonzero(number > 1)
        legal += list(number[rows])
        summary, expected = (x.search_tree.summary() for x in (ours, stock))
        chex.assert_trees_all_equal(ours.action, stock.action)
        chex.assert_trees_all_equal(summary.visit_counts[rows], expected.visit_counts[rows])
        assert (summary.visit_counts[rows].sum(-1) == simulations).all()
        # Larger batches may sum the network's products in another order.
        for name in ("qvalues", "value"):
            pair = getattr(summary, name)[rows], getattr(expected, name)[rows]
            chex.assert_trees_all_close(*pair, atol=1e-6)
        weights = ours.action_weights[rows], stock.action_weights[rows]
        chex.assert_trees_all_close(*weights, atol=1e-6)
        # A forced move, or a game that is over: fewer visits, and the same move.
        others = np.delete(summary.visit_counts, rows, axis=0)
        assert (others.sum(-1) <= simulations).all()
        chex.assert_tree_all_finite((ours.action_weights, summary))
    assert len(np.unique(legal)) > 2


@pytest.mark.parametrize(("name", "simulations", "considered"), ALL_CASES)
def test_fixed_steps_equal_stock_mctx_where_all_considered_actions_are_legal(
    name, simulations, considered
):
    """The whole tree is equal, node by node."""
    game = make(name)
    config = search_config(game, simulations, considered)
    for seed in range(2):
        ours, stock, number = both(game, config, seed, "fixed")
        full = np.flatnonzero(number >= min(considered, game.num_actions))
        assert len(full) > BATCH // 20
        chex.assert_trees_all_equal(ours.action[full], stock.action[full])
        tree, expected = take(whole(ours.search_tree), full), take(stock.search_tree, full)
        for exact in ("children_visits", "parents", "action_from_parent", "node_visits"):
            chex.assert_trees_all_equal(getattr(tree, exact), getattr(expected, exact))
        weights = ours.action_weights[full], stock.action_weights[full]
        chex.assert_trees_all_close(*weights, atol=1e-6)
        chex.assert_trees_all_close(tree.node_values, expected.node_values, atol=1e-6)


@pytest.mark.parametrize(
    ("simulations", "considered"), [(24, 6), pytest.param(33, 7, marks=pytest.mark.slow)]
)
def test_fixed_steps_visit_the_actions_that_a_root_has(simulations, considered):
    """In each round as many as are legal, so the most visited action is in all rounds."""
    game = make("tic_tac_toe")
    config = search_config(game, simulations, considered)
    ours, _, number = both(game, config, 0, "fixed")
    visits = -np.sort(-np.asarray(ours.search_tree.summary().visit_counts), axis=-1)
    widths = np.array(round_widths(considered, simulations))
    assert len(np.unique(number)) > 4
    for row, legal in zip(visits, number, strict=True):
        # A game that is over goes on by its first action, as in mctx.
        made = np.minimum(widths, max(legal, 1))
        np.testing.assert_array_equal(row, [(made > rank).sum() for rank in range(len(row))])
    tree = whole(ours.search_tree)
    absent = np.asarray(tree.parents[:, 1:]) < 0
    np.testing.assert_array_equal(absent.sum(-1), simulations - visits.sum(-1))
    assert not np.asarray(tree.node_visits[:, 1:])[absent].any()
    chex.assert_tree_all_finite((ours.action_weights, tree.node_values))
    legal = ~np.asarray(tree.root_invalid_actions)
    assert legal[np.arange(BATCH), ours.action][legal.any(-1)].all()


def test_rescaled_values_keep_the_number_of_visits():
    """Values that a round's visits rescale may choose other actions, but not other numbers."""
    game = make("connect_four")
    ours, stock, number = both(game, search_config(game, 24, 6, rescale=True), 0, "rounds")
    visits, expected = (np.sort(x.search_tree.summary().visit_counts) for x in (ours, stock))
    np.testing.assert_array_equal(visits[number > 1], expected[number > 1])


def test_evaluating_actions_one_by_one_changes_nothing(monkeypatch):
    game = make("connect_four")
    config, arguments = search_config(game, 12, 6), problem(game, 1)

    def run():
        compiled = compiled_policy.__wrapped__(game, "gumbel", steps="fixed", config=config)
        lowered = compiled.lower(*arguments)
        return lowered.compile()(*arguments), lowered.as_text().count("stablehlo.while")

    assert BATCH * 6 <= 1024
    together, loops = run()
    monkeypatch.setattr("azjax.search.loop._MOST_ROWS", BATCH)
    one_by_one, more_loops = run()
    assert more_loops > loops
    chex.assert_trees_all_equal(one_by_one.action, together.action)
    chex.assert_trees_all_close(one_by_one.action_weights, together.action_weights, atol=1e-6)
