"""The product of dense layers, compared with JAX's own."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.network.dense_product import dense_product, few_rows_product

SUMS = {"preferred_element_type": jnp.float32}


def operands(dtype):
    keys = jax.random.split(jax.random.key(0), 3)
    shapes = ((5, 7), (7, 3), (5, 3))
    x, kernel, weights = map(jax.random.normal, keys, shapes)
    return x.astype(dtype), kernel.astype(dtype), weights


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_values_and_gradients_are_jaxs(dtype):
    x, kernel, weights = operands(dtype)

    def total(product):
        return lambda x, kernel: jnp.sum(weights * product(x, kernel))

    ours, plain = total(dense_product), total(lambda x, kernel: jnp.matmul(x, kernel, **SUMS))
    assert ours(x, kernel) == plain(x, kernel)
    found = jax.grad(ours, (0, 1))(x, kernel)
    expected = jax.grad(plain, (0, 1))(x, kernel)
    for a, b, operand in zip(found, expected, (x, kernel), strict=True):
        assert a.dtype == b.dtype == operand.dtype
        # The gradient of the result is rounded to 8 bits before the products, not after them.
        near = {"float32": 1e-6, "bfloat16": 2e-2}[dtype]
        np.testing.assert_allclose(*(np.asarray(y, np.float32) for y in (a, b)), near, near)


@pytest.mark.parametrize("rows", [2, 8, 9])
@pytest.mark.parametrize("inputs", [528, 520])  # whole blocks of rows, and some rows more
def test_few_rows_give_the_values_of_many(rows, inputs):
    x = jax.random.normal(jax.random.key(0), (16, inputs))
    kernel = jax.random.normal(jax.random.key(1), (inputs, 130))
    few = jax.jit(dense_product)(x[:rows], kernel)
    np.testing.assert_allclose(few, dense_product(x, kernel)[:rows], 1e-4, 1e-4)


def gradient_of(weights):
    return jax.grad(lambda x, kernel: jnp.sum(weights * dense_product(x, kernel)), (0, 1))


def test_all_products_are_in_bfloat16():
    x, kernel, weights = operands("bfloat16")
    program = jax.jit(gradient_of(weights)).lower(x, kernel).as_text()
    products = re.findall(r"dot_general .* : \(([^)]*)\) -> (tensor<[^>]*>)", program)
    types = [re.findall(r"x([bf]+\d+)>", " ".join(product)) for product in products]
    assert types == [["bf16", "bf16", "f32"]] * 2


def test_a_cpu_with_bfloat16_also_has_its_gradients_in_it():
    """XLA converts operands to float32 where it can't multiply them as they are."""

    def operand_types(function, *arrays):
        text = jax.jit(function).lower(*arrays).compile().as_text()
        types = dict(re.findall(r"(%[\w.]+) = (\w+)\[", text))
        pairs = re.findall(r" dot\((%[\w.]+), (%[\w.]+)\)", text)
        return [types[name] for pair in pairs for name in pair]

    keys = jax.random.split(jax.random.key(0), 3)
    shapes = (128, 64), (64, 32), (128, 32)
    x, kernel, weights = map(jax.random.normal, keys, shapes)
    x, kernel = x.astype(jnp.bfloat16), kernel.astype(jnp.bfloat16)
    if operand_types(dense_product, x, kernel) != ["bf16"] * 2:
        pytest.skip("this machine does not multiply in bfloat16")
    assert operand_types(gradient_of(weights), x, kernel) == ["bf16"] * 4


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_of_several_networks_at_once(dtype):
    x, kernel, weights = operands(dtype)
    xs, kernels = (jnp.stack([y, 2 * y, 3 * y]) for y in (x, kernel))
    found = jax.jit(jax.vmap(gradient_of(weights)))(xs, kernels)
    for i, pair in enumerate(zip(xs, kernels, strict=True)):
        for a, b in zip(found, gradient_of(weights)(*pair), strict=True):
            np.testing.assert_allclose(*(np.asarray(y, np.float32) for y in (a[i], b)), 1e-2, 1e-5)


def test_few_rows_are_multiplied_alike_in_a_head():
    x = jax.random.normal(jax.random.key(0), (4, 512))
    kernel = jax.random.normal(jax.random.key(1), (512, 65))
    contraction = (((1,), (0,)), ((), ()))
    product = jax.jit(lambda x: few_rows_product(x, kernel, contraction, precision=None))
    expected = jax.lax.dot_general(x, kernel, contraction)
    np.testing.assert_allclose(product(x), expected, 1e-4, 1e-4)
    assert "scan" in str(product.trace(x).jaxpr)
    assert "scan" not in str(product.trace(jnp.tile(x, (3, 1))).jaxpr)
