"""The `Game` protocol, its optional parts, symmetries, and helpers that all games share."""

import dataclasses
import functools
from typing import Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

State = TypeVar("State")


class Game(Protocol[State]):
    """A two-player, zero-sum board game as pure functions of one unbatched state.

    A game is a frozen dataclass whose fields are its static parameters, so that equal games are
    equal and hashable and never retrace. A state is a pytree of arrays of constant shapes and
    dtypes. Callers batch with `jax.vmap` and compile with `jax.jit`.

    - **Turns** need not alternate: `current_player` alone says who moves.
    - **An illegal action**, or one out of range, loses at once for the player who plays it.
    - **After the end** `step` returns the state unchanged and the mask is all False.
    - Results are win +1, draw 0, loss -1.

    Some games have more: `HasScore`, `HasOwnership` and `HasClicks`.
    """

    @property
    def name(self) -> str:
        """The name: `azjax_envs.make(game.name) == game`, except for options that no name holds."""

    @property
    def num_actions(self) -> int:
        """The number of actions."""

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """(height, width, channels)."""

    @property
    def max_steps(self) -> int:
        """The largest number of steps of a game."""

    @property
    def num_symmetries(self) -> int:
        """The number K of symmetries, with the identity; 1 if there is no other."""

    def init(self, key: Array | None = None) -> State:
        """Returns the state at the start. `key` is optional, for games with a random start."""

    def step(self, state: State, action: Array) -> State:
        """Returns the state after the player to move plays `action`, an integer []."""

    def current_player(self, state: State) -> Array:
        """Returns the player to move, 0 or 1, int32 []."""

    def legal_action_mask(self, state: State) -> Array:
        """Returns which actions are legal, bool [num_actions]; none are once the game is over."""

    def is_terminal(self, state: State) -> Array:
        """Returns whether the game is over, bool []."""

    def returns(self, state: State) -> Array:
        """Returns the result of each player, float32 [2]: zeros until the end, then zero-sum."""

    def observe(self, state: State) -> Array:
        """Returns the position from the perspective of the player to move.

        Returns:
          float32 [height, width, channels], the `observation_shape`.
        """

    def symmetries(self) -> "Symmetries":
        """Returns the symmetries, as permutations of cells and actions."""

    def action_to_string(self, state: State, action: int) -> str:
        """Returns the action in the notation that players of the game use."""

    def string_to_action(self, state: State, text: str) -> int:
        """Returns the legal action that `text` names; a ValueError lists what is legal."""

    def to_string(self, state: State) -> str:
        """Returns the board as lines of text, for a terminal."""

    def svg_board(self) -> str:
        """Returns the empty board as a complete SVG document; see `azjax_envs.svg`."""

    def view(self, state: State) -> Array:
        """Returns the style code of each part that `svg_board` draws, int32 [num_cells]."""


@runtime_checkable
class HasScore(Protocol[State]):
    """A game with points. Every game that has `score` is an instance."""

    def score(self, state: State) -> Array:
        """Returns the points of each player so far, float32 [2]; a draw has equal ones."""


@runtime_checkable
class HasOwnership(Protocol[State]):
    """A game in which cells belong to players. Every game that has `ownership` is an instance."""

    def ownership(self, state: State) -> Array:
        """Returns the owner of each cell, float32 [height * width], from the mover's perspective.

        1 is the mover's, -1 the opponent's, 0 nobody's. At the end it is the final owner.
        """


@runtime_checkable
class HasClicks(Protocol[State]):
    """A game whose moves go from one cell of the drawing to another, such as chess and shogi.

    The name of an action is cell_names[first] + cell_names[then] + click_choices[choice].
    """

    @property
    def cell_names(self) -> tuple[str, ...]:
        """Returns the text of each cell of the drawing."""

    @property
    def click_choices(self) -> tuple[str, ...]:
        """The names of the choices between moves of the same two cells, such as promotions."""

    def clicks(self, state: State) -> Array:
        """Returns (first, then, choice) of each legal action, int32 [num_actions, 3].

        That is the cell to click first, the cell to click then, and a choice where both leave
        several.
        """


@runtime_checkable
class HasFen(Protocol[State]):
    """A game of the chess family, whose positions have a text in Forsyth-Edwards Notation."""

    def from_fen(self, text: str) -> State:
        """Returns the position; ValueError if there is none."""

    def to_fen(self, state: State) -> str:
        """Returns the position's text."""


@dataclasses.dataclass(frozen=True, eq=False)
class Symmetries:
    """The K symmetries of a game as permutations; number 0 is the identity.

    Number k maps a position to another of the same value, and there

        observation'.reshape(H * W, C)[i] == observation.reshape(H * W, C)[cells[k, i]]
        mask'[a] == mask[actions[k, a]]

    and likewise for a policy. So action `a` of the transformed position is action `actions[k, a]`
    of the original one, and `policy[..., actions[k]]` transforms a policy.
    """

    cells: np.ndarray  # int32 [K, H * W]
    actions: np.ndarray  # int32 [K, num_actions]


def settle(state: State, *, over: Array, legal: Array, moved: State, forfeited: State) -> State:
    """Returns `state` if the game is over, else `moved` or `forfeited`: the end of every `step`.

    Args:
      state: the state before the action.
      over: bool [], whether it is terminal.
      legal: bool [], whether the action is legal there.
      moved: the state after a legal action.
      forfeited: the state after an illegal one, lost for the player to move in `state`.
    """

    def choose(before, after, forfeit):
        return jnp.where(over, before, jnp.where(legal, after, forfeit))

    return jax.tree.map(choose, state, moved, forfeited)


def returns_of(result: Array) -> Array:
    """Returns both players' results, float32 [2], from that of player 0.

    Args:
      result: an integer, []: 1 for a win, -1 for a loss, 0 for a draw or an unfinished game.
    """
    return jnp.stack([result, -result]).astype(jnp.float32)


def legal_actions(game: Game, state: State) -> list[int]:
    """Returns the legal actions of one position as a list."""
    return np.flatnonzero(_legal_action_mask(game, state)).tolist()


def clicks_of(game: HasClicks, state: State) -> np.ndarray:
    """Returns `clicks` as a numpy array, for code that works on one position at a time."""
    return np.asarray(_clicks(game, state))


_NAMED = 40  # legal actions that a message lists


def find_legal(game: Game, state: State, text: str) -> int:
    """Returns the legal action named `text`: a `string_to_action` for most games.

    Raises:
      ValueError: no legal action has that name; the message lists legal ones.
    """
    wanted = text.strip().lower()
    names = {game.action_to_string(state, a): a for a in legal_actions(game, state)}
    for name, action in names.items():
        if name.lower() == wanted:
            return action
    if not names:
        raise ValueError(f"{text!r} cannot be played: the game is over")
    some = ", ".join(list(names)[:_NAMED])
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    raise ValueError(f"{text!r} is not legal here; legal: {some}{more}")


@functools.partial(jax.jit, static_argnums=0)
def _legal_action_mask(game: Game, state: State) -> Array:
    return game.legal_action_mask(state)


@functools.partial(jax.jit, static_argnums=0)
def _clicks(game: HasClicks, state: State) -> Array:
    return game.clicks(state)


def require_range(game: str, option: str, value: int, low: int, high: int) -> None:
    """Raises ValueError unless `value` is an integer in low..high."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{game}: {option} must be an integer from {low} to {high}, not {value!r}")
