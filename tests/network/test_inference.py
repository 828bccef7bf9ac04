"""Variables that are made for play: batch norm is folded into the layers before it."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.network.inference import InferenceVariables
from azjax.sharding import EVERYWHERE, make_mesh, shard
from tests.network.networks import CHECKED, compiled, observations, resolve_network

FOLDED = [
    *CHECKED,
    resolve_network(norm="batch", dtype="bfloat16"),
    resolve_network(norm="batch", pooling_every=1, auxiliary=("score",)),
    resolve_network(architecture="mlp", norm="batch", convolutions=2, filters=4, dtype="bfloat16"),
]


@pytest.mark.parametrize("network", FOLDED, ids=str)
def test_for_inference_predicts_the_same(network):
    """Only batch norm changes the order of roundings; the rest is equal to the last bit."""
    init, apply, _ = compiled(network)
    key = jax.random.key(4)
    variables = init(key)
    # Scales, means and variances of a trained network are anything.
    variables["params"] = jax.tree.map(
        lambda x: x + 0.1 * jax.random.normal(key, x.shape), variables["params"]
    )
    variables["stats"] = jax.tree.map(
        lambda x: x + jax.random.uniform(key, x.shape), variables["stats"]
    )
    expected = apply(variables, observations())
    folded = network.for_inference(variables)
    found = apply(folded, observations())
    if network.config.norm != "batch":
        chex.assert_trees_all_equal(found, expected)
    else:
        near = 1e-5 if network.config.dtype == "float32" else 0.02
        for one, other in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
            size = np.abs(other).max()
            np.testing.assert_allclose(one, other, atol=near * max(size, 1.0))
    assert isinstance(folded, InferenceVariables)


def test_for_inference_leaves_little_to_do_in_bfloat16():
    """No parameter is cast in a prediction, and nothing is divided or rooted."""
    network = resolve_network(norm="batch", dtype="bfloat16")
    variables = jax.eval_shape(network.init, jax.random.key(0))
    folded = jax.eval_shape(network.for_inference, variables)
    assert {x.dtype for x in jax.tree.leaves(folded)} == {jnp.dtype("bfloat16")}
    before, after = (
        str(jax.make_jaxpr(network.apply)(arrays, observations())) for arrays in (variables, folded)
    )
    assert "rsqrt" in before
    assert "rsqrt" not in after


def test_inference_variables_cannot_be_trained():
    network = resolve_network(norm="batch")
    variables = jax.eval_shape(network.init, jax.random.key(0))
    folded = jax.eval_shape(network.for_inference, variables)
    apply_train = functools.partial(network.apply_train, key=jax.random.key(0))
    train = shard(apply_train, make_mesh(jax.devices()[:1]), EVERYWHERE, EVERYWHERE)
    with pytest.raises(ValueError, match="must be of this network"):
        jax.eval_shape(train, folded, observations())
    other = resolve_network(norm="batch", channels=4)
    with pytest.raises(ValueError, match="must be of this network"):
        other.for_inference(variables)
    with pytest.raises(ValueError, match="must be of this network"):
        network.for_inference(folded)
    with pytest.raises(ValueError, match="must be of this network"):
        jax.eval_shape(other.apply, folded, observations())
