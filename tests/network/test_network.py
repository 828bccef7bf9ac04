import functools
import itertools
import sys

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from flax import nnx

from azjax.config import NetworkConfig
from azjax.network.network import count_parameters
from azjax.network.nnx_arrays import variable_shapes
from azjax.network.two_headed import _ParameterKeys, make_network
from azjax.sharding import EVERYWHERE, SPLIT, make_mesh, shard
from tests.network.networks import BATCH, CHECKED, compiled, observations, resolve_network


@pytest.mark.parametrize("architecture", ["resnet", "mlp"])
def test_shapes_and_dtypes_of_every_config(architecture):
    game = make("connect_four")
    choices = itertools.product(
        ["batch", "layer", "none"], ["tanh", "wdl"], ["float32", "bfloat16"]
    )
    for norm, head, dtype in choices:
        network = resolve_network(
            game, architecture=architecture, norm=norm, value_head=head, dtype=dtype
        )
        variables = jax.eval_shape(network.init, jax.random.key(0))
        seen = jax.ShapeDtypeStruct((BATCH, *game.observation_shape), jnp.float32)
        prediction = jax.eval_shape(network.apply, variables, seen)
        chex.assert_shape(prediction.policy_logits, (BATCH, game.num_actions))
        chex.assert_shape(prediction.value_logits, (BATCH, 3 if head == "wdl" else 1))
        chex.assert_shape(prediction.value, (BATCH,))
        leaves = jax.tree.leaves((variables, tuple(prediction)))
        assert {leaf.dtype for leaf in leaves} == {jnp.dtype("float32")}
        assert bool(jax.tree.leaves(variables["stats"])) == (norm == "batch")
        # The parameters do not depend on the arithmetic, and keys are strings for every format.
        assert all(
            isinstance(entry.key, str)
            for path, _ in jax.tree_util.tree_leaves_with_path(variables)
            for entry in path
        )


def test_shapes_found_in_one_program_serve_others():
    network = resolve_network(channels=9)  # which no other test has, so that nothing is known of it
    variables = network.init(jax.random.key(0))
    apply = shard(network.apply, make_mesh(), (EVERYWHERE, SPLIT), SPLIT)
    jax.eval_shape(apply, variables, observations())
    assert variable_shapes(network) == jax.eval_shape(network.init, jax.random.key(0))
    jax.jit(network.apply).lower(variable_shapes(network), observations())


@pytest.mark.parametrize(
    "network", CHECKED, ids=lambda n: f"{n.config.architecture}-{n.config.norm}"
)
def test_an_untrained_network_is_nearly_uniform_and_reproducible(network):
    init, apply, _ = compiled(network)
    variables = init(jax.random.key(1))
    chex.assert_trees_all_equal(variables, init(jax.random.key(1)))
    other = init(jax.random.key(2))
    kernels = jax.tree.map(lambda a, b: (a != b).any(), variables["params"], other["params"])
    assert any(jax.tree.leaves(kernels))
    prediction = apply(variables, observations())
    assert {x.dtype for x in jax.tree.leaves(prediction)} == {jnp.dtype("float32")}
    policy = jax.nn.softmax(prediction.policy_logits)
    assert np.abs(policy - 1 / 9).max() < 0.05
    assert np.abs(prediction.value).max() < 0.3
    # Nearly uniform, but not constant: positions have different outputs.
    assert len(np.unique(prediction.policy_logits, axis=0)) > BATCH // 3


@pytest.mark.parametrize("network", CHECKED[:3], ids=lambda n: n.config.value_head)
def test_value_is_the_expected_result(network):
    init, apply, _ = compiled(network)
    variables = jax.tree.map(lambda x: 30 * x, init(jax.random.key(3)))
    prediction = apply(variables, observations())
    value, logits = np.asarray(prediction.value), np.asarray(prediction.value_logits, np.float64)
    assert (np.abs(value) <= 1).all()
    assert np.ptp(value) > 0.5
    if logits.shape[-1] == 1:
        expected = np.tanh(logits[:, 0])
    else:
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        expected = (weights[:, 0] - weights[:, 2]) / weights.sum(-1)
    np.testing.assert_allclose(value, expected, atol=1e-5)


@pytest.mark.parametrize(
    "shape",
    [
        {"architecture": "resnet", "norm": "layer", "value_head": "wdl"},
        {"architecture": "mlp", "norm": "batch", "convolutions": 1, "filters": 4},
    ],
    ids=lambda shape: shape["architecture"],
)
def test_bfloat16_is_close_to_float32_and_not_equal(shape):
    half, full = resolve_network(**shape, dtype="bfloat16"), resolve_network(**shape)
    variables = compiled(half)[0](jax.random.key(1))
    a = compiled(half)[1](variables, observations())
    b = compiled(full)[1](variables, observations())
    chex.assert_trees_all_close(a, b, atol=0.03)
    assert (a.policy_logits != b.policy_logits).any()


def test_residual_dense_layers_by_hand():
    network = resolve_network(architecture="mlp", norm="none", blocks=3, residual=True)
    init, apply, _ = compiled(network)
    variables = init(jax.random.key(1))
    params = jax.tree.map(np.asarray, variables["params"])
    first, *others = params["body"]["trunk"]["layers"].values()
    x = np.asarray(observations()).reshape(BATCH, -1)
    x = np.maximum(x @ first["kernel"] + first["bias"], 0)
    for layer in others:
        x = x + np.maximum(x @ layer["kernel"] + layer["bias"], 0)
    expected = x @ params["policy"]["kernel"] + params["policy"]["bias"]
    logits = apply(variables, observations()).policy_logits
    np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_convolutions_before_dense_layers_by_hand():
    network = resolve_network(architecture="mlp", norm="none", convolutions=2, filters=4)
    init, apply, _ = compiled(network)
    variables = init(jax.random.key(1))
    params = variables["params"]
    trunk, x = jax.tree.map(np.asarray, params["body"]["trunk"]), np.asarray(observations())
    for number in "01":
        conv = trunk["convs"][number]["conv"]
        assert conv["kernel"].shape == (3, 3, x.shape[-1], 4)
        x = jax.lax.conv_general_dilated(
            x, conv["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = np.maximum(np.asarray(x) + conv["bias"], 0)
    (dense,) = trunk["layers"].values()
    x = np.maximum(x.reshape(BATCH, -1) @ dense["kernel"] + dense["bias"], 0)
    policy = jax.tree.map(np.asarray, params["policy"])
    expected = x @ policy["kernel"] + policy["bias"]
    logits = apply(variables, observations()).policy_logits
    np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_statistics_move_in_training_only():
    network = CHECKED[0]
    init, apply, train = compiled(network)
    variables = init(jax.random.key(1))
    prediction, stats = jax.block_until_ready(train(variables, observations()))
    # Recompute the stem: the running statistics move by a twentieth towards the batch's.
    kernel = variables["params"]["body"]["trunk"]["stem"]["conv"]["kernel"]
    stem = jax.lax.conv_general_dilated(
        observations(), kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    got = stats["body"]["trunk"]["stem"]["norm"]
    np.testing.assert_allclose(got["mean"], 0.05 * stem.mean((0, 1, 2)), atol=1e-6)
    np.testing.assert_allclose(got["var"], 0.95 + 0.05 * stem.var((0, 1, 2)), rtol=1e-5)
    moved = jax.tree.map(lambda a, b: (a != b).all(), stats, variables["stats"])
    assert all(jax.tree.leaves(moved))
    # Playing uses the running statistics, training the batch's own.
    plain = apply(variables, observations())
    after = apply({"params": variables["params"], "stats": stats}, observations())
    assert (plain.policy_logits != after.policy_logits).any()
    assert (plain.policy_logits != prediction.policy_logits).any()
    # A position's prediction does not depend on the others in its batch.
    order = jnp.arange(BATCH)[::-1]
    again = apply(variables, observations()[order])
    chex.assert_trees_all_close(again, jax.tree.map(lambda x: x[order], plain), atol=1e-6)


def test_without_batch_norm_there_are_no_statistics():
    for network in (CHECKED[1], CHECKED[3]):
        init, apply, train = compiled(network)
        variables = init(jax.random.key(1))
        prediction, stats = train(variables, observations())
        assert jax.tree.leaves(stats) == []
        chex.assert_trees_all_close(prediction, apply(variables, observations()), atol=1e-2)


def test_parameters_of_alphago_zeros_network():
    """Convolutions have no bias, and two numbers per channel for their batch normalisation."""
    game = make("connect_four")
    height, width, planes = game.observation_shape
    blocks, channels, hidden = 3, 16, 32
    config = NetworkConfig(blocks=blocks, channels=channels, value_hidden=hidden)
    network = make_network(game, config)
    stem = 9 * planes * channels + 2 * channels
    body = blocks * 2 * (9 * channels * channels + 2 * channels)
    policy = channels * 2 + 2 * 2 + (2 * height * width + 1) * game.num_actions
    value = channels * 1 + 2 * 1 + (height * width + 1) * hidden + (hidden + 1) * 1
    variables = jax.eval_shape(network.init, jax.random.key(0))
    assert count_parameters(variables) == stem + body + policy + value


@pytest.mark.parametrize(
    ("observations", "given"),
    [
        (jnp.zeros((3, 3, 2)), "float32 [3, 3, 2]"),
        (jnp.zeros((4, 3, 2, 3)), "float32 [4, 3, 2, 3]"),
        (jnp.zeros((4, 3, 3, 2), bool), "bool [4, 3, 3, 2]"),
    ],
)
def test_wrong_observations_are_named_with_the_right_shape(observations, given):
    network = resolve_network(architecture="mlp")
    variables = jax.eval_shape(network.init, jax.random.key(0))
    apply_train = functools.partial(network.apply_train, key=jax.random.key(0))
    for apply in (network.apply, apply_train):
        with pytest.raises(ValueError, match="observations") as caught:
            jax.eval_shape(apply, variables, observations)
        assert str(caught.value) == f"observations must be float [B, 3, 3, 2], given {given}"


def test_variables_of_another_network_are_named():
    network = resolve_network(architecture="mlp")
    other = jax.eval_shape(resolve_network(architecture="mlp", channels=9).init, jax.random.key(0))
    seen = jnp.zeros((4, 3, 3, 2))
    for variables, message in [
        (other, r"\['layers'\]\['0'\]\['kernel'\] has the shape \(18, 9\), expected \(18, 8\)"),
        ({"params": {}, "stats": {}}, r"\['body'\] is missing"),
    ]:
        with pytest.raises(ValueError, match=message):
            jax.eval_shape(network.apply, variables, seen)


def test_a_key_must_be_one_key():
    with pytest.raises(ValueError, match="key must be one PRNG key"):
        resolve_network(architecture="mlp").init(jax.random.split(jax.random.key(0)))


def test_a_network_is_hashable_and_equal_by_its_shape():
    assert resolve_network() == resolve_network()
    assert hash(resolve_network()) == hash(resolve_network())
    assert resolve_network() != resolve_network(channels=9)


@pytest.mark.parametrize("key", [jax.random.key(3), jax.random.PRNGKey(2**40 + 7)])
def test_parameters_get_the_keys_that_flax_would_give_them(key):
    ours, theirs = _ParameterKeys(key), nnx.Rngs(params=key)
    for _ in range(3):
        assert jax.random.key_data(ours.params()).tolist() == (
            jax.random.key_data(theirs.params()).tolist()
        )


def calls_to_trace(blocks):
    """Counts the calls, of Python and of C functions, that trace a network's initialisation."""
    network = make_network(make("tic_tac_toe"), NetworkConfig(blocks=blocks, channels=2))
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        shapes = jax.eval_shape(network.init, jax.random.key(0))
    finally:
        sys.setprofile(before)
    assert len(jax.tree.leaves(shapes)) > 6 * blocks
    return calls


def test_the_work_to_trace_a_network_grows_with_its_blocks_only():
    calls_to_trace(1)  # fills the caches
    few, some, many = (calls_to_trace(blocks) for blocks in (10, 20, 30))
    assert many - some < 1.1 * (some - few)
