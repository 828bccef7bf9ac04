"""Training on recorded games: a trainer whose cycles make updates and play no games."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from azjax.errors import UserError
from azjax.files.dataset import Dataset
from azjax.learning import Batch, make_batch
from azjax.network import Variables, expected_result, told_apart
from azjax.replay import Sample
from azjax.search import mask_logits
from azjax.sharding import local
from azjax.training import Trainer, TrainState
from azjax.types import Metrics

HELD_OUT = 0.05
_MOST_HELD_OUT = 2048  # positions on which predictions are measured after each cycle


def learning_from(trainer: Trainer, games: Dataset) -> Trainer:
    """Returns the trainer with cycles that learn from recorded games, alone or besides self-play.

    `learning.games_fraction` of each batch is of the games. Every position is seen once before one
    is seen again, in an order that the seed and the cycle decide. A share of the games is held out,
    to measure predictions of moves and results.

    Raises:
      UserError: there are fewer positions than a batch has, or the run has a gate and no self-play.
    """
    config = trainer.config
    updates = config.learning.updates_per_cycle
    size = _examples_of_batch(trainer)
    alone = size == config.learning.batch_size
    if alone and config.selfplay.actor == "gated":
        raise UserError(
            'selfplay.actor must be "latest" to learn from recorded games without self-play'
        )
    results = told_apart(trainer.game, config.network)
    learned, held_out = (
        part.with_targets(trainer.game, trainer.targets, results, weight)
        for part, weight in zip(
            games.split(HELD_OUT, config.seed),
            (config.learning.root_value_weight, 0.0),  # predictions are of results
            strict=True,
        )
    )
    if len(learned) < config.learning.batch_size:
        raise UserError(
            f"the games have {len(learned)} positions to learn from; learning.batch_size = "
            f"{config.learning.batch_size} must be at most that"
        )
    rows = np.random.default_rng(config.seed).permutation(len(held_out))[:_MOST_HELD_OUT]
    measured = held_out.rows(rows)

    @jax.jit
    def measure(variables: Variables, measured: Sample) -> Metrics:
        batch = make_batch(trainer.game, jax.random.key(0), measured, symmetries=False)
        return _predictions(trainer, variables, batch)

    def cycle(state: TrainState) -> tuple[TrainState, Metrics]:
        if size == 0:
            state, metrics = trainer.cycle(state)
        else:
            number = int(local(state.cycle))
            chosen = rows_of_cycle(len(learned), number, updates * size, config.seed)
            examples = learned.rows(chosen.reshape(updates, size))
            learn = trainer.learn_cycle if alone else trainer.mixed_cycle
            state, metrics = learn(state, examples)
        if len(rows):
            metrics |= measure(local(state.learner.variables), measured)
        return jax.block_until_ready((state, metrics))

    return replace(trainer, cycle=cycle, asynchronous=False)


def fill_replay(trainer: Trainer, state: TrainState, games: Dataset) -> TrainState:
    """Returns the first state with the games in its replay buffer, as many as it holds.

    The games that are held out are not in it. A run without self-play keeps its buffer empty.
    """
    config = trainer.config
    if _examples_of_batch(trainer) == config.learning.batch_size:
        return state
    step = config.selfplay.plies_per_cycle
    learned, _ = games.with_auxiliary(config.network.auxiliary).split(HELD_OUT, config.seed)
    plies = learned.plies(config.selfplay.parallel_games, config.replay.capacity_plies, step)
    if plies is None:
        return state
    for first in range(0, plies.reward.shape[0], step):
        part = jax.tree.map(lambda x, first=first: x[first : first + step], plies)
        state, _ = trainer.add_plies(state, part)
    return state


def _examples_of_batch(trainer: Trainer) -> int:
    """Returns how many examples of a batch are of recorded games, as many on each device."""
    learning, devices = trainer.config.learning, trainer.mesh.size
    return round(learning.games_fraction * learning.batch_size / devices) * devices


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
    errors = (prediction.value - expected_result(batch.outcome, batch.results)) ** 2
    entropy = -jnp.sum(batch.policy * jax.nn.log_softmax(logits), axis=-1, where=batch.masks)
    return {
        "heldout/move_accuracy": jnp.mean(hits.astype(jnp.float32)),
        "heldout/policy_loss": jnp.mean(entropy),
        "heldout/value_error": jnp.mean(errors),
    }
