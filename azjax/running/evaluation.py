"""The evaluations during a run: matches with the config's opponents, and exact values."""

from collections.abc import Sequence

import jax
import numpy as np

from azjax.evaluation.match import play_match
from azjax.evaluation.position_suites import GameSuites
from azjax.evaluation.report import report
from azjax.players.load import load_player
from azjax.running.player import trained_player
from azjax.running.stop_signals import StopSignals
from azjax.runs.metrics import CLASS_METRIC
from azjax.runs.run_logger import RunLogger
from azjax.training import Trainer, TrainState


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
    player = trained_player(trainer, state)
    key = jax.random.fold_in(jax.random.PRNGKey(trainer.config.seed), cycle)
    scores: list[float] = []
    mistakes = positions = 0
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
        if settings.exact_report:
            with stopping.interrupt():
                exact = report(trainer.game, [player], suites=suites).players[0]
            if exact.positions:
                rates = {CLASS_METRIC + name: rate for name, rate in exact.class_rates().items()}
                log.evaluation(
                    cycle, {"mistakes": exact.mistakes, "positions": exact.positions, **rates}
                )
                mistakes, positions = exact.mistakes, exact.positions
    except KeyboardInterrupt:
        return None
    return selection_metric(scores, mistakes, positions)


def selection_metric(scores: Sequence[float], mistakes: int, positions: int) -> float:
    """Returns the number whose maximum selects the best checkpoint.

    It is the share of positions without a mistake, where mistakes were counted, otherwise the mean
    of the scores against the opponents. The two are never mixed: after a change of the config, an
    evaluation with mistakes ranks above one without.
    """
    if positions:
        return 3.0 - mistakes / positions  # above every score
    return float(np.mean(scores)) if scores else 0.0


def check_opponents(trainer: Trainer) -> None:
    """Checks the opponents at the start rather than hours later, at the first evaluation."""
    if trainer.config.evaluation.every:
        for spec in trainer.config.evaluation.opponents:
            load_player(spec, game=trainer.game)
