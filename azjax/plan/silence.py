"""Silence for libraries that write to standard error, past Python."""

import contextlib
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps what XLA's libraries write to standard error away from the user.

    They look for drivers, hosts and a cloud's metadata, none of which is needed to compile.
    """
    saved = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
