"""Checkpoints of the whole training state, written by Orbax while training goes on."""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import (
    AnyPreservationPolicy,
    BestN,
    LatestN,
)

from azjax.errors import UserError

# Two items, so that a player is loaded without the replay buffer: the network that plays, and the
# rest of the training state.
_VARIABLES = "variables"
_REST = "rest"
_METRIC = "selection_metric"
_ABANDONED_READ_S = 0.2  # after a failed read, the others end within this time


class BrokenCheckpointError(UserError):
    """A checkpoint's files are damaged."""


class Checkpoints:
    """The checkpoints of a run directory: the newest few and the best.

    Use as a context manager: leaving it waits for the write in flight.
    """

    def __init__(self, run_dir: Path, *, keep: int = 1, read_only: bool = False):
        self.directory = run_dir / "checkpoints"
        if read_only and not self.directory.is_dir():
            raise UserError(f"{run_dir}: no run with checkpoints is there")
        best = BestN(get_metric_fn=_selection_metric, n=1, keep_checkpoints_without_metrics=False)
        policy = AnyPreservationPolicy([LatestN(n=keep), best])
        # Named handlers: without them the shapes in a checkpoint cannot be read before it is.
        handlers = {item: ocp.StandardCheckpointHandler() for item in (_VARIABLES, _REST)}
        with _no_logs_of_orbax():  # it warns that what is opened for reading is read-only
            options = ocp.CheckpointManagerOptions(
                read_only=read_only,
                preservation_policy=None if read_only else policy,
                # Without it no metric is written, and a resumed run forgets its best.
                best_fn=_selection_metric,
                enable_async_checkpointing=True,
            )
            self._manager = _Manager(
                self.directory.absolute(), options=options, item_handlers=handlers
            )

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._manager.close()

    def cycles(self) -> list[int]:
        """The cycles that have a checkpoint, oldest first."""
        return sorted(self._manager.all_steps())

    def best(self) -> int | None:
        """The cycle of the checkpoint that evaluated best, None where none was evaluated."""
        metrics = {c: _selection_metric(self._manager.metrics(c) or {}) for c in self.cycles()}
        known = [(metric, c) for c, metric in metrics.items() if metric > -math.inf]
        return max(known)[1] if known else None

    def save(
        self, cycle: int, variables: Any, rest: Any, *, selection_metric: float | None = None
    ) -> None:
        """Starts to write a checkpoint; returns as soon as training may go on.

        Args:
          cycle: the cycle that the checkpoint is of.
          variables: the network that plays; its arrays may be donated right after.
          rest: everything else that the run needs to go on, a pytree; likewise.
          selection_metric: how well it plays, larger is better; None if it was not evaluated.
        """
        # A copy of its own: on CPU the writer would otherwise read, without copying, the buffers
        # that the next cycle is given to write over.
        variables, rest = jax.tree.map(jnp.copy, (variables, rest))
        self._manager.save(
            cycle,
            args=ocp.args.Composite(
                variables=ocp.args.StandardSave(variables),
                rest=ocp.args.StandardSave(rest),
            ),
            metrics={_METRIC: -math.inf if selection_metric is None else selection_metric},
        )

    def restore_newest(
        self, variables: Any, rest: Any, *, warn: Callable[[str], None]
    ) -> tuple[Any, Any]:
        """Restores the newest checkpoint that is intact, as (variables, rest).

        Args:
          variables, rest: the shapes, dtypes and shardings to restore, as `save` was given.
          warn: called with a line about each checkpoint that is broken and skipped.

        Raises:
          UserError: there is none, or the checkpoint is of another config.
        """

        def restore(cycle: int) -> tuple[Any, Any]:
            args = ocp.args.Composite(
                variables=ocp.args.StandardRestore(variables),
                rest=ocp.args.StandardRestore(rest),
            )
            restored = self._manager.restore(cycle, args=args)
            return restored[_VARIABLES], restored[_REST]

        return self._newest(restore, variables, rest, warn)

    def restore_variables(
        self, abstract: Any, cycle: int | None = None, *, warn: Callable[[str], None]
    ) -> Any:
        """Restores the network's variables of one cycle, or of the newest intact checkpoint.

        Args:
          abstract: the shapes, dtypes and shardings to restore.
          cycle: the checkpoint's cycle; None for the newest intact one.
          warn: called with a line about each checkpoint that is broken and skipped.

        Raises:
          BrokenCheckpointError: the cycle's checkpoint is damaged.
          UserError: there is no such checkpoint, or it is of another config.
        """

        def restore(cycle: int) -> Any:
            args = ocp.args.Composite(variables=ocp.args.StandardRestore(abstract))
            return self._manager.restore(cycle, args=args)[_VARIABLES]

        if cycle is not None:
            if cycle not in self.cycles():
                known = ", ".join(map(str, self.cycles())) or "none"
                raise UserError(f"{self.directory}: no checkpoint {cycle}; there are {known}")
            restored, reason = _attempt(lambda: restore(cycle))
            if reason is not None:
                raise BrokenCheckpointError(
                    f"checkpoint {self.directory / str(cycle)} is broken ({reason})"
                )
            return restored
        return self._newest(restore, abstract, None, warn)

    def _newest(
        self,
        restore: Callable[[int], Any],
        variables: Any,
        rest: Any,
        warn: Callable[[str], None],
    ) -> Any:
        for cycle in reversed(self.cycles()):

            def attempt(cycle: int = cycle) -> tuple[str | None, Any]:
                difference = self._difference(cycle, variables, rest)
                return difference, None if difference else restore(cycle)

            found, reason = _attempt(attempt)
            path = self.directory / str(cycle)
            if reason is not None:
                warn(f"checkpoint {path} is broken ({reason}); trying an older one")
                continue
            difference, restored = found
            if difference is not None:
                raise UserError(f"{path} is of another config: {difference}")
            return restored
        raise UserError(f"{self.directory}: no intact checkpoint is there")

    def _difference(self, cycle: int, variables: Any, rest: Any) -> str | None:
        """The first array whose shape or type is not as expected."""
        for item, expected in [(_VARIABLES, variables), (_REST, rest)]:
            if expected is None:
                continue
            metadata = self._manager.item_metadata(cycle)[item]
            if metadata is None:
                raise FileNotFoundError(f"the part {item} is missing")
            stored = _by_path(getattr(metadata, "tree", metadata))
            wanted = _by_path(expected)
            for path in sorted(stored.keys() | wanted.keys()):
                there, here = stored.get(path), wanted.get(path)
                if there != here:
                    return (
                        f"{path} is {there or 'absent'} in the checkpoint, "
                        f"{here or 'absent'} in the config"
                    )
        return None


class _Manager(ocp.CheckpointManager):
    """Orbax's manager, to which a damaged metric is a missing one rather than a failure."""

    def metrics(self, step: int) -> dict[str, float] | None:
        try:
            return super().metrics(step)
        except ValueError:
            return None


@contextlib.contextmanager
def _no_logs_of_orbax() -> Iterator[None]:
    """Keeps Orbax's log messages off the terminal for a while."""
    logger = logging.getLogger("absl")

    def is_ours(record: logging.LogRecord) -> bool:
        return "orbax" not in record.pathname

    logger.addFilter(is_ours)
    try:
        yield
    finally:
        logger.removeFilter(is_ours)


def _attempt(read: Callable[[], Any]) -> tuple[Any, str | None]:
    """Reads a checkpoint that may be damaged; whatever a damaged file raises means the same.

    What Orbax reports of damaged files stays off the terminal, since the caller says it in a line.
    It logs each file that is missing. When one read fails, it abandons the others, and Python would
    report each of these with a page of its own when it is collected.

    Returns:
      (the result, None), or (None, what was wrong) on one line.
    """
    report, heard = sys.unraisablehook, [0]

    def filtered(unraisable: Any) -> None:
        code = getattr(unraisable.object, "cr_code", None)
        abandoned = code is not None and "orbax" in code.co_filename
        if abandoned or str(unraisable.exc_value) == "Event loop is closed":
            heard[0] += 1
        else:
            report(unraisable)

    sys.unraisablehook = filtered
    try:
        with _no_logs_of_orbax():
            try:
                return read(), None
            except Exception as error:
                reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
            # The abandoned reads end in threads, some after this: wait until no more is heard.
            before = -1
            while before < heard[0]:
                before = heard[0]
                time.sleep(_ABANDONED_READ_S)
                gc.collect()
            return None, reason
    finally:
        sys.unraisablehook = report


def _selection_metric(metrics: dict[str, float]) -> float:
    return metrics.get(_METRIC, -math.inf)


def _by_path(tree: Any) -> dict[str, str]:
    """ "path": "dtype[shape]" of every array."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {
        ".".join(
            str(getattr(k, "key", getattr(k, "name", getattr(k, "idx", k)))) for k in path
        ): f"{jnp.dtype(leaf.dtype).name}{list(leaf.shape)}"
        for path, leaf in leaves
    }
