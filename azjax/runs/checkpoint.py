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

# A checkpoint has two items: the network that plays, and the rest of the training state. A player
# is loaded without the rest, which includes the replay buffer.
_VARIABLES = "variables"
_REST = "rest"
_METRIC = "selection_metric"
_ABANDONED_READ_S = 0.2  # the other reads end within this time after a failed one


class BrokenCheckpointError(UserError):
    """The error of a checkpoint whose files are damaged."""


class Checkpoints:
    """The checkpoints of a run directory: the newest few and the best.

    Use it as a context manager: leaving it waits for the write in progress.

    Args:
      run_dir: the run directory.
      keep: number of newest checkpoints to keep, in addition to the best one.
      read_only: create and delete nothing.

    Raises:
      UserError: with `read_only`, if the run has no checkpoints.
    """

    def __init__(self, run_dir: Path, *, keep: int = 1, read_only: bool = False):
        self.directory = run_dir / "checkpoints"
        if read_only and not self.directory.is_dir():
            raise UserError(f"{run_dir}: there is no run with checkpoints")
        best = BestN(get_metric_fn=_selection_metric, n=1, keep_checkpoints_without_metrics=False)
        policy = AnyPreservationPolicy([LatestN(n=keep), best])
        # Without named handlers, the shapes in a checkpoint could not be read before its arrays.
        handlers = {item: ocp.StandardCheckpointHandler() for item in (_VARIABLES, _REST)}
        with _no_logs_of_orbax():  # Orbax warns that a manager opened for reading is read-only
            options = ocp.CheckpointManagerOptions(
                read_only=read_only,
                preservation_policy=None if read_only else policy,
                # Without it, Orbax writes no metric, and a resumed run forgets its best checkpoint.
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
        """Returns the cycles that have a checkpoint, oldest first."""
        return sorted(self._manager.all_steps())

    def best(self) -> int | None:
        """Returns the cycle of the checkpoint that evaluated best; None if none was evaluated."""
        metrics = {c: _selection_metric(self._manager.metrics(c) or {}) for c in self.cycles()}
        known = [(metric, c) for c, metric in metrics.items() if metric > -math.inf]
        return max(known)[1] if known else None

    def save(
        self, cycle: int, variables: Any, rest: Any, *, selection_metric: float | None = None
    ) -> None:
        """Starts to write a checkpoint; returns as soon as training may go on.

        Args:
          cycle: the checkpoint's cycle.
          variables: the network that plays. Its arrays may be donated right after the call.
          rest: a pytree of everything else that the run needs. It may be donated likewise.
          selection_metric: how well the network plays; larger is better. None if it was not
            evaluated.
        """
        # The writer needs its own copy. On CPU it reads the buffers without copying them, and the
        # next cycle overwrites these buffers.
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
        """Restores the newest intact checkpoint.

        Args:
          variables: shapes, dtypes and shardings of the network's variables.
          rest: shapes, dtypes and shardings of everything else.
          warn: called with a line about each checkpoint that is broken and skipped.

        Returns:
          (variables, rest), as `save` received them.

        Raises:
          UserError: there is no intact checkpoint, or it is of another config.
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
                raise UserError(
                    f"{self.directory}: there is no checkpoint {cycle}; available: {known}"
                )
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
        raise UserError(f"{self.directory}: there is no intact checkpoint")

    def _difference(self, cycle: int, variables: Any, rest: Any) -> str | None:
        """Describes the first array whose shape or dtype is not as expected; None if all are."""
        for item, expected in [(_VARIABLES, variables), (_REST, rest)]:
            if expected is None:
                continue
            metadata = self._manager.item_metadata(cycle)[item]
            if metadata is None:
                raise FileNotFoundError(f"the part {item} is missing")
            stored = _by_path(getattr(metadata, "tree", metadata))
            shapes = _by_path(expected)
            for path in sorted(stored.keys() | shapes.keys()):
                there, here = stored.get(path), shapes.get(path)
                if there != here:
                    return (
                        f"{path} is {there or 'absent'} in the checkpoint, "
                        f"{here or 'absent'} in the config"
                    )
        return None


class _Manager(ocp.CheckpointManager):
    """Orbax's manager, except that a damaged metric counts as missing and is no error."""

    def metrics(self, step: int) -> dict[str, float] | None:
        try:
            return super().metrics(step)
        except ValueError:
            return None


@contextlib.contextmanager
def _no_logs_of_orbax() -> Iterator[None]:
    """Keeps Orbax's log messages off the terminal inside the context."""
    logger = logging.getLogger("absl")

    def is_ours(record: logging.LogRecord) -> bool:
        return "orbax" not in record.pathname

    logger.addFilter(is_ours)
    try:
        yield
    finally:
        logger.removeFilter(is_ours)


def _attempt(read: Callable[[], Any]) -> tuple[Any, str | None]:
    """Reads a checkpoint that may be damaged; every exception means that it is.

    Orbax logs each missing file. When one read fails, it abandons the others, and Python prints a
    traceback for each of these when they are collected. All of this stays off the terminal, because
    the caller reports the damage in one line.

    Returns:
      (result, None), or (None, the reason in one line).
    """
    report, hidden = sys.unraisablehook, [0]

    def filtered(unraisable: Any) -> None:
        code = getattr(unraisable.object, "cr_code", None)
        abandoned = code is not None and "orbax" in code.co_filename
        if abandoned or str(unraisable.exc_value) == "Event loop is closed":
            hidden[0] += 1
        else:
            report(unraisable)

    sys.unraisablehook = filtered
    try:
        with _no_logs_of_orbax():
            try:
                return read(), None
            except Exception as error:
                reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
            # The abandoned reads end in threads, some later than this. Wait until none reports.
            before = -1
            while before < hidden[0]:
                before = hidden[0]
                time.sleep(_ABANDONED_READ_S)
                gc.collect()
            return None, reason
    finally:
        sys.unraisablehook = report


def _selection_metric(metrics: dict[str, float]) -> float:
    return metrics.get(_METRIC, -math.inf)


def _by_path(tree: Any) -> dict[str, str]:
    """Returns "dtype[shape]" of every array, by its path."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {
        ".".join(
            str(getattr(k, "key", getattr(k, "name", getattr(k, "idx", k)))) for k in path
        ): f"{jnp.dtype(leaf.dtype).name}{list(leaf.shape)}"
        for path, leaf in leaves
    }
