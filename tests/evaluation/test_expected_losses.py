"""Reports of games of chance: what moves give up of the expected result."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

import azjax
from azjax.evaluation.position_suites import GameSuites
from azjax.evaluation.scores import score_actions, score_values
from azjax.exact.chance_solver import solve_chance
from azjax.pytrees import take

GAME = make("ur_2")


@pytest.fixture(scope="module")
def suites():
    return GameSuites(GAME)


@functools.partial(jax.jit)
def _after(state, action):
    """Returns the position before the roll, and those after each outcome, for the mover."""
    mover = GAME.current_player(state)
    after = GAME.step(state, action)
    shares = GAME.chance_probabilities(after)
    rolled = jax.vmap(GAME.chance_step, (None, 0))(after, jnp.arange(len(shares)))
    signs = jnp.where(jax.vmap(GAME.current_player)(rolled) == mover, 1, -1)
    return GAME.is_terminal(after), GAME.returns(after)[mover], shares * signs, rolled


def test_scores_are_means_over_the_next_roll(suites):
    (suite,) = suites.fixed
    solution = solve_chance(GAME)
    assert (np.isfinite(suite.action_scores).sum(-1) > 1).all()
    for row in np.random.default_rng(0).choice(suite.num_positions, 20, replace=False):
        state = take(suite.states, row)
        legal = np.flatnonzero(GAME.legal_action_mask(state))
        np.testing.assert_array_equal(legal, np.flatnonzero(np.isfinite(suite.action_scores[row])))
        for action in legal:
            over, result, weights, rolled = _after(state, jnp.int32(action))
            expected = result if over else np.dot(weights, solution.state_values(rolled))
            assert suite.action_scores[row, action] == pytest.approx(float(expected), abs=1e-6)


def test_a_report_tells_the_points_that_moves_lose(suites):
    names = {"exact": "exact", "random": "random"}
    players = {name: azjax.load_player(name, game=GAME) for name in names}
    report = azjax.report(GAME, players, own_games=8, suites=suites)
    exact, chance = report.players
    assert [score.suite for score in exact.scores] == [
        "choices in random games",
        "choices in exact's games",
    ]
    for ours, theirs in zip(exact.scores, chance.scores, strict=True):
        assert ours.expected
        assert theirs.expected
        assert (ours.loss, ours.mistakes, ours.optimal_rate) == (pytest.approx(0, abs=1e-7), 0, 1)
        assert 0.01 < theirs.loss < 0.1
        assert 0 < theirs.loss_error < theirs.loss
    first, others = report.sentences()
    assert first == (
        "Perfect play loses 0.000% of the points by a move in "
        f"{exact.scores[0].positions:,} choices in random games of ur_2."
    )
    assert others.startswith("In the same positions random play loses ")
    assert report.to_dict()["players"][1]["scores"][0]["loss"] == chance.scores[0].loss


def test_losses_are_shares_of_the_points(suites):
    """A win given up for a loss is all points; an illegal move loses them."""
    (suite,) = suites.fixed
    scores, best = suite.action_scores, suite.action_scores.max(-1)
    worst = np.where(np.isfinite(scores), scores, np.inf).argmin(-1)
    score = score_actions(suite, worst)
    assert score.loss == pytest.approx(np.mean((best - scores[np.arange(len(best)), worst]) / 2))
    illegal = score_actions(suite, np.isfinite(scores).argmin(-1))
    assert illegal.loss == pytest.approx(np.mean((best + 1) / 2), abs=1e-6)
    assert illegal.illegal == suite.num_positions


def test_a_value_is_right_if_it_names_the_favourite(suites):
    (suite,) = suites.fixed
    truth = suite.results
    assert score_values(suite, truth).right_rate == 1
    assert score_values(suite, 0.5 * truth).right_rate == 1
    wrong = score_values(suite, -truth)
    assert wrong.right <= (truth == 0).sum()
    assert wrong.squared_error == pytest.approx(np.mean(4 * truth**2))


def test_a_game_too_large_to_solve_has_matches_alone():
    assert GameSuites(make("ur_3"), max_states=2_000).fixed == ()
