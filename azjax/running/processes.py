"""What the processes of a run on several hosts agree on."""

import contextlib
from collections.abc import Iterator

import jax
import numpy as np
from jax.experimental import multihost_utils

from azjax.errors import UserError


@contextlib.contextmanager
def failing_together() -> Iterator[None]:
    """Makes all processes fail if one fails; otherwise they would wait for it forever."""
    refusal: UserError | None = None
    try:
        yield
    except UserError as error:
        refusal = error
    if any_process(refusal is not None):
        raise refusal or UserError("another process of the run failed; its message says why")


def any_process(flag: bool) -> bool:
    """Returns whether `flag` is True in any process of the run; all get the same answer."""
    if jax.process_count() == 1:
        return flag
    return bool(multihost_utils.process_allgather(np.asarray(flag)).any())
