"""Othello on boards of 4x4, 6x6 and 8x8."""

import dataclasses
import itertools
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.bitboard import (
    Lanes,
    Words,
    any_bit,
    both,
    count_bits,
    each,
    either,
    only_if,
    without,
)
from azjax_envs.game import Symmetries, returns_of
from azjax_envs.symmetry import dihedral, on_cells
from azjax_envs.xla_cpu import short_scan


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class OthelloState:
    """A position as bitboards.

    Each row is a lane, from the top. Each column is a bit of the lane, from the left.
    """

    own: Words  # the discs of the player to move
    taken: Words  # all discs
    moves: Words  # where the player to move may place a disc; empty if they must pass
    player: Array  # uint8 [], the player to move
    over: Array  # bool [], neither player can place a disc, or a player has forfeited
    forfeited: Array  # bool [], the player to move has lost by an illegal action


@dataclasses.dataclass(frozen=True)
class Othello(BaseGame):
    """Othello (reversi with the crossed start): enclosed discs change colour, more discs win.

    **Rules.** The board has 4, 6 or 8 rows and columns. The game starts with four discs in the
    centre; those at the upper left and the lower right are white. Player 0 is black and moves
    first. A move places a disc on an empty cell. The new disc and another one of the same player
    must enclose an unbroken line of opponent's discs. The line is part of a row, a column or a
    diagonal. All lines enclosed in that way change colour. A player without such a move must pass;
    no other pass is legal.

    **End and result.** The game ends when neither player can place a disc. The player with more
    discs wins; equal numbers draw. `score` counts the discs. Empty cells count for neither player.

    **Actions** (size * size + 1). Action `row * size + column` places a disc; rows count from the
    top. The text is the letter of the column and the number of the row, 1 at the top, as in `d3`.
    The last action is the pass, `pass`.

    **Observation.** float32 [size, size, 3]:

    - plane 0: discs of the player to move
    - plane 1: discs of the opponent
    - plane 2: cells where the player to move may place a disc

    **Source.** The rules of the World Othello Federation (https://www.worldothello.org). Smaller
    boards have the same start at their centre.
    """

    size: int = 8

    def __post_init__(self):
        if type(self.size) is not int or self.size not in (4, 6, 8):
            raise ValueError(f"othello: size must be 4, 6 or 8, not {self.size!r}")

    player_names = ("black", "white")
    unobserved = ("player", "forfeited")

    @property
    def name(self) -> str:
        return "othello" if self.size == 8 else f"othello_{self.size}x{self.size}"

    @property
    def num_actions(self) -> int:
        return self.size**2 + 1

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (self.size, self.size, 3)

    @property
    def max_steps(self) -> int:
        # No two passes follow each other, and both the first and the last action place a disc.
        return 2 * (self.size**2 - 4) - 1

    num_symmetries = 8

    def init(self, key: Array | None = None) -> OthelloState:
        low, high = self.size // 2 - 1, self.size // 2
        black, white, moves = np.zeros((3, self.size, self.size), bool)
        black[[low, high], [high, low]] = True
        white[[low, high], [low, high]] = True
        moves[[low - 1, low, high, high + 1], [low, low - 1, high + 1, high]] = True
        lanes = self._lanes
        black, taken, moves = (
            tuple(jnp.asarray(word) for word in lanes.constant(cells))
            for cells in (black, black | white, moves)
        )
        no = jnp.zeros((), jnp.bool_)
        return OthelloState(
            own=black,
            taken=taken,
            moves=moves,
            player=jnp.zeros((), jnp.uint8),
            over=no,
            forfeited=no,
        )

    def step(self, state: OthelloState, action: Array) -> OthelloState:
        action = jnp.asarray(action)
        is_cell = (action >= 0) & (action < self.size**2)
        lane = jnp.where(is_cell, action // self.size, self.size)
        disc = self._lanes.one(lane, action % self.size)
        disc = each(lambda bit: jnp.where(state.over, np.uint32(0), bit), both(disc, state.moves))
        passes = (action == self.size**2) & ~any_bit(state.moves) & ~state.over
        legal = any_bit(disc) | passes

        # Without a disc nothing is turned over, so only a legal action changes the boards.
        theirs = each(operator.xor, state.taken, state.own)
        flips = self._flips(state.own, theirs, disc)
        theirs = without(theirs, flips)
        own = each(lambda own, theirs: jnp.where(legal, theirs, own), state.own, theirs)
        taken = either(state.taken, disc)
        theirs = each(operator.xor, taken, own)
        moves, answers = self._both_moves(own, theirs)
        return OthelloState(
            own=own,
            taken=taken,
            moves=moves,
            player=state.player ^ legal.astype(jnp.uint8),
            over=state.over | ~legal | ~any_bit((*moves, *answers)),
            forfeited=state.forfeited | ~legal & ~state.over,
        )

    def current_player(self, state: OthelloState) -> Array:
        return state.player.astype(jnp.int32)

    def legal_action_mask(self, state: OthelloState) -> Array:
        cells = self._lanes.unpack(state.moves).reshape(-1)
        passes = ~any_bit(state.moves)
        return jnp.append(cells, passes) & ~state.over

    def is_terminal(self, state: OthelloState) -> Array:
        return state.over

    def returns(self, state: OthelloState) -> Array:
        first, second = self._counts(state)
        result = jnp.where(state.over, jnp.sign(first - second), 0)
        return returns_of(jnp.where(state.forfeited, 2 * self.current_player(state) - 1, result))

    def score(self, state: OthelloState) -> Array:
        """Returns the number of discs of each player, float32 [2]."""
        return jnp.stack(self._counts(state)).astype(jnp.float32)

    def ownership(self, state: OthelloState) -> Array:
        """Returns the owner of each cell, float32 [size * size], as `HasOwnership` does."""
        sides = (self._lanes.unpack(board) for board in self._sides(state))
        own, theirs = (side.astype(jnp.float32) for side in sides)
        return (own - theirs).reshape(-1)

    def observe(self, state: OthelloState) -> Array:
        planes = [self._lanes.unpack(board) for board in (*self._sides(state), state.moves)]
        return jnp.stack(planes, -1).astype(jnp.float32)

    def symmetries(self) -> Symmetries:
        cells = dihedral(self.size, self.size)
        return on_cells(cells, np.arange(self.size**2), self.num_actions)

    def action_to_string(self, state: OthelloState, action: int) -> str:
        if action == self.size**2:
            return "pass"
        row, column = divmod(action, self.size)
        return f"{'abcdefgh'[column]}{row + 1}"

    def to_string(self, state: OthelloState) -> str:
        """Returns the board as text: X is black, O is white, and * is a legal move."""
        codes = np.asarray(self.view(state))[:-1].reshape(self.size, self.size)
        letters = "  " + " ".join("abcdefgh"[: self.size])
        rows = [[str(row + 1), *(".XO*"[code] for code in codes[row])] for row in range(self.size)]
        return "\n".join([letters, *(" ".join(row) for row in rows)])

    def svg_board(self) -> str:
        return _svg_board(self.size)

    def view(self, state: OthelloState) -> Array:
        """Returns the codes of the cells row by row and of the pass, int32 [size * size + 1].

        A cell is 0 if empty, 1 if black, 2 if white, and 3 if it is empty and a legal move. The
        pass is 1 if it is legal, otherwise 0.
        """
        own, theirs = (self._lanes.unpack(board) for board in self._sides(state))
        moves = self.legal_action_mask(state)
        mine = self.current_player(state) + 1
        discs = jnp.where(own, mine, jnp.where(theirs, 3 - mine, 0)).reshape(-1)
        cells = jnp.where(moves[:-1], 3, discs)
        return jnp.append(cells, moves[-1].astype(cells.dtype)).astype(jnp.int32)

    @property
    def _lanes(self) -> Lanes:
        return Lanes(self.size, self.size)

    def _both_moves(self, own: Words, theirs: Words) -> tuple[Words, Words]:
        """Returns where the player to move may place a disc, and where the opponent could."""

        # A loop, because XLA on a CPU fuses nothing into one. Without it, every word of the moves
        # would be computed from the flips again; a step was measured to take four times as long.
        def side(boards, _):
            return boards[::-1], self._moves(*boards)

        moves = short_scan(side, (own, theirs), length=2)[1]
        return tuple(word[0] for word in moves), tuple(word[1] for word in moves)

    def _moves(self, own: Words, theirs: Words) -> Words:
        """Returns the empty cells from which a disc of `own` would enclose discs of `theirs`."""
        found = self._lanes.empty()
        for distance, inside in self._directions:
            run = self._run(own, both(theirs, inside), distance)
            found = either(found, self._lanes.move(run, -distance))
        board = self._lanes.constant(np.ones((self.size, self.size), bool))
        return each(lambda found, a, b, all: found & all & ~(a | b), found, own, theirs, board)

    def _flips(self, own: Words, theirs: Words, disc: Words) -> Words:
        """Returns the discs of `theirs` that `disc` and another disc of `own` enclose."""
        flips = self._lanes.empty()
        for distance, inside in self._directions:
            run = self._run(disc, both(theirs, inside), distance)
            closed = any_bit(both(self._lanes.move(run, -distance), own))
            flips = either(flips, only_if(closed, run))
        return flips

    def _run(self, start: Words, through: Words, distance: int) -> Words:
        """Returns the unbroken lines of `through` that begin next to `start`, in one direction."""
        run = both(self._lanes.move(start, -distance), through)
        for _ in range(self.size - 3):
            run = either(run, both(self._lanes.move(run, -distance), through))
        return run

    @property
    def _directions(self) -> list[tuple[int, tuple[np.uint32, ...]]]:
        """The places by which a line goes up, and the cells that it can pass through."""
        size = self.size
        inner = (np.arange(size) > 0) & (np.arange(size) < size - 1)
        inner = self._lanes.constant(np.broadcast_to(inner, (size, size)))
        every = self._lanes.constant(np.ones((size, size), bool))
        steps = [(1, inner), (size, every), (size - 1, inner), (size + 1, inner)]
        return [(sign * step, inside) for step, inside in steps for sign in (1, -1)]

    def _counts(self, state: OthelloState) -> tuple[Array, Array]:
        """Returns the number of discs of player 0 and of player 1, int32 [] each."""
        own, theirs = map(count_bits, self._sides(state))
        is_first = state.player == 0
        return jnp.where(is_first, own, theirs), jnp.where(is_first, theirs, own)

    def _sides(self, state: OthelloState) -> tuple[Words, Words]:
        """Returns the discs of the player to move and those of the opponent."""
        return state.own, each(operator.xor, state.taken, state.own)


def _svg_board(size: int) -> str:
    cell, left, top = 56, 34, 34
    board = size * cell
    frame = {"x": left - 8, "y": top - 8, "width": board + 16, "height": board + 16}
    parts = [
        svg.element("rect", cls="frame", **frame, rx=8),
        svg.element("rect", cls="cloth", x=left, y=top, width=board, height=board),
    ]
    for action in range(size * size):
        row, column = divmod(action, size)
        x, y = left + column * cell, top + row * cell
        middle = {"cx": x + cell / 2, "cy": y + cell / 2}
        shapes = [
            svg.element("rect", cls="area", x=x, y=y, width=cell, height=cell),
            svg.element("circle", cls="disc", r=23, **middle),
            svg.element("circle", cls="hint", r=7, **middle),
        ]
        parts.append(svg.element("g", shapes, data_cell=action, data_action=action))
    # As on a real board, dots mark where the inner lines cross two cells from the edges.
    if size > 4:
        for row, column in itertools.product((2, size - 2), repeat=2):
            x, y = left + column * cell, top + row * cell
            parts.append(svg.element("circle", cls="dot", cx=x, cy=y, r=4))
    for i in range(size):
        middle = (i + 0.5) * cell
        parts.append(svg.label("abcdefgh"[i], left + middle, top - 20))
        parts.append(svg.label(i + 1, left - 20, top + middle))
    x, y = left + board / 2, top + board + 34
    button = [
        svg.element("rect", cls="button", x=x - 42, y=y - 15, width=84, height=30, rx=15),
        svg.label("pass", x, y - 0.5),
    ]
    parts.append(svg.element("g", button, cls="pass", data_cell=size**2, data_action=size**2))
    return svg.document("Othello", board + 2 * left, y + 26, _STYLE, parts)


_STYLE = {
    ".frame": "fill: #2b2622",
    ".cloth": "fill: #1f7a4d",
    ".area": "fill: #1f7a4d; stroke: #14573a; stroke-width: 1.5",
    ".dot": "fill: #14573a",
    ".disc": "fill: none; stroke: none; stroke-width: 2",
    ".hint": "fill: none",
    '[data-code="1"] .disc': "fill: #1c1e21; stroke: #0c0d0f",
    '[data-code="2"] .disc': "fill: #f6f4ee; stroke: #c9c5b8",
    '[data-code="3"] .hint': "fill: #0d3f29; fill-opacity: 0.45",
    ".pass": "opacity: 0.3",
    '.pass[data-code="1"]': "opacity: 1",
    ".button": "fill: none; stroke: #8792a2; stroke-width: 1.5",
    '.pass[data-code="1"] .button': "fill: #f8cb46; stroke: #cf9f1d",
    '.pass[data-code="1"] text': "fill: #3b2f0b",
}
