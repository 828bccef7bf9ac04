"""The `Game` protocol, its optional parts, symmetries, and helpers that all games share."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

State = TypeVar("State")


class Game(Protocol[State]):
    """A two-player, zero-sum board game as pure functions of one unbatched state.

    A game is a frozen dataclass whose fields are its static parameters. Equal games are therefore
    equal and hashable, and JAX does not trace them again. A state is a pytree of arrays with
    constant shapes and dtypes. Callers batch with `jax.vmap` and compile with `jax.jit`.

    - **Turns** need not alternate: `current_player` alone says who moves.
    - **An illegal action**, or one out of range, loses at once for the player who plays it.
    - **After the end** `step` returns the state unchanged, and no action is legal.
    - **Results** are 1 for a win, 0 for a draw and -1 for a loss, unless the game `HasResults`.

    Some games also implement `HasChance`, `HasResults`, `HasScore`, `HasOwnership`, `HasClicks`,
    `HasFen`, `HasSetUp`, `HasShownMoves`, `HasPlayerNames`, `HasFewLegalActions`,
    `HasWinningCells`, `HasBothSeats`, `HasObservationBounds` or `HasUnobservedParts`.

    Example:
        ```python
        game = make("tic_tac_toe")
        state = game.init()
        state = game.step(state, game.string_to_action(state, "b2"))
        print(game.to_string(state))
        ```
    """

    @property
    def name(self) -> str:
        """The name of the game.

        `azjax_envs.make(game.name) == game`, except for options that a name cannot express.
        """

    @property
    def num_actions(self) -> int:
        """The number of actions."""

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """The shape of an observation: (height, width, channels)."""

    @property
    def max_steps(self) -> int:
        """The largest number of steps that a game can take."""

    @property
    def num_symmetries(self) -> int:
        """The number K of symmetries, including the identity; at least 1."""

    def init(self, key: Array | None = None) -> State:
        """Returns the state at the start; only games with a random start use the PRNG key."""

    def step(self, state: State, action: Array) -> State:
        """Returns the state after an action, integer []; an illegal one loses the game."""

    def current_player(self, state: State) -> Array:
        """Returns the player to move, int32 [], 0 or 1."""

    def legal_action_mask(self, state: State) -> Array:
        """Returns which actions are legal, bool [num_actions]; none are after the end."""

    def is_terminal(self, state: State) -> Array:
        """Returns whether the game is over, bool []."""

    def returns(self, state: State) -> Array:
        """Returns the result of each player.

        Returns:
          float32 [2], 1 for a win, 0 for a draw and -1 for a loss, or one of the game's `results`
          divided by the greatest; zeros before the end.
        """

    def observe(self, state: State) -> Array:
        """Returns what the player to move sees, float32 as in `observation_shape`."""

    def symmetries(self) -> "Symmetries":
        """Returns the symmetries, as permutations of cells and actions."""

    def action_to_string(self, state: State, action: int) -> str:
        """Returns the action in the notation that players of the game use."""

    def string_to_action(self, state: State, text: str) -> int:
        """Returns the legal action that `text` names.

        Raises:
          ValueError: no legal action has that name; the message lists legal ones.
        """

    def to_string(self, state: State) -> str:
        """Returns the board as lines of text, for a terminal."""

    def svg_board(self) -> str:
        """Returns the empty board as a complete SVG document; see `azjax_envs.svg`."""

    def view(self, state: State) -> Array:
        """Returns the style code of each drawn cell, int32 [num_cells], not negative."""


@runtime_checkable
class HasChance(Protocol[State]):
    """A game in which chance decides between moves, such as a game with dice.

    `step` ends before the dice are rolled. Such a state is one like others: it can be observed and
    valued, but no action is legal in it. `draw_chance` rolls the dice. Networks learn to value
    these states, so observations must tell them from those after the dice.

    - A state never holds a random key, or anything else that tells outcomes to come.
    - After an outcome a player is to move, or the game is over: chance never follows chance. A
      player who cannot move has one legal action, a pass.
    - `max_steps` counts moves. Symmetries leave the probabilities and the outcomes as they are.
    """

    def is_chance(self, state: State) -> Array:
        """Returns whether the next event is chance, bool []; it is not after the end."""

    def chance_probabilities(self, state: State) -> Array:
        """Returns the probability of each outcome.

        Returns:
          float32 [K] with the sum 1, and 0 for impossible outcomes. K is the same in all states.
          Where the next event is not chance, they have no meaning.
        """

    def chance_step(self, state: State, outcome: Array) -> State:
        """Returns the state after an outcome, integer [].

        The state is unchanged where the next event is not chance, and where the outcome is
        impossible or out of range.
        """

    def outcome_to_string(self, state: State, outcome: int) -> str:
        """Returns the outcome as players write it, such as "3" or "6-1"."""


@runtime_checkable
class HasResults(Protocol):
    """A game with other results than win, draw and loss, such as backgammon."""

    @property
    def results(self) -> tuple[float, ...]:
        """The possible results in points, the greatest first: (3, 2, 1, -1, -2, -3) in backgammon.

        Each occurs with both signs. `returns` are these numbers divided by the greatest one.
        """


@runtime_checkable
class HasScore(Protocol[State]):
    """A game with points. Every game that has a method `score` is an instance."""

    def score(self, state: State) -> Array:
        """Returns the points of each player so far, float32 [2]; in a draw they are equal."""


@runtime_checkable
class HasOwnership(Protocol[State]):
    """A game in which cells belong to players.

    Every game that has a method `ownership` is an instance.
    """

    def ownership(self, state: State) -> Array:
        """Returns the owner of each cell from the perspective of the player to move.

        Returns:
          float32 [height * width]: 1 for a cell of the player to move, -1 for one of the opponent,
          0 for one of nobody. At the end of the game the owners are final.
        """


@runtime_checkable
class HasClicks(Protocol[State]):
    """A game whose moves go from one cell of the drawing to another, such as chess and shogi.

    The text of an action is `cell_names[first] + cell_names[then] + click_choices[choice]`, unless
    there are no names of cells, as in backgammon.
    """

    @property
    def cell_names(self) -> tuple[str, ...]:
        """The name of each cell of the drawing; () if texts do not consist of them."""

    @property
    def click_choices(self) -> tuple[str, ...]:
        """The suffixes that distinguish moves with the same two cells, such as promotions."""

    def clicks(self, state: State) -> Array:
        """Returns the two cells to click and the choice for each legal action.

        Returns:
          int32 [num_actions, 3]: the first cell, the second cell, and an index into
          `click_choices`. The cells are -1 for an action without any, such as a pass. Rows of
          illegal actions have no meaning.
        """


@runtime_checkable
class HasTextParts(Protocol[State]):
    """A game whose texts of actions depend on the position, such as "13/7*" in backgammon.

    The text of an action is its parts, one after the other. Exported pages write moves so.
    """

    @property
    def text_parts(self) -> tuple[str, ...]:
        """The parts of all texts."""

    def action_parts(self, state: State) -> Array:
        """Returns the parts of the text of each legal action.

        Returns:
          int32 [num_actions, P]: indices into `text_parts`. Rows of illegal actions have no
          meaning.
        """


@runtime_checkable
class HasFen(Protocol[State]):
    """A game whose positions can be written in Forsyth-Edwards Notation (FEN), such as chess."""

    def from_fen(self, text: str) -> State:
        """Returns the position that `text` describes.

        Raises:
          ValueError: `text` describes no position of the game.
        """

    def to_fen(self, state: State) -> str:
        """Returns the FEN of a position."""


@runtime_checkable
class HasSetUp(Protocol[State]):
    """A game that can begin in any position. A page sets them up, from a FEN or an SFEN."""

    def set_up(self, view: Array, *numbers: Array) -> tuple[State, Array]:
        """Returns a state without earlier positions, and whether the position is possible, bool [].

        It takes int32 [num_cells] as `view` returns it, and what that does not tell, int32 [] each.
        """


@runtime_checkable
class HasShownMoves(Protocol[State]):
    """A game whose moves people write in another way than programs, such as chess."""

    def shown_moves(self, state: State) -> dict[int, str]:
        """Returns the legal actions with their names for people.

        `string_to_action` reads these names, too.
        """

    def number_moves(self, state: State, names: Sequence[str]) -> list[str]:
        """Returns the names of moves played from a position, with the numbers that people write."""


@runtime_checkable
class HasPlayerNames(Protocol):
    """A game whose players have names that a person sees on the board, such as colours."""

    @property
    def player_names(self) -> tuple[str, str]:
        """The names of both players; they complete the sentence "You play ..."."""


@runtime_checkable
class HasFewLegalActions(Protocol):
    """A game with many actions, of which few are legal in any one position."""

    @property
    def max_legal_actions(self) -> int:
        """An upper bound of the legal actions in a position of a game.

        A FEN can describe a position with more. A search of it leaves out the last ones.
        """


@runtime_checkable
class HasWinningCells(Protocol[State]):
    """A game that is won by an arrangement of pieces, such as a line or a chain."""

    @property
    def winning_shape(self) -> str:
        """What the winner has; it completes the sentence "Won with ..."."""

    def winning_cells(self, state: State) -> Array:
        """Returns the cells of the arrangement that won.

        Returns:
          bool [num_cells], the cells of `view`. None are set before the end, after a draw, and
          after a win for another reason, such as an illegal action.
        """


@runtime_checkable
class HasBothSeats(Protocol[State]):
    """A game that can also be observed by the player who is not to move; see `observe_as`."""

    def observe_other(self, state: State) -> Array:
        """Returns what the player who is not to move sees, float32 as in `observation_shape`.

        Planes that describe the mover's choices, such as the legal moves, stay as they are.
        """


@runtime_checkable
class HasObservationBounds(Protocol):
    """A game whose observations are not all between 0 and 1."""

    @property
    def observation_bounds(self) -> tuple[float, float]:
        """The least and the greatest value that an observation can have."""


@runtime_checkable
class HasUnobservedParts(Protocol):
    """A game whose states have parts for the rules alone, such as the earlier boards of go."""

    @property
    def unobserved(self) -> tuple[str, ...]:
        """The names of parts of a state that neither `observe` nor `legal_action_mask` reads.

        A replay buffer does not store them. A part of a part has a name with a dot, "board.hash".
        """


@dataclasses.dataclass(frozen=True, eq=False)
class Symmetries:
    """The K symmetries of a game as permutations; number 0 is the identity.

    Symmetry k maps a position to another one of the same value. The transformed position has

        observation'.reshape(H * W, C)[i] == observation.reshape(H * W, C)[cells[k, i]]
        mask'[a] == mask[actions[k, a]]

    Action `a` of the transformed position is action `actions[k, a]` of the original one. So
    `policy[..., actions[k]]` transforms a policy.
    """

    cells: np.ndarray  # int32 [K, H * W]
    actions: np.ndarray  # int32 [K, num_actions]


def settle(state: State, *, over: Array, legal: Array, moved: State, forfeited: State) -> State:
    """Returns `state` if the game is over, else `moved` or `forfeited`.

    Most games end their `step` with it.

    Args:
      over: bool [], whether it is terminal.
      legal: bool [], whether the action is legal there.
      moved: the state after a legal action.
      forfeited: the state after an illegal action, in which the player to move has lost.
    """

    def choose(before, after, forfeit):
        return jnp.where(over, before, jnp.where(legal, after, forfeit))

    return jax.tree.map(choose, state, moved, forfeited)


def returns_of(result: Array) -> Array:
    """Returns the results of both players, float32 [2], given that of player 0, integer [].

    A result is 1 for a win, -1 for a loss, and 0 for a draw or an unfinished game.
    """
    return jnp.stack([result, -result]).astype(jnp.float32)


def observe_as(game: Game, state: State, player: Array | int) -> Array:
    """Returns what a player sees, 0 or 1, who need not be the one to move, as `observe` does.

    A game without `observe_other` is always seen by the player to move.
    """
    observation = game.observe(state)
    if not isinstance(game, HasBothSeats):
        return observation
    return jnp.where(player == game.current_player(state), observation, game.observe_other(state))


def unobserved_leaves(game: Game) -> tuple[bool, ...]:
    """Returns for each leaf of a state, in order, whether it is in one of the `unobserved` parts.

    Raises:
      ValueError: no part of a state has such a name.
    """
    leaves = jax.tree_util.tree_leaves_with_path(jax.eval_shape(game.init))
    paths = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    names = game.unobserved if isinstance(game, HasUnobservedParts) else ()
    for name in names:
        if not any(f"{path}.".startswith(f"{name}.") for path in paths):
            raise ValueError(
                f"{game.name}: unobserved names {name!r}, but the parts of a state are "
                f"{', '.join(paths)}"
            )
    return tuple(f"{path}.".startswith(tuple(f"{name}." for name in names)) for path in paths)


def observation_bounds(game: Game) -> tuple[float, float]:
    """Returns the least and the greatest value of observations: 0 and 1 unless the game says so."""
    return game.observation_bounds if isinstance(game, HasObservationBounds) else (0.0, 1.0)


def possible_results(game: Game) -> tuple[float, ...]:
    """Returns the possible results in points: 1, 0 and -1 unless the game says so."""
    return tuple(game.results) if isinstance(game, HasResults) else (1.0, 0.0, -1.0)


def legal_actions(game: Game, state: State) -> list[int]:
    """Returns the legal actions of one position as a list."""
    return np.flatnonzero(_read(game, "legal_action_mask", state)).tolist()


def clicks_of(game: HasClicks, state: State) -> np.ndarray:
    """Returns `game.clicks(state)` of one position as a numpy array, int32 [num_actions, 3]."""
    return np.asarray(_read(game, "clicks", state))


def view_of(game: Game, state: State) -> np.ndarray:
    """Returns `game.view(state)` of one position as a numpy array.

    It is compiled: operation by operation, a board with dice takes 50 ms.
    """
    return np.asarray(_read(game, "view", state))


def is_over(game: Game, state: State) -> bool:
    """Returns `game.is_terminal(state)` of one position."""
    return bool(_read(game, "is_terminal", state))


_NAMED = 40  # the most legal actions that a message lists


def find_legal(game: Game, state: State, text: str) -> int:
    """Returns the legal action named `text`.

    Most games use it as their `string_to_action`. Case and surrounding spaces do not matter.

    Raises:
      ValueError: no legal action has that name; the message lists legal ones.
    """
    wanted = text.strip().lower()
    names = {game.action_to_string(state, a): a for a in legal_actions(game, state)}
    for name, action in names.items():
        if name.lower() == wanted:
            return action
    if isinstance(game, HasChance) and _read(game, "is_chance", state):
        raise ValueError(f"{text!r} cannot be played: chance is next, such as a roll of dice")
    raise not_legal(text, list(names))


def not_legal(text: str, names: Sequence[str]) -> ValueError:
    """Returns the error for a text that is none of the legal moves, which have these names."""
    if not names:
        return ValueError(f"{text!r} cannot be played: the game is over")
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ValueError(f"{text!r} is not legal here; legal: {', '.join(names[:_NAMED])}{more}")


@functools.partial(jax.jit, static_argnums=(0, 1))
def _read(game: Game, method: str, state: State) -> Array:
    return getattr(game, method)(state)


def require_range(game: str, option: str, value: int, low: int, high: int) -> None:
    """Raises ValueError unless `value` is an integer in low..high."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{game}: {option} must be an integer from {low} to {high}, not {value!r}")


def require_flag(game: str, option: str, value: bool) -> None:
    """Raises ValueError unless `value` is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{game}: {option} must be true or false, not {value!r}")
