import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.learning.batch import make_batch
from azjax.replay.buffer import (
    TopPolicy,
    Transition,
    add,
    init,
    pack_actions,
    pack_policy,
    unpack_policy,
)
from azjax.replay.sampling import Sample, draw_indices, examples_at
from azjax.replay.targets import value_targets
from tests.oracles.searches import random_positions
from tests.oracles.wide import Wide

RING, LANES, ACTIONS = 12, 5, 3


def random_transitions(rng, plies, *, ends):
    """Returns plies of games that end with probability `ends`; the states are their numbers."""
    over = rng.random((plies, LANES)) < ends
    return {
        "states": rng.integers(0, 1 << 30, (plies, LANES)),
        "policy": rng.dirichlet(np.ones(ACTIONS), (plies, LANES)),
        "reward": np.where(over, rng.choice([-1.0, 0.0, 1.0], (plies, LANES)), 0.0),
        "discount": np.where(over, 0, rng.choice([-1, 1], (plies, LANES), p=[0.6, 0.4])),
        "value": rng.uniform(-1, 1, (plies, LANES)).astype(np.float16),
        "learn": rng.random((plies, LANES)) < 0.6,
    }


def as_transitions(plies):
    return Transition(
        states={"board": jnp.asarray(plies["states"], jnp.int32)},
        policy=jnp.asarray(plies["policy"], jnp.float16),
        reward=jnp.asarray(plies["reward"], jnp.float16),
        discount=jnp.asarray(plies["discount"], jnp.int8),
        value=jnp.asarray(plies["value"], jnp.float16),
        learn=jnp.asarray(plies["learn"], bool),
    )


def new_ring():
    shapes = jax.eval_shape(
        lambda: jax.tree.map(lambda x: x[0], as_transitions(empty_transitions()))
    )
    return init(shapes, RING)


def empty_transitions():
    return {
        "states": np.zeros((1, LANES)),
        "policy": np.zeros((1, LANES, ACTIONS)),
        "reward": np.zeros((1, LANES)),
        "discount": np.zeros((1, LANES)),
        "value": np.zeros((1, LANES)),
        "learn": np.ones((1, LANES), bool),
    }


add_jit, targets_jit = jax.jit(add), jax.jit(lambda x: value_targets(x, root_value_weight=0.0))


def test_an_empty_ring():
    replay = new_ring()
    assert replay.filled == replay.position == 0
    assert replay.transitions.states["board"].shape == (RING, LANES)
    assert replay.transitions.policy.dtype == replay.transitions.value.dtype == jnp.float16
    assert replay.transitions.discount.dtype == jnp.int8


def test_the_ring_keeps_the_newest():
    """The ring is filled in steps, first in part and then twice around."""
    rng = np.random.default_rng(0)
    replay, plies = new_ring(), []
    for count in range(1, 8):
        rows = random_transitions(rng, 4, ends=0.25)
        replay = add_jit(replay, as_transitions(rows))
        plies += [{name: x[t] for name, x in rows.items()} for t in range(4)]
        plies = plies[-RING:]
        assert replay.filled == len(plies) == min(4 * count, RING)
        assert replay.position == 4 * count % RING
        oldest = 0 if 4 * count < RING else int(replay.position)
        for age, ply in enumerate(plies):
            place = (oldest + age) % RING
            np.testing.assert_array_equal(replay.transitions.states["board"][place], ply["states"])
            for name in ("policy", "value", "learn", "reward", "discount"):
                kept = getattr(replay.transitions, name)[place]
                np.testing.assert_array_equal(kept, ply[name].astype(kept.dtype))


def test_add_needs_a_divisor():
    rows = {name: np.repeat(x, 5, axis=0) for name, x in empty_transitions().items()}
    with pytest.raises(
        ValueError, match="5 plies cannot be added to a ring of 12 plies: they must divide it"
    ):
        add(new_ring(), as_transitions(rows))


def test_draws_are_uniform_over_what_is_known():
    rng = np.random.default_rng(0)
    known = rng.random((RING, LANES)) < 0.4
    known[0, 0] = known[-1, -1] = True  # both ends of the ring
    draws = 60_000
    indices = jax.jit(draw_indices, static_argnums=2)(jax.random.key(0), jnp.asarray(known), draws)
    assert indices.shape == (draws,)
    assert indices.dtype == jnp.int32
    counts = np.bincount(np.asarray(indices).ravel(), minlength=known.size).reshape(known.shape)
    assert not counts[~known].any()
    expected = draws / known.sum()
    chi2 = ((counts[known] - expected) ** 2 / expected).sum()
    freedom = known.sum() - 1
    assert chi2 < freedom + 5 * np.sqrt(2 * freedom)


def test_draws_from_one_or_nothing():
    only = jnp.zeros((RING, LANES), bool).at[7, 3].set(True)
    draw = jax.jit(draw_indices, static_argnums=2)
    np.testing.assert_array_equal(draw(jax.random.key(1), only, 64), 7 * LANES + 3)
    np.testing.assert_array_equal(draw(jax.random.key(1), ~only & False, 64) >= RING * LANES, 0)


def test_examples_are_what_was_written():
    rows = random_transitions(np.random.default_rng(1), RING, ends=0.3)
    replay = add_jit(new_ring(), as_transitions(rows))
    places = [(0, 0), (3, 4), (RING - 1, LANES - 1), (3, 4), (7, 1)]
    targets = targets_jit(replay)
    taken = jax.jit(examples_at)(
        replay, targets, jnp.asarray([t * LANES + lane for t, lane in places])
    )
    expected = jax.tree.map(
        lambda x: jnp.stack([x[t, lane] for t, lane in places]), as_transitions(rows)
    )
    chex.assert_trees_all_equal(taken.transitions, expected)
    np.testing.assert_array_equal(taken.outcome, [targets.outcome[place] for place in places])


# Policies over very many actions.

MANY, KEPT = 600, 128
pack_jit, unpack_jit = jax.jit(pack_policy), jax.jit(unpack_policy, static_argnums=1)


def policies(rng, weighted, count=MANY):
    """Returns policies, float32 [N, count], with the given numbers of actions above zero."""
    found = np.zeros((len(weighted), count), np.float32)
    for row, size in zip(found, weighted, strict=True):
        places = rng.permutation(count)[:size]
        row[places] = rng.dirichlet(np.ones(size))
    return found


def test_few_actions_are_kept_whole():
    policy = policies(np.random.default_rng(0), [512, 3, 1], count=512)
    packed = pack_jit(policy)
    np.testing.assert_array_equal(packed, policy.astype(np.float16))
    np.testing.assert_array_equal(unpack_jit(packed, 512), policy.astype(np.float16))


@pytest.mark.parametrize("count", [9, MANY])
def test_policies_that_are_sure_of_an_action_are_packed_alike(count):
    actions = jnp.array([0, 5, count - 1, min(KEPT, count - 1)])
    expected = pack_policy(jax.nn.one_hot(actions, count))
    chex.assert_trees_all_equal(pack_actions(actions, count), expected)
    chex.assert_trees_all_equal_dtypes(pack_actions(actions, count), expected)


def test_policies_of_few_weights_come_back_as_if_kept_whole():
    policy = policies(np.random.default_rng(1), [1, 2, 30, KEPT - 1, KEPT])
    policy[0] = 0
    policy[0, [0, MANY - 1]] = 0.25, 0.75  # both ends
    packed = pack_jit(policy)
    assert packed.actions.shape == packed.probabilities.shape == (5, KEPT)
    assert (packed.actions.dtype, packed.probabilities.dtype) == (np.int16, np.float16)
    back = unpack_jit(packed, MANY)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, policy.astype(np.float16))


def test_of_more_weights_the_largest_are_kept_and_sum_to_one():
    policy = policies(np.random.default_rng(2), [KEPT + 1, 300, MANY])
    back = np.asarray(unpack_jit(pack_jit(policy), MANY))
    for row, got in zip(policy, back, strict=True):
        kept = np.argsort(-row, kind="stable")[:KEPT]
        expected = np.zeros(MANY)
        expected[kept] = row[kept] / row[kept].sum(dtype=np.float64)
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-7)
        assert abs(got.sum() - 1) < 1e-3
        assert set(np.flatnonzero(got)) <= set(kept)
    # The dropped actions had weight, so the whole policy would differ.
    assert np.abs(back - policy).max(-1).min() > 0


def test_of_equal_weights_the_first_are_kept():
    policy = np.full((1, MANY), 1 / MANY, np.float32)
    packed = pack_jit(policy)
    np.testing.assert_array_equal(np.sort(packed.actions[0]), np.arange(KEPT))
    np.testing.assert_array_equal(packed.probabilities[0], np.float16(1 / KEPT))


@pytest.mark.parametrize(("count", "dtype"), [(2**15, np.int16), (2**15 + 1, np.int32)])
def test_every_action_has_a_number(count, dtype):
    policy = np.zeros((1, count), np.float32)
    policy[0, -1] = 1
    packed = pack_jit(policy)
    assert packed.actions.dtype == dtype
    np.testing.assert_array_equal(unpack_jit(packed, count), policy)


def test_learning_sees_the_same_batch_as_from_whole_policies():
    game = Wide(MANY, choices=40)
    states = random_positions(game, jax.random.key(0), 64)
    masks = np.asarray(jax.vmap(game.legal_action_mask)(states))
    policy = jnp.asarray(masks * np.random.default_rng(3).random(masks.shape), jnp.float32)
    policy /= jnp.maximum(policy.sum(-1, keepdims=True), 1e-6)
    rest = {"reward": jnp.zeros(64, jnp.float16), "discount": jnp.ones(64, jnp.int8)}
    rest |= {"value": jnp.zeros(64, jnp.float16), "learn": jnp.ones(64, bool)}
    rows = Transition(states=states, policy=pack_policy(policy), **rest)
    assert isinstance(rows.policy, TopPolicy)
    # Through the ring and back, one lane of 64 plies.
    ply = jax.tree.map(lambda x: jax.ShapeDtypeStruct((1, *x.shape[1:]), x.dtype), rows)
    replay = add(init(ply, 64), jax.tree.map(lambda x: x[:, None], rows))
    rows = examples_at(replay, targets_jit(replay), jnp.arange(64)[::-1])
    whole = Transition(states=states, policy=policy.astype(jnp.float16), **rest)
    whole = jax.tree.map(lambda x: x[::-1], whole)
    whole = Sample(whole, rows.outcome)
    batches = [make_batch(game, jax.random.key(1), x, symmetries=True) for x in (rows, whole)]
    chex.assert_trees_all_equal(*batches)
    assert (batches[0].policy > 0).sum(-1).max() > 20
