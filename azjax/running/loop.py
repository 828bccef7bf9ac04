"""Training in a run directory: a new run, or the rest of one."""

import contextlib
import functools
import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
from azjax_envs import Game
from rich.console import Console

from azjax.config import Config, resume_command, save_config, with_given
from azjax.devices import describe_machine
from azjax.errors import UserError
from azjax.files.dataset import Dataset, load_dataset
from azjax.games import game_config, make_game, resolve_game
from azjax.learning import Loss, Optimizer
from azjax.network import Network, dtype_of
from azjax.players.base import Player
from azjax.players.load import START_FILE, load_run_config
from azjax.players.spec import CONFIG_FILE
from azjax.players.weights_file import save_player
from azjax.replay import ReplayBuffer, TargetFunction
from azjax.running.evaluation import check_opponents
from azjax.running.hooks import Run, checkpoint, due, evaluate, stop_message
from azjax.running.memory import check_memory
from azjax.running.pipeline import Pipeline
from azjax.running.processes import failing_together
from azjax.running.progress import OnCycle
from azjax.running.recorded_games import fill_replay, learning_from
from azjax.running.resumed_config import OPENINGS_FILE, check_changes, with_own_openings
from azjax.running.saved_state import restore_state
from azjax.running.start import (
    first_state,
    opponent_file,
    read_opponents,
    read_start,
    save_opponents,
)
from azjax.running.stop_signals import StopSignals
from azjax.runs import plots
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.lock import LOCK_FILES, run_lock
from azjax.runs.loggers import Logger
from azjax.runs.metrics import METRICS_FILE, read_metrics
from azjax.runs.recorded_games import GAMES_FILE
from azjax.runs.run_logger import RunLogger
from azjax.search import Search
from azjax.sharding import local
from azjax.training import Trainer, TrainState, make_trainer, with_opponents


def train(
    config: Config,
    run_dir: str | Path,
    *,
    game: Game | None = None,
    network: Network | None = None,
    optimizer: Optimizer | None = None,
    loss: Loss | None = None,
    search: Search | None = None,
    replay: ReplayBuffer | None = None,
    targets: TargetFunction | None = None,
    opponents: Sequence[Player | str | Path] | None = None,
    opponent_fraction: float | None = None,
    start_from: str | Path | None = None,
    games: Dataset | None = None,
    console: Console | None = None,
    loggers: Sequence[Logger] = (),
    on_cycle: OnCycle | None = None,
) -> TrainState:
    """Trains in a new run directory.

    Args:
      run_dir: a directory that is empty or does not exist yet.
      game: the game, in place of the one that `config.game` names. The run directory keeps its name
        if `azjax_envs.make` can make it from that; otherwise `resume` needs the game again.
      network: as in `make_trainer`, like `optimizer`, `loss`, `search`, `replay` and `targets`. An
        object that is handed over here must be handed over again to `resume`; a network also to
        `load_player`.
      opponents: players with networks like the run's, in place of `league.opponents`: in some games
        one of them has a seat. They may be named as `start_from`. The run keeps their networks,
        whose weights are rounded as in a file.
      opponent_fraction: the share of these games, in place of `league.fraction`.
      start_from: a player whose network the run begins with, instead of random weights: a run
        ("runs/a", "runs/a@best"), a file, or the name of a player that comes with azjax. The
        optimizer starts anew. Weights are rounded as in a file.
      games: recorded games, from `azjax.dataset`, to learn from besides self-play. They fill the
        replay buffer at the start, and `learning.games_fraction` of each batch is of them; 1 plays
        no games, as in `azjax.pretrain`. The run keeps its examples.
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
    parts = {
        "network": network,
        "optimizer": optimizer,
        "loss": loss,
        "search": search,
        "replay": replay,
        "targets": targets,
    }
    config = with_opponents(config, opponents, opponent_fraction)
    members = read_opponents(opponents or config.league.opponents, game, config, network)
    trainer = make_trainer(game, config, **parts, opponents=members)
    if games is not None:
        trainer = learning_from(trainer, games)
    config = with_given(config, **parts)
    check_opponents(trainer)
    with contextlib.ExitStack() as stack:
        with failing_together():
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
            save_opponents(run_dir, config, members)
            if games is not None:
                games.save(run_dir / GAMES_FILE)
            if config.selfplay.openings:
                shutil.copyfile(
                    os.path.expanduser(config.selfplay.openings), run_dir / OPENINGS_FILE
                )
        checkpoints = stack.enter_context(Checkpoints(run_dir, keep=config.checkpoint.keep))
        state = first_state(trainer, run_dir)
        if games is not None:
            state = fill_replay(trainer, state, games)
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
    replay: ReplayBuffer | None = None,
    targets: TargetFunction | None = None,
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
    parts = {
        "network": network,
        "optimizer": optimizer,
        "loss": loss,
        "search": search,
        "replay": replay,
        "targets": targets,
    }
    if config is not None:
        config = with_given(config, **parts)
        check_changes(run_dir, saved, config)
    config_now = with_own_openings(config or saved, run_dir)
    files = [opponent_file(run_dir, i) for i in range(len(saved.league.opponents))]
    members = read_opponents(files, game, saved, network)
    trainer = make_trainer(game, config_now, **parts, opponents=members)
    games = None
    if (run_dir / GAMES_FILE).is_file():
        games = load_dataset(game, run_dir / GAMES_FILE)
        trainer = learning_from(trainer, games)
    check_opponents(trainer)
    console = console or Console()
    with contextlib.ExitStack() as stack:
        with failing_together():
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
            if games is not None:
                state = fill_replay(trainer, state, games)
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
    """Runs the cycles that are left, and after each the hooks that are due.

    On accelerators the next cycle is started before the metrics of the last one are read, unless a
    hook needs the state between the two: see `Pipeline`. The arguments are those of `train`, and
    the state to continue from, whose arrays are taken over.

    Raises:
      UserError: all cycles are done, or a loss is not finite.
    """
    config = trainer.config
    first = int(state.cycle)
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
        quiet=jax.process_index() > 0,
    )
    with log, StopSignals() as stopping, Pipeline(trainer, state, first) as pipeline:
        run = Run(run_dir, trainer, pipeline, checkpoints, log, stopping, on_cycle, first)
        if first and trainer.learning_rate is not None:
            _note_learning_rate(log, run_dir, first, trainer, state)
        _note_arithmetic(log, trainer)
        if first == 0 and 0 < config.evaluation.every < config.cycles:
            # What the later evaluations are compared with. The keys of training are not used.
            log.note("evaluating the network before its first update")
            evaluate(run)
        if run.stop:
            checkpoint(run)
        else:
            log.note("compiling the first cycle")
            cycles = pipeline.until(config.cycles, run.needs_state)
            for run.cycle in cycles:
                for hook in due(run, run.cycle):
                    hook(run)
                if run.stop:
                    break
        if run.stop:
            log.note(stop_message(run))
    if jax.process_index() == 0 and not stopping:
        try:
            plots.draw(run_dir)
        except OSError as error:  # everything else is saved
            log.note(f"{run_dir / plots.PLOTS_FOLDER}: {error.strerror or error}; without plots")
    return pipeline.state


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
