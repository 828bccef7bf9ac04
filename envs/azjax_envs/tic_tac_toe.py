"""Tic-tac-toe."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.game import Symmetries, returns_of, settle
from azjax_envs.k_in_a_row import line_cells
from azjax_envs.symmetry import dihedral, on_cells

_FULL = 0b111_111_111
_ROWS = [0b111 << 3 * row for row in range(3)]
_COLUMNS = [0b001_001_001 << column for column in range(3)]
_LINES = np.array([*_ROWS, *_COLUMNS, 0b100_010_001, 0b001_010_100], np.uint16)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TicTacToeState:
    """A position as two bitboards of nine bits, and whether the player to move has lost."""

    own: Array  # uint16 [], bit i: the player to move has a mark on cell i
    taken: Array  # uint16 [], bit i: cell i has a mark
    lost: Array  # bool [], the player to move has lost


@dataclasses.dataclass(frozen=True)
class TicTacToe(BaseGame):
    """Tic-tac-toe: three marks in a row win.

    **Rules.** The players take turns to mark a free cell of a 3x3 board. Player 0 writes X and
    moves first. Three marks of a player in a row, a column or a diagonal win. A full board without
    such a line is a draw.

    **Actions** (9). Action `row * 3 + column` marks that cell; rows count from the top. The text is
    the letter of the column and the number of the row: `a1` is top left, `c3` bottom right.

    **Observation.** float32 [3, 3, 2]:

    - plane 0: marks of the player to move
    - plane 1: marks of the opponent
    """

    player_names = ("X", "O")
    winning_shape = "3 in a row"
    name = "tic_tac_toe"
    num_actions = 9
    observation_shape = (3, 3, 2)
    max_steps = 9
    num_symmetries = 8

    def init(self, key: Array | None = None) -> TicTacToeState:
        zero = jnp.zeros((), jnp.uint16)
        return TicTacToeState(own=zero, taken=zero, lost=jnp.zeros((), jnp.bool_))

    def step(self, state: TicTacToeState, action: Array) -> TicTacToeState:
        action = jnp.asarray(action)
        in_range = (action >= 0) & (action < 9)
        bit = jnp.where(in_range, 1 << jnp.clip(action, 0, 8), 0).astype(jnp.uint16)
        mark = bit & ~state.taken
        marks = state.own | mark
        # After a legal move the opponent is to move, so a line of `marks` is the opponent's loss.
        # After a forfeit the turn stays, so `lost` again means the player to move.
        moved = TicTacToeState(
            own=state.taken ^ state.own,
            taken=state.taken | mark,
            lost=jnp.any((marks & _LINES) == _LINES),
        )
        return settle(
            state,
            over=self.is_terminal(state),
            legal=mark != 0,
            moved=moved,
            forfeited=dataclasses.replace(state, lost=jnp.ones_like(state.lost)),
        )

    def current_player(self, state: TicTacToeState) -> Array:
        return (jax.lax.population_count(state.taken) & 1).astype(jnp.int32)

    def legal_action_mask(self, state: TicTacToeState) -> Array:
        return ~_cells(state.taken) & ~self.is_terminal(state)

    def is_terminal(self, state: TicTacToeState) -> Array:
        return state.lost | (state.taken == _FULL)

    def returns(self, state: TicTacToeState) -> Array:
        return returns_of(jnp.where(state.lost, 2 * self.current_player(state) - 1, 0))

    def observe(self, state: TicTacToeState) -> Array:
        planes = [_cells(state.own), _cells(state.taken ^ state.own)]
        return jnp.stack(planes, -1).reshape(3, 3, 2).astype(jnp.float32)

    def symmetries(self) -> Symmetries:
        return on_cells(dihedral(3, 3), np.arange(9), 9)

    def action_to_string(self, state: TicTacToeState, action: int) -> str:
        return f"{'abc'[action % 3]}{action // 3 + 1}"

    def to_string(self, state: TicTacToeState) -> str:
        marks = [".XO"[code] for code in np.asarray(self.view(state))]
        rows = [f"{row + 1}  {' '.join(marks[3 * row : 3 * row + 3])}" for row in range(3)]
        return "\n".join(["   a b c", *rows])

    def winning_cells(self, state: TicTacToeState) -> Array:
        """Returns the cells of the winner's lines, bool [9]."""
        theirs = _cells(state.taken ^ state.own).reshape(3, 3)
        return (line_cells(theirs, length=3) & state.lost).reshape(-1)

    def svg_board(self) -> str:
        return _svg_board()

    def view(self, state: TicTacToeState) -> Array:
        """Returns the code of each cell: 0 empty, 1 X, 2 O: int32 [9]."""
        own, taken = _cells(state.own), _cells(state.taken)
        mine = self.current_player(state) + 1
        return jnp.where(taken, jnp.where(own, mine, 3 - mine), 0).astype(jnp.int32)


def _cells(board: Array) -> Array:
    """Unpacks a board, uint16 [], into its cells, bool [9]."""
    return (board >> np.arange(9, dtype=np.uint16)) & 1 != 0


def _svg_board() -> str:
    size, margin = 88, 30
    board = {"x": margin, "y": margin, "width": 3 * size, "height": 3 * size}
    parts = [svg.element("rect", cls="board", **board, rx=12)]
    for i in (1, 2):
        at, end = margin + i * size, margin + 3 * size - 8
        parts.append(svg.element("line", cls="grid", x1=at, y1=margin + 8, x2=at, y2=end))
        parts.append(svg.element("line", cls="grid", x1=margin + 8, y1=at, x2=end, y2=at))
    for i in range(3):
        parts.append(svg.label("abc"[i], margin + (i + 0.5) * size, margin / 2))
        parts.append(svg.label(i + 1, margin / 2, margin + (i + 0.5) * size))
    for cell in range(9):
        x, y = margin + (cell % 3 + 0.5) * size, margin + (cell // 3 + 0.5) * size
        area = {"x": x - size / 2, "y": y - size / 2, "width": size, "height": size}
        cross = f"M{x - 22:g} {y - 22:g} l44 44 m0 -44 l-44 44"
        marks = [
            svg.element("rect", cls="area", **area),
            svg.element("path", cls="x", d=cross),
            svg.element("circle", cls="o", cx=x, cy=y, r=24),
        ]
        parts.append(svg.element("g", marks, data_cell=cell, data_action=cell))
    side = 3 * size + margin + 10
    return svg.document("Tic-tac-toe", side, side, _STYLE, parts)


_STYLE = {
    ".board": "fill: #faf3e6; stroke: #e2d3b8; stroke-width: 2",
    ".grid": "stroke: #d8c6a6; stroke-width: 3; stroke-linecap: round",
    ".area": "fill: #000; fill-opacity: 0",
    ".x, .o": "fill: none; stroke: none; stroke-width: 11; stroke-linecap: round",
    '[data-code="1"] .x': "stroke: #2f6fbd",
    '[data-code="2"] .o': "stroke: #dd5a48",
}
