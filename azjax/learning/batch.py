"""Batches to learn from, made of stored plies."""

from dataclasses import dataclass

import jax
from azjax_envs import Game

from azjax.learning.symmetries import random_symmetries
from azjax.replay.auxiliary import AuxiliaryTargets
from azjax.replay.buffer import unpack_policy
from azjax.replay.compact_states import restore_unobserved
from azjax.replay.sampling import Sample
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
    sample: Sample,
    *,
    symmetries: bool,
) -> Batch:
    """Makes a batch of N examples that were drawn from the buffer; `key` is for the symmetries."""
    states = restore_unobserved(game, sample.transitions.states)
    observations = jax.vmap(game.observe)(states)
    masks = jax.vmap(game.legal_action_mask)(states)
    policy = unpack_policy(sample.transitions.policy, game.num_actions)
    auxiliary = sample.auxiliary
    if symmetries:
        ownership = None if auxiliary is None else auxiliary.ownership
        observations, policy, masks, ownership = random_symmetries(
            game, key, observations, policy, masks, ownership
        )
        if auxiliary is not None:
            auxiliary = AuxiliaryTargets(score=auxiliary.score, ownership=ownership)
    return Batch(observations, masks, policy, sample.outcome, auxiliary)
