"""Connect four, on a board of any size."""

import dataclasses
import functools
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.bitboard import Lanes, Words, any_bit, count_bits, each, either
from azjax_envs.game import Symmetries, require_range, returns_of, settle
from azjax_envs.k_in_a_row import line_cells


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ConnectFourState:
    """A position as bitboards.

    Each column is a lane, from the bottom up, with one bit above its top that is always clear.
    """

    own: Words  # the discs of the player to move
    taken: Words  # all discs
    lost: Array  # bool [], the player to move has lost


@dataclasses.dataclass(frozen=True)
class ConnectFour(BaseGame):
    """Connect four: `connect` discs in a row win.

    **Rules.** The players take turns to drop a disc into a column that is not full. It falls to
    the lowest free cell. A player wins with `connect` or more discs in a row: horizontally,
    vertically or diagonally. A full board without such a row is a draw. Player 0 moves first.

    **Actions** (`columns`). Action c drops a disc into column c, counted from the left. The text
    is the number of the column, from 1.

    **Observation.** float32 [rows, columns, 2], the top row first:

    - plane 0: discs of the player to move
    - plane 1: discs of the opponent

    **Source.** John Tromp's Fhourstones benchmark (https://tromp.github.io/c4/fhour.html), for the
    bitboards and for the addition that finds the lowest free cell of a column.
    """

    rows: int = 6
    columns: int = 7
    connect: int = 4

    def __post_init__(self):
        require_range("connect_four", "rows", self.rows, 1, 31)
        require_range("connect_four", "columns", self.columns, 1, 31)
        require_range("connect_four", "connect", self.connect, 1, max(self.rows, self.columns))

    player_names = ("red", "yellow")

    @property
    def name(self) -> str:
        if self == ConnectFour():
            return "connect_four"
        suffix = "" if self.connect == ConnectFour.connect else f"x{self.connect}"
        return f"connect_four_{self.rows}x{self.columns}{suffix}"

    @property
    def num_actions(self) -> int:
        return self.columns

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (self.rows, self.columns, 2)

    @property
    def max_steps(self) -> int:
        return self.rows * self.columns

    @property
    def num_symmetries(self) -> int:
        return min(2, self.columns)

    def init(self, key: Array | None = None) -> ConnectFourState:
        empty = self._lanes.empty()
        return ConnectFourState(own=empty, taken=empty, lost=jnp.zeros((), jnp.bool_))

    def step(self, state: ConnectFourState, action: Array) -> ConnectFourState:
        board = self._lanes.constant(self._cells)
        # A bit added at the foot of a column carries through its discs to the lowest free cell.
        # In a full column that is the clear bit above the board.
        foot = self._lanes.one(jnp.asarray(action))
        disc = each(
            lambda taken, bit, cells: taken + bit & ~taken & cells, state.taken, foot, board
        )
        # After a legal move the opponent is to move, so the mover's row is the opponent's loss.
        # After a forfeit the turn stays, so `lost` again means the player to move.
        moved = ConnectFourState(
            own=each(operator.xor, state.taken, state.own),
            taken=either(state.taken, disc),
            lost=self._has_row(either(state.own, disc)),
        )
        return settle(
            state,
            over=self.is_terminal(state),
            legal=any_bit(disc),
            moved=moved,
            forfeited=dataclasses.replace(state, lost=jnp.ones_like(state.lost)),
        )

    def current_player(self, state: ConnectFourState) -> Array:
        return count_bits(state.taken) & 1

    def legal_action_mask(self, state: ConnectFourState) -> Array:
        return ~self._lanes.column(state.taken, self.rows - 1) & ~state.lost

    def is_terminal(self, state: ConnectFourState) -> Array:
        gaps = each(operator.xor, state.taken, self._lanes.constant(self._cells))
        return state.lost | ~any_bit(gaps)

    def returns(self, state: ConnectFourState) -> Array:
        return returns_of(jnp.where(state.lost, 2 * self.current_player(state) - 1, 0))

    def observe(self, state: ConnectFourState) -> Array:
        theirs = each(operator.xor, state.taken, state.own)
        planes = [self._grid(state.own), self._grid(theirs)]
        return jnp.stack(planes, -1).astype(jnp.float32)

    def symmetries(self) -> Symmetries:
        cells = np.arange(self.rows * self.columns, dtype=np.int32)
        actions = np.arange(self.columns, dtype=np.int32)
        mirrored = cells.reshape(self.rows, self.columns)[:, ::-1].reshape(-1)
        kept = self.num_symmetries  # a single column is its own mirror image
        return Symmetries(
            cells=np.stack([cells, mirrored])[:kept],
            actions=np.stack([actions, actions[::-1]])[:kept],
        )

    def action_to_string(self, state: ConnectFourState, action: int) -> str:
        return str(action + 1)

    def to_string(self, state: ConnectFourState) -> str:
        codes = np.asarray(self.view(state)).reshape(self.rows, self.columns)
        pad = 1 if self.columns < 10 else 2
        lines: list[list[str]] = [[".XO"[code] for code in row] for row in codes]
        lines.append([str(column + 1) for column in range(self.columns)])
        return "\n".join(" ".join(f"{part:>{pad}}" for part in line) for line in lines)

    @property
    def winning_shape(self) -> str:
        return f"{self.connect} in a row"

    def winning_cells(self, state: ConnectFourState) -> Array:
        """Returns the cells of the winner's lines, bool [rows * columns], the top row first."""
        theirs = self._grid(each(operator.xor, state.taken, state.own))
        return (line_cells(theirs, length=self.connect) & state.lost).reshape(-1)

    def svg_board(self) -> str:
        return _svg_board(self.rows, self.columns)

    def view(self, state: ConnectFourState) -> Array:
        """Returns codes, int32 [rows * columns], top row first: 0 empty, 1 and 2 the players."""
        own, taken = self._grid(state.own), self._grid(state.taken)
        mine = self.current_player(state) + 1
        return jnp.where(taken, jnp.where(own, mine, 3 - mine), 0).astype(jnp.int32).reshape(-1)

    @property
    def _lanes(self) -> Lanes:
        return Lanes(self.columns, self.rows + 1)

    @property
    def _cells(self) -> np.ndarray:
        """All bits except the clear ones, bool [columns, rows + 1]."""
        return np.broadcast_to(np.arange(self.rows + 1) < self.rows, (self.columns, self.rows + 1))

    def _has_row(self, discs: Words) -> Array:
        across = self.rows + 1
        steps = (1, across - 1, across, across + 1)
        runs = [self._lanes.has_run(discs, step=step, length=self.connect) for step in steps]
        return functools.reduce(operator.or_, runs)

    def _grid(self, words: Words) -> Array:
        """Unpacks a board into bool [rows, columns], the top row first."""
        return self._lanes.unpack(words)[:, : self.rows].T[::-1]


def _svg_board(rows: int, columns: int) -> str:
    size, margin = 56, 8
    width, height = columns * size + 2 * margin, rows * size + 2 * margin
    parts = [svg.element("rect", cls="board", x=0, y=0, width=width, height=height, rx=16)]
    for cell in range(rows * columns):
        row, column = divmod(cell, columns)
        x, y = margin + (column + 0.5) * size, margin + (row + 0.5) * size
        area = {"x": x - size / 2, "y": y - size / 2, "width": size, "height": size}
        disc = [
            svg.element("rect", cls="area", **area),
            svg.element("circle", cls="disc", cx=x, cy=y, r=23),
            svg.element("circle", cls="rim", cx=x, cy=y, r=16),
        ]
        parts.append(svg.element("g", disc, data_cell=cell, data_action=column))
    for column in range(columns):
        parts.append(svg.label(column + 1, margin + (column + 0.5) * size, height + 14))
    return svg.document("Connect four", width, height + 26, _STYLE, parts)


_STYLE = {
    ".board": "fill: #2a63b8",
    ".area": "fill: #000; fill-opacity: 0",
    ".disc": "fill: #f3f7fc; stroke: #1f4f97; stroke-width: 2",
    ".rim": "fill: none; stroke: none; stroke-width: 3",
    '[data-code="1"] .disc': "fill: #e2493f; stroke: #b8352d",
    '[data-code="1"] .rim': "stroke: #c63b32",
    '[data-code="2"] .disc': "fill: #f8cb46; stroke: #cf9f1d",
    '[data-code="2"] .rim': "stroke: #e0b02c",
}
