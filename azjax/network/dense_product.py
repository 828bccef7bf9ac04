"""Products of dense layers: cheap gradients in bfloat16, and few rows at a time on CPUs."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs.xla_cpu import reshape_barrier

from azjax.types import Array

# XLA on a CPU copies a kernel into another order before it multiplies two rows or more by it, which
# takes longer than the product. So a few rows add up their multiples of the kernel's rows, sixteen
# in each turn of a loop. Four rows by a kernel of 7,200 x 512 take 3.7 ms instead of 17, and by
# eleven of 512 x 512 1.9 ms instead of 7.9 (AMD EPYC with AVX2, one busy core, 2026-11-29).
_FEW_ROWS = 8
_AT_ONCE = 16
_LARGE = 2**15  # weights; loops of smaller kernels would gain little, and compile longer


def dense_product(x: Array, kernel: Array, *_: Any, **__: Any) -> Array:
    """Multiplies [B, inputs] by [inputs, outputs] for an `flax.nnx.Linear`; the sums are float32.

    Only reverse-mode differentiation is supported. JAX's own gradient of bfloat16 operands with a
    float32 result multiplies in float32, which takes several times as long on CPUs with bfloat16.
    """
    return _product(x, kernel)


def few_rows_product(x: Array, kernel: Array, *contraction: Any, **options: Any) -> Array:
    """Multiplies as `jax.lax.dot_general` does, for an `flax.nnx.Linear`; few rows faster on CPUs.

    The arguments after the two arrays are those of `jax.lax.dot_general`.
    """
    multiply = functools.partial(_dot_general, contraction, options)
    if _has_few_rows(x, kernel):
        return jax.lax.platform_dependent(x, kernel, cpu=_by_multiples, default=multiply)
    return multiply(x, kernel)


def _dot_general(contraction: Any, options: Any, x: Array, kernel: Array) -> Array:
    return jax.lax.dot_general(x, kernel, *contraction, **options)


def _has_few_rows(x: Array, kernel: Array) -> bool:
    few = x.ndim == 2 and 1 < len(x) <= _FEW_ROWS
    return few and kernel.size >= _LARGE and x.dtype == jnp.float32


@jax.custom_vjp
def _product(x: Array, kernel: Array) -> Array:
    if _has_few_rows(x, kernel):
        return jax.lax.platform_dependent(x, kernel, cpu=_by_multiples, default=_matmul)
    return _matmul(x, kernel)


def _matmul(x: Array, kernel: Array) -> Array:
    return jnp.matmul(x, kernel, preferred_element_type=jnp.float32)


def _by_multiples(x: Array, kernel: Array) -> Array:
    """Returns the product of a few rows, the sum of multiples of the kernel's rows."""
    turns, rest = divmod(len(kernel), _AT_ONCE)
    whole = turns * _AT_ONCE
    factors = x[:, :whole].reshape(-1, turns, _AT_ONCE).transpose(1, 2, 0)
    rows = kernel[:whole].reshape(turns, _AT_ONCE, -1)

    def add(turn: Array, total: Array) -> Array:
        for factor, row in zip(factors[turn], rows[turn], strict=True):
            total += factor[:, None] * row[None]
        return total

    start = _matmul(x[:, whole:], kernel[whole:]) if rest else jnp.zeros((len(x), kernel.shape[1]))
    return jax.lax.fori_loop(0, turns, add, start)


def _forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return _product(x, kernel), (x, kernel)


def _backward(residuals: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, kernel = residuals
    gradient = gradient.astype(kernel.dtype)
    inputs = _contract(gradient, kernel, 1, 1)
    weights = _weights_gradient(x, gradient)
    return inputs.astype(x.dtype), weights.astype(kernel.dtype)


def _contract(a: Array, b: Array, axis_a: int, axis_b: int) -> Array:
    """Returns the sums over an axis of each array, float32, without a transposition."""
    axes = (((axis_a,), (axis_b,)), ((), ()))
    return jax.lax.dot_general(a, b, axes, preferred_element_type=jnp.float32)


def _weights_gradient(x: Array, gradient: Array) -> Array:
    if x.dtype != jnp.bfloat16 or min(x.shape) < 2:
        return _contract(x, gradient, 0, 0)

    # XLA on a CPU multiplies in bfloat16 only where the rows of both arrays lie in order and a sum
    # is over the first one's columns; it converts other arrays to float32. The gradient of
    # 512 x 598 by 512 x 256 takes 0.4 ms instead of 1.3 (Intel Xeon with AMX, one busy core,
    # 2026-12-01).
    def from_rows(x: Array, gradient: Array) -> Array:
        return _contract(_in_order(x.T), gradient, 1, 0)

    contract = functools.partial(_contract, axis_a=0, axis_b=0)
    return jax.lax.platform_dependent(x, gradient, cpu=from_rows, default=contract)


# A call, because XLA lays out the rows of its argument in order.
_in_order = jax.jit(reshape_barrier)

_product.defvjp(_forward, _backward)
