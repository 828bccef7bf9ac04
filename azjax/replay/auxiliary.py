"""Auxiliary targets from finished games: the final margin and the owner of each cell.

Each position then has many targets instead of one, which helps most while there are few games
(KataGo, Wu 2019, section 4.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from azjax_envs import Game, HasOwnership, HasScore

from azjax.errors import UserError
from azjax.means import nothing
from azjax.replay.buffer import Replay, TerminalTargets
from azjax.replay.targets import Targets
from azjax.types import Array, State

UNKNOWN = 127  # no owner: a player resigned


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AuxiliaryTargets:
    """Auxiliary targets from the mover's perspective; NaN if unknown, None if not learned."""

    score: Array | None  # float32 [N], final margin as a share of all points, in [-1, 1]
    ownership: Array | None  # float32 [N, cells], final owners: 1 mine, -1 theirs


def check_auxiliary(game: Game, names: Sequence[str]) -> None:
    """Raises a UserError if the game lacks one of the auxiliary targets "score" and "ownership"."""
    for name in names:
        if not hasattr(game, name):
            has = [n for n in ("score", "ownership") if hasattr(game, n)]
            advice = f"it has {' and '.join(has)}" if has else "it must be an empty list"
            raise UserError(f"network.auxiliary: {game.name} has no {name}; {advice}")


def terminal_targets(
    game: Game, names: Sequence[str], mover: Array, states: State, known: Array
) -> TerminalTargets | None:
    """Returns the terminal targets of positions [B, ...]; None if the network learns none.

    Args:
      names: of the targets, "score" and "ownership".
      mover: int32 [B], the players from whose perspective the targets are.
      known: bool [B], False where the targets are unknown.
    """
    if not names:
        return None
    score = ownership = None
    if "score" in names and isinstance(game, HasScore):
        points = jax.vmap(game.score)(states)
        own = jnp.take_along_axis(points, mover[:, None], axis=1)[:, 0]
        total = jnp.sum(points, axis=1)
        share = (2 * own - total) / jnp.maximum(total, 1)
        score = jnp.where(known, share, nothing()).astype(jnp.float16)
    if "ownership" in names and isinstance(game, HasOwnership):
        owners = jax.vmap(game.ownership)(states)
        same = jax.vmap(game.current_player)(states) == mover
        own_view = jnp.where(same[:, None], owners, -owners)
        ownership = jnp.where(known[:, None], jnp.rint(own_view), UNKNOWN).astype(jnp.int8)
    return TerminalTargets(score=score, ownership=ownership)


def auxiliary_targets(replay: Replay, targets: Targets, indices: Array) -> AuxiliaryTargets | None:
    """Returns the auxiliary targets of the positions at flat indices int32 [N]."""
    terminal = replay.transitions.terminal
    if terminal is None:
        return None
    lanes = replay.transitions.reward.shape[1]
    last, lane = targets.end.reshape(-1)[indices], indices % lanes
    side = targets.side.reshape(-1)[indices].astype(jnp.float32)
    score = ownership = None
    if terminal.score is not None:
        share = terminal.score[last, lane].astype(jnp.float32)
        score = jnp.where(jnp.isfinite(share), side * share, jnp.nan)
    if terminal.ownership is not None:
        owners = terminal.ownership[last, lane]
        own_view = side[:, None] * owners.astype(jnp.float32)
        ownership = jnp.where(owners == UNKNOWN, jnp.nan, own_view)
    return AuxiliaryTargets(score=score, ownership=ownership)


def masked_squared_error(prediction: Array, target: Array) -> Array:
    """Returns the mean squared error over the targets that are not NaN; 0 if all are."""
    known = ~jnp.isnan(target)
    squares = jnp.where(known, jnp.square(prediction - jnp.where(known, target, 0.0)), 0.0)
    return jnp.sum(squares) / jnp.maximum(jnp.sum(known), 1)
