"""What happens between two cycles of a run: the gate, logs, evaluations, checkpoints."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import jax

from azjax.config import Config, report_command, resume_command
from azjax.errors import UserError
from azjax.evaluation.position_suites import GameSuites
from azjax.running import evaluation
from azjax.running.pipeline import MetricsInFlight, Pipeline
from azjax.running.processes import any_process
from azjax.running.progress import OnCycle, Progress
from azjax.running.saved_state import save_state
from azjax.running.stop_signals import StopSignals
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.run_logger import RunLogger
from azjax.training import Trainer


@dataclass
class Run:
    """A run in progress, after one of its cycles."""

    run_dir: Path
    trainer: Trainer
    pipeline: Pipeline
    checkpoints: Checkpoints
    log: RunLogger
    stopping: StopSignals
    on_cycle: OnCycle | None
    cycle: int  # cycles done
    stop: bool = False  # whether the run ends after this cycle, before its last one or at it
    waiting: bool = True  # for the first update
    scores: dict[int, float] = field(default_factory=dict)  # the selection metric of some cycles
    suites: GameSuites = field(init=False)  # computed once for all evaluations

    def __post_init__(self) -> None:
        self.suites = GameSuites(self.trainer.game)

    @property
    def last(self) -> bool:
        """Whether this cycle is the last of the config."""
        return self.cycle == self.trainer.config.cycles

    def needs_state(self, cycle: int) -> bool:
        """Whether a hook of a cycle needs the state after it, which the next cycle overwrites.

        Several processes agree by a message, which waits until the last cycle has ended.
        """
        hooks = {*due(self, cycle)}
        return bool(hooks & NEED_STATE) or any_process(bool(self.stopping))


Hook = Callable[[Run], None]


def due(run: Run, cycle: int) -> Iterator[Hook]:
    """Yields the hooks of a cycle, in order. One that stops the run decides those after it."""
    config = run.trainer.config
    yield check_finite
    if config.selfplay.actor == "gated" and cycle % config.gate.every == 0:
        yield gate
    yield log_metrics
    yield heed_signals
    if evaluation_due(config, cycle) and not run.stop:
        yield evaluate
    if run.on_cycle is not None:
        yield call_on_cycle
    if run.stop or cycle == config.cycles or cycle % config.checkpoint.every == 0:
        yield checkpoint


def evaluation_due(config: Config, cycle: int) -> bool:
    """Returns whether a cycle is followed by an evaluation."""
    every = config.evaluation.every
    return every > 0 and (cycle == config.cycles or cycle % every == 0)


def check_finite(run: Run) -> None:
    """Stops a run whose loss is not finite; earlier checkpoints remain."""
    metrics = run.pipeline.metrics
    if not metrics["train/updates"]:
        return
    names = ("train/loss", "train/grad_norm", "train/param_norm")
    wrong = [name for name in names if not math.isfinite(metrics[name])]
    if wrong:
        kept = run.checkpoints.cycles()
        last = f"the last good checkpoint is of cycle {kept[-1]}" if kept else "no checkpoint yet"
        raise UserError(
            f"{wrong[0]} is {metrics[wrong[0]]} in cycle {run.cycle}: training stopped, {last}; a "
            "lower learning.learning_rate or learning.clip_norm usually helps"
        )


def gate(run: Run) -> None:
    """Plays the latest network against the gated one."""
    run.pipeline.state, metrics = run.trainer.gate(run.pipeline.state)
    run.pipeline.metrics |= MetricsInFlight(metrics).read()


def log_metrics(run: Run) -> None:
    """Writes the metrics of the cycle; says once if nothing is learned from a full buffer."""
    config, metrics = run.trainer.config, run.pipeline.metrics
    run.log.cycle(run.cycle, metrics)
    run.waiting &= not metrics["train/updates"]
    if run.waiting and run.cycle * config.selfplay.plies_per_cycle >= config.replay.capacity_plies:
        run.waiting = False
        run.log.note(_no_updates(config, metrics))


def heed_signals(run: Run) -> None:
    """Stops the run if a process got a signal; one that came too late counts a cycle later."""
    run.stop = not run.pipeline.ahead and any_process(bool(run.stopping))


def evaluate(run: Run) -> None:
    """Evaluates the network; a signal meanwhile gives that up and stops the run."""
    score = evaluation.evaluate(
        run.trainer, run.pipeline.state, run.log, run.cycle, run.suites, run.stopping
    )
    run.stop = any_process(bool(run.stopping))
    if score is not None and not run.stop:  # where one process gave it up, none may count it
        run.scores[run.cycle] = score


def call_on_cycle(run: Run) -> None:
    """Calls the user's function, which may stop the run."""
    assert run.on_cycle is not None
    progress = Progress(
        run.run_dir,
        run.cycle,
        run.pipeline.metrics,
        run.pipeline.state,
        run.last or run.stop,
        run.trainer,
    )
    lead = jax.process_index() == 0
    ends = lead and bool(run.on_cycle(progress)) and not run.last
    run.stop = any_process(run.stop or ends)


def checkpoint(run: Run) -> None:
    """Saves the state."""
    save_state(run.checkpoints, run.pipeline.state, selection_metric=run.scores.get(run.cycle))
    if run.last or run.stop:
        run.checkpoints.finish()  # while signals cannot end the process


NEED_STATE = {gate, evaluate, call_on_cycle, checkpoint}
"""The hooks before which the next cycle must not be started."""


def stop_message(run: Run) -> str:
    """Says where the run was stopped, and whether its evaluation is missing."""
    missing = evaluation_due(run.trainer.config, run.cycle) and run.cycle not in run.scores
    if run.last:
        measures = f", but not evaluated; {report_command(run.run_dir)} measures it"
        return f"done{measures if missing else ''}"
    without = ", without its evaluation" if missing else ""
    return f"stopped after cycle {run.cycle}{without}; continue with: {resume_command(run.run_dir)}"


def _no_updates(config: Config, metrics: dict[str, float]) -> str:
    """Says why nothing is learned although the replay buffer is full."""
    positions, replay = int(metrics["replay/positions"]), config.replay
    if positions < replay.min_positions:
        return (
            f"nothing is learned yet: the full replay buffer has {positions} positions of finished "
            f"games with a full search, but replay.min_positions = {replay.min_positions}; if that "
            "stays so, lower it or raise replay.capacity_plies"
        )
    return (
        "nothing is learned yet: some device has no finished game in its full replay buffer; raise "
        "replay.capacity_plies if that stays so"
    )
