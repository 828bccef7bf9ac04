"""Gomoku and the other m,n,k-games: a given number of stones in a row wins."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.bitboard import Words, any_bit, each, either
from azjax_envs.game import Symmetries, require_flag, require_range, returns_of
from azjax_envs.k_in_a_row import cell, has_line, line_cells, unpack, word_type
from azjax_envs.symmetry import dihedral, on_cells
from azjax_envs.xla_cpu import fusion_barrier


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class StonesState:
    """A position as bitboards.

    Each row is a word, from the top. Each column is a bit of the word, from the left.
    """

    first: Words  # the stones of player 0
    taken: Words  # all stones
    stones: Array  # uint16 [], the number of stones
    lost: Array  # bool [], the player to move has lost


class _Stones(BaseGame):
    """The base class of gomoku and the m,n,k-games: everything except the numbers."""

    player_names = ("black", "white")

    @property
    def _rules(self) -> tuple[int, int, int, bool]:
        """Rows, columns, the stones in a row that win, and whether longer rows do not win."""
        raise NotImplementedError

    @property
    def _shape(self) -> tuple[int, int]:
        return self._rules[:2]

    @property
    def num_actions(self) -> int:
        height, width = self._shape
        return height * width

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (*self._shape, 2)

    max_steps = num_actions

    @property
    def num_symmetries(self) -> int:
        return len(self.symmetries().cells)

    def init(self, key: Array | None = None) -> StonesState:
        height, width = self._shape
        empty = (jnp.zeros((), word_type(width)),) * height
        return StonesState(
            first=empty,
            taken=empty,
            stones=jnp.zeros((), jnp.uint16),
            lost=jnp.zeros((), jnp.bool_),
        )

    def step(self, state: StonesState, action: Array) -> StonesState:
        over = self.is_terminal(state)
        is_first = self.current_player(state) == 0
        stone = each(
            lambda bit, taken: jnp.where(over, jnp.zeros_like(bit), bit & ~taken),
            cell(jnp.asarray(action), *self._shape),
            state.taken,
        )
        legal = any_bit(stone)
        first = each(lambda old, new: jnp.where(is_first, old | new, old), state.first, stone)
        taken = either(state.taken, stone)
        mine = each(lambda first, all: jnp.where(is_first, first, first ^ all), first, taken)
        # After a legal move the opponent is to move, so the mover's row is the opponent's loss.
        # After an illegal action the turn stays, so `lost` again means the player to move.
        *_, length, exactly = self._rules
        wins = has_line(mine, length=length, exactly=exactly)
        stones, lost = fusion_barrier(
            state.stones + legal.astype(jnp.uint16), state.lost | ~over & (wins | ~legal)
        )
        return StonesState(first=first, taken=taken, stones=stones, lost=lost)

    def current_player(self, state: StonesState) -> Array:
        return state.stones.astype(jnp.int32) & 1

    def legal_action_mask(self, state: StonesState) -> Array:
        return ~unpack(state.taken, self._shape[1]) & ~state.lost

    def is_terminal(self, state: StonesState) -> Array:
        return state.lost | (state.stones == self.num_actions)

    def returns(self, state: StonesState) -> Array:
        return returns_of(jnp.where(state.lost, 2 * self.current_player(state) - 1, 0))

    def observe(self, state: StonesState) -> Array:
        first = self._grid(state.first)
        second = self._grid(state.taken) ^ first
        is_first = self.current_player(state) == 0
        planes = [jnp.where(is_first, first, second), jnp.where(is_first, second, first)]
        return jnp.stack(planes, -1).astype(jnp.float32)

    def symmetries(self) -> Symmetries:
        # On a single row or column some symmetries coincide. The identity sorts first.
        cells = np.unique(dihedral(*self._shape), axis=0)
        return on_cells(cells, np.arange(self.num_actions), self.num_actions)

    def action_to_string(self, state: StonesState, action: int) -> str:
        height, width = self._shape
        row, column = divmod(action, width)
        return f"{_LETTERS[column]}{height - row}"

    def to_string(self, state: StonesState) -> str:
        """Returns the board as text: X is player 0, O player 1."""
        height, width = self._shape
        codes = np.asarray(self.view(state)).reshape(height, width)
        lines = [[f"{height - row:>2}", *(".XO"[c] for c in codes[row])] for row in range(height)]
        return "\n".join(" ".join(line) for line in [*lines, ["  ", *_LETTERS[:width]]])

    @property
    def winning_shape(self) -> str:
        return f"{self._rules[2]} in a row"

    def winning_cells(self, state: StonesState) -> Array:
        """Returns the cells of the winner's lines, bool [height * width], the top row first."""
        first = self._grid(state.first)
        second = self._grid(state.taken) ^ first
        theirs = jnp.where(self.current_player(state) == 0, second, first)
        *_, length, exactly = self._rules
        lines = line_cells(theirs, length=length, exactly=exactly)
        return (lines & state.lost).reshape(-1)

    def svg_board(self) -> str:
        return _svg_board(*self._shape)

    def view(self, state: StonesState) -> Array:
        """Returns codes, int32 [height * width], top row first: 0 empty, 1 and 2 the players."""
        width = self._shape[1]
        first, taken = unpack(state.first, width), unpack(state.taken, width)
        return jnp.where(taken, jnp.where(first, 1, 2), 0).astype(jnp.int32)

    def _grid(self, board: Words) -> Array:
        """Unpacks a board into bool [height, width]."""
        return unpack(board, self._shape[1]).reshape(self._shape)


@dataclasses.dataclass(frozen=True)
class Gomoku(_Stones):
    """Gomoku: five stones in a row win, on a square board of 5 to 19 points.

    **Rules.** The players take turns to place a stone on a free point. Player 0 is black and moves
    first. Five or more stones in a row win: horizontally, vertically or diagonally. With
    `exactly_five`, as in standard gomoku, only a row of exactly five wins, and the game continues
    after a longer one. A full board without a winning row is a draw. There is no opening rule: the
    first stone may be placed anywhere.

    **Actions** (size * size). Action `row * size + column` places a stone; rows count from the top.
    The text is the letter of the column (`a` to `s`, including `i`) and the number of the row, 1 at
    the bottom. `h8` is the centre of the 15x15 board.

    **Observation.** float32 [size, size, 2], the top row first:

    - plane 0: stones of the player to move
    - plane 1: stones of the opponent

    **Source.** The rules of freestyle and standard gomoku of the Gomocup
    (https://gomocup.org/rules).
    """

    size: int = 15
    exactly_five: bool = False

    def __post_init__(self):
        require_range("gomoku", "size", self.size, 5, 19)
        require_flag("gomoku", "exactly_five", self.exactly_five)

    @property
    def name(self) -> str:
        return "gomoku" if self.size == Gomoku.size else f"gomoku_{self.size}x{self.size}"

    @property
    def _rules(self) -> tuple[int, int, int, bool]:
        return self.size, self.size, 5, self.exactly_five


@dataclasses.dataclass(frozen=True)
class Mnk(_Stones):
    """The m,n,k-games: `k` stones in a row win, on a board of `m` columns and `n` rows.

    **Rules.** The players take turns to place a stone on a free cell; player 0 moves first. A row
    of `k` or more stones wins: horizontally, vertically or diagonally. A full board without such a
    row is a draw. The 3,3,3-game is tic-tac-toe, the 15,15,5-game is gomoku.

    **Actions** (m * n). Action `row * m + column` places a stone; rows count from the top. The text
    is the letter of the column and the number of the row, 1 at the bottom, as in gomoku.

    **Observation.** float32 [n, m, 2], the top row first:

    - plane 0: stones of the player to move
    - plane 1: stones of the opponent

    **Source.** J. W. H. M. Uiterwijk and H. J. van den Herik, The advantage of the initiative,
    Information Sciences 122 (2000), for the name and the values of the small games.
    """

    m: int = 3
    n: int = 3
    k: int = 3

    def __post_init__(self):
        require_range("mnk", "m", self.m, 1, 19)
        require_range("mnk", "n", self.n, 1, 19)
        require_range("mnk", "k", self.k, 1, max(self.m, self.n))

    @property
    def name(self) -> str:
        return "mnk" if self == Mnk() else f"mnk_{self.m}x{self.n}x{self.k}"

    @property
    def _rules(self) -> tuple[int, int, int, bool]:
        return self.n, self.m, self.k, False


_LETTERS = "abcdefghijklmnopqrs"


def _svg_board(height: int, width: int) -> str:
    size, margin = 34, 50

    def x(column: float) -> float:
        return margin + column * size

    def y(row: float) -> float:
        return margin + row * size

    right, bottom = x(width - 1), y(height - 1)
    wood = {"x": 28, "y": 28, "width": right - margin + 44, "height": bottom - margin + 44}
    parts = [svg.element("rect", cls="wood", rx=6, **wood)]
    for row in range(height):
        parts.append(svg.element("line", cls="line", x1=x(0), y1=y(row), x2=right, y2=y(row)))
        parts.append(svg.label(height - row, 14, y(row)))
    for column in range(width):
        at = x(column)
        parts.append(svg.element("line", cls="line", x1=at, y1=y(0), x2=at, y2=bottom))
        parts.append(svg.label(_LETTERS[column], at, bottom + 36))
    for row, column in _stars(height, width):
        parts.append(svg.element("circle", cls="star", cx=x(column), cy=y(row), r=3.5))
    for action in range(height * width):
        row, column = divmod(action, width)
        area = {"x": x(column - 0.5), "y": y(row - 0.5), "width": size, "height": size}
        shapes = [
            svg.element("rect", cls="area", **area),
            svg.element("circle", cls="stone", cx=x(column), cy=y(row), r=15),
        ]
        parts.append(svg.element("g", shapes, data_cell=action, data_action=action))
    title = f"Board of {width} by {height} points"
    return svg.document(title, right + 26, bottom + 50, _STYLE, parts)


def _stars(height: int, width: int) -> list[tuple[int, int]]:
    """Returns the marked points of a board: the centre and four points on the fourth lines.

    Small boards and boards with an even side have none.
    """
    if min(height, width) < 9 or height % 2 == 0 or width % 2 == 0:
        return []
    corners = [(row, column) for row in (3, height - 4) for column in (3, width - 4)]
    return [*corners, (height // 2, width // 2)]


_STYLE = {
    ".wood": "fill: #e3b468; stroke: #b98a3f; stroke-width: 2",
    ".line": "stroke: #6d4c1d; stroke-width: 1.2; stroke-linecap: square",
    ".star": "fill: #6d4c1d",
    ".area": "fill: #000; fill-opacity: 0",
    ".stone": "fill: none; stroke: none; stroke-width: 1.5",
    '[data-code="1"] .stone': "fill: #22242a; stroke: #0d0e11",
    '[data-code="2"] .stone': "fill: #faf8f2; stroke: #a39c8b",
}
