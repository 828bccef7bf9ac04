"""Value targets of the positions in the replay buffer, and which positions are valid."""

import functools
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from azjax.network.results import (
    WIN_DRAW_LOSS,
    Results,
    expected_result,
    shares_of_greatest,
)
from azjax.replay.buffer import Replay
from azjax.types import Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Targets:
    """What is to be learned of all plies of the buffer, and what is known of their games.

    The rows are those of the ring: after the last one comes the first one.
    """

    outcome: Array  # float32 [R, B, K], chances of the mover's `results`
    valid: Array  # bool [R, B], can be learned from: its game has ended, and it is `learn`
    end: Array  # int32 [R, B], the ring's index of the last ply of its game, where valid
    side: Array  # int8 [R, B], 1 where the mover also made that last move, else -1
    extra: dict[str, Any] = field(default_factory=dict)  # [R, B, ...], targets of one's own
    results: Results = field(default=WIN_DRAW_LOSS, metadata={"static": True})

    @property
    def value(self) -> Array:
        """The expected result from the mover's perspective, float32 [R, B]."""
        return expected_result(self.outcome, self.results)


def project(value: Array, results: Results) -> Array:
    """Returns chances of K results whose expectation is a value in [-1, 1], float32 [..., K].

    Only the two results next to the value have a chance. A value that is a result has it alone.
    """
    value = value.astype(jnp.float32)[..., None]
    shares = shares_of_greatest(results, value.ndim)
    high, low = shares[..., :-1], shares[..., 1:]
    # The chance of result k or a greater one: it falls from 1 at result k to 0 at the next one.
    at_least = jnp.clip((value - low) / (high - low), 0.0, 1.0)
    ends = jnp.zeros_like(value)
    return jnp.concatenate([at_least, ends + 1], -1) - jnp.concatenate([ends, at_least], -1)


def value_targets(
    replay: Replay,
    *,
    root_value_weight: Array | float,
    max_games: int = 0,
    devices: int = 1,
    results: Results = WIN_DRAW_LOSS,
) -> Targets:
    """Computes value targets from the newest ply back.

    A target is the game's result from the mover's perspective, for any order of turns: target[t] =
    reward[t] + discount[t] * target[t + 1]. The position's own root value is mixed in afterwards.

    The mean is of chances of a win, a draw and a loss. A value v stands for a win with chance
    max(v, 0), a loss with chance max(-v, 0), and a draw otherwise. So the mean of a win and a root
    value of -0.2 has a draw with chance 0.4. Their mean value alone, 0.4, would make it 0.6.
    With other results, a value stands for the two next to it, see `project`: the search tells no
    more than a number. The expectation of the targets is the same either way.

    In games of chance the results are less the luck of the rolls after a ply, `BeforeDice.luck`.
    Chances of more than three results keep it: luck is one number, and does not tell them apart.

    Args:
      replay: this device's share of the buffer.
      root_value_weight: weight of the root's value in the targets.
      max_games: only the newest games are valid, this many over all devices; 0 for all.
      devices: the number of devices that share the buffer.
      results: the K results that the targets tell apart, the greatest first.
    """
    size = replay.transitions.reward.shape[0]
    ages = jnp.arange(size, dtype=jnp.int32)  # 0 is the newest ply
    newest_first = (replay.position - 1 - ages) % size
    stored = replay.transitions
    three = len(results) == 3
    luck = stored.before_dice.luck if three and stored.before_dice is not None else None
    columns = (stored.reward, stored.discount, stored.value, luck)
    plies = newest_first, *(None if x is None else x[newest_first] for x in columns)
    # For 1,024 plies of 512 lanes a CPU takes 15 ms for the loop, and 84 ms for the sums. A GPU
    # launches some kernels for each ply of the loop, but 10 for the sums.
    found = jax.lax.platform_dependent(
        *plies,
        cpu=functools.partial(scan_plies, max_games // devices, root_value_weight, results),
        default=functools.partial(count_turns, max_games // devices, root_value_weight, results),
    )
    # The map between "ply t" and "age" is its own inverse.
    chances, valid, end, side = (x[newest_first] for x in found)
    win, loss = chances[..., 0], chances[..., 1]
    written = (ages < replay.filled)[newest_first]
    return Targets(
        outcome=jnp.stack([win, 1.0 - win - loss, loss], axis=-1) if three else chances,
        valid=valid & written[:, None] & stored.learn,
        end=end,
        side=side,
        results=results,
    )


def scan_plies(
    max_games: int,
    own: Array | float,
    results: Results,
    indices: Array,
    rewards: Array,
    discounts: Array,
    values: Array,
    luck: Array | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Computes targets ply by ply, from the newest back; all arrays [R, ...] begin with the newest.

    Args:
      max_games: of this device; 0 for all.
      own: weight of the roots' values.
      results: as for `value_targets`.
      indices: the ring's indices of the plies, int32 [R].
      rewards: float16 [R, B].
      discounts: int8 [R, B].
      values: of the roots, float16 [R, B].
      luck: of the rolls before the plies, float16 [R, B]; None in a game without dice.

    Returns:
      Chances of a win and of a loss float32 [R, B, 2], of K other results [R, B, K], and as in
      `Targets` valid [R, B], whatever the kind of search, end [R, B] and side [R, B].
    """
    lanes = rewards.shape[1]

    def back(carry: tuple[Array, ...], ply: tuple[Array, ...]) -> tuple[Any, Any]:
        target, valid, end, side, rank, games = carry
        index, reward, discount, value, luck = ply
        over, root = discount == 0, _chances(value, results)
        # The mover's wins are the opponent's losses.
        later = jnp.where((discount > 0)[:, None], target, target[:, ::-1])
        final = _final_chances(reward, results)
        if len(results) != 3:  # of a win, a draw and a loss, the reward 0 has no chance
            final = jnp.where(over[:, None], final, 0.0)
        target = final + jnp.where(over[:, None], 0.0, later)
        valid = valid | over
        end = jnp.where(over, index, end)
        side = jnp.where(over, 1, jnp.sign(discount).astype(jnp.int8) * side).astype(jnp.int8)
        rank = jnp.where(over, games, rank)  # games that ended later than this one
        games = games + jnp.sum(over, dtype=jnp.int32)
        recent = rank < max_games if max_games else True
        before = target if luck is None else shift(target, -luck)
        carry = (before, valid, end, side, rank, games)
        return carry, ((1 - own) * target + own * root, valid & recent, end, side)

    kinds = 2 if len(results) == 3 else len(results)
    zeros, none = jnp.zeros((lanes, kinds), jnp.float32), jnp.zeros(lanes, jnp.int32)
    start = (zeros, none > 0, none, jnp.ones(lanes, jnp.int8), none, jnp.int32(0))
    plies: Any = (indices, rewards, discounts, values, luck)
    return jax.lax.scan(back, start, plies)[1]


def count_turns(
    max_games: int,
    own: Array | float,
    results: Results,
    indices: Array,
    rewards: Array,
    discounts: Array,
    values: Array,
    luck: Array | None = None,
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
    side = jnp.where(swapped, -1, 1)
    target = _final_chances(side * reward, results)
    if luck is not None:
        signed = side * luck.astype(jnp.float32)
        later = jnp.cumsum(signed, axis=0) - signed  # of the last mover, in later plies
        later -= jnp.take_along_axis(later, place, axis=0)  # of the same game
        target = shift(target, -side * later)
    ends = jnp.sum(over, axis=1, dtype=jnp.int32)
    later_games = jnp.cumsum(ends, dtype=jnp.int32) - ends  # that ended in later plies than each
    return (
        (1 - own) * target + own * _chances(values, results),
        valid & (later_games[place] < max_games) if max_games else valid,
        jnp.where(valid, indices[place], 0),
        side.astype(jnp.int8),
    )


def shift(chances: Array, change: Array) -> Array:
    """Returns chances [..., K] whose expected result is greater by `change` [...].

    The first and the last result have the change. Some chances may then be negative or over 1: as
    targets, only their means over many games count.
    """
    half = change.astype(jnp.float32) / 2
    return chances.at[..., 0].add(half).at[..., -1].add(-half)


def _chances(value: Array, results: Results) -> Array:
    """Returns the chances that values [...] stand for: of a win and a loss, or of K results."""
    return _wins_and_losses(value) if len(results) == 3 else project(value, results)


def _final_chances(reward: Array, results: Results) -> Array:
    """Returns the chances of games that have ended with rewards [...], as `_chances` does.

    Of K results the nearest one is certain, because float16 rounds thirds.
    """
    if len(results) == 3:
        return _wins_and_losses(reward)
    reward = reward.astype(jnp.float32)[..., None]
    distances = jnp.abs(reward - shares_of_greatest(results, reward.ndim))
    return jax.nn.one_hot(jnp.argmin(distances, axis=-1), len(results), dtype=jnp.float32)


def _wins_and_losses(value: Array) -> Array:
    """Returns the chances of a win and of a loss that values [...] stand for, float32 [..., 2]."""
    value = value.astype(jnp.float32)
    return jnp.stack([jnp.maximum(value, 0.0), jnp.maximum(-value, 0.0)], axis=-1)
