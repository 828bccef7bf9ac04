"""The host loop around the cycle: progress, evaluation, gate, checkpoints, signals."""

import contextlib
import functools
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
from azjax_envs import Game
from jax.experimental import multihost_utils
from rich.console import Console

from azjax.config import Config
from azjax.config.own_parts import report_command, resume_command, with_given
from azjax.config.toml import save_config
from azjax.devices import describe_machine
from azjax.errors import UserError
from azjax.evaluation.position_suites import GameSuites
from azjax.games import game_config, make_game, resolve_game
from azjax.learning.loss import Loss
from azjax.learning.update import Optimizer
from azjax.network.network import Network
from azjax.network.two_headed import dtype_of
from azjax.players.load import START_FILE, load_run_config
from azjax.players.spec import CONFIG_FILE
from azjax.players.weights_file import save_player
from azjax.running.evaluation import check_opponents, evaluate
from azjax.running.memory import check_memory
from azjax.running.pipeline import MetricsInFlight, Pipeline
from azjax.running.progress import OnCycle, Progress
from azjax.running.resumed_config import OPENINGS_FILE, check_changes, with_own_openings
from azjax.running.saved_state import restore_state, save_state
from azjax.running.start import first_state, read_start
from azjax.running.stop_signals import StopSignals
from azjax.runs import plots
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.lock import LOCK_FILES, run_lock
from azjax.runs.loggers import Logger
from azjax.runs.metrics import METRICS_FILE, read_metrics
from azjax.runs.run_logger import RunLogger
from azjax.search.search import Search
from azjax.sharding import local
from azjax.training.state import TrainState
from azjax.training.trainer import Trainer, make_trainer


def train(
    config: Config,
    run_dir: str | Path,
    *,
    game: Game | None = None,
    network: Network | None = None,
    optimizer: Optimizer | None = None,
    loss: Loss | None = None,
    search: Search | None = None,
    start_from: str | Path | None = None,
    console: Console | None = None,
    loggers: Sequence[Logger] = (),
    on_cycle: OnCycle | None = None,
) -> TrainState:
    """Trains in a new run directory.

    Args:
      run_dir: a directory that is empty or does not exist yet.
      game: the game, in place of the one that `config.game` names. The run directory keeps its name
        if `azjax_envs.make` can make it from that; otherwise `resume` needs the game again.
      network: as in `make_trainer`, like `optimizer`, `loss` and `search`. An object that is handed
        over here must be handed over again to `resume`; a network also to `load_player`.
      start_from: a player whose network the run begins with, instead of random weights: a run
        ("runs/a", "runs/a@best"), a file, or the name of a player that comes with azjax. The
        optimizer starts anew. Weights are rounded as in a file.
      console: where progress is printed; standard output by default.
      loggers: get the run's metrics in addition to `metrics.jsonl` and TensorBoard's files.
      on_cycle: called with a `Progress` after each cycle, as `azjax.notebook.live_curves` is. True
        saves the state and stops the run. On accelerators the next cycle waits for it.

    Returns:
      The last training state.

    Raises:
      UserError: the directory is not empty, the config cannot run, another process trains here,
        or there is no network to start from that fits.
    """
    run_dir = Path(os.path.expanduser(run_dir))
    if game is None:
        game = make_game(config)
    else:
        config = replace(config, game=game_config(game))
    parts = {"network": network, "optimizer": optimizer, "loss": loss, "search": search}
    trainer = make_trainer(game, config, **parts)
    config = with_given(config, **parts)
    check_opponents(trainer)
    with contextlib.ExitStack() as stack:
        with _failing_together():
            # One process checks and writes. The others would take its files for another run's.
            if jax.process_index() == 0:
                _check_empty(run_dir)
            check_memory(trainer)
            start = None
            if start_from is not None:
                own = trainer.network if config.network.module else None
                start = read_start(start_from, game, config, own)
            if jax.process_index() == 0:
                run_dir.mkdir(parents=True, exist_ok=True)
                stack.enter_context(run_lock(run_dir))
                _check_empty(run_dir)  # another process may have been faster
                if start is not None:
                    save_player(run_dir / START_FILE, start.config, start.variables, start.metadata)
        if jax.process_index() == 0:
            save_config(config, run_dir / CONFIG_FILE)
            if config.selfplay.openings:
                shutil.copyfile(
                    os.path.expanduser(config.selfplay.openings), run_dir / OPENINGS_FILE
                )
        checkpoints = stack.enter_context(Checkpoints(run_dir, keep=config.checkpoint.keep))
        state = first_state(trainer, run_dir)
        return run_cycles(trainer, state, run_dir, checkpoints, console, loggers, on_cycle)


def resume(
    run_dir: str | Path,
    *,
    config: Config | None = None,
    game: Game | None = None,
    network: Network | None = None,
    optimizer: Optimizer | None = None,
    loss: Loss | None = None,
    search: Search | None = None,
    console: Console | None = None,
    loggers: Sequence[Logger] = (),
    on_cycle: OnCycle | None = None,
) -> TrainState:
    """Continues a run from its newest intact checkpoint, as if it had never stopped.

    Args:
      config: the run from here on, for other settings than its `config.toml` has, which is then
        rewritten; None to leave them.
      game: as in `train`, like everything after it.

    Raises:
      UserError: there is no run, no intact checkpoint, one of another config, or another process
        trains this run; or `config` changes what decides the arrays of the run's state.
    """
    run_dir = Path(os.path.expanduser(run_dir))
    saved = load_run_config(run_dir)
    if config is not None and game is not None:
        config = replace(config, game=saved.game)  # which `game` must be
    game = resolve_game(saved.game, game, owner=str(run_dir))
    parts = {"network": network, "optimizer": optimizer, "loss": loss, "search": search}
    if config is not None:
        config = with_given(config, **parts)
        check_changes(run_dir, saved, config)
    trainer = make_trainer(game, with_own_openings(config or saved, run_dir), **parts)
    check_opponents(trainer)
    console = console or Console()
    with contextlib.ExitStack() as stack:
        with _failing_together():
            if jax.process_index() == 0:
                stack.enter_context(run_lock(run_dir))
                if config is not None:
                    save_config(config, run_dir / CONFIG_FILE)
        checkpoints = stack.enter_context(Checkpoints(run_dir, keep=trainer.config.checkpoint.keep))
        if checkpoints.cycles():
            # The path must not be broken into lines or read as markup.
            warn = functools.partial(console.print, markup=False, highlight=False, soft_wrap=True)
            state = restore_state(checkpoints, trainer.abstract_state(), warn=warn)
        else:
            # The run was stopped before its first checkpoint, so it starts again.
            state = first_state(trainer, run_dir)
        return run_cycles(trainer, state, run_dir, checkpoints, console, loggers, on_cycle)


def run_cycles(
    trainer: Trainer,
    state: TrainState,
    run_dir: Path,
    checkpoints: Checkpoints,
    console: Console | None,
    loggers: Sequence[Logger],
    on_cycle: OnCycle | None,
) -> TrainState:
    """Runs the cycles that are left, and what the config asks for between them.

    On accelerators the next cycle is started before the metrics of the last one are read, unless
    something needs the state between the two: see `Pipeline`. The arguments are those of `train`,
    and the state to continue from, whose arrays are taken over.

    Raises:
      UserError: all cycles are done, or a loss is not finite.
    """
    config = trainer.config
    first = int(state.cycle)
    lead = jax.process_index() == 0
    if first >= config.cycles:
        raise UserError(
            f"{run_dir}: all {config.cycles} cycles are done; raise `cycles` in "
            f"{run_dir / CONFIG_FILE} to train on"
        )
    log = RunLogger(
        run_dir,
        total_cycles=config.cycles,
        first_cycle=first,
        machine=describe_machine(),
        console=console,
        loggers=loggers,
        quiet=not lead,
    )
    suites = GameSuites(trainer.game)  # computed once for all evaluations of the run
    waiting = True  # for the first update
    with log, StopSignals() as stopping, Pipeline(trainer, state, first) as pipeline:
        if first and trainer.learning_rate is not None:
            _note_learning_rate(log, run_dir, first, trainer, state)
        _note_arithmetic(log, trainer)
        if first == 0 and 0 < config.evaluation.every < config.cycles:
            # What the later evaluations are compared with. The keys of training are not used.
            log.note("evaluating the network before its first update")
            evaluate(trainer, pipeline.state, log, 0, suites, stopping)
            if _any_process(bool(stopping)):
                save_state(checkpoints, pipeline.state)
                checkpoints.finish()
                log.note(_stopped(run_dir, 0, last=False, missing=True))
                return pipeline.state
        log.note("compiling the first cycle")
        for cycle in range(first + 1, config.cycles + 1):
            last = cycle == config.cycles
            gates, evaluates, saves = _due(config, cycle)
            # Several processes agree by a message, which waits until the last cycle has ended.
            ahead = (
                trainer.asynchronous
                and not (gates or evaluates or saves or on_cycle)
                and not _any_process(bool(stopping))
            )
            pipeline.start(cycle + ahead)
            metrics = pipeline.read()
            _check_finite(metrics, cycle, checkpoints)
            if gates:
                pipeline.state, gate = trainer.gate(pipeline.state)
                metrics |= MetricsInFlight(gate).read()
            log.cycle(cycle, metrics)
            waiting &= not metrics["train/updates"]
            if waiting and cycle * config.selfplay.plies_per_cycle >= config.replay.capacity_plies:
                waiting = False
                log.note(_no_updates(config, metrics))
            stop = not ahead and _any_process(bool(stopping))
            selection_metric = None
            if evaluates and not stop:
                selection_metric = evaluate(trainer, pipeline.state, log, cycle, suites, stopping)
                stop = _any_process(bool(stopping))
            if stop:  # where one process gave the evaluation up, none may count it
                selection_metric = None
            if on_cycle is not None:
                progress = Progress(run_dir, cycle, metrics, pipeline.state, last or stop, trainer)
                ends = lead and bool(on_cycle(progress)) and not last
                stop = _any_process(stop or ends)
            if saves or stop:
                save_state(checkpoints, pipeline.state, selection_metric=selection_metric)
            if last or stop:
                checkpoints.finish()  # while signals cannot end the process
            if stop:
                missing = evaluates and selection_metric is None
                log.note(_stopped(run_dir, cycle, last=last, missing=missing))
                break
    if lead and not stopping:
        try:
            plots.draw(run_dir)
        except OSError as error:  # everything else is saved
            log.note(f"{run_dir / plots.PLOTS_FOLDER}: {error.strerror or error}; without plots")
    return pipeline.state


def _due(config: Config, cycle: int) -> tuple[bool, bool, bool]:
    """Returns whether a cycle is followed by a gate, an evaluation and a checkpoint."""
    last, evaluation = cycle == config.cycles, config.evaluation.every
    return (
        config.selfplay.actor == "gated" and cycle % config.gate.every == 0,
        evaluation > 0 and (last or cycle % evaluation == 0),
        last or cycle % config.checkpoint.every == 0,
    )


def _stopped(run_dir: Path, cycle: int, *, last: bool, missing: bool) -> str:
    """Says where the run was stopped, and whether its evaluation is missing."""
    if last:
        measures = f", but not evaluated; {report_command(run_dir)} measures it" if missing else ""
        return f"done{measures}"
    without = ", without its evaluation" if missing else ""
    return f"stopped after cycle {cycle}{without}; continue with: {resume_command(run_dir)}"


def _note_arithmetic(log: RunLogger, trainer: Trainer) -> None:
    """Says if the network computes in another type than the config's."""
    if dtype_of(trainer.network) not in ("", trainer.config.network.dtype):
        log.note("this CPU has no instructions for bfloat16, so the network computes in float32")


def _note_learning_rate(
    log: RunLogger, run_dir: Path, cycle: int, trainer: Trainer, state: TrainState
) -> None:
    """Says if a resumed run goes on with another learning rate, since its config was changed."""
    assert trainer.learning_rate is not None
    rate = float(np.asarray(trainer.learning_rate(int(local(state.learner.num_updates)))))
    lines = read_metrics(run_dir) if (run_dir / METRICS_FILE).is_file() else []
    rates = [x.get("train/learning_rate") for x in lines if x["cycle"] == cycle]
    before = next((x for x in rates if x), None)
    if before is not None and not math.isclose(rate, before, rel_tol=0.01):
        log.note(
            f"the learning rate was {before:.3g} and is {rate:.3g} now: its schedule follows the "
            "number of cycles and the settings in [learning], which have changed"
        )


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


def _check_empty(run_dir: Path) -> None:
    if not str(run_dir).isprintable():  # bytes that are no text, in which no checkpoint is written
        raise UserError(f"{run_dir}: the name of a run's directory must be readable text")
    # A refused run may have left the files of its lock.
    if run_dir.exists() and (
        not run_dir.is_dir() or any(file.name not in LOCK_FILES for file in run_dir.iterdir())
    ):
        raise UserError(
            f"{run_dir} is not empty; resume that run ({resume_command(run_dir)}) or "
            "choose another directory"
        )


@contextlib.contextmanager
def _failing_together() -> Iterator[None]:
    """Makes all processes fail if one fails; otherwise they would wait for it forever."""
    refusal: UserError | None = None
    try:
        yield
    except UserError as error:
        refusal = error
    if _any_process(refusal is not None):
        raise refusal or UserError("another process of the run failed; its message says why")


def _check_finite(metrics: dict[str, float], cycle: int, checkpoints: Checkpoints) -> None:
    """Stops a run whose loss is not finite; earlier checkpoints remain."""
    if not metrics["train/updates"]:
        return
    names = ("train/loss", "train/grad_norm", "train/param_norm")
    wrong = [name for name in names if not math.isfinite(metrics[name])]
    if wrong:
        kept = checkpoints.cycles()
        last = f"the last good checkpoint is of cycle {kept[-1]}" if kept else "no checkpoint yet"
        raise UserError(
            f"{wrong[0]} is {metrics[wrong[0]]} in cycle {cycle}: training stopped, {last}; a "
            "lower learning.learning_rate or learning.clip_norm usually helps"
        )


def _any_process(flag: bool) -> bool:
    """Returns whether `flag` is True in any process of the run; all get the same answer."""
    if jax.process_count() == 1:
        return flag
    return bool(multihost_utils.process_allgather(np.asarray(flag)).any())
