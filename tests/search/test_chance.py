"""Searches of games of chance, against stock mctx, exact expectations and lists of moves."""

import functools
from dataclasses import dataclass
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.ur import Ur

from azjax.config import GumbelConfig, SearchConfig
from azjax.exact.chance_solver import chance_keys, solve_chance
from azjax.exact.codec import join
from azjax.search.chance_nodes import ChanceNodes, num_outcomes, with_chance, with_chance_nodes
from azjax.search.descent import Selection
from azjax.search.search import search, search_with_tree
from tests.oracles.dice import rolled_positions, stock_search
from tests.oracles.pig import Pig
from tests.oracles.searches import make_evaluate, random_params

UR = make("ur_2")
KEY = jax.random.key(0)
BATCH, SIMULATIONS = 48, 48


@dataclass(frozen=True)
class ListedUr(Ur):
    """Ur with lists of legal moves: never more than one for each piece and a new one."""

    pieces: int = 2
    max_legal_actions = 3  # of 16


@functools.lru_cache
def found(game, algorithm, steps="rounds"):
    """Returns positions of a game, and the results and trees of a search with a random network."""
    states = rolled_positions(game, KEY, BATCH, 30)
    evaluate, params = make_evaluate(game), random_params(game, jax.random.key(1))
    gumbel = GumbelConfig(max_considered_actions=2)
    config = SearchConfig(algorithm, num_simulations=SIMULATIONS, gumbel=gumbel)

    @jax.jit
    def run(states):
        return search_with_tree(
            game,
            evaluate,
            params,
            KEY,
            states,
            config=config,
            steps=steps,
        )

    return states, *jax.device_get(run(states))


def test_puct_visits_what_stock_mctx_visits():
    states, result, tree = found(UR, "puct")
    evaluate, params = make_evaluate(UR), random_params(UR, jax.random.key(1))
    puct = SearchConfig("puct").puct
    key = jax.random.split(KEY, 3)[0]  # of the tree
    stock = jax.jit(
        lambda states: stock_search(
            UR, evaluate, params, key, states, simulations=SIMULATIONS, puct=puct
        )
    )(states)
    np.testing.assert_array_equal(result.visits, stock.search_tree.summary().visit_counts)
    np.testing.assert_array_equal(result.policy, stock.action_weights)
    # The trees are equal but below ends of games, which mctx takes for chance nodes.
    goes_on = ~np.asarray(jax.vmap(jax.vmap(UR.is_terminal))(tree.states)).any(-1)
    assert goes_on.sum() > 8
    np.testing.assert_array_equal(tree.parents[goes_on], stock.search_tree.parents[goes_on])
    actions = stock.search_tree.action_from_parent
    np.testing.assert_array_equal(tree.actions[goes_on], actions[goes_on])


@pytest.mark.parametrize(
    ("algorithm", "steps"),
    [
        ("gumbel", "rounds"),
        ("gumbel", "fixed"),
        ("gumbel", "single"),
        ("gumbel", "anytime"),
        ("puct", "single"),
    ],
)
def test_trees_keep_the_rules_and_share_visits_by_the_dice(algorithm, steps):
    states, result, tree = found(UR, algorithm, steps)
    check_tree(UR, states, result, tree, algorithm)


def check_tree(game, states, result, tree, algorithm):
    """Checks each edge against the rules, and each node's value against those below it."""
    rows = np.arange(BATCH)[:, None]
    above = np.maximum(tree.parents, 0)
    real = tree.parents >= 0
    parents = jax.tree.map(lambda x: x[rows, above], tree.states)
    nodes = ChanceNodes(game)
    legal = np.asarray(jax.vmap(jax.vmap(nodes.legal_action_mask))(parents))
    over = np.asarray(jax.vmap(jax.vmap(game.is_terminal))(tree.states))
    goes_on = ~over[rows, above]
    chosen = np.take_along_axis(legal, np.maximum(tree.actions, 0)[..., None], -1)[..., 0]
    assert chosen[real & goes_on].all()
    assert result.visits.shape == (BATCH, game.num_actions)
    np.testing.assert_allclose(result.policy.sum(-1), 1, atol=1e-5)
    # Visits of a chance node's outcomes are as due, the first among equals.
    is_chance = np.asarray(jax.vmap(jax.vmap(game.is_chance))(tree.states))
    shares = np.asarray(jax.vmap(jax.vmap(game.chance_probabilities))(tree.states))
    counts = np.zeros(shares.shape, int)
    lanes, places = np.nonzero(real & is_chance[rows, above])
    outcomes = tree.actions[lanes, places] - game.num_actions
    counts[lanes, above[lanes, places], outcomes] = tree.visits[lanes, places]
    busy = is_chance & (tree.visits > 3)
    assert busy.sum() > 20
    for share, count in zip(shares[busy], counts[busy], strict=True):
        assert count.tolist() == visits_due(share, count.sum())
    # A node's value is the mean of its evaluation and its children's values. Gumbel's chance nodes
    # have the mean of outcomes, and their own evaluation for those without visits.
    mean, visits = tree.evaluations.astype(float).copy(), np.maximum(tree.visits, 1)
    for lane, place in zip(*np.nonzero(real), strict=True):
        value = tree.rewards[lane, place] + tree.discounts[lane, place] * tree.values[lane, place]
        above_it = lane, tree.parents[lane, place]
        share = tree.visits[lane, place] / visits[above_it]
        if algorithm == "gumbel" and is_chance[above_it]:
            share = shares[above_it][tree.actions[lane, place] - game.num_actions]
        mean[above_it] += share * (value - tree.evaluations[above_it])
    seen = (tree.visits > 0) & ~over
    np.testing.assert_allclose(mean[seen], tree.values[seen], atol=1e-5)


def visits_due(shares, visits):
    """Returns how many of the visits go to each outcome, by exact fractions."""
    exact = [Fraction(float(share)).limit_denominator(100) for share in shares]
    counts = [0] * len(exact)
    for _ in range(visits):
        due = [share / (count + 1) for share, count in zip(exact, counts, strict=True)]
        counts[due.index(max(due))] += 1
    return counts


@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
def test_lists_of_moves_make_no_difference(algorithm):
    states, result, _ = found(UR, algorithm)
    _, listed, nodes = found(ListedUr(), algorithm)
    np.testing.assert_array_equal(listed.visits, result.visits)
    np.testing.assert_array_equal(listed.action, result.action)
    np.testing.assert_allclose(listed.policy, result.policy, atol=1e-6)
    check_tree(UR, states, listed, nodes, algorithm)


def test_games_without_chance_have_no_chance_nodes():
    game, evaluate = make("tic_tac_toe"), make_evaluate(make("tic_tac_toe"))
    assert with_chance_nodes(game, evaluate) == (game, evaluate)
    selection = Selection(print, print)
    assert with_chance(selection, num_outcomes(game)) is selection


def errors(game, algorithm, simulations):
    """Returns how far the root's values are from exact ones, if nothing is known of positions."""
    states = rolled_positions(game, KEY, 512, 60)
    _, rows = np.unique(join(chance_keys(game, states)), return_index=True)
    states = jax.tree.map(lambda x: x[rows], states)
    config = SearchConfig(algorithm, num_simulations=simulations)

    def nothing(params, key, states):
        flat = jnp.zeros((len(rows), game.num_actions))
        return flat, flat[:, 0]

    run = jax.jit(
        lambda states: search(game, nothing, (), KEY, states, config=config, steps="single").value
    )
    return np.abs(run(states) - solve_chance(game).state_values(states))


def test_values_tend_to_exact_expectations():
    """In Pig to 4 points; the mean error falls to a tenth from 256 to 4,096 simulations."""
    found = errors(Pig(4), "gumbel", 4096)
    assert len(found) > 40
    assert found.mean() < 0.005
    assert found.max() < 0.0125
