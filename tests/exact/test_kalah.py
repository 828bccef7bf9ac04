import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.evaluation.positions import random_positions
from azjax.exact.first_moves import start_result
from azjax.exact.kalah import (
    KalahTable,
    _of_seeds,
    _rank,
    best_margins,
    kalah_table,
    seeds_known,
    seeds_left,
)
from azjax.exact.known_values import exact_values
from azjax.exact.solver import solve
from azjax.pytrees import take
from tests.oracles import kalah


def _game(pits, seeds, empty_capture=False):
    return make("mancala", pits=pits, seeds=seeds, empty_capture=empty_capture)


_table = functools.lru_cache(lambda *options: kalah_table(_game(*options)))


@pytest.mark.parametrize(
    ("options", "margin"),
    [
        ((3, 3, True), 2),
        ((4, 3, False), 6),
        pytest.param((4, 3, True), 8, marks=pytest.mark.slow),
    ],
)
def test_the_start_is_worth_the_known_margin(options, margin):
    """With empty captures from Irving, Donkers and Uiterwijk, Solving Kalah, 2000."""
    game, table = _game(*options), _table(*options)
    start = jax.tree.map(lambda x: x[None], game.init())
    assert np.asarray(table.action_scores(start)).max() == margin
    assert start_result(game) == np.sign(margin)
    assert exact_values(game).complete


@pytest.mark.parametrize("empty_capture", [False, True])
def test_in_every_reachable_position_the_scores_are_the_solvers_margins(empty_capture):
    game = _game(3, 3, empty_capture)
    solution = solve(game, payoff="margin")
    decisions = solution.decisions
    assert len(decisions) > 10_000
    scores = np.asarray(_table(3, 3, empty_capture).action_scores(solution.states(decisions)))
    np.testing.assert_array_equal(scores, solution.action_values(decisions))


def test_endgames_of_a_large_board_are_worth_what_an_independent_search_says():
    game = _game(6, 4)
    table = KalahTable(game, jnp.asarray(best_margins(game, 8)))
    states, _ = random_positions(game, jax.random.key(0), num_games=100)
    states = take(states, np.asarray(seeds_left(states)) <= 8)
    assert len(states.own) > 200
    oracle = kalah.Solver(empty_capture=False)
    expected = [
        [_worth(oracle, tuple(own), tuple(other), pit) for pit in range(6)]
        for own, other in zip(states.own.tolist(), states.other.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(np.asarray(table.action_scores(states)), np.array(expected))


def _worth(oracle, own, other, pit):
    if not own[pit]:
        return -math.inf
    own, other, again = kalah.play(own, other, pit, empty_capture=False)
    if kalah.is_over(own):
        return own[-1] - other[-1]
    return oracle.margin(own, other) if again else -oracle.margin(other, own)


def test_all_rows_of_seeds_are_there_in_the_order_of_their_places():
    for holes, seeds in ((2, 7), (4, 5), (8, 3)):
        rows = _of_seeds(seeds, holes)
        assert len({tuple(row) for row in rows}) == len(rows) == math.comb(seeds + holes - 1, seeds)
        assert (rows.sum(1) == seeds).all()
        fewer = math.comb(seeds - 1 + holes, holes)
        places = np.asarray(_rank(jnp.asarray(rows, jnp.int32)))
        np.testing.assert_array_equal(places, fewer + np.arange(len(rows)))


def test_of_a_large_board_the_endgames_are_known():
    game = _game(6, 4)
    values = exact_values(game)
    assert not values.complete
    # 26 over 12 is 9,657,700, and 27 over 12 more than a table may have.
    assert seeds_known(game) == 14
    state = jax.tree.map(lambda x: x[None], game.init())
    assert not values.known(state).any()
    last = state.own.at[0, :6].set(np.uint8(2))
    assert values.known(type(state)(last, last * 0, state.player, state.forfeited)).all()
