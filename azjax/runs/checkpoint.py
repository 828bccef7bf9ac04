"""Checkpoints of the whole training state, written by Orbax while training goes on."""

import contextlib
import logging
import math
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import AnyPreservationPolicy, BestN, LatestN

from azjax.errors import FatalError, UserError
from azjax.runs.checksums import find_damage, write_checksums

# A checkpoint has two items of arrays: the network that plays, and the rest of the training state.
# A player is loaded without the rest, which includes the replay buffer.
_VARIABLES = "variables"
_REST = "rest"
_METRIC = "selection_metric"


class BrokenCheckpointError(UserError):
    """The error of a checkpoint whose files are damaged."""


class SaveError(FatalError):
    """The error of a checkpoint that could not be written.

    Orbax's other threads wait up to 20 minutes for the one that failed, and Python for them.
    """


class Checkpoints:
    """The checkpoints of a run directory: the newest few and the best.

    Use it as a context manager: leaving it waits for the write in progress, and raises a
    `SaveError` if that fails.

    Args:
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
        with _no_logs_of_orbax():  # Orbax warns that a manager opened for reading is read-only
            options = ocp.CheckpointManagerOptions(
                read_only=read_only,
                preservation_policy=None if read_only else policy,
                # Without it, Orbax writes no metric, and a resumed run forgets its best checkpoint.
                best_fn=_selection_metric,
                enable_async_checkpointing=True,
                async_options=ocp.AsyncOptions(post_finalization_callback=self._write_checksums),
            )
            self._manager = _Manager(self.directory.absolute(), options=options)
        self._last_saved: int | None = None
        self._failed = False
        self._quiet = contextlib.ExitStack()

    def __enter__(self) -> "Checkpoints":
        self._quiet.enter_context(_no_logs_of_orbax())
        return self

    def __exit__(self, _: object, error: BaseException | None, *trace: object) -> None:
        if self._failed:
            return  # the threads of the failed write still run; they stay quiet
        if error is not None and not isinstance(error, UserError) and jax.process_count() > 1:
            return  # the write would wait for another process, which may be lost
        with self._saving():
            self._manager.close()
        self._quiet.close()

    @contextlib.contextmanager
    def _saving(self) -> Iterator[None]:
        """Turns every error inside the context into a `SaveError` of the last cycle saved."""
        try:
            yield
        except Exception as error:
            self._failed = True
            kept = [cycle for cycle in self.cycles() if cycle != self._last_saved]
            last = f"the last good one is of cycle {kept[-1]}" if kept else "there is no other one"
            raise SaveError(
                f"{self.directory}: the checkpoint of cycle {self._last_saved} could not be "
                f"written ({_reason(error)}); training stopped, {last}"
            ) from error

    def cycles(self) -> list[int]:
        """Returns the cycles that have a checkpoint, oldest first."""
        return sorted(self._manager.all_steps())

    def best(self) -> int | None:
        """Returns the cycle of the checkpoint that evaluated best, of equals the newest.

        It is None if none was evaluated.
        """
        metrics = {c: _selection_metric(self._manager.metrics(c) or {}) for c in self.cycles()}
        known = [(metric, c) for c, metric in metrics.items() if metric > -math.inf]
        return max(known)[1] if known else None

    def save(
        self, cycle: int, variables: Any, rest: Any, *, selection_metric: float | None = None
    ) -> None:
        """Starts to write a checkpoint; returns as soon as training may go on.

        Args:
          variables: the network that plays. Its arrays may be donated right after the call.
          rest: a pytree of everything else that the run needs. It may be donated likewise.
          selection_metric: how well the network plays; larger is better. None if it was not
            evaluated.

        Raises:
          SaveError: this checkpoint, or the one before it, could not be written.
        """
        self.finish()
        self._last_saved = cycle
        # The writer needs its own copy. On CPU it reads the buffers without copying them, and the
        # next cycle overwrites these buffers.
        variables, rest = jax.tree.map(jnp.copy, (variables, rest))
        metric = -math.inf if selection_metric is None else float(selection_metric)
        with self._saving():
            self._manager.save(
                cycle,
                args=ocp.args.Composite(
                    variables=ocp.args.StandardSave(variables), rest=ocp.args.StandardSave(rest)
                ),
                metrics={_METRIC: metric},
            )

    def finish(self) -> None:
        """Waits for the write in progress; raises a `SaveError` if it fails."""
        with self._saving():
            self._manager.wait_until_finished()

    def restore_newest(
        self, variables: Any, rest: Any, *, warn: Callable[[str], None]
    ) -> tuple[Any, Any]:
        """Restores the newest intact checkpoint: (variables, rest), as `save` received them.

        Args:
          variables: shapes, dtypes and shardings of the network's variables.
          rest: shapes, dtypes and shardings of everything else.
          warn: called with a line about each checkpoint that is broken and skipped.

        Raises:
          UserError: there is no intact checkpoint, or it is of another config.
        """
        restored, broken = self._newest({_VARIABLES: variables, _REST: rest}, warn)
        for cycle in self.cycles():
            if cycle not in broken and self._manager.metrics(cycle) is None:
                path = self.directory / str(cycle)
                warn(f"checkpoint {path}: its evaluation is damaged; it counts as not evaluated")
        return restored[_VARIABLES], restored[_REST]

    def restore_variables(
        self, abstract: Any, cycle: int | None = None, *, warn: Callable[[str], None]
    ) -> Any:
        """Restores the network's variables of one cycle, or of the newest intact checkpoint.

        Args and errors are as in `restore_newest`.

        Raises:
          BrokenCheckpointError: the cycle's checkpoint is damaged.
          UserError: the cycle has no checkpoint.
        """
        expected = {_VARIABLES: abstract}
        if cycle is None:
            return self._newest(expected, warn)[0][_VARIABLES]
        if cycle not in self.cycles():
            known = ", ".join(map(str, self.cycles())) or "none"
            raise UserError(f"{self.directory}: there is no checkpoint {cycle}; available: {known}")
        return self._restore(cycle, expected)[_VARIABLES]

    def _newest(
        self, expected: dict[str, Any], warn: Callable[[str], None]
    ) -> tuple[dict[str, Any], list[int]]:
        """Returns the items of the newest intact checkpoint, and the broken cycles after it."""
        broken: list[int] = []
        for cycle in reversed(self.cycles()):
            try:
                return self._restore(cycle, expected), broken
            except BrokenCheckpointError as error:
                warn(f"{error}; trying an older one")
                broken.append(cycle)
        raise UserError(f"{self.directory}: there is no intact checkpoint")

    def _restore(self, cycle: int, expected: dict[str, Any]) -> dict[str, Any]:
        """Restores items of a checkpoint, whose shapes, dtypes and shardings are `expected`."""
        path = self.directory / str(cycle)
        if damage := find_damage(path, *expected):
            raise BrokenCheckpointError(f"checkpoint {path} is broken ({damage})")
        for item, tree in expected.items():
            folder = self._manager.directory / str(cycle) / item
            stored = ocp.StandardCheckpointHandler().metadata(folder)
            if difference := _difference(stored.tree, tree):
                raise UserError(f"{path} is of another config: {difference}")
        parts = {item: ocp.args.StandardRestore(tree) for item, tree in expected.items()}
        restored = self._manager.restore(cycle, args=ocp.args.Composite(**parts))
        for name, values in _by_path(restored[_VARIABLES]).items():
            if jnp.issubdtype(values.dtype, jnp.inexact) and not jnp.isfinite(values).all():
                raise BrokenCheckpointError(
                    f"checkpoint {path} is broken ({name} holds numbers that are not finite)"
                )
        return dict(restored)

    def _write_checksums(self) -> None:
        """Adds the checksums to the checkpoint just before it gets its final name."""
        if jax.process_index() == 0:
            for folder in self.directory.glob(f"{self._last_saved}.*"):
                write_checksums(folder)


class _Manager(ocp.CheckpointManager):
    """Orbax's manager, except that a damaged metric counts as missing and is no error."""

    def metrics(self, step: int) -> dict[str, float] | None:
        if find_damage(Path(self.directory) / str(step), "metrics"):
            return None
        return super().metrics(step)


@contextlib.contextmanager
def _no_logs_of_orbax() -> Iterator[None]:
    """Keeps log messages of Orbax off the terminal inside."""
    logger = logging.getLogger("absl")

    def is_ours(record: logging.LogRecord) -> bool:
        return "orbax" not in record.pathname

    logger.addFilter(is_ours)
    try:
        yield
    finally:
        logger.removeFilter(is_ours)


def _selection_metric(metrics: dict[str, float]) -> float:
    return metrics.get(_METRIC, -math.inf)


def _reason(error: Exception) -> str:
    """Returns why a file could not be written, in one line."""
    known = re.search(r"os_error_code='(\d+)'", str(error))  # in the errors of TensorStore
    if known:
        return os.strerror(int(known[1]))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(f"{type(error).__name__}: {error}".split())[:160]


def _difference(stored: Any, expected: Any) -> str | None:
    """Describes the first array whose type or shape is not as expected; None if all are."""
    theirs, ours = _by_path(stored), _by_path(expected)
    for path in sorted(theirs.keys() | ours.keys()):
        there, here = (
            f"{jnp.dtype(tree[path].dtype).name}{list(tree[path].shape)}" if path in tree else None
            for tree in (theirs, ours)
        )
        if there != here:
            return (
                f"{path} is {there or 'absent'} in the checkpoint, {here or 'absent'} in the config"
            )
    return None


def _by_path(tree: Any) -> dict[str, Any]:
    """Returns the leaves of a pytree by their paths, as "params.trunk.kernel"."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}
