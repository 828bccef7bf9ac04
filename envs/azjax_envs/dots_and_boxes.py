"""Dots and boxes on a board of 1x1 to 31x31 boxes."""

import dataclasses
import functools
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.bitboard import Lanes, Words, any_bit, count_bits, each, either, without
from azjax_envs.game import Symmetries, require_range, returns_of, settle
from azjax_envs.symmetry import dihedral, on_cells


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DotsAndBoxesState:
    """A position as bitboards.

    Each row of dots is a lane, from the top. Each dot is a bit of the lane, from the left. The bit
    represents the edge to the right of the dot, the edge below it, or the box to its lower right.
    """

    horizontal: Words  # edges drawn to the right of dots
    vertical: Words  # edges drawn below dots
    first: Words  # boxes of player 0; the other closed boxes are player 1's
    player: Array  # uint8 [], the player to move
    forfeited: Array  # bool [], the player to move has lost by an illegal action


@dataclasses.dataclass(frozen=True)
class DotsAndBoxes(BaseGame):
    """Dots and boxes: the player who draws the fourth edge of a box owns it and moves again.

    **Rules.** `rows` and `columns` count boxes. Player 0 moves first. The player to move draws one
    free edge. A player who closes one or two boxes must move again; otherwise the turn passes. The
    game ends when all edges are drawn. The player with more boxes wins; equal numbers draw. `score`
    counts the boxes.

    **Actions.** The horizontal edges come first, row by row, then the vertical edges, row by row:

    - `row * columns + column` is the horizontal edge in that row of dots. The text `h-1-2` is the
      second edge of the top row of dots.
    - `(rows + 1) * columns + row * (columns + 1) + column` is the vertical edge in that row of
      boxes. The text `v-1-2` is the second vertical edge of the top row of boxes.

    Rows and columns in texts count from 1.

    **Observation.** float32 [2 * rows + 1, 2 * columns + 1, 5]. The grid shows dots, edges and
    boxes as they are on the board:

    - plane 0: drawn edges
    - plane 1: free edges
    - plane 2: boxes of the player to move
    - plane 3: boxes of the opponent
    - plane 4: open boxes
    """

    rows: int = 5
    columns: int = 5

    def __post_init__(self):
        require_range("dots_and_boxes", "rows", self.rows, 1, 31)
        require_range("dots_and_boxes", "columns", self.columns, 1, 31)

    player_names = ("blue", "red")

    @property
    def name(self) -> str:
        if self == DotsAndBoxes():
            return "dots_and_boxes"
        return f"dots_and_boxes_{self.rows}x{self.columns}"

    @property
    def num_actions(self) -> int:
        return self._num_horizontal + self.rows * (self.columns + 1)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (2 * self.rows + 1, 2 * self.columns + 1, 5)

    max_steps = num_actions

    @property
    def num_symmetries(self) -> int:
        return 8 if self.rows == self.columns else 4

    def init(self, key: Array | None = None) -> DotsAndBoxesState:
        empty = self._lanes.empty()
        return DotsAndBoxesState(
            horizontal=empty,
            vertical=empty,
            first=empty,
            player=jnp.zeros((), jnp.uint8),
            forfeited=jnp.zeros((), jnp.bool_),
        )

    def step(self, state: DotsAndBoxesState, action: Array) -> DotsAndBoxesState:
        across, down = self._edge(action)
        legal = any_bit(without(across, state.horizontal)) | any_bit(without(down, state.vertical))
        horizontal, vertical = either(state.horizontal, across), either(state.vertical, down)

        closed_before = self._closed(state.horizontal, state.vertical)
        closed = each(operator.xor, self._closed(horizontal, vertical), closed_before)
        first = each(
            lambda old, new: jnp.where(state.player == 0, old | new, old), state.first, closed
        )
        moved = DotsAndBoxesState(
            horizontal=horizontal,
            vertical=vertical,
            first=first,
            player=jnp.where(any_bit(closed), state.player, 1 - state.player),
            forfeited=state.forfeited,
        )
        return settle(
            state,
            over=self.is_terminal(state),
            legal=legal,
            moved=moved,
            forfeited=dataclasses.replace(state, forfeited=jnp.ones_like(state.forfeited)),
        )

    def current_player(self, state: DotsAndBoxesState) -> Array:
        return state.player.astype(jnp.int32)

    def legal_action_mask(self, state: DotsAndBoxesState) -> Array:
        return ~self._drawn(state) & ~state.forfeited

    def is_terminal(self, state: DotsAndBoxesState) -> Array:
        free = each(operator.xor, state.horizontal, self._lanes.constant(self._has_right))
        free += each(operator.xor, state.vertical, self._lanes.constant(self._has_below))
        return state.forfeited | ~any_bit(free)

    def returns(self, state: DotsAndBoxesState) -> Array:
        first, second = self._counts(state)
        result = jnp.where(self.is_terminal(state), jnp.sign(first - second), 0)
        return returns_of(jnp.where(state.forfeited, 2 * self.current_player(state) - 1, result))

    def score(self, state: DotsAndBoxesState) -> Array:
        """Returns the number of boxes that each player has closed so far, float32 [2]."""
        return jnp.stack(self._counts(state)).astype(jnp.float32)

    def ownership(self, state: DotsAndBoxesState) -> Array:
        """Returns the owner of each cell of the observed grid, as `HasOwnership` does.

        It is float32 [height * width], 0 for open boxes, dots and edges.
        """
        boxes = [self._lanes.unpack(board) for board in self._sides(state)]
        none = jnp.zeros_like(boxes[0])
        mine, theirs = (self._grid(none, none, box).astype(jnp.float32) for box in boxes)
        return (mine - theirs).reshape(-1)

    def observe(self, state: DotsAndBoxesState) -> Array:
        unpack = self._lanes.unpack
        right, below = unpack(state.horizontal), unpack(state.vertical)
        mine, theirs = (unpack(board) for board in self._sides(state))
        none = jnp.zeros_like(right)
        planes = [
            (right, below, none),
            (self._has_right & ~right, self._has_below & ~below, none),
            (none, none, mine),
            (none, none, theirs),
            (none, none, self._has_right & self._has_below & ~mine & ~theirs),
        ]
        grids = [self._grid(*plane) for plane in planes]
        return jnp.stack(grids, -1).astype(jnp.float32)

    def observe_other(self, state: DotsAndBoxesState) -> Array:
        return self.observe(state)[..., np.array([0, 1, 3, 2, 4])]

    def symmetries(self) -> Symmetries:
        grid = np.arange((2 * self.rows + 1) * (2 * self.columns + 1))
        grid = grid.reshape(2 * self.rows + 1, 2 * self.columns + 1)
        edges = np.concatenate([grid[0::2, 1::2].reshape(-1), grid[1::2, 0::2].reshape(-1)])
        return on_cells(dihedral(*grid.shape), edges, self.num_actions)

    def action_to_string(self, state: DotsAndBoxesState, action: int) -> str:
        if action < self._num_horizontal:
            kind, (row, column) = "h", divmod(action, self.columns)
        else:
            kind, (row, column) = "v", divmod(action - self._num_horizontal, self.columns + 1)
        return f"{kind}-{row + 1}-{column + 1}"

    def to_string(self, state: DotsAndBoxesState) -> str:
        codes = np.split(np.asarray(self.view(state)), [self._num_horizontal, self.num_actions])
        shapes = [(self.rows + 1, -1), (self.rows, -1), (self.rows, -1)]
        right, below, owner = (x.reshape(shape) for x, shape in zip(codes, shapes, strict=True))
        lines = ["h  " + "".join(f"{column + 1:>4}" for column in range(self.columns))]
        for row in range(self.rows + 1):
            edges = "".join(f"{'---' if edge else '   '}+" for edge in right[row])
            lines.append(f"{row + 1:>2}  +{edges}")
            if row < self.rows:
                boxes = [f" {' XO'[box]} " for box in owner[row]] + [""]
                sides = zip(below[row], boxes, strict=True)
                lines.append(
                    f"{row + 1:>2}  {''.join('| '[not edge] + box for edge, box in sides)}"
                )
        lines.append("v   " + "".join(f"{column + 1:<4}" for column in range(self.columns + 1)))
        return "\n".join(line.rstrip() for line in lines)

    def svg_board(self) -> str:
        return _svg_board(self.rows, self.columns)

    def view(self, state: DotsAndBoxesState) -> Array:
        """Returns the codes of the edges by action, then of the boxes row by row.

        They are int32 [num_actions + rows * columns]. An edge is 0 if free and 1 if drawn. A box is
        0 if open, 1 if it is player 0's, and 2 if it is player 1's.
        """
        first = self._boxes(state.first)
        closed = self._boxes(self._closed(state.horizontal, state.vertical))
        boxes = jnp.where(closed, jnp.where(first, 1, 2), 0).reshape(-1)
        return jnp.concatenate([self._drawn(state).astype(jnp.int32), boxes.astype(jnp.int32)])

    @property
    def _num_horizontal(self) -> int:
        return (self.rows + 1) * self.columns

    @property
    def _lanes(self) -> Lanes:
        return Lanes(self.rows + 1, self.columns + 1)

    @property
    def _has_right(self) -> np.ndarray:
        """The dots with an edge to their right, bool [rows + 1, columns + 1]."""
        return np.broadcast_to(np.arange(self.columns + 1) < self.columns, self._dots)

    @property
    def _has_below(self) -> np.ndarray:
        """The dots with an edge below them, bool [rows + 1, columns + 1]."""
        return np.broadcast_to(np.arange(self.rows + 1)[:, None] < self.rows, self._dots)

    @property
    def _dots(self) -> tuple[int, int]:
        return (self.rows + 1, self.columns + 1)

    def _edge(self, action: Array) -> tuple[Words, Words]:
        """Returns a board of horizontal and one of vertical edges, with the edge of an action."""
        # Unsigned, so that a negative action becomes a large one.
        action = jnp.asarray(action).astype(jnp.uint32)
        is_horizontal = action < self._num_horizontal
        nowhere = np.uint32(self.rows + 1)
        lane, offset = action // self.columns, action % self.columns
        across = self._lanes.one(jnp.where(is_horizontal, lane, nowhere), offset)
        upright = action - self._num_horizontal
        lane, offset = upright // (self.columns + 1), upright % (self.columns + 1)
        lane = jnp.where(is_horizontal | (lane >= self.rows), nowhere, lane)
        return across, self._lanes.one(lane, offset)

    def _closed(self, horizontal: Words, vertical: Words) -> Words:
        bottom = self._lanes.move(horizontal, self.columns + 1)
        right = self._lanes.move(vertical, 1)
        return each(lambda a, b, c, d: a & b & c & d, horizontal, bottom, vertical, right)

    def _counts(self, state: DotsAndBoxesState) -> tuple[Array, Array]:
        """Returns the number of boxes of player 0 and of player 1, int32 [] each."""
        first = count_bits(state.first)
        return first, count_bits(self._closed(state.horizontal, state.vertical)) - first

    def _sides(self, state: DotsAndBoxesState) -> tuple[Words, Words]:
        """Returns the boxes of the player to move and those of the opponent."""
        closed = self._closed(state.horizontal, state.vertical)
        second = each(operator.xor, closed, state.first)
        is_first = state.player == 0
        pick = functools.partial(jnp.where, is_first)
        return each(pick, state.first, second), each(pick, second, state.first)

    def _drawn(self, state: DotsAndBoxesState) -> Array:
        """Returns which edges are drawn, bool [num_actions]."""
        horizontal = self._lanes.unpack(state.horizontal)[:, : self.columns]
        vertical = self._lanes.unpack(state.vertical)[: self.rows]
        return jnp.concatenate([horizontal.reshape(-1), vertical.reshape(-1)])

    def _boxes(self, board: Words) -> Array:
        """Unpacks a board of boxes into bool [rows, columns]."""
        return self._lanes.unpack(board)[: self.rows, : self.columns]

    def _grid(self, right: ArrayLike, below: ArrayLike, box: ArrayLike) -> Array:
        """Arranges edges and boxes as on the board, bool [2 * rows + 1, 2 * columns + 1].

        They are those to the right of each dot, below it, and to its lower right, bool [rows + 1,
        columns + 1] each.
        """
        dots = jnp.zeros_like(right)
        even, odd = jnp.stack([dots, right], -1), jnp.stack([below, box], -1)
        grid = jnp.stack([even, odd], 1).reshape(2 * self.rows + 2, 2 * self.columns + 2)
        return grid[:-1, :-1]


def _svg_board(rows: int, columns: int) -> str:
    size, left, top = 64, 44, 36

    def x(column: float) -> float:
        return left + column * size

    def y(row: float) -> float:
        return top + row * size

    width, height = x(columns) + 20, y(rows) + 34
    paper = {"width": columns * size + 32, "height": rows * size + 32}
    parts = [svg.element("rect", cls="paper", rx=14, x=left - 16, y=top - 16, **paper)]

    across = [(row, col, row, col + 1) for row in range(rows + 1) for col in range(columns)]
    down = [(row, col, row + 1, col) for row in range(rows) for col in range(columns + 1)]
    boxes = []
    for box in range(rows * columns):
        row, column = divmod(box, columns)
        area = {"x": x(column), "y": y(row), "width": size, "height": size}
        cell = len(across) + len(down) + box
        boxes.append(svg.element("rect", cls="box", data_cell=cell, **area))
    edges = []
    for action, (row, column, to_row, to_column) in enumerate(across + down):
        ends = {"x1": x(column), "y1": y(row), "x2": x(to_column), "y2": y(to_row)}
        lines = [svg.element("line", cls="area", **ends), svg.element("line", cls="edge", **ends)]
        edges.append(svg.element("g", lines, data_cell=action, data_action=action))
    dots = [
        svg.element("circle", cls="dot", cx=x(column), cy=y(row), r=6)
        for row in range(rows + 1)
        for column in range(columns + 1)
    ]
    labels = [svg.label(column + 1, x(column + 0.5), top - 25) for column in range(columns)]
    labels += [svg.label(column + 1, x(column), y(rows) + 25) for column in range(columns + 1)]
    labels += [svg.label(f"h{row + 1}", left - 30, y(row)) for row in range(rows + 1)]
    labels += [svg.label(f"v{row + 1}", left - 30, y(row + 0.5)) for row in range(rows)]
    return svg.document(
        "Dots and boxes", width, height, _STYLE, parts + boxes + edges + dots + labels
    )


_STYLE = {
    ".paper": "fill: #fbfaf7; stroke: #e4e0d6; stroke-width: 2",
    ".box": "fill: none",
    '.box[data-code="1"]': "fill: #b9d3f5",
    '.box[data-code="2"]': "fill: #f7c3bb",
    ".area": "stroke: #000; stroke-opacity: 0; stroke-width: 22",
    ".edge": "stroke: #cbc6b8; stroke-width: 3; stroke-dasharray: 2 6; stroke-linecap: round",
    '[data-code="1"] .edge': "stroke: #43536b; stroke-width: 6; stroke-dasharray: none",
    ".dot": "fill: #2b3648",
}
