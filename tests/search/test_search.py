import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import init_batch, make

from azjax.config import SearchConfig
from azjax.search.dirichlet import add_dirichlet_noise
from azjax.search.model import mask_logits, transition
from azjax.search.policies import draw_moves
from azjax.search.search import search
from tests.oracles.searches import (
    BATCH,
    POLICIES,
    compiled_search,
    flat_params,
    make_evaluate,
    random_params,
    random_positions,
)
from tests.players.positions import after

TIC_TAC_TOE = make("tic_tac_toe")
DOTS = make("dots_and_boxes_2x2")
SIMULATIONS = 128


@functools.partial(jax.jit, static_argnums=0)
def transitions(game, states, actions):
    return jax.vmap(functools.partial(transition, game))(states, actions)


def filled(lines):
    """Returns the positions after lines of tic-tac-toe; empty boards fill up the batch."""
    return after(TIC_TAC_TOE, lines + [[]] * (BATCH - len(lines)))


def noise_off():
    return jnp.zeros(BATCH, jnp.float32), jnp.zeros(BATCH, jnp.float32)


# The transition rule.


def test_transition_where_turns_alternate():
    lines_actions_expected = [
        ([], 4, (0, -1)),  # the game continues
        ([0, 3, 1, 4], 2, (1, 0)),  # X wins
        ([0, 3, 1, 4, 8], 5, (1, 0)),  # O wins: the reward is the mover's
        ([0, 1, 2, 4, 3, 5, 7, 6], 8, (0, 0)),  # the board is full
        ([0, 3, 1, 4, 2], 8, (0, 0)),  # the game was over
        ([4], 4, (-1, 0)),  # taken cell: the mover loses
        ([0, 3], 9, (-1, 0)),  # no such cell
        ([0], -1, (-1, 0)),
    ]
    lines, actions, expected = zip(*lines_actions_expected, strict=True)
    states = after(TIC_TAC_TOE, list(lines))
    after_states, reward, discount = transitions(TIC_TAC_TOE, states, jnp.asarray(actions))
    np.testing.assert_array_equal(np.stack([reward, discount], -1), expected)
    assert reward.dtype == discount.dtype == jnp.float32
    # After the end nothing changes.
    same = jax.tree.map(lambda a, b: np.array_equal(a[4], b[4]), states, after_states)
    assert all(jax.tree.leaves(same))


def test_transition_where_the_mover_moves_again():
    # The top left box has the edges 0, 2, 6 and 7; player 1 closes it.
    won = [0, 2, 6, 7, 9, 8, 5, 10, 1, 3, 11, 4]  # player 0 closes the last box, 3 to 1
    lost = [0, 2, 6, 7, 5, 11, 3, 4, 10, 9, 1, 8]  # player 0 closes the last box, 1 to 3
    lines_actions_expected = [
        ([], 0, (0, -1)),
        ([0, 2, 6], 7, (0, 1)),  # closes a box and moves again
        ([0, 2], 7, (0, -1)),
        (won[:-1], won[-1], (1, 0)),
        (lost[:-1], lost[-1], (-1, 0)),
        (won, 0, (0, 0)),  # the game was over
        ([0, 2, 6, 7], 7, (-1, 0)),  # taken edge: the mover loses
    ]
    lines, actions, expected = zip(*lines_actions_expected, strict=True)
    _, reward, discount = transitions(DOTS, after(DOTS, list(lines)), jnp.asarray(actions))
    np.testing.assert_array_equal(np.stack([reward, discount], -1), expected)


# What a search finds.


@pytest.mark.parametrize("policy", POLICIES)
def test_wins_in_one_and_blocks_without_knowledge(policy):
    states = filled(
        [
            [0, 3, 1, 4],  # X wins at 2
            [0, 3, 1, 4, 8],  # O wins at 5
            [0, 4, 1],  # O must stop X at 2
            [4, 0, 2],  # O must stop X at 6
            [0, 1, 2, 4, 3, 5, 7, 6],  # one cell is left
        ]
    )
    run = compiled_search(TIC_TAC_TOE, policy, SIMULATIONS)
    result = run(flat_params(TIC_TAC_TOE), jax.random.key(0), states, *noise_off())
    best = result.action if policy == "gumbel" else jnp.argmax(result.visits, -1)
    np.testing.assert_array_equal(best[:5], [2, 5, 2, 6, 8])
    np.testing.assert_array_equal(jnp.argmax(result.policy, -1)[:5], [2, 5, 2, 6, 8])
    np.testing.assert_array_equal(result.action_values[jnp.arange(2), best[:2]], [1, 1])
    assert (result.value[:2] > 0.2).all()  # from the mover's perspective, X first and then O


@pytest.mark.parametrize("policy", POLICIES)
def test_results_are_complete_and_legal(policy):
    """All results are finite distributions without illegal moves, also where the game is over."""
    states = random_positions(TIC_TAC_TOE, jax.random.key(1), BATCH)
    params = random_params(TIC_TAC_TOE, jax.random.key(2), scale=2.0, illegal=1e4)
    ones = jnp.ones(BATCH, jnp.float32)
    for fraction in (0.0, 0.25, 1.0):
        run = compiled_search(TIC_TAC_TOE, policy, SIMULATIONS)
        result = run(params, jax.random.key(3), states, ones, fraction * ones)
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(result))
        legal = np.asarray(jax.vmap(TIC_TAC_TOE.legal_action_mask)(states))
        playing = legal.any(-1)
        assert 0 < playing.sum() < BATCH
        np.testing.assert_allclose(result.policy.sum(-1), 1, rtol=1e-5)
        np.testing.assert_allclose(result.prior.sum(-1), 1, rtol=1e-5)
        made = np.asarray(result.visits.sum(-1))
        np.testing.assert_array_equal(made[legal.sum(-1) > 1], SIMULATIONS)
        assert ((made > 0) & (made <= SIMULATIONS)).all()  # fewer where a move is forced
        for found in (result.policy, result.prior, result.visits, result.action_values):
            assert not np.asarray(found)[playing][~legal[playing]].any()
        assert legal[np.arange(BATCH), result.action][playing].all()
        assert not np.asarray(result.action_values)[np.asarray(result.visits) == 0].any()
        assert (np.abs(result.value) <= 1).all()
        # The value is the expectation under the policy, over the moves that were tried.
        tried = np.where(np.asarray(result.visits) > 0, result.policy, 0.0)
        mean = (tried * result.action_values).sum(-1) / tried.sum(-1)
        np.testing.assert_allclose(result.value[playing], mean[playing], atol=1e-5)
        if policy == "puct":
            np.testing.assert_allclose(result.policy, result.visits / SIMULATIONS, rtol=1e-6)
        assert result.action.dtype == result.visits.dtype == jnp.int32


def test_each_game_has_its_own_gumbel_scale():
    params = random_params(TIC_TAC_TOE, jax.random.key(0), scale=0.3)
    states = filled([])
    scale = (jnp.arange(BATCH) % 2).astype(jnp.float32)
    run = compiled_search(TIC_TAC_TOE, "gumbel", SIMULATIONS)
    actions = np.stack(
        [run(params, jax.random.key(s), states, scale, 0 * scale).action for s in range(3)]
    )
    assert len(np.unique(actions[:, ::2])) == 1
    assert len(np.unique(actions[:, 1::2])) > 4


def test_each_game_has_its_own_noise_fraction():
    params = random_params(TIC_TAC_TOE, jax.random.key(0), scale=0.3)
    states = filled([[4, 0]] * BATCH)
    fraction = (jnp.arange(BATCH) % 2).astype(jnp.float32)
    run = compiled_search(TIC_TAC_TOE, "puct", SIMULATIONS)
    prior = np.asarray(run(params, jax.random.key(0), states, 0 * fraction, fraction).prior)
    assert len(np.unique(prior[::2], axis=0)) == 1
    assert len(np.unique(prior[1::2], axis=0)) == BATCH // 2


# Dirichlet noise.

ROWS, ACTIONS = 20_000, 7


@functools.partial(jax.jit, static_argnames="total")
def noisy_prior(key, logits, mask, fraction, *, total):
    noisy = add_dirichlet_noise(key, mask_logits(logits, mask), mask, fraction, total=total)
    return noisy, jax.nn.softmax(noisy)


def noise_case(legal):
    logits = jnp.broadcast_to(jnp.asarray([3.0, -1, 0, 9, 0.5, 1, -2]), (ROWS, ACTIONS))
    return logits, jnp.broadcast_to(jnp.isin(jnp.arange(ACTIONS), jnp.asarray(legal)), logits.shape)


@pytest.mark.parametrize(("alpha", "legal"), [(1.0, [0, 1, 2, 6]), (0.03, [2, 5])])
def test_dirichlet_noise_has_the_moments_of_one_over_the_legal_actions(alpha, legal):
    logits, mask = noise_case(legal)
    _, noise = noisy_prior(
        jax.random.key(0), logits, mask, jnp.ones((ROWS, 1)), total=len(legal) * alpha
    )
    noise = np.asarray(noise)
    k = len(legal)
    np.testing.assert_allclose(noise.sum(-1), 1, rtol=1e-5)
    illegal = np.delete(noise, legal, axis=1)
    np.testing.assert_array_equal(illegal, 0)
    mean, variance = 1 / k, (k - 1) / (k * k * (k * alpha + 1))
    np.testing.assert_allclose(noise[:, legal].mean(0), mean, rtol=0.03)
    np.testing.assert_allclose(noise[:, legal].var(0), variance, rtol=0.03)
    # Concentrated noise is nearly all on one action. It must never fall back to a uniform one.
    if alpha < 0.1:
        assert (np.abs(noise[:, legal] - mean).max(-1) == 0).mean() < 1e-3


def test_dirichlet_noise_is_mixed_in_by_its_fraction():
    logits, mask = noise_case([0, 1, 2, 6])
    prior = np.asarray(jax.nn.softmax(mask_logits(logits, mask)))
    fraction = jnp.asarray([0.0, 0.25])[jnp.arange(ROWS) % 2][:, None]
    noisy, mixed = noisy_prior(jax.random.key(1), logits, mask, fraction, total=4.0)
    np.testing.assert_array_equal(noisy[::2], mask_logits(logits, mask)[::2])
    mixed = np.asarray(mixed)[1::2]
    np.testing.assert_array_equal(mixed[:, [3, 4, 5]], 0)
    assert (mixed >= 0.75 * prior[1::2] - 1e-6).all()
    uniform = np.where(mask[0], 0.25, 0)
    np.testing.assert_allclose(mixed.mean(0), 0.75 * prior[0] + 0.25 * uniform, atol=2e-3)


def test_dirichlet_noise_with_one_or_no_legal_action():
    for legal in ([3], []):
        logits, mask = noise_case(legal)
        for fraction in (0.25, 1.0):
            noisy, prior = noisy_prior(
                jax.random.key(2), logits, mask, jnp.full((ROWS, 1), fraction), total=0.03
            )
            assert np.isfinite(noisy).all()
            expected = mask[0] if legal else np.full(ACTIONS, 1 / ACTIONS)
            np.testing.assert_allclose(prior, np.broadcast_to(expected, prior.shape), rtol=1e-5)


def test_moves_are_drawn_by_visits_and_temperature():
    count = 30_000
    visits = np.asarray([0, 1, 3, 0, 12, 16])
    shares = jnp.broadcast_to(visits / np.float32(32), (count, 6))
    for heat in (1.0, 2.0, 0.5, 0.25, 0.0):
        moves = np.asarray(draw_moves(jax.random.key(0), shares, jnp.full((count, 1), heat)))
        assert moves.dtype == np.int32
        drawn = np.bincount(moves, minlength=6) / count
        expected = visits.astype(float) ** (1 / heat) if heat else visits == 16
        np.testing.assert_allclose(drawn, expected / expected.sum(), atol=0.012)
        assert drawn[0] == drawn[3] == 0


@pytest.mark.parametrize("name", ["connect_four", "gardner_chess"])  # with a list of moves
def test_root_logits_of_ones_own(name):
    game, config = make(name), SearchConfig(num_simulations=2)
    params = flat_params(game)
    states = init_batch(game, jax.random.key(0), 2)
    legal = np.flatnonzero(game.legal_action_mask(game.init()))
    best = legal[jnp.asarray([2, 5])]
    logits = jnp.full((2, game.num_actions), -9.0).at[jnp.arange(2), best].set(9.0)
    find = functools.partial(search, game, make_evaluate(game), config=config)
    result = jax.jit(find)(params, jax.random.key(0), states, root_logits=logits)
    np.testing.assert_array_equal(result.action, best)
    np.testing.assert_allclose(result.prior[jnp.arange(2), best], 1, atol=1e-5)
