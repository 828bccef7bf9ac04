"""The lock of a run directory: one process trains a run at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from azjax.errors import UserError

LOCK_FILE = ".lock"


@contextlib.contextmanager
def run_lock(run_dir: Path) -> Iterator[None]:
    """Holds the lock of a run directory, which must exist.

    The operating system releases it when the process ends, however it ends. The file stays.

    Raises:
      UserError: another process trains this run.
    """
    with (run_dir / LOCK_FILE).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            process = file.read().strip() or "unknown"
            raise UserError(
                f"{run_dir}: another process trains this run (process {process}); wait for it, "
                "stop it, or choose another directory"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
