"""`BaseGame`: a base class with defaults, so that a new game needs only a few short methods."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.game import Symmetries, find_legal, observe_as, settle, view_of

_SYMBOLS = ".XO#*+@%"
_COLOURS = ("#2f6fbd", "#dd5a48", "#3f9b6c", "#d8a13a", "#7b5ea7", "#5aa0b8", "#8a6d4b")


class BaseGame:
    """A base class with defaults for everything in the `Game` protocol that is not a rule.

    A subclass is a frozen dataclass whose fields are the game's parameters. It defines:

    - `num_actions`, `observation_shape` and `max_steps`, as class attributes or properties;
    - `init(key=None)`, which returns the first state;
    - `play(state, action)`, which returns the state after a legal action;
    - `forfeit(state)`, which returns the state after an illegal action: the player to move loses;
    - `current_player`, `legal_action_mask`, `is_terminal`, `returns` and `observe`.

    A game of chance (`HasChance`) also defines:

    - `is_chance(state)` and `chance_probabilities(state)`;
    - `play_chance(state, outcome)`, which returns the state after a possible outcome.

    A subclass may override every default:

    - `step` plays legal actions, forfeits after illegal ones, and returns a finished game
      unchanged.
    - `name` is "module:Class", which `azjax_envs.make` accepts.
    - The only symmetry is the identity.
    - `chance_step` plays possible outcomes, and returns the state unchanged otherwise.
    - The text of an action is its number, and so is that of an outcome.
    - Text and drawing show a grid with a symbol or a disc in each cell. Planes 0 and 1 of the
      observation are the pieces of the player to move and of the opponent. Any other plane is a
      kind of cell. `observe_other` exchanges the first two, so that the drawing keeps its side.
    - A click on cell i plays action i, if there is one action for each cell, or one more: a pass.

    Example:
        ```python
        @dataclasses.dataclass(frozen=True)
        class Nim(BaseGame):
            num_actions = 3
            observation_shape = (1, 10, 1)
            max_steps = 10
            ...

        assert check_game(Nim()) == []
        ```
    """

    if TYPE_CHECKING:  # a subclass may have class attributes, fields or properties

        @property
        def num_actions(self) -> int: ...
        @property
        def observation_shape(self) -> tuple[int, int, int]: ...
        @property
        def max_steps(self) -> int: ...
        @property
        def num_symmetries(self) -> int: ...
    else:
        num_symmetries = 1

    @property
    def name(self) -> str:
        return f"{type(self).__module__}:{type(self).__qualname__}"

    def init(self, key: Array | None = None) -> Any:
        """Returns the first state; only games with a random start use the PRNG key."""
        raise NotImplementedError(f"{type(self).__name__} must define init")

    def play(self, state: Any, action: Array) -> Any:
        """Returns the state after a legal action, integer [] in 0..num_actions-1.

        `step` also computes it for illegal actions, which it clips into range, and discards that.
        """
        raise NotImplementedError(f"{type(self).__name__} must define play")

    def forfeit(self, state: Any) -> Any:
        """Returns the state after an illegal action: the player to move in `state` has lost."""
        raise NotImplementedError(f"{type(self).__name__} must define forfeit")

    def current_player(self, state: Any) -> Array:
        """Returns the player to move, int32 [], 0 or 1."""
        raise NotImplementedError(f"{type(self).__name__} must define current_player")

    def legal_action_mask(self, state: Any) -> Array:
        """Returns which actions are legal, bool [num_actions]; none are after the end."""
        raise NotImplementedError(f"{type(self).__name__} must define legal_action_mask")

    def is_terminal(self, state: Any) -> Array:
        """Returns whether the game is over, bool []."""
        raise NotImplementedError(f"{type(self).__name__} must define is_terminal")

    def returns(self, state: Any) -> Array:
        """Returns each player's result, float32 [2], zeros before the end; see `returns_of`."""
        raise NotImplementedError(f"{type(self).__name__} must define returns")

    def observe(self, state: Any) -> Array:
        """Returns what the player to move sees, float32 as in `observation_shape`."""
        raise NotImplementedError(f"{type(self).__name__} must define observe")

    def observe_other(self, state: Any) -> Array:
        """Returns what the other player sees: `observe` with planes 0 and 1 exchanged.

        Override it if `observe` turns the board, or has more planes that depend on the mover.
        """
        planes = self.observe(state)
        if self.observation_shape[-1] < 2:
            return planes
        return jnp.concatenate([planes[..., 1::-1], planes[..., 2:]], axis=-1)

    def step(self, state: Any, action: Array) -> Any:
        """Returns the state after an action, integer []; an illegal one loses the game."""
        action = jnp.asarray(action)
        inside = jnp.clip(action, 0, self.num_actions - 1)
        return settle(
            state,
            over=self.is_terminal(state),
            legal=(inside == action) & self.legal_action_mask(state)[inside],
            moved=self.play(state, inside),
            forfeited=self.forfeit(state),
        )

    def play_chance(self, state: Any, outcome: Array) -> Any:
        """Returns the state after a possible outcome of chance, integer [] in 0..K-1.

        `chance_step` also computes it for other outcomes and states, and discards that.
        """
        raise NotImplementedError(f"{type(self).__name__} must define play_chance")

    def chance_step(self, state: Any, outcome: Array) -> Any:
        """Returns the state after an outcome, integer []; unchanged where it cannot happen."""
        game: Any = self
        probabilities = game.chance_probabilities(state)
        outcome = jnp.asarray(outcome)
        inside = jnp.clip(outcome, 0, probabilities.shape[0] - 1)
        happens = game.is_chance(state) & (inside == outcome) & (probabilities[inside] > 0)
        after = self.play_chance(state, inside)
        return jax.tree.map(lambda old, new: jnp.where(happens, new, old), state, after)

    def symmetries(self) -> Symmetries:
        """Returns the identity as the only symmetry."""
        height, width, _ = self.observation_shape
        cells = np.arange(height * width, dtype=np.int32)[None]
        actions = np.arange(self.num_actions, dtype=np.int32)[None]
        return Symmetries(cells=cells, actions=actions)

    def action_to_string(self, state: Any, action: int) -> str:
        """Returns the action's number."""
        del state
        return str(int(action))

    def outcome_to_string(self, state: Any, outcome: int) -> str:
        """Returns the number of an outcome of chance."""
        del state
        return str(int(outcome))

    def string_to_action(self, state: Any, text: str) -> int:
        """Returns the legal action that `text` names, as `find_legal` does."""
        return find_legal(self, state, text)

    def view(self, state: Any) -> Array:
        """Returns the code of each cell.

        Code 0 is an empty cell. Codes 1 and 2 are pieces of player 0 and player 1. Code k + 1 is a
        cell of plane k, for k > 1. In a game with a single plane, its cells have code 1.

        Returns:
          int32 [height * width].
        """
        height, width, channels = self.observation_shape
        planes = observe_as(self, state, 0).reshape(height * width, channels) > 0.5
        code = jnp.argmax(planes, axis=1).astype(jnp.int32) + 1
        return jnp.where(jnp.any(planes, axis=1), code, 0)

    def to_string(self, state: Any) -> str:
        """Returns the cells as rows of symbols: `.`, X, O and so on."""
        height, width, _ = self.observation_shape
        codes = view_of(self, state).reshape(height, width)
        symbols = np.array([*_SYMBOLS])[np.minimum(codes, len(_SYMBOLS) - 1)]
        return "\n".join(map(" ".join, symbols))

    def svg_board(self) -> str:
        """Returns the empty grid as an SVG document; see `azjax_envs.svg`."""
        height, width, channels = self.observation_shape
        size, side, margin = 52, 48, 8
        right, bottom = width * size + 2 * margin, height * size + 2 * margin
        parts = [svg.element("rect", cls="board", x=0, y=0, width=right, height=bottom, rx=12)]
        for cell in range(height * width):
            row, column = divmod(cell, width)
            x, y = margin + column * size, margin + row * size
            shapes = [
                svg.element("rect", cls="cell", x=x + 2, y=y + 2, width=side, height=side, rx=6),
                svg.element("circle", cls="piece", cx=x + size / 2, cy=y + size / 2, r=18),
            ]
            # With other numbers of actions, cell i and action i have nothing in common.
            is_action = self.num_actions - height * width in (0, 1)
            action = cell if is_action else None
            parts.append(svg.element("g", shapes, data_cell=cell, data_action=action))
        style = {
            ".board": "fill: #faf3e6; stroke: #e2d3b8; stroke-width: 2",
            ".cell": "fill: #efe5d2",
            ".piece": "fill: none",
        }
        for code in range(1, max(channels, 2) + 1):
            colour = _COLOURS[(code - 1) % len(_COLOURS)]
            style[f'[data-code="{code}"] .piece'] = f"fill: {colour}"
        title = self.name.rpartition(":")[2]
        return svg.document(title, right, bottom, style, parts)
