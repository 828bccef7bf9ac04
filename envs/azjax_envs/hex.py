"""Hex on a board of 2x2 to 13x13, with or without the swap."""

import dataclasses
import functools
import math
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.game import Symmetries, require_flag, require_range, returns_of, settle

# Labels of chains that touch a side. They are larger than the others, which `_labels` defines.
_FIRST, _SECOND = 126, 127
_NO_CHAIN = -128

# The neighbours of a cell in circular order: consecutive ones are neighbours of each other.
_RING = ((-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class HexState:
    """A position as the chain of each stone, from which a connection is seen without a search."""

    chains: Array  # int8 [size * size], the label of each stone's chain, negative for player 1
    ply: Array  # uint8 [], the number of legal actions played
    winner: Array  # int8 [], 1 for player 0, -1 for player 1, 0 before the end


@dataclasses.dataclass(frozen=True)
class Hex(BaseGame):
    """Hex: the player who connects their two sides of the board wins.

    **Rules.** The players take turns to place a stone on a free cell. The board is a rhombus of
    hexagons. Each row is half a cell to the right of the row above it. So cell (row, column)
    touches the cells at offsets (-1, 0), (-1, +1), (0, -1), (0, +1), (+1, -1) and (+1, 0). Player 0
    connects top and bottom and moves first; player 1 connects left and right. A corner belongs to
    both its sides. The game ends with the connection. There are no draws, because a full board
    always contains a connection.

    **Swap.** With `swap`, the second player may take over the first stone instead of placing one.
    The stone becomes player 1's and moves to the mirrored cell (column, row). That cell is to
    player 1's sides what the old cell was to player 0's. Then player 0 is to move. The swap is
    legal on the second ply only.

    **Actions** (size * size, one more with `swap`). Action `row * size + column` places a stone.
    The text is the letter of the column and the number of the row, 1 at the top, as in `a1`. With
    `swap`, the last action is the swap, `swap`.

    **Observation.** float32 [size, size, 3], or 4 planes with `swap`:

    - plane 0: stones of the player to move
    - plane 1: stones of the opponent
    - plane 2: ones if the player to move is player 0, otherwise zeros
    - plane 3, with `swap`: ones if the swap is legal, otherwise zeros

    **Source.** Rules, numbering and swap are those of OpenSpiel's `hex`.

    **Implementation.** Each stone holds the label of its chain: the largest of the labels that
    `_labels` assigns to the chain's cells. A new stone joins at most three chains, which takes
    comparisons of labels and no search.
    """

    size: int = 11
    swap: bool = False

    def __post_init__(self):
        require_range("hex", "size", self.size, 2, 13)
        require_flag("hex", "swap", self.swap)

    player_names = ("red, from top to bottom", "blue, from left to right")

    @property
    def name(self) -> str:
        return "hex" if self.size == Hex.size else f"hex_{self.size}x{self.size}"

    @property
    def num_actions(self) -> int:
        return self._num_cells + self.swap

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (self.size, self.size, 3 + self.swap)

    max_steps = num_actions
    num_symmetries = 2

    def init(self, key: Array | None = None) -> HexState:
        return HexState(
            chains=jnp.zeros(self._num_cells, jnp.int8),
            ply=jnp.zeros((), jnp.uint8),
            winner=jnp.zeros((), jnp.int8),
        )

    def step(self, state: HexState, action: Array) -> HexState:
        action = jnp.asarray(action, jnp.int32)
        cell = jnp.clip(action, 0, self._num_cells - 1)
        player = self.current_player(state)
        colour = (1 - 2 * player).astype(jnp.int8)
        legal = (action == cell) & (state.chains[cell] == 0)

        # Adjacent neighbours belong to the same chain if both are stones of the player to move.
        around = colour * state.chains[jnp.asarray(_neighbours(self.size))[cell]]
        joined = jnp.max(around.reshape(3, 2), axis=1)  # int8 [3], positive where a chain is met
        labels = jnp.append(joined, jnp.asarray(_labels(self.size))[player, cell])
        won = jnp.any(labels == _FIRST) & jnp.any(labels == _SECOND)
        met = jnp.where(joined > 0, colour * joined, np.int8(_NO_CHAIN))
        renamed = jnp.any(state.chains[:, None] == met[None, :], axis=1)
        renamed |= np.arange(self._num_cells) == cell
        chains = jnp.where(renamed, colour * jnp.max(labels), state.chains)

        if self.swap:
            swaps = (action == self._num_cells) & self._may_swap(state)
            legal |= swaps
            mirrored = -state.chains.reshape(self.size, self.size).T.reshape(-1)
            chains = jnp.where(swaps, mirrored, chains)
            won &= ~swaps
        return settle(
            state,
            over=self.is_terminal(state),
            legal=legal,
            moved=HexState(
                chains=chains,
                ply=state.ply + np.uint8(1),
                winner=jnp.where(won, colour, np.int8(0)),
            ),
            forfeited=dataclasses.replace(state, winner=-colour),
        )

    def current_player(self, state: HexState) -> Array:
        return (state.ply & 1).astype(jnp.int32)

    def legal_action_mask(self, state: HexState) -> Array:
        free = (state.chains == 0) & ~self.is_terminal(state)
        return jnp.append(free, self._may_swap(state)) if self.swap else free

    def is_terminal(self, state: HexState) -> Array:
        return state.winner != 0

    def returns(self, state: HexState) -> Array:
        return returns_of(state.winner)

    def observe(self, state: HexState) -> Array:
        player = self.current_player(state)
        stones = (1 - 2 * player) * state.chains.astype(jnp.int32)
        planes = [stones > 0, stones < 0, jnp.broadcast_to(player == 0, stones.shape)]
        if self.swap:
            planes.append(jnp.broadcast_to(self._may_swap(state), stones.shape))
        return jnp.stack(planes, -1).astype(jnp.float32).reshape(self.observation_shape)

    def observe_other(self, state: HexState) -> Array:
        own, other, is_first, *rest = jnp.moveaxis(self.observe(state), -1, 0)
        return jnp.stack([other, own, 1 - is_first, *rest], -1)

    def symmetries(self) -> Symmetries:
        """Returns the half turn. A reflection would exchange the players' sides."""
        cells = np.arange(self._num_cells, dtype=np.int32)
        cells = np.stack([cells, cells[::-1]])
        swap = np.full((2, int(self.swap)), self._num_cells, np.int32)
        return Symmetries(cells=cells, actions=np.concatenate([cells, swap], axis=1))

    def action_to_string(self, state: HexState, action: int) -> str:
        if action == self._num_cells:
            return "swap"
        row, column = divmod(action, self.size)
        return f"{_letter(column)}{row + 1}"

    def to_string(self, state: HexState) -> str:
        stones = np.sign(np.asarray(state.chains)).reshape(self.size, self.size)
        lines = ["   " + " ".join(map(_letter, range(self.size)))]
        for row, line in enumerate(stones):
            lines.append(f"{' ' * row}{row + 1:>2} " + " ".join(".XO"[stone] for stone in line))
        return "\n".join(lines)

    winning_shape = "a chain from side to side"

    def winning_cells(self, state: HexState) -> Array:
        """Returns the cells of the winner's chain, bool [num_actions]."""
        stones = state.winner * state.chains > 0
        labels = jnp.asarray(_labels(self.size))[jnp.where(state.winner > 0, 0, 1)]
        # Labels do not tell: other chains that touch one of the sides may have the same.
        ends = jnp.stack([labels == _FIRST, labels == _SECOND]) & stones[None]
        around = jnp.asarray(_neighbours(self.size))

        def grow(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            before, _ = carry
            reached = before | stones[None] & jnp.any(before[:, around], axis=-1)
            return reached, jnp.any(reached != before)

        reached = jax.lax.while_loop(lambda carry: carry[1], grow, (ends, jnp.any(ends)))[0]
        chain = reached[0] & reached[1]
        return jnp.append(chain, False) if self.swap else chain

    def svg_board(self) -> str:
        return _svg_board(self.size, self.swap)

    def view(self, state: HexState) -> Array:
        """Returns the code of each cell, int32 [num_actions]: 0 empty, 1 player 0, 2 player 1.

        With `swap`, one more code is 1 if the swap is legal, otherwise 0.
        """
        codes = jnp.where(state.chains < 0, 2, jnp.sign(state.chains).astype(jnp.int32))
        return jnp.append(codes, self._may_swap(state)) if self.swap else codes

    @property
    def _num_cells(self) -> int:
        return self.size**2

    def _may_swap(self, state: HexState) -> Array:
        return (state.ply == 1) & ~self.is_terminal(state)


@functools.cache
def _neighbours(size: int) -> np.ndarray:
    """Returns the six neighbours of each cell, int32 [cells, 6].

    The cell itself replaces neighbours off the board. It is free when a stone is played there, so
    it joins nothing.
    """
    row, column = np.divmod(np.arange(size**2), size)
    around = []
    for down, right in _RING:
        to_row, to_column = row + down, column + right
        inside = (to_row >= 0) & (to_row < size) & (to_column >= 0) & (to_column < size)
        around.append(np.where(inside, to_row * size + to_column, row * size + column))
    return np.stack(around, axis=1).astype(np.int32)


@functools.cache
def _labels(size: int) -> np.ndarray:
    """Returns the label of each cell for each player, int8 [2, cells].

    Cells on a player's first or second side have the label of that side. Two adjacent cells share
    a label, so that the labels fit into int8; stones of one player on both are in one chain. So the
    largest label of a chain's cells names the chain, or the side that it touches, or the second
    side if it touches both. A row for player 0 is a column for player 1, so the labels of player 1
    are mirrored, as by the swap.
    """
    row, column = np.divmod(np.arange(size**2), size)
    inner = row * ((size + 1) // 2) + column // 2 + 1
    labels = np.where(row == 0, _FIRST, np.where(row == size - 1, _SECOND, inner))
    mirrored = labels.reshape(size, size).T.reshape(-1)
    return np.stack([labels, mirrored]).astype(np.int8)


def _letter(column: int) -> str:
    return chr(ord("a") + column)


def _svg_board(size: int, swap: bool) -> str:
    radius, left, top = 24, 58, 54
    half = radius * math.sqrt(3) / 2
    # The corners of a hexagon with a corner on top, from there to the right.
    corners = [(0, -1), (1, -0.5), (1, 0.5), (0, 1), (-1, 0.5), (-1, -0.5)]

    def centre(row: float, column: float) -> tuple[float, float]:
        return left + half * (2 * column + row), top + 1.5 * radius * row

    def outline(row: int, column: int, numbers: Iterable[int]) -> list[str]:
        x, y = centre(row, column)
        points = [corners[number] for number in numbers]
        return [f"{x + half * right:.2f},{y + radius * down:.2f}" for right, down in points]

    line = range(size)
    sides = (
        ("first", [(0, column, (5, 0, 1)) for column in line]),
        ("first", [(size - 1, column, (4, 3, 2)) for column in line]),
        ("second", [(row, 0, (5, 4)) for row in line]),
        ("second", [(row, size - 1, (1, 2)) for row in line]),
    )
    parts = []
    for owner, cells in sides:
        points = " ".join(point for cell in cells for point in outline(*cell))
        parts.append(svg.element("polyline", cls=f"side {owner}", points=points))
    for cell in range(size**2):
        row, column = divmod(cell, size)
        x, y = centre(row, column)
        shapes = [
            svg.element("polygon", cls="area", points=" ".join(outline(row, column, range(6)))),
            svg.element("circle", cls="stone", cx=x, cy=y, r=16),
        ]
        parts.append(svg.element("g", shapes, data_cell=cell, data_action=cell))
    for place in line:
        x, y = centre(0, place)
        parts.append(svg.label(_letter(place), x, y - radius - 17))
        x, y = centre(place, 0)
        parts.append(svg.label(place + 1, x - half - 19, y))
    (width, _), (_, bottom) = centre(size - 1, size - 1), centre(size - 1, 0)
    width, height = width + half + 24, bottom + radius + 24
    if swap:
        height += 20
        button = {"x": left - half, "y": height - 38, "width": 68, "height": 26, "rx": 13}
        shapes = [
            svg.element("rect", cls="area", **button),
            svg.label("swap", left - half + 34, height - 25),
        ]
        parts.append(svg.element("g", shapes, cls="swap", data_cell=size**2, data_action=size**2))
    return svg.document("Hex", width, height, _STYLE, parts)


_STYLE = {
    ".side": "fill: none; stroke-width: 14; stroke-linejoin: round; stroke-linecap: round",
    ".first": "stroke: #d9463c",
    ".second": "stroke: #2f6bc4",
    ".area": "fill: #f6f1e4; stroke: #b9ad93; stroke-width: 1.5",
    ".stone": "fill: none; stroke: none",
    '[data-code="1"] .stone': "fill: #d9463c; stroke: #a92f27",
    '[data-code="2"] .stone': "fill: #2f6bc4; stroke: #1f4c90",
    '.swap[data-code="0"]': "opacity: 0.35; pointer-events: none",
}
