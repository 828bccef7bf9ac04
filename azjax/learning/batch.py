"""Batches to learn from, made of stored plies."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game, HasChance
from azjax_envs.game import possible_results

from azjax.compact_states import restore_unobserved
from azjax.learning.symmetries import random_symmetries
from azjax.network.results import WIN_DRAW_LOSS, Results
from azjax.pytrees import take, where
from azjax.replay.buffer import TopPolicy, unpack_policy
from azjax.replay.sampling import Sample
from azjax.replay.targets import shift
from azjax.types import Array

_BEFORE_DICE = 1 / 3  # share of the positions that are shown before their dice


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """N examples, from the mover's perspective."""

    observations: Array  # float32 [N, height, width, channels]
    masks: Array  # bool [N, A], legal actions; none is before dice
    policy: Array  # float32 [N, A], targets of the policy; 0 before dice
    outcome: Array  # float32 [N, K], chances of the `results`
    targets: dict[str, Array] = field(default_factory=dict)
    """More targets float32 [N, ...] by the names of the network's outputs; NaN if unknown."""
    results: Results = field(default=WIN_DRAW_LOSS, metadata={"static": True})
    """The K results in points, the greatest first: win, draw and loss, or those of the game."""


def make_batch(
    game: Game,
    key: Array,
    sample: Sample,
    *,
    symmetries: bool,
) -> Batch:
    """Makes a batch of N examples that were drawn from the buffer.

    In a game of chance a third of them give way to positions before the dice, those of any of the N
    examples. Their targets are the same, but for the policy and the luck of the roll, so that the
    network learns the mean over the outcomes. Chances of more than three results keep the luck, see
    `value_targets`.

    Args:
      key: draws the symmetries, and which positions these are.
    """
    drawn = jnp.zeros(sample.outcome.shape[:1], bool)
    if isinstance(game, HasChance) and sample.transitions.before_dice is not None:
        sample, drawn = _show_before_dice(game, jax.random.fold_in(key, 2), sample)
    states = restore_unobserved(game, sample.transitions.states)
    policy = unpack_policy(sample.transitions.policy, game.num_actions)
    outcome, before = sample.outcome, sample.transitions.before_dice
    if before is not None:
        earlier = restore_unobserved(game, before.states)
        states, policy = where(drawn, earlier, states), jnp.where(drawn[:, None], 0.0, policy)
        if outcome.shape[-1] == 3:
            outcome = shift(outcome, jnp.where(drawn, -before.luck.astype(jnp.float32), 0.0))
        outcome = jnp.where((drawn & ~before.same_mover)[:, None], outcome[:, ::-1], outcome)
    observations = jax.vmap(game.observe)(states)
    masks = jax.vmap(game.legal_action_mask)(states)
    targets = {name: _unpacked(game, target) for name, target in sample.targets.items()}
    if symmetries:
        observations, policy, masks, targets = random_symmetries(
            game, key, observations, policy, masks, targets
        )
    told = WIN_DRAW_LOSS if outcome.shape[-1] == 3 else possible_results(game)
    return Batch(observations, masks, policy, outcome, targets, told)


def _show_before_dice(game: Any, key: Array, sample: Sample) -> tuple[Sample, Array]:
    """Returns a sample some of whose examples are to be shown before their dice, and which are.

    A turn of some games has several moves, and only its first one follows a roll. So examples that
    do are drawn for random rows. The other rows stay, so they have examples of each kind as before,
    and of recorded games, which are the last ones.
    """
    before: Any = sample.transitions.before_dice
    count = sample.outcome.shape[0]
    after_roll = jax.vmap(game.is_chance)(restore_unobserved(game, before.states))
    row_key, example_key = jax.random.split(key)
    order = jnp.argsort(jnp.where(after_roll, jax.random.uniform(example_key, (count,)), 2.0))
    number = jax.random.permutation(row_key, count)  # of each row
    drawn = (number < int(count * _BEFORE_DICE)) & jnp.any(after_roll)
    shown = order[number % jnp.maximum(jnp.sum(after_roll), 1)]
    return take(sample, jnp.where(drawn, shown, jnp.arange(count))), drawn


def _unpacked(game: Game, target: Any) -> Array:
    """Returns a target float32 [N, ...], which may be a packed policy."""
    if isinstance(target, TopPolicy):
        return unpack_policy(target, game.num_actions)
    return jnp.asarray(target, jnp.float32)
