"""A choice for GPUs, which are slow at loops whose end depends on data.

Before each turn of such a loop the host of a GPU waits for its predicate, which takes longer than
many kernels. CPUs and TPUs end such loops by themselves.
"""

from collections.abc import Callable
from typing import Any

import jax


def on_gpu(form: Callable[..., Any], elsewhere: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that is `form` on a GPU and `elsewhere` on other platforms."""

    def either(*arguments: Any) -> Any:
        return jax.lax.platform_dependent(*arguments, cuda=form, rocm=form, default=elsewhere)

    return either
