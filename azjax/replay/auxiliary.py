"""More to learn from a finished game than who won: by how much, and who owned each cell.

Each position then teaches many numbers rather than one, which is worth most while there are few
games (KataGo, Wu 2019, section 4.1).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import Config
from azjax.errors import UserError
from azjax.replay.buffer import Ending, Replay
from azjax.replay.targets import Targets
from azjax.types import Array


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["score", "ownership"], meta_fields=[]
)
@dataclass(frozen=True)
class AuxiliaryTargets:
    """Seen by the player to move; NaN where it is not known, None where it is not learnt."""

    score: Array | None  # float32 [N], final margin as a share of all points, in [-1, 1]
    ownership: Array | None  # float32 [N, cells], final owners: 1 mine, -1 theirs


def refuse_what_the_game_lacks(game: Game, config: Config) -> None:
    """UserError where the game has no such thing as the network is to predict."""
    for name in config.network.auxiliary:
        if not hasattr(game, name):
            has = [n for n in ("score", "ownership") if hasattr(game, n)]
            raise UserError(
                f"network.auxiliary: {game.name} has no {name}; "
                + (f"it has {' and '.join(has)}" if has else "an empty list is wanted")
            )


def ending_of(game: Game, config: Config, mover: Array, states: Any, known: Array) -> Ending | None:
    """How games stand in `states` [B, ...], seen by `mover` int32 [B]; unknown unless `known`."""
    wanted = config.network.auxiliary
    if not wanted:
        return None
    score = ownership = None
    if "score" in wanted:
        points = jax.vmap(game.score)(states)
        own = jnp.take_along_axis(points, mover[:, None], axis=1)[:, 0]
        total = jnp.sum(points, axis=1)
        share = (2 * own - total) / jnp.maximum(total, 1)
        score = jnp.where(known, share, jnp.nan).astype(jnp.float16)
    if "ownership" in wanted:
        owners = jax.vmap(game.ownership)(states)
        same = jax.vmap(game.current_player)(states) == mover
        seen = jnp.where(same[:, None], owners, -owners)
        ownership = jnp.where(known[:, None], jnp.rint(seen), _UNKNOWN).astype(jnp.int8)
    return Ending(score=score, ownership=ownership)


def auxiliary_targets(replay: Replay, targets: Targets, indices: Array) -> AuxiliaryTargets | None:
    """What the positions at flat indices [N] of the window are to teach besides."""
    ending = replay.rows.ending
    if ending is None:
        return None
    lanes = replay.rows.reward.shape[1]
    last, lane = targets.end.reshape(-1)[indices], indices % lanes
    side = targets.side.reshape(-1)[indices].astype(jnp.float32)
    score = ownership = None
    if ending.score is not None:
        score = side * ending.score[last, lane].astype(jnp.float32)
    if ending.ownership is not None:
        owners = ending.ownership[last, lane]
        seen = side[:, None] * owners.astype(jnp.float32)
        ownership = jnp.where(owners == _UNKNOWN, jnp.nan, seen)
    return AuxiliaryTargets(score=score, ownership=ownership)


def known_error(prediction: Array, target: Array) -> Array:
    """Mean squared error over the targets that are known; 0 if none is."""
    known = ~jnp.isnan(target)
    squares = jnp.where(known, jnp.square(prediction - jnp.where(known, target, 0.0)), 0.0)
    return jnp.sum(squares) / jnp.maximum(jnp.sum(known), 1)


_UNKNOWN = 127  # no owner; for a game that a player resigned
