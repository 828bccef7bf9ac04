import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from azjax_envs import make

from azjax.config import Config, LearningConfig, NetworkConfig
from azjax.learner import (
    Batch,
    make_batch,
    make_optimizer,
    moving_average,
    policy_loss,
    schedule,
    update,
    value_loss,
)
from azjax.network import Network, Prediction
from azjax.replay import Row
from azjax.sharding import EVERYWHERE, SPLIT, make_mesh, shard
from tests.oracles.searches import random_positions

GAME = make("tic_tac_toe")
SIZE = 16


# The losses.


def test_policy_loss_by_hand():
    logits = jnp.asarray([[0.0, np.log(3), 1e9], [2.0, 2.0, 2.0], [1.0, 5.0, -3.0]])
    masks = jnp.asarray([[True, True, False], [True, True, True], [False, True, False]])
    target = jnp.asarray([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    expected = [-0.5 * np.log(0.25) - 0.5 * np.log(0.75), np.log(3), 0.0]
    np.testing.assert_allclose(policy_loss(logits, masks, target), expected, rtol=1e-6, atol=1e-7)


def test_policy_loss_and_its_gradient_are_those_over_the_legal_actions_alone():
    lots = np.random.default_rng(0)
    logits = lots.normal(size=(SIZE, 9)).astype(np.float32)
    masks = lots.random((SIZE, 9)) < 0.6
    masks[0] = False  # over: nothing is legal
    masks[1] = np.arange(9) == 4
    target = np.where(masks, lots.random((SIZE, 9)), 0)
    target /= np.maximum(target.sum(-1, keepdims=True), 1e-9)
    logits[~masks] = lots.choice([1e8, -1e8, 30.0, 0.0], (~masks).sum())

    def total(logits):
        loss = policy_loss(logits, jnp.asarray(masks), jnp.asarray(target, jnp.float32))
        return jnp.sum(loss), loss

    gradient, loss = jax.jit(jax.grad(total, has_aux=True))(jnp.asarray(logits))
    assert np.isfinite(loss).all()
    np.testing.assert_array_equal(np.asarray(gradient)[~masks], 0)
    assert loss[0] == 0
    for row in range(1, SIZE):
        legal = masks[row]
        wanted = optax.softmax_cross_entropy(logits[row, legal], target[row, legal])
        np.testing.assert_allclose(loss[row], wanted, rtol=1e-5, atol=1e-6)
        softmax = np.exp(logits[row, legal]) / np.exp(logits[row, legal]).sum()
        np.testing.assert_allclose(gradient[row, legal], softmax - target[row, legal], atol=1e-6)


def test_value_loss_of_a_scalar_head():
    value = jnp.asarray([0.5, -1.0, 0.25])
    prediction = Prediction(jnp.zeros((3, 9)), jnp.arctanh(value * 0.9)[:, None], value)
    np.testing.assert_allclose(
        value_loss(prediction, jnp.asarray([-1.0, -1.0, 0.0])), [2.25, 0.0, 0.0625]
    )


def test_value_loss_of_win_draw_loss():
    logits = jnp.asarray([[0.3, -1.0, 2.0]] * 4)
    prediction = Prediction(jnp.zeros((4, 9)), logits, jnp.zeros(4))
    loss = value_loss(prediction, jnp.asarray([1.0, 0.0, -1.0, 0.5]))
    labels = optax.softmax_cross_entropy_with_integer_labels(logits[:3], jnp.arange(3))
    np.testing.assert_allclose(loss[:3], labels, rtol=1e-6)
    np.testing.assert_allclose(loss[3], (labels[0] + labels[1]) / 2, rtol=1e-6)


# The learning rate and the rule.


def rates(updates, total, **options):
    course = schedule(LearningConfig(learning_rate=0.2, **options), total)
    return [float(course(update)) for update in updates]


def test_warm_up_then_cosine():
    got = rates(
        [0, 5, 10, 60, 110, 500], 110, schedule="cosine", warmup_updates=10, final_fraction=0.1
    )
    np.testing.assert_allclose(got, [0, 0.1, 0.2, 0.11, 0.02, 0.02], rtol=1e-5)


def test_step_drops_where_the_shares_of_the_run_say():
    options = {"schedule": "step", "drops": (0.5, 0.75)}
    updates = [10, 49, 51, 74, 76, 99]
    expected = [0.2, 0.2, 0.02, 0.02, 0.002, 0.002]
    np.testing.assert_allclose(rates(updates, 100, warmup_updates=10, **options), expected, 1e-5)
    np.testing.assert_allclose(rates(updates, 100, warmup_updates=0, **options), expected, 1e-5)
    np.testing.assert_allclose(rates([0, 5], 100, warmup_updates=10, **options), [0, 0.1])


def test_constant_and_no_warm_up():
    np.testing.assert_allclose(
        rates([0, 7, 900], 100, schedule="constant", warmup_updates=0), [0.2] * 3
    )
    np.testing.assert_allclose(
        rates([0, 50, 400], 20, schedule="cosine", warmup_updates=100), [0, 0.1, 0.01], rtol=1e-5
    )


def steps(config, gradients):
    """The changes of a parameter that is 2.0 under one gradient after the other."""
    params = {"w": jnp.asarray([2.0, 0.0]), "v": jnp.asarray([[0.0]])}
    optimizer = make_optimizer(config, 100)
    state = optimizer.init(params)
    for gradient in gradients:
        gradient = {
            "w": jnp.asarray(gradient[:2], jnp.float32),
            "v": jnp.asarray([gradient[2:]], jnp.float32),
        }
        change, state = optimizer.update(gradient, state, params)
        yield np.concatenate([change["w"], change["v"][0]])


def test_sgd_with_momentum_by_hand():
    config = LearningConfig(
        optimizer="sgd", learning_rate=0.1, momentum=0.5, schedule="constant", warmup_updates=0
    )
    first, second = steps(config, [[1.0, 0, -2.0], [1.0, 4.0, 0]])
    np.testing.assert_allclose(first, [-0.1, 0, 0.2], rtol=1e-6)
    np.testing.assert_allclose(second, [-0.15, -0.4, 0.1], rtol=1e-6)


def test_adamw_by_hand():
    config = LearningConfig(
        learning_rate=0.1, weight_decay=0.3, schedule="constant", warmup_updates=0
    )
    (first,) = steps(config, [[0.5, 3.0, -2.0]])
    # Adam's first step is the gradient's sign; the decay is of the parameter itself.
    np.testing.assert_allclose(first, [-0.1 - 0.1 * 0.3 * 2.0, -0.1, 0.1], rtol=1e-4)


def test_muon_moves_layers_in_all_directions_alike_and_as_far_as_adamw():
    config = LearningConfig(
        optimizer="muon", learning_rate=0.1, weight_decay=0.0, schedule="constant", warmup_updates=0
    )
    shapes = {"conv": (3, 3, 4, 6), "dense": (20, 5), "bias": (7,)}
    params = {name: jnp.zeros(shape) for name, shape in shapes.items()}
    gradient = jax.tree.map(lambda x: jax.random.normal(jax.random.key(x.size), x.shape), params)
    optimizer = make_optimizer(config, 100)
    change, _ = optimizer.update(gradient, optimizer.init(params), params)
    for name in ("conv", "dense"):
        matrix, towards = (
            np.asarray(x[name]).reshape(-1, x[name].shape[-1]) for x in (change, gradient)
        )
        assert np.sum(matrix * towards) < 0
        # Orthogonalised by five steps of Newton and Schulz, which leave it near, by design.
        stretch = np.linalg.svd(matrix)[1]
        assert stretch.max() / stretch.min() < 1.6 < np.divide(*np.linalg.svd(towards)[1][[0, -1]])
        assert np.sqrt(np.mean(matrix**2)) == pytest.approx(0.2 * 0.1, rel=0.1)
    assert np.array_equal(np.sign(change["bias"]), -np.sign(gradient["bias"]))


def test_gradients_are_clipped_together():
    config = LearningConfig(
        optimizer="sgd", learning_rate=1.0, schedule="constant", warmup_updates=0, clip_norm=2.5
    )
    (change,) = steps(config, [[3.0, 0, 4.0]])
    np.testing.assert_allclose(change, [-1.5, 0, -2.0], rtol=1e-6)
    (change,) = steps(config, [[0.3, 0, 0.4]])
    np.testing.assert_allclose(change, [-0.3, 0, -0.4], rtol=1e-6)


# Batches.


def test_batch_is_what_the_mover_sees():
    states = random_positions(GAME, jax.random.key(0), 128)
    policy = jax.random.uniform(jax.random.key(1), (128, 9)).astype(jnp.float16)
    nothing = jnp.zeros(128, jnp.float16)
    rows = Row(states, policy, nothing, jnp.ones(128, jnp.int8), nothing, nothing == 0, None)
    value = jnp.linspace(-1, 1, 128)
    made = jax.jit(functools.partial(make_batch, GAME), static_argnames="symmetries")
    plain = made(jax.random.key(2), rows, value, symmetries=False)
    np.testing.assert_array_equal(plain.observations, jax.vmap(GAME.observe)(states))
    np.testing.assert_array_equal(plain.masks, jax.vmap(GAME.legal_action_mask)(states))
    np.testing.assert_array_equal(plain.policy, policy)
    assert plain.policy.dtype == jnp.float32
    turned = made(jax.random.key(2), rows, value, symmetries=True)
    for batch in (plain, turned):
        np.testing.assert_array_equal(batch.value, value)
        np.testing.assert_array_equal(batch.masks.sum(-1), plain.masks.sum(-1))
        np.testing.assert_allclose(batch.policy.sum(-1), plain.policy.sum(-1), rtol=1e-5)
    assert (turned.policy != plain.policy).any(-1).mean() > 0.7


# Updates.

DENSE = NetworkConfig(kind="mlp", blocks=1, channels=16, norm="none", value_hidden=8)
TOWER = NetworkConfig(blocks=1, channels=8, value_hidden=8, value_head="wdl")


def fixed_batch():
    """Sorted by the number of marks, so that equal shares of it differ in their statistics."""
    states = random_positions(GAME, jax.random.key(7), SIZE)
    observations = jax.vmap(GAME.observe)(states)
    masks = jax.vmap(GAME.legal_action_mask)(states)
    policy = jax.random.uniform(jax.random.key(8), masks.shape) * masks
    policy /= jnp.maximum(policy.sum(-1, keepdims=True), 1e-9)
    value = jnp.asarray(np.random.default_rng(0).choice([-1.0, 0.0, 1.0], SIZE), jnp.float32)
    batch = Batch(
        observations=observations, masks=masks, policy=policy, value=value, auxiliary=None
    )
    order = jnp.argsort(observations.sum((1, 2, 3)))
    return jax.tree.map(lambda x: x[order], batch)


@functools.lru_cache
def compiled_update(network_config, devices, **learning):
    """(network, optimizer, jitted update under shard_map on that many devices)."""
    config = Config(
        network=network_config,
        learning=LearningConfig(
            **{"schedule": "constant", "warmup_updates": 0, "batch_size": SIZE} | learning
        ),
    )
    network = Network(GAME.observation_shape, GAME.num_actions, network_config)
    optimizer = make_optimizer(config.learning, 100)
    mesh = make_mesh(jax.devices()[:devices])
    assert mesh.size == devices
    function = functools.partial(update, network, optimizer, config)
    sharded = shard(function, mesh, (EVERYWHERE, EVERYWHERE, SPLIT), EVERYWHERE)
    # Unoptimised: compiling takes far longer than a few updates.
    options = {"xla_backend_optimization_level": 0}
    return network, optimizer, jax.jit(sharded, compiler_options=options)


def run_updates(network_config, devices, count=1, **learning):
    network, optimizer, step = compiled_update(network_config, devices, **learning)
    variables = jax.jit(network.init)(jax.random.key(0))
    state, history = optimizer.init(variables["params"]), []
    for _ in range(count):
        # Never two calls in flight: XLA's CPU backend may deadlock in their collectives.
        variables, state, losses = jax.block_until_ready(step(variables, state, fixed_batch()))
        history.append(jax.tree.map(float, losses))
    return variables, state, history


def test_one_update_is_gradient_descent_on_the_loss():
    """Against a loss written with optax's functions over the network's public `apply`."""
    options = {"optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.0, "clip_norm": 1e9}
    learning = options | {"l2": 0.01, "value_weight": 3.0}
    network, _, _ = compiled_update(DENSE, 1, **learning)
    batch = fixed_batch()
    before = jax.jit(network.init)(jax.random.key(0))

    def loss_fn(params):
        prediction = network.apply({"params": params, "stats": before["stats"]}, batch.observations)
        logits = jnp.where(batch.masks, prediction.policy_logits, -1e30)
        policy = optax.safe_softmax_cross_entropy(logits, batch.policy)
        value = 2 * optax.l2_loss(prediction.value, batch.value)
        return (
            policy.mean(),
            value.mean(),
            0.01 * optax.tree.norm(params, squared=True),
        )

    def total(params):
        policy, value, l2 = loss_fn(params)
        return policy + 3 * value + l2

    expected, gradient = jax.jit(jax.value_and_grad(total))(before["params"])
    after, _, (losses,) = run_updates(DENSE, 1, **learning)
    policy, value, l2 = loss_fn(before["params"])
    np.testing.assert_allclose(losses["loss/total"], expected, rtol=1e-5)
    np.testing.assert_allclose(losses["loss/policy"], policy, rtol=1e-5)
    np.testing.assert_allclose(losses["loss/value"], value, rtol=1e-5)
    np.testing.assert_allclose(losses["loss/l2"], l2, rtol=1e-5)
    np.testing.assert_allclose(losses["grad_norm"], optax.tree.norm(gradient), rtol=1e-5)
    prediction = network.apply(before, batch.observations)
    right = np.abs(prediction.value - batch.value) < 0.5
    np.testing.assert_allclose(losses["value_accuracy"], right.mean(), rtol=1e-6)
    wanted = jax.tree.map(lambda x, g: x - 0.1 * g, before["params"], gradient)
    chex.assert_trees_all_close(after["params"], wanted, rtol=1e-5, atol=1e-7)
    assert jax.tree.all(
        jax.tree.map(lambda a, b: (a != b).any(), after["params"], before["params"])
    )


def test_updates_lower_the_loss_and_count():
    variables, state, history = run_updates(
        TOWER, 1, 8, optimizer="sgd", learning_rate=0.05, l2=1e-3
    )
    totals = [losses["loss/total"] for losses in history]
    assert totals[1] < totals[0]
    assert totals[-1] < totals[0] - 0.05
    assert np.isfinite([list(losses.values()) for losses in history]).all()
    chex.assert_tree_all_finite((variables, state))


@pytest.mark.parametrize("devices", [2, 4])
def test_devices_together_equal_one(devices):
    """Batch normalisation included. Not to the last bit: sums are added in another order."""
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


def test_config_of_the_optimizer_is_used():
    adam, _, _ = run_updates(DENSE, 1)
    sgd, _, _ = run_updates(DENSE, 1, optimizer="sgd")
    change = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), adam, sgd)
    assert max(map(float, jax.tree.leaves(change))) > 1e-4


# The moving average.


def test_the_average_follows_and_forgets_its_start():
    lots = np.random.default_rng(0)
    newest = lots.normal(size=400)
    average = 100.0  # a start to be forgotten
    for n, value in enumerate(newest):
        average = float(moving_average(average, value, jnp.asarray(n), decay=0.95))
        if n == 30:
            assert abs(average) < 1
    weights = 0.05 * 0.95 ** np.arange(400)[::-1]
    np.testing.assert_allclose(average, newest @ weights, atol=1e-4)
