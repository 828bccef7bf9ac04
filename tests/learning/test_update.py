"""Batches, and updates on one device and on several."""

import dataclasses
import functools
from dataclasses import replace

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from azjax_envs import make

from azjax.compact_states import drop_unobserved
from azjax.config import Config, LearningConfig, NetworkConfig
from azjax.learning.batch import Batch, make_batch
from azjax.learning.loss import alphazero_loss
from azjax.learning.update import init_learner, make_optimizer, update
from azjax.network.two_headed import make_network
from azjax.replay.buffer import BeforeDice, Transition
from azjax.replay.sampling import Sample
from azjax.replay.targets import expected_result
from azjax.sharding import EVERYWHERE, SPLIT, make_mesh, shard
from tests.oracles.pig import Pig
from tests.oracles.searches import random_positions

GAME = make("tic_tac_toe")
SIZE = 16


# Batches.


def test_batch_is_what_the_mover_sees():
    states = random_positions(GAME, jax.random.key(0), 128)
    policy = jax.random.uniform(jax.random.key(1), (128, 9)).astype(jnp.float16)
    nothing = jnp.zeros(128, jnp.float16)
    rows = Transition(states, policy, nothing, jnp.ones(128, jnp.int8), nothing, nothing == 0)
    outcome = jnp.linspace(0, 1, 3 * 128).reshape(128, 3)
    sample = Sample(rows, outcome)
    made = jax.jit(functools.partial(make_batch, GAME), static_argnames="symmetries")
    plain = made(jax.random.key(2), sample, symmetries=False)
    np.testing.assert_array_equal(plain.observations, jax.vmap(GAME.observe)(states))
    np.testing.assert_array_equal(plain.masks, jax.vmap(GAME.legal_action_mask)(states))
    np.testing.assert_array_equal(plain.policy, policy)
    assert plain.policy.dtype == jnp.float32
    turned = made(jax.random.key(2), sample, symmetries=True)
    for batch in (plain, turned):
        np.testing.assert_array_equal(batch.outcome, outcome)
        np.testing.assert_array_equal(batch.masks.sum(-1), plain.masks.sum(-1))
        np.testing.assert_allclose(batch.policy.sum(-1), plain.policy.sum(-1), rtol=1e-5)
    assert (turned.policy != plain.policy).any(-1).mean() > 0.7


@pytest.mark.parametrize("rolls", [1, 3])
def test_a_third_of_the_positions_are_shown_before_their_dice(rolls):
    """In Pig, where a 1 passes the turn to the other player. One in `rolls` follows a roll."""
    game, size = Pig(6), 3000
    start = game.init()
    before = dataclasses.replace(start, turn=jnp.int32(2), rolling=jnp.bool_(True))
    outcomes = jnp.arange(size) % 6
    after = jax.jit(jax.vmap(game.chance_step, in_axes=(None, 0)))(before, outcomes)
    same = outcomes > 0
    luck = jnp.full(size, 0.25, jnp.float16)  # of the mover after the dice
    follows = jnp.arange(size) // 6 % rolls == 0
    earlier = dataclasses.replace(
        jax.tree.map(lambda x: jnp.stack([x] * size), before), rolling=follows
    )
    dice = BeforeDice(earlier, same, luck)
    policy = jnp.full((size, 2), 0.5, jnp.float16)
    nothing = jnp.zeros(size, jnp.float16)
    rows = Transition(
        drop_unobserved(game, after),
        policy,
        nothing,
        jnp.ones(size, jnp.int8),
        nothing,
        nothing == 0,
        before_dice=dataclasses.replace(dice, states=drop_unobserved(game, dice.states)),
    )
    outcome = jnp.tile(jnp.array([0.7, 0.1, 0.2]), (size, 1)).at[~follows].set(jnp.nan)
    made = jax.jit(functools.partial(make_batch, game), static_argnames="symmetries")
    batch = made(jax.random.key(0), Sample(rows, outcome), symmetries=True)
    shown = (np.asarray(batch.observations) == game.observe(before)[None]).all((1, 2, 3))
    assert shown.sum() == 1000
    assert 200 < shown[-750:].sum() < 300  # where recorded games are
    np.testing.assert_array_equal(batch.observations[~shown], jax.vmap(game.observe)(after)[~shown])
    assert not batch.masks[shown].any()
    assert not batch.policy[shown].any()
    assert (batch.policy[~shown] == 0.5).all()
    np.testing.assert_array_equal(batch.outcome[~shown], outcome[~shown])
    ours, theirs = [0.575, 0.1, 0.325], [0.325, 0.1, 0.575]
    turned = np.isclose(batch.outcome[shown], theirs, rtol=1e-6).all(1)
    assert np.isclose(batch.outcome[shown], np.where(turned[:, None], theirs, ours)).all()
    assert 0.1 < turned.mean() < 0.24  # a sixth


# Updates.

DENSE = NetworkConfig(architecture="mlp", blocks=1, channels=16, norm="none", value_hidden=8)
TOWER = NetworkConfig(blocks=1, channels=8, value_hidden=8, value_head="wdl")


def fixed_batch():
    """Returns a batch sorted by the number of marks, so that equal shares have other statistics."""
    states = random_positions(GAME, jax.random.key(7), SIZE)
    observations = jax.vmap(GAME.observe)(states)
    masks = jax.vmap(GAME.legal_action_mask)(states)
    policy = jax.random.uniform(jax.random.key(8), masks.shape) * masks
    policy /= jnp.maximum(policy.sum(-1, keepdims=True), 1e-9)
    outcome = jax.nn.one_hot(np.random.default_rng(0).integers(0, 3, SIZE), 3)
    batch = Batch(observations=observations, masks=masks, policy=policy, outcome=outcome)
    order = jnp.argsort(observations.sum((1, 2, 3)))
    return jax.tree.map(lambda x: x[order], batch)


@functools.lru_cache
def compiled_update(network_config, devices, shared=True, **learning):
    """Returns (network, optimizer, jitted update under shard_map on that number of devices)."""
    config = Config(
        network=network_config,
        learning=LearningConfig(
            **{"schedule": "constant", "warmup_updates": 0, "batch_size": SIZE} | learning
        ),
    )
    network = replace(make_network(GAME, network_config), shared_statistics=shared)
    optimizer = make_optimizer(config.learning, 100)
    mesh = make_mesh(jax.devices()[:devices])
    assert mesh.size == devices
    function = functools.partial(update, network, optimizer, alphazero_loss, key=jax.random.key(0))
    sharded = shard(function, mesh, (EVERYWHERE, SPLIT), EVERYWHERE)
    # Unoptimised: compiling takes far longer than a few updates.
    options = {"xla_backend_optimization_level": 0}
    return network, optimizer, jax.jit(sharded, compiler_options=options)


def run_updates(network_config, devices, count=1, *, batch=None, shared=True, **learning):
    network, optimizer, step = compiled_update(network_config, devices, shared, **learning)
    batch = fixed_batch() if batch is None else batch
    variables = jax.jit(network.init)(jax.random.key(0))
    learner, history = init_learner(variables, optimizer), []
    for _ in range(count):
        # Never two calls in flight: XLA's CPU backend may deadlock in their collectives.
        learner, losses = jax.block_until_ready(step(learner, batch))
        history.append(jax.tree.map(float, losses))
    assert learner.num_updates == count
    return learner.variables, learner.optimizer_state, history


def test_one_update_is_gradient_descent_on_the_loss():
    """The expected loss is written with optax's functions and the network's public `apply`."""
    options = {"optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.0, "clip_norm": 1e9}
    learning = options | {"l2": 0.01}
    network, _, _ = compiled_update(DENSE, 1, **learning)
    batch = fixed_batch()
    before = jax.jit(network.init)(jax.random.key(0))

    def loss_fn(params):
        prediction = network.apply({"params": params, "stats": before["stats"]}, batch.observations)
        logits = jnp.where(batch.masks, prediction.policy_logits, -1e30)
        policy = optax.safe_softmax_cross_entropy(logits, batch.policy)
        value = 2 * optax.l2_loss(prediction.value, expected_result(batch.outcome))
        return (
            policy.mean(),
            value.mean(),
            0.01 * optax.tree.norm(params, squared=True),
        )

    def total(params):
        policy, value, l2 = loss_fn(params)
        return policy + value + l2

    gradient = jax.jit(jax.grad(total))(before["params"])
    after, _, (losses,) = run_updates(DENSE, 1, **learning)
    policy, value, _ = loss_fn(before["params"])
    np.testing.assert_allclose(losses["train/loss"], policy + value, rtol=1e-5)
    np.testing.assert_allclose(losses["train/policy_loss"], policy, rtol=1e-5)
    np.testing.assert_allclose(losses["train/value_loss"], value, rtol=1e-5)
    decay = jax.tree.map(lambda g, x: g - 0.02 * x, gradient, before["params"])
    np.testing.assert_allclose(losses["train/grad_norm"], optax.tree.norm(decay), rtol=1e-5)
    prediction = network.apply(before, batch.observations)
    errors = prediction.value - expected_result(batch.outcome)
    np.testing.assert_allclose(losses["train/value_error"], np.mean(errors**2), rtol=1e-5)
    stepped = jax.tree.map(lambda x, g: x - 0.1 * g, before["params"], gradient)
    chex.assert_trees_all_close(after["params"], stepped, rtol=1e-5, atol=1e-7)
    assert jax.tree.all(
        jax.tree.map(lambda a, b: (a != b).any(), after["params"], before["params"])
    )


def test_updates_lower_the_loss_and_count():
    variables, state, history = run_updates(
        TOWER, 1, 8, optimizer="sgd", learning_rate=0.05, l2=1e-3
    )
    totals = [losses["train/loss"] for losses in history]
    assert totals[1] < totals[0]
    assert totals[-1] < totals[0] - 0.05
    assert np.isfinite([list(losses.values()) for losses in history]).all()
    chex.assert_tree_all_finite((variables, state))


@pytest.mark.parametrize("devices", [2, 4])
def test_devices_together_equal_one(devices):
    """Batch normalisation is included. Sums are added in another order, so bits may differ."""
    assert jax.device_count() == 4
    options = {"optimizer": "sgd", "learning_rate": 0.05, "l2": 1e-3}
    one, one_state, one_history = run_updates(TOWER, 1, 3, **options)
    many, many_state, many_history = run_updates(TOWER, devices, 3, **options)
    assert len(jax.tree.leaves(one)[0].sharding.device_set) == 1
    for leaf in jax.tree.leaves((many, many_state)):
        assert len(leaf.sharding.device_set) == devices
        copies = [np.asarray(shard.data) for shard in leaf.addressable_shards]
        assert len(copies) == devices
        assert all(np.array_equal(copies[0], copy) for copy in copies)
    close = functools.partial(chex.assert_trees_all_close, rtol=1e-4, atol=1e-5)
    close(many, one)
    close(many_state, one_state)
    close(many_history, one_history)
    moved = jax.jit(compiled_update(TOWER, 1, **options)[0].init)(jax.random.key(0))
    change = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), one, moved)
    assert max(map(float, jax.tree.leaves(change["params"]))) > 0.01
    assert min(map(float, jax.tree.leaves(change["stats"]))) > 0.01


def test_devices_with_their_own_statistics_average_what_each_would_do():
    options = {"optimizer": "sgd", "learning_rate": 0.05, "momentum": 0.0, "clip_norm": 1e9}
    both, _, (losses,) = run_updates(TOWER, 2, shared=False, **options)
    for leaf in jax.tree.leaves(both):
        copies = [np.asarray(shard.data) for shard in leaf.addressable_shards]
        assert np.array_equal(*copies)
    halves = [jax.tree.map(lambda x, i=i: x[8 * i : 8 * i + 8], fixed_batch()) for i in range(2)]
    alone = [run_updates(TOWER, 1, batch=half, **options) for half in halves]
    mean = jax.tree.map(lambda a, b: (a + b) / 2, alone[0][0], alone[1][0])
    chex.assert_trees_all_close(both, mean, rtol=1e-4, atol=1e-5)
    expected = sum(history[0]["train/loss"] for *_, history in alone) / 2
    assert losses["train/loss"] == pytest.approx(expected, rel=1e-5)
    shared, _, _ = run_updates(TOWER, 2, **options)
    change = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), both["stats"], shared["stats"])
    assert max(map(float, jax.tree.leaves(change))) > 1e-3


def test_config_of_the_optimizer_is_used():
    adam, _, _ = run_updates(DENSE, 1)
    sgd, _, _ = run_updates(DENSE, 1, optimizer="sgd")
    change = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), adam, sgd)
    assert max(map(float, jax.tree.leaves(change))) > 1e-4
