"""Networks of Flax modules, and networks found by name."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from flax import linen, nnx

import azjax
from azjax.config import NetworkConfig
from azjax.errors import UserError
from azjax.network.custom_network import check_first_predictions, check_network, resolve_network
from azjax.network.flax_network import flax_network
from azjax.network.two_headed import make_network
from tests.network.own_networks import Dense, LinenDense, Uniform

GAME = make("tic_tac_toe")
OWN = "tests.network.own_networks:"
KEY = jax.random.PRNGKey(3)
OBSERVATIONS = jax.random.normal(jax.random.key(1), (5, *GAME.observation_shape))


def nnx_network():
    return flax_network(lambda rngs: Dense(GAME, rngs=rngs))


def linen_network():
    return flax_network(lambda: LinenDense(GAME), observation_shape=GAME.observation_shape)


@pytest.mark.parametrize("make_own", [nnx_network, linen_network])
def test_predictions_and_statistics(make_own):
    network = make_own()
    check_network(network, GAME)
    variables = network.init(KEY)
    check_first_predictions(network, GAME, variables)
    prediction = network.apply(variables, OBSERVATIONS)
    assert prediction.policy_logits.shape == (5, 9)
    assert prediction.value.shape == (5,)
    assert (abs(prediction.value) <= 1).all()
    apply_train = jax.jit(network.apply_train)
    first, stats = apply_train(variables, OBSERVATIONS, jax.random.key(1))
    again, same = apply_train(variables, OBSERVATIONS, jax.random.key(1))
    other, _ = apply_train(variables, OBSERVATIONS, jax.random.key(2))
    np.testing.assert_array_equal(first.policy_logits, again.policy_logits)
    assert (first.policy_logits != other.policy_logits).any()  # dropout
    old = jax.tree.leaves(variables["stats"])
    assert any((a != b).any() for a, b in zip(old, jax.tree.leaves(stats), strict=True))
    jax.tree.map(np.testing.assert_array_equal, stats, same)
    # The next step takes these statistics.
    network.apply({"params": variables["params"], "stats": stats}, OBSERVATIONS)


def test_an_nnx_network_computes_what_its_module_does():
    module = Dense(GAME, rngs=nnx.Rngs(jax.random.wrap_key_data(KEY)))
    module.eval()
    logits, value = module(OBSERVATIONS)
    network = nnx_network()
    prediction = network.apply(network.init(KEY), OBSERVATIONS)
    np.testing.assert_allclose(prediction.policy_logits, logits, rtol=1e-6)
    chances = jax.nn.softmax(value)
    np.testing.assert_allclose(prediction.value, chances[:, 0] - chances[:, 2], rtol=1e-5)


@pytest.mark.parametrize("name", ["Dense", "LinenDense"])
def test_a_config_names_a_module(name):
    config = NetworkConfig(module=OWN + name, options=(("width", 5),))
    variables = jax.eval_shape(resolve_network(GAME, config).init, KEY)
    assert 5 in {x.shape[-1] for x in jax.tree.leaves(variables["params"]) if x.shape}


def test_a_config_names_a_function():
    network = resolve_network(GAME, NetworkConfig(module=OWN + "uniform"))
    assert isinstance(network, Uniform)
    variables = network.init(KEY)
    assert network.for_inference(variables) is variables
    prediction, stats = network.apply_train(variables, OBSERVATIONS, KEY)
    np.testing.assert_array_equal(prediction.value, network.apply(variables, OBSERVATIONS).value)
    assert stats == {}


def test_without_a_name_it_is_the_configs():
    assert resolve_network(GAME, NetworkConfig()) == make_network(GAME, NetworkConfig())


def wrong(outputs):
    """Returns a network whose module returns `outputs` of the observations."""

    class Wrong(nnx.Module):
        def __init__(self, rngs):
            self.scale = nnx.Param(jnp.ones(()))

        def __call__(self, x):
            return outputs(x * self.scale[...])

    return flax_network(Wrong)


def zeros(x, *shape):
    return jnp.zeros((len(x), *shape))


MISTAKES = {
    "actions": (
        lambda x: (zeros(x, 10), zeros(x)),
        r"policy_logits of 2 positions must be float32 \[2, 9\], given float32 \[2, 10\] for tic_t",
    ),
    "value": (
        lambda x: (zeros(x, 9), zeros(x, 2)),
        r"value of 2 positions must be float32 \[2\], given float32 \[2, 2\]",
    ),
    "one output": (lambda x: zeros(x, 9), r"must return \(policy logits .* not \S+ of shapes"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_outputs_of_wrong_shapes(name):
    outputs, message = MISTAKES[name]
    with pytest.raises(UserError, match=message):
        check_network(wrong(outputs), GAME)


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "value_logits .* are not finite"), (2.0, "is 2; a value must")]
)
def test_first_predictions_that_are_no_values(value, message):
    network = wrong(lambda x: (zeros(x, 9), zeros(x) + value))
    with pytest.raises(UserError, match=message):
        check_first_predictions(network, GAME, network.init(KEY))


NAMES = {
    "nowhere:Dense": "network.module: cannot import 'nowhere'",
    OWN + "Nothing": "has no function or class 'Nothing'",
    "tests.network.own_networks:KEY": "has no function or class",
    "<my.Transformer>": r"handed over as an object .* network=\.\.\.",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_nowhere(name):
    with pytest.raises(UserError, match=NAMES[name]):
        resolve_network(GAME, NetworkConfig(module=name))


def test_other_mistakes():
    unknown = NetworkConfig(module=OWN + "uniform", options=(("width", 5),))
    with pytest.raises(UserError, match=r"^runs/a: network\.module: .*unexpected keyword"):
        resolve_network(GAME, unknown, owner="runs/a")
    with pytest.raises(UserError, match=r"must be an azjax\.Network, not a Dense"):
        resolve_network(GAME, NetworkConfig(), Dense(GAME, rngs=nnx.Rngs(0)))
    with pytest.raises(UserError, match="predicts no score"):
        resolve_network(GAME, NetworkConfig(auxiliary=("score",)), nnx_network())
    with pytest.raises(UserError, match="it returned a type"):
        flax_network(lambda: functools.partial)
    with pytest.raises(UserError, match=r"needs flax_network\(\.\.\., observation_shape"):
        flax_network(lambda: LinenDense(GAME))


class Two(nnx.Module):
    """A module with convolutions of Flax."""

    def __init__(self, *, rngs):
        self.first = nnx.Conv(2, 4, (3, 3), rngs=rngs)
        self.second = nnx.Conv(4, 4, (3, 3), strides=2, rngs=rngs)
        self.third = nnx.Conv(4, 4, (2, 2), rngs=rngs)
        self.policy = nnx.Linear(16, 9, rngs=rngs)

    def __call__(self, x):
        x = self.third(self.second(nnx.relu(self.first(x)))).reshape(len(x), -1)
        return self.policy(x), jnp.tanh(x[:, 0])


class Plain(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.Dense(10)(x.reshape(len(x), -1))
        return x[:, :9], jnp.tanh(x[:, 9])


def test_convolutions_of_flax_take_the_faster_form():
    network = flax_network(Two)
    variables = network.init(KEY)
    module = network.module(variables)
    used = [layer.conv_general_dilated for layer in (module.first, module.second, module.third)]
    assert used == [azjax.flax_convolution, *[jax.lax.conv_general_dilated] * 2]
    plain = Two(rngs=nnx.Rngs(jax.random.wrap_key_data(KEY)))
    logits, value = plain(OBSERVATIONS)
    prediction = network.apply(variables, OBSERVATIONS)
    np.testing.assert_allclose(prediction.policy_logits, logits, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(prediction.value, value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("given", [Plain, Plain(), lambda: Plain(), functools.partial(Plain)])
def test_linen_modules_and_their_classes(given):
    network = flax_network(given, observation_shape=GAME.observation_shape)
    check_network(network, GAME)
    assert network == flax_network(lambda: Plain(), observation_shape=GAME.observation_shape)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            LinenDense,
            r"LinenDense needs game; write azjax\.flax_network\(lambda: LinenDense\(",
        ),
        (Dense, r"Dense needs game, rngs; write .*\(lambda rngs: Dense\(game=\.\.\., rngs=rngs\)"),
        (Two(rngs=nnx.Rngs(0)), "give its class or a function of rngs, not a Two that is made"),
        (3, "needs a function of rngs that returns an nnx module, .* not a int"),
        (lambda: 3, "it returned a int"),
        (Plain, "a linen module needs flax_network"),
        (Plain(), "a linen module needs flax_network"),
    ],
)
def test_other_things_are_refused_in_one_line(given, message):
    with pytest.raises(UserError, match=message) as error:
        flax_network(given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("shared", [False, True])
def test_learning_outside_of_a_mesh(shared):
    network = make_network(GAME, NetworkConfig(blocks=1, channels=4, value_hidden=4, norm="batch"))
    variables = network.init(KEY)
    expected, stats = dataclasses.replace(network, shared_statistics=False).apply_train(
        variables, OBSERVATIONS, KEY
    )
    network = dataclasses.replace(network, shared_statistics=shared)
    found = network.apply_train(variables, OBSERVATIONS, KEY)
    jax.tree.map(np.testing.assert_array_equal, found, (expected, stats))
