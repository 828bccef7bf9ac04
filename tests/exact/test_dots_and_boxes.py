import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.evaluation.positions import random_positions
from azjax.exact.dots_and_boxes import (
    MOST_FREE_EDGES,
    DotsAndBoxesEndgames,
    best_margins,
    dots_and_boxes_table,
)
from azjax.exact.known_values import exact_values
from azjax.exact.solver import solve
from azjax.pytrees import take
from tests.oracles.minimax import Minimax


@pytest.mark.parametrize(
    ("size", "margin"),
    [
        ("1x1", -1),
        ("1x2", 0),
        ("1x3", -1),
        ("1x4", 0),
        ("1x5", -1),
        ("2x2", 2),
        ("2x3", -2),
        ("3x2", -2),
        ("3x3", -3),
    ],
)
def test_the_start_is_worth_the_known_margin(size, margin):
    """Known values: J. Barker and R. Korf, Solving Dots-And-Boxes, AAAI 2012, and before."""
    game = make(f"dots_and_boxes_{size}")
    table = dots_and_boxes_table(game)
    start = jax.tree.map(lambda x: x[None], game.init())
    scores = np.asarray(table.action_scores(start))
    assert scores.shape == (1, game.num_actions)
    assert scores.max() == margin == table.margins[0]
    assert table.margins[-1] == 0


def test_in_every_position_the_scores_are_the_solvers_margins_and_their_signs_its_results():
    game = make("dots_and_boxes_2x2")
    margins, results = solve(game, payoff="margin"), solve(game)
    decisions = margins.decisions
    assert len(decisions) == 5531
    scores = np.asarray(dots_and_boxes_table(game).action_scores(margins.states(decisions)))
    np.testing.assert_array_equal(scores, margins.action_values(decisions))
    expected = results.action_values(results.lookup(margins.states(decisions)))
    legal = np.isfinite(expected)
    np.testing.assert_array_equal(np.sign(scores[legal]), expected[legal])


def test_endgames_have_the_scores_of_the_whole_table():
    game = make("dots_and_boxes_3x3")
    states, _ = random_positions(game, jax.random.key(0), num_games=16)
    free = np.asarray(jax.vmap(game.legal_action_mask)(states)).sum(-1)
    states = take(states, np.flatnonzero(free <= MOST_FREE_EDGES)[::3])
    np.testing.assert_array_equal(
        DotsAndBoxesEndgames(game).action_scores(states),
        np.asarray(dots_and_boxes_table(game).action_scores(states)),
    )


@pytest.mark.parametrize(
    ("size", "scorer"),
    [((3, 3), dots_and_boxes_table), ((4, 4), DotsAndBoxesEndgames)],
    ids=["table", "endgames"],
)
def test_late_scores_are_those_of_an_independent_search(size, scorer):
    game = make("dots_and_boxes_{}x{}".format(*size))
    oracle = Minimax("dots_and_boxes(num_rows={},num_cols={},utility_margin=true)".format(*size))
    rng, step = random.Random(0), jax.jit(game.step)
    states, expected = [], []
    for _ in range(25):
        ours, theirs = game.init(), oracle.start()
        while not theirs.is_terminal():
            if len(theirs.legal_actions()) <= 9:
                sign = 1 if theirs.current_player() == 0 else -1
                row = np.full(game.num_actions, -np.inf)
                for action in theirs.legal_actions():
                    row[action] = sign * oracle.value(theirs.child(action))
                states.append(ours)
                expected.append(row)
            action = rng.choice(theirs.legal_actions())
            ours = step(ours, action)
            theirs = theirs.child(action)
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    scores = np.asarray(scorer(game).action_scores(states))
    assert len(expected) == 25 * 9
    np.testing.assert_array_equal(scores, np.stack(expected))


def test_a_board_of_too_many_edges_is_refused():
    with pytest.raises(ValueError, match="31 edges, at most 24 can be solved"):
        best_margins(make("dots_and_boxes_3x4"))


def test_large_boards_know_their_endgames():
    game = make("dots_and_boxes_6x6")  # 84 edges, more than bits of an integer
    values = exact_values(game)
    states, plies = random_positions(game, jax.random.key(0), num_games=2)
    known = values.known(states)
    np.testing.assert_array_equal(known, plies >= 84 - MOST_FREE_EDGES)
    scores = values.load().action_scores(take(states, np.flatnonzero(known)[-4:]))
    assert np.isfinite(scores).any(-1).all()
