"""The interface of players, and how to call them."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.pytrees import check_states
from azjax.search import SearchResult
from azjax.types import Array, State

T = TypeVar("T")
Analysis = SearchResult
"""What a player's method `analyse` returns; `value` is that of `action`, the move it would make."""
History = Sequence[Sequence[tuple[int, str]]]
"""For each game of a batch all moves since its start: the seat, 0 or 1, and the move in text."""


@runtime_checkable
class Player(Protocol):
    """A player, which chooses moves for a batch of positions.

    A player is a frozen dataclass that `register_player` registers as a pytree. Its arrays (a
    network's variables, say) are leaves; everything else is static and hashable. A player can
    therefore be an argument of a jitted function, see `act`. Others, such as external engines, set
    `jittable = False`. Engines that need the whole game also set `follows_history = True`; a match
    then calls them as `player(key, states, history)`.
    """

    @property
    def name(self) -> str:
        """What tables call it, such as "uct:1000"."""

    @property
    def game(self) -> Game:
        """The game that it plays."""

    def __call__(self, key: Array, states: State, /) -> Array | np.ndarray:
        """Chooses actions int32 [B] for positions [B, ...], legal where the game is not over."""


def register_player(cls: type[T]) -> type[T]:
    """Registers a player's dataclass as a pytree; fields made by `azjax.types.static` are static.

    A player with arrays gets a short `repr`: its name and its game.

    `jax.tree_util.register_dataclass` is not enough: jax 0.10.2 compares the structures
    of such dataclasses by their fields alone. A function that has been compiled for one player may
    then be taken for a player of another class with the same fields. It needs a rare collision of
    hashes, but then the moves are wrong.
    """
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    data = [field.name for field in fields if not field.metadata.get("static")]
    static = [field.name for field in fields if field.metadata.get("static")]

    def flatten(player: T) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        leaves = [(jax.tree_util.GetAttrKey(name), getattr(player, name)) for name in data]
        return leaves, tuple(getattr(player, name) for name in static)

    def unflatten(rest: tuple[Any, ...], leaves: Any) -> T:
        return cls(**dict(zip([*static, *data], [*rest, *leaves], strict=True)))

    def short(player: Any) -> str:
        return f"<{cls.__name__} {player.name} of {player.game.name}>"

    if data:  # the arrays of a network would fill pages
        cls.__repr__ = short  # type: ignore[method-assign]
    jax.tree_util.register_pytree_with_keys(cls, flatten, unflatten)
    return cls


def act(player: Player, key: Array, states: State) -> Array | np.ndarray:
    """Chooses a player's actions in positions [B, ...], int32 [B], in one compiled program.

    The program takes the player as an argument, so players that differ in their weights alone share
    one. Players that no jitted function can call, such as external engines, are called directly.
    The actions are legal wherever the game is not over.
    """
    if is_empty(states):
        check_states(player.game, states)
        return np.zeros(0, np.int32)
    if is_jittable(player):
        return _act(player, key, states)
    return np.asarray(player(key, states), np.int32)


def is_empty(states: State) -> bool:
    """Returns whether a batch has no position, of which most players can make nothing."""
    shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(states)]
    return bool(shapes) and all(shape[:1] == (0,) for shape in shapes)


def is_jittable(player: Player) -> bool:
    return getattr(player, "jittable", True)


def follows_history(player: Player) -> bool:
    return getattr(player, "follows_history", False)


@jax.jit
def _act(player: Player, key: Array, states: State) -> Array:
    return jnp.asarray(player(key, states))
