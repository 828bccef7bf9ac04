"""Training on recorded games: a trainer whose cycles make updates and play no games."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from azjax.errors import UserError
from azjax.files.dataset import Dataset
from azjax.learning.batch import Batch, make_batch
from azjax.network.network import Variables
from azjax.replay.sampling import Sample
from azjax.replay.targets import expected_result
from azjax.search.model import mask_logits
from azjax.sharding import local
from azjax.training.state import TrainState
from azjax.training.trainer import Trainer
from azjax.types import Metrics

GAMES_FILE = "games.npz"
"""The examples of a run that learns from recorded games."""
HELD_OUT = 0.05
_MOST_HELD_OUT = 2048  # positions on which predictions are measured after each cycle


def learning_from(trainer: Trainer, games: Dataset) -> Trainer:
    """Returns the trainer with cycles of updates on recorded games, in place of self-play.

    Every position is seen once before one is seen again, in an order that the seed and the cycle
    decide. A share of the games is held out, to measure predictions of moves and results.

    Raises:
      UserError: there are fewer positions than a batch has, or the run has a gate.
    """
    config = trainer.config
    size, updates = config.learning.batch_size, config.learning.updates_per_cycle
    if config.selfplay.actor == "gated":
        raise UserError('selfplay.actor must be "latest" to learn from recorded games')
    games = games.with_auxiliary(config.network.auxiliary)
    learned, held_out = games.split(HELD_OUT, config.seed)
    if len(learned) < size:
        raise UserError(
            f"the games have {len(learned)} positions to learn from; learning.batch_size = {size} "
            "must be at most that"
        )
    rows = np.random.default_rng(config.seed).permutation(len(held_out))[:_MOST_HELD_OUT]
    measured = held_out.rows(rows)

    @jax.jit
    def measure(variables: Variables, measured: Sample) -> Metrics:
        batch = make_batch(trainer.game, jax.random.key(0), measured, symmetries=False)
        return _predictions(trainer, variables, batch)

    def cycle(state: TrainState) -> tuple[TrainState, Metrics]:
        number = int(local(state.cycle))
        chosen = rows_of_cycle(len(learned), number, updates * size, config.seed)
        state, metrics = trainer.learn_cycle(state, learned.rows(chosen.reshape(updates, size)))
        if len(rows):
            metrics |= measure(local(state.learner.variables), measured)
        return jax.block_until_ready((state, metrics))

    return replace(trainer, cycle=cycle, asynchronous=False)


def rows_of_cycle(count: int, cycle: int, size: int, seed: int) -> np.ndarray:
    """Returns the `size` examples of a cycle, of `count`: a new order each time all were seen."""
    numbers = np.arange(cycle * size, (cycle + 1) * size)
    rows = np.empty(size, np.int64)
    for epoch in np.unique(numbers // count):
        here = numbers // count == epoch
        order = np.random.default_rng((seed, int(epoch))).permutation(count)
        rows[here] = order[numbers[here] % count]
    return rows


def _predictions(trainer: Trainer, variables: Variables, batch: Batch) -> Metrics:
    """Returns how well a network predicts moves and results."""
    prediction = trainer.network.apply(variables, batch.observations)
    logits = mask_logits(prediction.policy_logits.astype(jnp.float32), batch.masks)
    hits = jnp.argmax(logits, axis=-1) == jnp.argmax(batch.policy, axis=-1)
    errors = (prediction.value - expected_result(batch.outcome)) ** 2
    entropy = -jnp.sum(batch.policy * jax.nn.log_softmax(logits), axis=-1, where=batch.masks)
    return {
        "heldout/move_accuracy": jnp.mean(hits.astype(jnp.float32)),
        "heldout/policy_loss": jnp.mean(entropy),
        "heldout/value_error": jnp.mean(errors),
    }
