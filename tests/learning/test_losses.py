"""The losses, the learning rate and the rules of the optimizers."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from azjax_envs import make

from azjax.config import Config, LearningConfig
from azjax.errors import UserError
from azjax.learning.batch import Batch
from azjax.learning.loss import alphazero_loss, policy_loss, resolve_loss, value_loss
from azjax.learning.update import learning_rate_schedule, make_optimizer
from azjax.network.network import Prediction

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
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(SIZE, 9)).astype(np.float32)
    masks = rng.random((SIZE, 9)) < 0.6
    masks[0] = False  # over: nothing is legal
    masks[1] = np.arange(9) == 4
    target = np.where(masks, rng.random((SIZE, 9)), 0)
    target /= np.maximum(target.sum(-1, keepdims=True), 1e-9)
    logits[~masks] = rng.choice([1e8, -1e8, 30.0, 0.0], (~masks).sum())

    def total(logits):
        loss = policy_loss(logits, jnp.asarray(masks), jnp.asarray(target, jnp.float32))
        return jnp.sum(loss), loss

    gradient, loss = jax.jit(jax.grad(total, has_aux=True))(jnp.asarray(logits))
    assert np.isfinite(loss).all()
    np.testing.assert_array_equal(np.asarray(gradient)[~masks], 0)
    assert loss[0] == 0
    for row in range(1, SIZE):
        legal = masks[row]
        expected = optax.softmax_cross_entropy(logits[row, legal], target[row, legal])
        np.testing.assert_allclose(loss[row], expected, rtol=1e-5, atol=1e-6)
        softmax = np.exp(logits[row, legal]) / np.exp(logits[row, legal]).sum()
        np.testing.assert_allclose(gradient[row, legal], softmax - target[row, legal], atol=1e-6)


def test_the_value_has_the_weight_of_the_config():
    rng = np.random.default_rng(1)
    prediction = Prediction(
        jnp.asarray(rng.normal(size=(SIZE, 9))), jnp.zeros((SIZE, 1)), jnp.zeros(SIZE)
    )
    batch = Batch(
        observations=jnp.zeros((SIZE, *GAME.observation_shape)),
        masks=jnp.ones((SIZE, 9), bool),
        policy=jnp.full((SIZE, 9), 1 / 9),
        outcome=jnp.asarray(rng.dirichlet(np.ones(3), SIZE)),
    )
    once, parts = resolve_loss(Config())(prediction, batch)
    thrice, same = resolve_loss(Config(learning=LearningConfig(value_weight=3)))(prediction, batch)
    assert parts == same
    np.testing.assert_allclose(once, parts["policy_loss"] + parts["value_loss"], rtol=1e-6)
    np.testing.assert_allclose(thrice, once + 2 * parts["value_loss"], rtol=1e-6)


def test_a_loss_of_ones_own_weighs_the_value_itself():
    config = Config(learning=LearningConfig(value_weight=3))
    with pytest.raises(UserError, match=r"^learning\.value_weight is of azjax's loss"):
        resolve_loss(config, alphazero_loss)


def test_value_loss_of_a_scalar_head():
    value = jnp.asarray([0.5, -1.0, 0.25])
    prediction = Prediction(jnp.zeros((3, 9)), jnp.arctanh(value * 0.9)[:, None], value)
    outcome = jnp.asarray([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.3, 0.4, 0.3]])
    np.testing.assert_allclose(value_loss(prediction, outcome), [2.25, 0.0, 0.0625], atol=1e-7)


def test_value_loss_of_win_draw_loss():
    logits = jnp.asarray([[0.3, -1.0, 2.0]] * 4)
    prediction = Prediction(jnp.zeros((4, 9)), logits, jnp.zeros(4))
    outcome = jnp.concatenate([jnp.eye(3), jnp.asarray([[0.5, 0.5, 0.0]])])
    loss = value_loss(prediction, outcome)
    labels = optax.softmax_cross_entropy_with_integer_labels(logits[:3], jnp.arange(3))
    np.testing.assert_allclose(loss[:3], labels, rtol=1e-6)
    np.testing.assert_allclose(loss[3], (labels[0] + labels[1]) / 2, rtol=1e-6)


def test_value_loss_of_results():
    """Six results of backgammon: the cross-entropy, whose gradient is the difference of chances."""
    results = (3.0, 2.0, 1.0, -1.0, -2.0, -3.0)
    rng = np.random.default_rng(1)
    logits = jnp.asarray(rng.normal(size=(SIZE, 6)), jnp.float32)
    outcome = jnp.asarray(rng.dirichlet(np.ones(6), SIZE), jnp.float32)

    def loss(logits):
        prediction = Prediction(jnp.zeros((SIZE, 9)), logits, jnp.zeros(SIZE))
        return value_loss(prediction, outcome, results).sum()

    found, gradient = jax.value_and_grad(loss)(logits)
    np.testing.assert_allclose(found, optax.softmax_cross_entropy(logits, outcome).sum(), rtol=1e-5)
    np.testing.assert_allclose(gradient, jax.nn.softmax(logits) - outcome, atol=1e-6)
    scalar = Prediction(jnp.zeros((SIZE, 9)), logits[:, :1], jnp.zeros(SIZE))
    expected = np.square(np.asarray(outcome, np.float64) @ np.asarray(results) / 3)
    np.testing.assert_allclose(value_loss(scalar, outcome, results), expected, rtol=1e-4, atol=1e-6)


# The learning rate and the rule.


def rates(updates, total, **options):
    course = learning_rate_schedule(LearningConfig(learning_rate=0.2, **options), total)
    return [float(course(update)) for update in updates]


def test_warm_up_then_cosine():
    got = rates([0, 5, 10, 60, 110, 500], 110, schedule="cosine", warmup_updates=10)
    np.testing.assert_allclose(got, [0, 0.1, 0.2, 0.105, 0.01, 0.01], rtol=1e-5)


def test_step_drops_where_the_shares_of_the_run_say():
    options = {"schedule": "step", "lr_drops": (0.5, 0.75)}
    updates = [10, 49, 51, 74, 76, 99]
    expected = [0.2, 0.2, 0.02, 0.02, 0.002, 0.002]
    np.testing.assert_allclose(rates(updates, 100, warmup_updates=10, **options), expected, 1e-5)
    np.testing.assert_allclose(rates(updates, 100, warmup_updates=0, **options), expected, 1e-5)
    np.testing.assert_allclose(rates([0, 5], 100, warmup_updates=10, **options), [0, 0.1])


def test_drops_on_the_same_update_all_count():
    options = {"schedule": "step", "lr_drops": (0.3, 0.5, 0.6, 0.99)}
    for warmup in (0, 1):  # the updates of the drops are 0, 1, 1 and 1 of 2
        got = rates([1, 5], 2, warmup_updates=warmup, **options)
        np.testing.assert_allclose(got, [0.2e-4, 0.2e-4], rtol=1e-5)


def test_constant_and_no_warm_up():
    np.testing.assert_allclose(
        rates([0, 7, 900], 100, schedule="constant", warmup_updates=0), [0.2] * 3
    )
    np.testing.assert_allclose(
        rates([0, 50, 400], 20, schedule="cosine", warmup_updates=100), [0, 0.1, 0.01], rtol=1e-5
    )


def steps(config, gradients, kernel=0.0):
    """Returns the changes of a bias [2] and a kernel [1, 1] under one gradient after the other."""
    params = {"w": jnp.asarray([2.0, 0.0]), "v": jnp.asarray([[kernel]])}
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
    (first,) = steps(config, [[0.5, 3.0, -2.0]], kernel=5.0)
    # Adam's first step is the gradient's sign. The decay is of the parameter itself, and of kernels
    # alone: neither biases nor the scales of norms.
    np.testing.assert_allclose(first, [-0.1, -0.1, 0.1 - 0.1 * 0.3 * 5.0], rtol=1e-4)


def test_gradients_are_clipped_together():
    config = LearningConfig(
        optimizer="sgd", learning_rate=1.0, schedule="constant", warmup_updates=0, clip_norm=2.5
    )
    (change,) = steps(config, [[3.0, 0, 4.0]])
    np.testing.assert_allclose(change, [-1.5, 0, -2.0], rtol=1e-6)
    (change,) = steps(config, [[0.3, 0, 0.4]])
    np.testing.assert_allclose(change, [-0.3, 0, -0.4], rtol=1e-6)
