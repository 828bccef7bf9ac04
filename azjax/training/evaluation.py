"""The evaluations during a run: matches with the config's opponents, and exact values."""

import jax
import numpy as np

from azjax.evaluation.match import play_match
from azjax.evaluation.position_suites import GameSuites
from azjax.evaluation.report import report
from azjax.players.load import load_player
from azjax.runs.metrics import CLASS_METRIC
from azjax.runs.run_logger import RunLogger
from azjax.training.state import TrainState
from azjax.training.stop_signals import StopSignals
from azjax.training.trainer import Trainer


def evaluate(
    trainer: Trainer,
    state: TrainState,
    log: RunLogger,
    cycle: int,
    suites: GameSuites,
    stopping: StopSignals,
) -> float | None:
    """Plays the configured opponents; returns the metric that selects the best checkpoint.

    Every process does the same, so that all agree which checkpoint is best. It is None if a signal
    came, at which the evaluation is given up: it can be repeated.
    """
    settings = trainer.config.evaluation
    player = trainer.player(state)
    key = jax.random.fold_in(jax.random.PRNGKey(trainer.config.seed), cycle)
    scores = []
    try:
        for spec in settings.opponents:
            with stopping.interrupt():
                result = play_match(
                    trainer.game,
                    player,
                    load_player(spec, game=trainer.game),
                    key,
                    num_games=settings.games,
                    opening_plies=settings.opening_plies,
                )
            scores.append(result.score)
            facts = {
                name: getattr(result, name) for name in ("score", "elo", "elo_low", "elo_high")
            }
            log.evaluation(cycle, {"opponent": spec, **facts})
        selection_metric = float(np.mean(scores)) if scores else 0.0
        if settings.exact_report:
            with stopping.interrupt():
                exact = report(trainer.game, [player], suites=suites).players[0]
            if exact.positions:
                rates = {CLASS_METRIC + name: rate for name, rate in exact.class_rates().items()}
                log.evaluation(
                    cycle, {"mistakes": exact.mistakes, "positions": exact.positions, **rates}
                )
                selection_metric += 1.0 - exact.mistakes / exact.positions
    except KeyboardInterrupt:
        return None
    return selection_metric


def check_opponents(trainer: Trainer) -> None:
    """Checks the opponents at the start rather than hours later, at the first evaluation."""
    if trainer.config.evaluation.every:
        for spec in trainer.config.evaluation.opponents:
            load_player(spec, game=trainer.game)
