"""Loops that are good on a CPU only.

XLA on a CPU fuses a value with all computations that use it, except through a loop; and loops are
faster there than long code. Elsewhere each turn of a loop is some launches, so other platforms get
the values themselves, or the loop written out.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array


def jit_for_few_calls(
    function: Callable[..., Any], *, optimised: bool = False, **options: Any
) -> Any:
    """Returns `jax.jit(function, **options)`, which a CPU compiles in less time.

    It is for what runs once a move, and not within another traced function. A step of chess
    compiles in a third of the time and takes 0.6 ms. `optimised` is for long work: the evaluation
    of a root by a random game of go compiles in half the time and takes 10 ms instead of 5.
    """

    @functools.cache
    def jitted() -> Any:  # at the first call, because asking for the platform starts JAX
        faster: dict[str, bool | int] = {}
        if jax.default_backend() == "cpu":
            if _has_older_fusions():
                faster["xla_cpu_use_fusion_emitters"] = False
            if not optimised:
                faster["xla_backend_optimization_level"] = 0
        return jax.jit(function, compiler_options=faster, **options)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return jitted()(*args, **kwargs)

    call.eval_shape = lambda *args: jitted().eval_shape(*args)  # type: ignore[attr-defined]
    return call


@functools.cache
def _has_older_fusions() -> bool:
    """Returns whether XLA can fuse without its emitters, which jax 0.12 cannot."""
    options = {"xla_cpu_use_fusion_emitters": False}
    try:
        jax.jit(lambda: jnp.zeros(()), compiler_options=options).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


def fusion_barrier(*values: Any) -> tuple[Any, ...]:
    """Returns the same values, behind a barrier that makes XLA compute them only once.

    XLA on a CPU fuses each result of a program with everything that leads to it, so shared values
    are computed several times. It removes optimization barriers before that, but keeps loops. So
    the values pass through a loop that does not change them. Random play of gomoku takes 2.3 times
    as long without it. The loop would cost an H100 eight kernels a step.
    """

    def stay(i: Array, values: Any) -> Any:
        return jax.tree.map(lambda x: jnp.where(i < 0, jnp.zeros_like(x), x), values)

    def loop(*values: Any) -> tuple[Any, ...]:
        return jax.lax.fori_loop(0, 2, stay, values)

    return jax.lax.platform_dependent(*values, cpu=loop, default=lambda *values: values)


def reshape_barrier(array: Array) -> Array:
    """Returns the same array [n, m, ...], n and m at least 2, written to memory in its shape.

    XLA on a CPU fuses a reshape with the array that it reshapes. It then divides the index of each
    element by the old sizes, even if no memory would have to move. A mask of 64 x 73 moves was
    measured to take 40 times as long to unpack, and random play of Gardner's chess 12 times as
    long. The loop here exchanges two elements twice.
    """

    def swap(_: int, array: Array) -> Array:
        corner = (0,) * array.ndim
        pair = jax.lax.slice(array, corner, (2,) + (1,) * (array.ndim - 1))
        return jax.lax.dynamic_update_slice(array, pair[::-1], corner)

    def loop(array: Array) -> Array:
        return jax.lax.fori_loop(0, 2, swap, array)

    return jax.lax.platform_dependent(array, cpu=loop, default=lambda array: array)


def short_scan(
    body: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    *,
    length: int,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Returns what `jax.lax.scan` does; a loop on a CPU, and written out on other platforms.

    Random play of othello takes a CPU 2.1 times as long written out. The loops would take an H100
    an estimated 3.7 times as long.

    Args:
      xs: pytree of arrays [length, ...], or None.
      length: number of steps, which should be small.
      reverse: begin with the last step.
    """
    scan = functools.partial(jax.lax.scan, body, length=length, reverse=reverse)
    return jax.lax.platform_dependent(
        init, xs, cpu=scan, default=functools.partial(scan, unroll=length)
    )
