"""The lock of a run directory: one process trains a run at a time."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from azjax.errors import UserError

LOCK_FILES = (".lock", ".process")
"""The lock, which some systems let no other process read, and the number of its process."""


@contextlib.contextmanager
def run_lock(run_dir: Path) -> Iterator[None]:
    """Holds the lock of a run directory, which must exist.

    The operating system releases it when the process ends, however it ends. The files stay.

    Raises:
      UserError: another process trains this run.
    """
    lock, holder = FileLock(run_dir / LOCK_FILES[0]), run_dir / LOCK_FILES[1]
    try:
        lock.acquire(timeout=0)
    except Timeout:
        process = holder.read_text().strip() if holder.is_file() else "unknown"
        raise UserError(
            f"{run_dir}: another process trains this run (process {process}); wait for it, stop "
            "it, or choose another directory"
        ) from None
    try:
        holder.write_text(f"{os.getpid()}\n")
        yield
    finally:
        lock.release()
