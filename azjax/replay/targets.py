"""Value targets of the positions in the replay buffer, and which positions are valid."""

import functools
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from azjax.replay.buffer import Replay
from azjax.types import Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Targets:
    """What is to be learned of all plies of the buffer, and what is known of their games.

    The rows are those of the ring: after the last one comes the first one.
    """

    outcome: Array  # float32 [R, B, 3], chances of a win, a draw and a loss of the mover
    valid: Array  # bool [R, B], can be learned from: its game has ended, and it is `learn`
    end: Array  # int32 [R, B], the ring's index of the last ply of its game, where valid
    side: Array  # int8 [R, B], 1 where the mover also made that last move, else -1
    extra: dict[str, Any] = field(default_factory=dict)  # [R, B, ...], targets of one's own

    @property
    def value(self) -> Array:
        """The expected result from the mover's perspective, float32 [R, B]."""
        return expected_result(self.outcome)


def expected_result(outcome: Array) -> Array:
    """Returns the expected result in [-1, 1], float32 [...], of outcomes [..., 3]."""
    return outcome[..., 0] - outcome[..., 2]


def value_targets(
    replay: Replay, *, root_value_weight: Array | float, max_games: int = 0, devices: int = 1
) -> Targets:
    """Computes value targets from the newest ply back.

    A target is the game's result from the mover's perspective, for any order of turns: target[t] =
    reward[t] + discount[t] * target[t + 1]. The position's own root value is mixed in afterwards.

    The mean is of chances of a win, a draw and a loss. A value v stands for a win with chance
    max(v, 0), a loss with chance max(-v, 0), and a draw otherwise. So the mean of a win and a root
    value of -0.2 has a draw with chance 0.4. Their mean value alone, 0.4, would make it 0.6.

    Args:
      replay: this device's share of the buffer.
      root_value_weight: weight of the root's value in the targets.
      max_games: only the newest games are valid, this many over all devices; 0 for all.
      devices: the number of devices that share the buffer.
    """
    size = replay.transitions.reward.shape[0]
    ages = jnp.arange(size, dtype=jnp.int32)  # 0 is the newest ply
    newest_first = (replay.position - 1 - ages) % size
    stored = replay.transitions
    plies = (
        newest_first,
        *(x[newest_first] for x in (stored.reward, stored.discount, stored.value)),
    )
    # For 1,024 plies of 512 lanes a CPU takes 15 ms for the loop, and 84 ms for the sums. A GPU
    # launches some kernels for each ply of the loop, but 10 for the sums.
    found = jax.lax.platform_dependent(
        *plies,
        cpu=functools.partial(scan_plies, max_games // devices, root_value_weight),
        default=functools.partial(count_turns, max_games // devices, root_value_weight),
    )
    # The map between "ply t" and "age" is its own inverse.
    chances, valid, end, side = (x[newest_first] for x in found)
    win, loss = chances[..., 0], chances[..., 1]
    written = (ages < replay.filled)[newest_first]
    return Targets(
        outcome=jnp.stack([win, 1.0 - win - loss, loss], axis=-1),
        valid=valid & written[:, None] & stored.learn,
        end=end,
        side=side,
    )


def scan_plies(
    max_games: int,
    own: Array | float,
    indices: Array,
    rewards: Array,
    discounts: Array,
    values: Array,
) -> tuple[Array, Array, Array, Array]:
    """Computes targets ply by ply, from the newest back; all arrays [R, ...] begin with the newest.

    Args:
      max_games: of this device; 0 for all.
      own: weight of the roots' values.
      indices: the ring's indices of the plies, int32 [R].
      rewards: float16 [R, B].
      discounts: int8 [R, B].
      values: of the roots, float16 [R, B].

    Returns:
      Chances of a win and of a loss float32 [R, B, 2], and as in `Targets` valid [R, B], whatever
      the kind of search, end [R, B] and side [R, B].
    """
    lanes = rewards.shape[1]

    def back(carry: tuple[Array, ...], ply: tuple[Array, ...]) -> tuple[Any, Any]:
        target, valid, end, side, rank, games = carry
        index, reward, discount, value = ply
        over, root = discount == 0, _wins_and_losses(value)
        # The mover's wins are the opponent's losses.
        later = jnp.where((discount > 0)[:, None], target, target[:, ::-1])
        target = _wins_and_losses(reward) + jnp.where(over[:, None], 0.0, later)
        valid = valid | over
        end = jnp.where(over, index, end)
        side = jnp.where(over, 1, jnp.sign(discount).astype(jnp.int8) * side).astype(jnp.int8)
        rank = jnp.where(over, games, rank)  # games that ended later than this one
        games = games + jnp.sum(over, dtype=jnp.int32)
        recent = rank < max_games if max_games else True
        carry = (target, valid, end, side, rank, games)
        return carry, ((1 - own) * target + own * root, valid & recent, end, side)

    zeros, none = jnp.zeros((lanes, 2), jnp.float32), jnp.zeros(lanes, jnp.int32)
    start = (zeros, none > 0, none, jnp.ones(lanes, jnp.int8), none, jnp.int32(0))
    return jax.lax.scan(back, start, (indices, rewards, discounts, values))[1]


def count_turns(
    max_games: int,
    own: Array | float,
    indices: Array,
    rewards: Array,
    discounts: Array,
    values: Array,
) -> tuple[Array, Array, Array, Array]:
    """Computes what `scan_plies` does without a loop, by cumulative sums and maxima.

    Rewards must be 0 before a game's end, as they are in every game.
    """
    over = discounts == 0
    ages = jnp.arange(indices.shape[0], dtype=jnp.int32)[:, None]
    age = jax.lax.cummax(jnp.where(over, ages, -1))  # of the game's end, -1 if it is not known
    turns = jnp.cumsum(discounts < 0, axis=0, dtype=jnp.int32)  # changes of the mover later on
    swapped = (turns - jax.lax.cummax(jnp.where(over, turns, 0))) % 2 > 0
    valid, place = age >= 0, jnp.maximum(age, 0)
    reward = jnp.take_along_axis(rewards, place, axis=0)
    target = _wins_and_losses(jnp.where(swapped, -reward, reward))
    ends = jnp.sum(over, axis=1, dtype=jnp.int32)
    later_games = jnp.cumsum(ends, dtype=jnp.int32) - ends  # that ended in later plies than each
    return (
        (1 - own) * target + own * _wins_and_losses(values),
        valid & (later_games[place] < max_games) if max_games else valid,
        jnp.where(valid, indices[place], 0),
        jnp.where(swapped, -1, 1).astype(jnp.int8),
    )


def _wins_and_losses(value: Array) -> Array:
    """Returns the chances of a win and of a loss that values [...] stand for, float32 [..., 2]."""
    value = value.astype(jnp.float32)
    return jnp.stack([jnp.maximum(value, 0.0), jnp.maximum(-value, 0.0)], axis=-1)
