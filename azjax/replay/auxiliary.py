"""Two targets that azjax has itself: the final margin and the final owner of each cell.

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
from azjax.replay.buffer import Transition
from azjax.replay.targets import Targets
from azjax.types import Array, State

_NAMES = ("score", "ownership")
_UNKNOWN = 127  # no owner: a player resigned


def check_auxiliary(game: Game, names: Sequence[str]) -> None:
    """Raises a UserError if the game lacks one of the auxiliary targets "score" and "ownership"."""
    for name in names:
        if not hasattr(game, name):
            has = [n for n in _NAMES if hasattr(game, n)]
            advice = f"it has {' and '.join(has)}" if has else "it must be an empty list"
            raise UserError(f"network.auxiliary: {game.name} has no {name}; {advice}")


@dataclass(frozen=True)
class FinalPoints:
    """Targets from the mover's perspective: "score" and "ownership" at the end of the game.

    The score [R, B] is the margin as a share of all points, in [-1, 1]. The owners [R, B, height,
    width] are 1 for mine, -1 for theirs, 0 for nobody's. Both are NaN where a player resigned.
    """

    names: tuple[str, ...]

    def record(self, game: Game, mover: Array, states: State, known: Array) -> dict[str, Array]:
        """Returns what `__call__` needs of the positions after a ply [B, ...].

        Args:
          mover: int32 [B], the players who made the ply, from whose perspective it is.
          known: bool [B], False where the targets are unknown.
        """
        found = {}
        if "score" in self.names and isinstance(game, HasScore):
            points = jax.vmap(game.score)(states)
            own = jnp.take_along_axis(points, mover[:, None], axis=1)[:, 0]
            total = jnp.sum(points, axis=1)
            share = (2 * own - total) / jnp.maximum(total, 1)
            found["score"] = jnp.where(known, share, nothing()).astype(jnp.float16)
        if "ownership" in self.names and isinstance(game, HasOwnership):
            owners = jax.vmap(game.ownership)(states)
            same = jax.vmap(game.current_player)(states) == mover
            own_view = jnp.where(same[:, None], owners, -owners)
            own_view = jnp.where(known[:, None], jnp.rint(own_view), _UNKNOWN).astype(jnp.int8)
            found["ownership"] = own_view.reshape(-1, *game.observation_shape[:2])
        return found

    def __call__(self, game: Game, transitions: Transition, results: Targets) -> dict[str, Array]:
        recorded, found = transitions.recorded, {}
        last = (results.end, jnp.arange(results.end.shape[1])[None])
        side = results.side.astype(jnp.float16)
        if "score" in self.names:
            found["score"] = side * recorded["score"][last]
        if "ownership" in self.names:
            owners = recorded["ownership"][last]
            own_view = side[..., None, None] * owners.astype(jnp.float16)
            found["ownership"] = jnp.where(owners == _UNKNOWN, jnp.nan, own_view)
        return found


def final_points(game: Game, names: Sequence[str] = _NAMES) -> FinalPoints:
    """Returns the targets of these names that the game has."""
    return FinalPoints(tuple(name for name in _NAMES if name in names and hasattr(game, name)))
