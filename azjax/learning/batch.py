"""Batches to learn from, made of stored plies."""

from dataclasses import dataclass

import jax
from azjax_envs import Game

from azjax.learning.symmetries import random_symmetries
from azjax.replay.auxiliary import AuxiliaryTargets
from azjax.replay.buffer import Transition, unpack_policy
from azjax.replay.compact_states import restore_unobserved
from azjax.types import Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """N examples, from the mover's perspective."""

    observations: Array  # float32 [N, height, width, channels]
    masks: Array  # bool [N, A], legal actions
    policy: Array  # float32 [N, A], targets of the policy
    outcome: Array  # float32 [N, 3], chances of a win, a draw and a loss
    auxiliary: AuxiliaryTargets | None  # if the network predicts a score or ownership


def make_batch(
    game: Game,
    key: Array,
    transitions: Transition,
    outcome: Array,
    auxiliary: AuxiliaryTargets | None = None,
    *,
    symmetries: bool,
) -> Batch:
    """Makes a batch of stored plies [N, ...].

    Args:
      key: PRNG key, for the symmetries.
      outcome: value targets, float32 [N, 3]; see `azjax.replay.targets`.
      auxiliary: auxiliary targets [N, ...], where the network learns them.
    """
    states = restore_unobserved(game, transitions.states)
    observations = jax.vmap(game.observe)(states)
    masks = jax.vmap(game.legal_action_mask)(states)
    policy = unpack_policy(transitions.policy, game.num_actions)
    if symmetries:
        ownership = None if auxiliary is None else auxiliary.ownership
        observations, policy, masks, ownership = random_symmetries(
            game, key, observations, policy, masks, ownership
        )
        if auxiliary is not None:
            auxiliary = AuxiliaryTargets(score=auxiliary.score, ownership=ownership)
    return Batch(observations, masks, policy, outcome, auxiliary)
