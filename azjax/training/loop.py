"""The host loop around the cycle: progress, evaluation, gate, checkpoints, signals."""

from __future__ import annotations

import contextlib
import functools
import math
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from rich.console import Console

from azjax.config import Config
from azjax.config.toml import save_config
from azjax.errors import UserError
from azjax.evaluation.match import play_match
from azjax.evaluation.report import report
from azjax.games import make_game
from azjax.players.load import CONFIG_FILE, load_run_config
from azjax.players.network_players import SearchPlayer, played_search
from azjax.players.spec import parse_player
from azjax.runs import plots
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.metrics import RunLogger
from azjax.sharding import make_mesh
from azjax.training.memory import refuse_if_too_large
from azjax.training.state import TrainState, restore_state, save_state
from azjax.training.trainer import Trainer, make_trainer

OPENINGS_FILE = "openings.txt"
"""A run's own copy of its `selfplay.openings`."""

Watch = Callable[[Path, bool], None]
"""Told of a run as it goes on: (its directory, whether it ends here), after each cycle, when all
that was measured of it is on disk."""


def train(
    config: Config,
    run_dir: str | Path,
    *,
    console: Console | None = None,
    watch: Watch | None = None,
) -> TrainState:
    """Trains from nothing in a new run directory and returns the last state.

    Args:
      config: the whole run.
      run_dir: a directory that is empty or not there yet.
      console: where progress is printed; standard output by default.
      watch: shows the run in place of the printed progress, as `azjax.notebook.live_curves` does.

    Raises:
      UserError: the directory holds something already, or the config cannot run.
    """
    run_dir = Path(run_dir)
    trainer = make_trainer(make_game(config), config, make_mesh())
    _refuse_unknown_opponents(trainer)
    with _refusing_together():
        # One process looks and writes: the others would take its files for those of another run.
        if jax.process_index() == 0:
            _refuse_occupied(run_dir)
        refuse_if_too_large(trainer)
    if jax.process_index() == 0:
        run_dir.mkdir(parents=True, exist_ok=True)
        save_config(config, run_dir / CONFIG_FILE)
        if config.selfplay.openings:
            shutil.copyfile(config.selfplay.openings, run_dir / OPENINGS_FILE)
    with Checkpoints(run_dir, keep=config.checkpoint.keep) as checkpoints:
        state = trainer.init(jax.random.PRNGKey(config.seed))
        return _run(trainer, state, run_dir, checkpoints, console, watch)


def resume(
    run_dir: str | Path, *, console: Console | None = None, watch: Watch | None = None
) -> TrainState:
    """Continues a run from its newest intact checkpoint, as if it had never stopped.

    Args:
      run_dir: the run's directory.
      console, watch: as in `train`.

    Raises:
      UserError: there is no run, no intact checkpoint, or one of another config.
    """
    run_dir = Path(run_dir)
    config = _with_its_openings(load_run_config(run_dir), run_dir)
    trainer = make_trainer(make_game(config), config, make_mesh())
    _refuse_unknown_opponents(trainer)
    console = console or Console()
    with Checkpoints(run_dir, keep=config.checkpoint.keep) as checkpoints:
        if checkpoints.cycles():
            # As it is: a path is neither to be broken into lines nor to be read as markup.
            warn = functools.partial(console.print, markup=False, highlight=False, soft_wrap=True)
            state = restore_state(checkpoints, trainer.abstract_state(), warn=warn)
        else:
            # Stopped before its first checkpoint: the same start again.
            state = trainer.init(jax.random.PRNGKey(config.seed))
        return _run(trainer, state, run_dir, checkpoints, console, watch)


def _with_its_openings(config: Config, run_dir: Path) -> Config:
    """The config with the run's own copy of its openings, whatever became of the file."""
    own = run_dir / OPENINGS_FILE
    if not (config.selfplay.openings and own.is_file()):
        return config
    return replace(config, selfplay=replace(config.selfplay, openings=str(own)))


def _run(
    trainer: Trainer,
    state: TrainState,
    run_dir: Path,
    checkpoints: Checkpoints,
    console: Console | None,
    watch: Watch | None,
) -> TrainState:
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
        console=console,
        quiet=not lead,
        lines=watch is None,
    )
    saved = first
    with log, _stop_signals() as stopping:
        log.note("compiling the first cycle")
        for cycle in range(first + 1, config.cycles + 1):
            started = time.perf_counter()
            state, metrics = trainer.cycle(state)
            metrics = {k: float(v) for k, v in jax.device_get(_local(metrics)).items()}
            _refuse_non_finite(metrics, cycle, checkpoints)
            metrics["cycle_s"] = time.perf_counter() - started
            if config.selfplay.actor == "gated" and cycle % config.gate.every == 0:
                state, gate = trainer.gate(state)
                metrics |= {k: float(v) for k, v in jax.device_get(_local(gate)).items()}
            log.cycle(cycle, metrics)
            last = cycle == config.cycles
            stop = _any_process(bool(stopping))
            merit = None
            due = config.evaluation.every and cycle % config.evaluation.every == 0
            if (due or (last and config.evaluation.every)) and not stop:
                merit = _evaluate(trainer, state, log, cycle)
            if last or stop or cycle % config.checkpoint.every == 0:
                save_state(checkpoints, state, merit=merit)
                saved = cycle
            if watch is not None and lead:
                watch(run_dir, last or stop)
            if stop and last and config.evaluation.every:
                log.note(f"done, but not evaluated; azjax report {run_dir} measures it")
            elif stop and not last:
                log.note(f"stopped after cycle {cycle}; continue with: azjax resume {run_dir}")
                break
    assert saved == int(state.cycle)
    if lead:
        plots.draw(run_dir)
    return state


def _evaluate(trainer: Trainer, state: TrainState, log: RunLogger, cycle: int) -> float:
    """Meets the configured opponents; returns how good the player is, larger is better.

    Every process does the same, so that all agree which checkpoint is best.
    """
    settings = trainer.config.evaluation
    player = SearchPlayer(
        game=trainer.game,
        network=trainer.network,
        variables=_local(state.player),  # on this process's first device
        config=played_search(trainer.config),
    )
    key = jax.random.fold_in(jax.random.PRNGKey(trainer.config.seed), cycle)
    scores = []
    for spec in settings.opponents:
        result = play_match(
            trainer.game,
            player,
            parse_player(spec, trainer.game),
            key,
            num_games=settings.games,
            opening_plies=settings.opening_plies,
        )
        scores.append(result.score)
        log.evaluation(
            cycle,
            {
                "opponent": spec,
                "score": result.score,
                "elo": result.elo,
                "elo_low": result.elo_low,
                "elo_high": result.elo_high,
            },
        )
    merit = float(np.mean(scores)) if scores else 0.0
    if settings.exact_report:
        card = report(trainer.game, [player]).players[0]
        if card.positions:
            log.evaluation(cycle, {"mistakes": card.mistakes, "positions": card.positions})
            merit += 1.0 - card.mistakes / card.positions
    return merit


def _refuse_unknown_opponents(trainer: Trainer) -> None:
    """At the start, rather than hours later at the first evaluation."""
    if trainer.config.evaluation.every:
        for spec in trainer.config.evaluation.opponents:
            parse_player(spec, trainer.game)


def _refuse_occupied(run_dir: Path) -> None:
    if run_dir.exists() and (not run_dir.is_dir() or any(run_dir.iterdir())):
        raise UserError(
            f"{run_dir}: not empty; continue that run with `azjax resume {run_dir}`, or name "
            "another directory with --run-dir"
        )


@contextlib.contextmanager
def _refusing_together() -> Iterator[None]:
    """Where one process refuses to go on, all do: the others would wait for it forever."""
    refusal: UserError | None = None
    try:
        yield
    except UserError as error:
        refusal = error
    if _any_process(refusal is not None):
        raise refusal or UserError("another process of the run refused to go on; see what it says")


def _refuse_non_finite(metrics: dict[str, float], cycle: int, checkpoints: Checkpoints) -> None:
    """Stops a run whose loss is no number any more; what was saved before stays."""
    if not metrics["updates"]:
        return
    wrong = [k for k in ("loss/total", "grad_norm", "param_norm") if not math.isfinite(metrics[k])]
    if wrong:
        kept = checkpoints.cycles()
        last = f"the last good checkpoint is of cycle {kept[-1]}" if kept else "no checkpoint yet"
        raise UserError(
            f"{wrong[0]} is {metrics[wrong[0]]} in cycle {cycle}: training stopped, {last}; a "
            "lower learning.learning_rate or learning.clip_norm usually helps"
        )


@contextlib.contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """A list that a SIGTERM or Ctrl-C is put on; a second Ctrl-C stops at once."""
    received: list[int] = []

    def on_signal(number: int, frame: Any) -> None:
        del frame
        if received and number == signal.SIGINT:
            raise KeyboardInterrupt
        received.append(number)

    try:
        old = {n: signal.signal(n, on_signal) for n in (signal.SIGTERM, signal.SIGINT)}
    except ValueError:  # not in the main thread, as in some notebooks: nothing to catch there
        old = {}
    try:
        yield received
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _any_process(flag: bool) -> bool:
    """Whether any process of the run raises `flag`; all get the same answer."""
    if jax.process_count() == 1:
        return flag
    return bool(multihost_utils.process_allgather(np.asarray(flag)).any())


def _local(tree: Any) -> Any:
    """This process's copy of arrays that are the same on all devices."""
    return jax.tree.map(lambda x: x.addressable_data(0), tree)
