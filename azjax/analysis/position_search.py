"""Searches of positions, many at once: the best moves, their values and the lines expected."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import HasChance

from azjax.players.network_players import SearchPlayer
from azjax.pytrees import take
from azjax.search import TreeNodes
from azjax.types import Array, State

BATCH = 32  # positions searched at once
LINE = 6  # the longest line, in moves
_TRIED = 4  # moves whose visits are kept


class Found(NamedTuple):
    """What the searches of B positions found; values are from the mover's perspective."""

    action: Array | np.ndarray  # int32 [B]
    value: Array | np.ndarray  # float32 [B], NaN where an engine gives none
    visits: Array | np.ndarray  # int32 [B, A]
    line: Array | np.ndarray  # int32 [B, LINE], the moves expected, -1 after the last


def search_all(
    player: SearchPlayer, states: State, count: int, progress: Callable[[int, int], None] | None
) -> Found:
    """Searches positions [B, ...] in batches of one size, so that one program serves all."""
    parts = []
    for first, rows in in_batches(count):
        key = jax.random.PRNGKey(first)
        parts.append(jax.device_get(_search(player, key, take(states, rows))))
        if progress is not None:
            progress(min(first + len(rows), count), count)
    return jax.tree.map(lambda *x: np.concatenate(x)[:count], *parts)


def compare_all(
    player: SearchPlayer, states: State, pairs: np.ndarray, progress: Callable[[int, int], None]
) -> np.ndarray:
    """Searches positions [B, ...] with two moves each at the root, in batches of one size.

    Args:
      pairs: legal actions, int32 [B, 2], of which the two of a position differ.

    Returns:
      The values of these moves from the mover's perspective, float32 [B, 2].
    """
    count = len(pairs)
    parts = []
    for first, rows in in_batches(count):
        key = jax.random.PRNGKey(first)
        parts.append(np.asarray(_compare(player, key, take(states, rows), pairs[rows])))
        progress(min(first + len(rows), count), count)
    return np.concatenate(parts)[:count]


def in_batches(count: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yields the first row of each batch of `count` rows, and all its rows, as many in each.

    The last row fills the last batch up. Sizes are powers of two, so that games of a file that
    differ in their lengths share programs.
    """
    size = min(BATCH, 1 << (count - 1).bit_length())
    for first in range(0, count, size):
        yield first, np.minimum(np.arange(first, first + size), count - 1)


@jax.jit
def _compare(player: SearchPlayer, key: Array, states: State, pairs: Array) -> Array:
    actions = jnp.arange(player.game.num_actions)
    allowed = jnp.any(pairs[:, :, None] == actions[None, None], axis=1)
    result, _ = player.analyse_with_tree(key, states, allowed=allowed)
    return jnp.take_along_axis(result.action_values, pairs, axis=1)


@jax.jit
def _search(player: SearchPlayer, key: Array, states: State) -> Found:
    if player.has_custom_search:  # a search of the user's own tells no tree
        result = player.analyse(key, states)
        line = jnp.full((len(result.action), LINE), -1).at[:, 0].set(result.action)
        return Found(result.action, result.value, result.visits, line)
    result, nodes = player.analyse_with_tree(key, states)
    line = jax.vmap(_line)(nodes, result.action)
    if isinstance(player.game, HasChance):  # a line ends where the dice are rolled
        rolled = jnp.cumsum(line >= player.game.num_actions, axis=1) > 0
        line = jnp.where(rolled, -1, line)
    return Found(result.action, result.value, result.visits, line)


def _line(tree: TreeNodes, first: Array) -> Array:
    """Returns the line of one game's tree: the given move, then always the most visited one."""
    numbers = jnp.arange(len(tree.visits))

    def next_move(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        node, move = carry
        below = (tree.parents == node) & (tree.visits > 0) & (numbers > 0)
        wanted = below & ((move < 0) | (tree.actions == move))
        child = jnp.argmax(jnp.where(wanted, tree.visits, -1))
        played = jnp.where(wanted.any(), tree.actions[child], move)
        # After a node without children no parent is found any more.
        child = jnp.where(wanted.any(), child, -2).astype(jnp.int32)
        return (child, jnp.int32(-1)), played.astype(jnp.int32)

    return jax.lax.scan(next_move, (jnp.int32(0), first), None, length=LINE)[1]


def tried_most(visits: Array | np.ndarray) -> tuple[tuple[int, int], ...]:
    """Returns the most visited actions of one position with their visits, int [A]."""
    visits = np.asarray(visits)
    most = np.argsort(-visits, kind="stable")[:_TRIED]
    return tuple((int(action), int(visits[action])) for action in most if visits[action])
