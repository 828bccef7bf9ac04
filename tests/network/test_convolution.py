import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.network.convolution import same_convolution


def stock(x, kernel):
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def gradients(convolve, x, kernel):
    """Returns gradients of a loss that weights every element of the result differently."""

    def loss(x, kernel):
        y = convolve(x, kernel)
        return jnp.sum(jnp.sin(y) * jnp.arange(y.size).reshape(y.shape))

    return jax.grad(loss, (0, 1))(x, kernel)


@pytest.mark.parametrize("size", [1, 3, 5])
@pytest.mark.parametrize("board", [(6, 7), (1, 3), (4, 4)])
def test_results_and_gradients_equal_jaxs(size, board):
    x = jax.random.normal(jax.random.key(0), (5, *board, 3))
    kernel = jax.random.normal(jax.random.key(1), (size, size, 3, 4))
    np.testing.assert_allclose(same_convolution(x, kernel), stock(x, kernel), rtol=1e-6)
    for ours, theirs in zip(
        gradients(same_convolution, x, kernel), gradients(stock, x, kernel), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3)


def convolutions_in_a_loop(convolve):
    """Returns the layouts of the compiled program's convolutions."""

    def loop(x, kernel):
        def step(kernel, _):
            to_x, to_kernel = gradients(convolve, x, kernel)
            return kernel - to_kernel - jnp.sum(to_x), None

        return jax.lax.scan(step, kernel, length=3)[0]

    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in [(8, 6, 7, 3), (3, 3, 3, 3)]]
    return re.findall(r"dim_labels=(\S+?)[,\s]", jax.jit(loop).lower(*shapes).compile().as_text())


def test_in_a_loop_all_have_the_layout_of_xlas_fast_routine():
    found = convolutions_in_a_loop(same_convolution)
    assert set(found) == {"b01f_01io->b01f"}
    assert len(found) >= 3
    # If this fails, XLA has improved, and convolution.py is no longer needed.
    assert set(convolutions_in_a_loop(stock)) > {"b01f_01io->b01f"}
