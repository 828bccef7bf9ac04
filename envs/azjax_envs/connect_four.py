"""Connect four, on a board of any size."""

import dataclasses
import functools
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Lanes, Words, any_bit, count_bits
from azjax_envs.game import Symmetries, find_legal, require_range, returns_of, settle


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["own", "taken", "lost"], meta_fields=[]
)
@dataclasses.dataclass(frozen=True)
class ConnectFourState:
    """Bitboards with one lane for each column, from the bottom up, and a clear bit on its top."""

    own: Array  # uint32 [words], the discs of the player to move
    taken: Array  # uint32 [words], all discs
    lost: Array  # bool [], the player to move has lost


@dataclasses.dataclass(frozen=True)
class ConnectFour:
    """Connect four: discs fall to the lowest free cell of a column, and `connect` in a row wins.

    A row runs across, up or diagonally, and may be longer than `connect`. A full board without one
    is a draw. Action c drops a disc into column c, counted from the left; in text that column's
    number, from 1.

    Observation [rows, columns, 2], the top row first: discs of the player to move, discs of the
    opponent.

    The bitboards, and the addition that finds a column's lowest free cell, are those of John
    Tromp's Fhourstones benchmark (https://tromp.github.io/c4/fhour.html).
    """

    rows: int = 6
    columns: int = 7
    connect: int = 4

    def __post_init__(self):
        require_range("connect_four", "rows", self.rows, 1, 31)
        require_range("connect_four", "columns", self.columns, 1, 31)
        require_range("connect_four", "connect", self.connect, 1, max(self.rows, self.columns))

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
        return 2

    def init(self, key: Array | None = None) -> ConnectFourState:
        empty = jnp.zeros(self._lanes.num_words, jnp.uint32)
        return ConnectFourState(own=empty, taken=empty, lost=jnp.zeros((), jnp.bool_))

    def step(self, state: ConnectFourState, action: Array) -> ConnectFourState:
        own, taken = tuple(state.own), tuple(state.taken)
        board = self._lanes.constant(self._cells)
        # Adding a bit at the foot of a column carries through its discs to the lowest free cell,
        # which in a full column is the clear bit above the board.
        foot = self._lanes.one(jnp.asarray(action))
        disc = tuple((t + f) & ~t & b for t, f, b in zip(taken, foot, board, strict=True))
        # The opponent is next to move, so a row of the mover's is the next mover's loss; and so is
        # a forfeit, for there the turn stays.
        moved = ConnectFourState(
            own=state.taken ^ state.own,
            taken=jnp.stack(_each(operator.or_, taken, disc)),
            lost=self._has_row(_each(operator.or_, own, disc)),
        )
        return settle(
            state,
            over=self.is_terminal(state),
            legal=any_bit(disc),
            moved=moved,
            forfeited=dataclasses.replace(state, lost=jnp.ones_like(state.lost)),
        )

    def current_player(self, state: ConnectFourState) -> Array:
        return count_bits(tuple(state.taken)) & 1

    def legal_action_mask(self, state: ConnectFourState) -> Array:
        top_row = self._lanes.unpack(state.taken)[:, self.rows - 1]
        return ~top_row & ~state.lost

    def is_terminal(self, state: ConnectFourState) -> Array:
        full = self._lanes.constant(self._cells)
        gaps = tuple(t ^ f for t, f in zip(tuple(state.taken), full, strict=True))
        return state.lost | ~any_bit(gaps)

    def returns(self, state: ConnectFourState) -> Array:
        return returns_of(self.current_player(state), decided=state.lost)

    def observe(self, state: ConnectFourState) -> Array:
        planes = [self._grid(state.own), self._grid(state.taken ^ state.own)]
        return jnp.stack(planes, -1).astype(jnp.float32)

    def symmetries(self) -> Symmetries:
        cells = np.arange(self.rows * self.columns, dtype=np.int32)
        actions = np.arange(self.columns, dtype=np.int32)
        mirrored = cells.reshape(self.rows, self.columns)[:, ::-1].reshape(-1)
        return Symmetries(
            cells=np.stack([cells, mirrored]), actions=np.stack([actions, actions[::-1]])
        )

    def action_to_string(self, state: ConnectFourState, action: int) -> str:
        return str(action + 1)

    def string_to_action(self, state: ConnectFourState, text: str) -> int:
        return find_legal(self, state, text)

    def to_string(self, state: ConnectFourState) -> str:
        codes = np.asarray(self.view(state)).reshape(self.rows, self.columns)
        pad = 1 if self.columns < 10 else 2
        lines = [[".XO"[code] for code in row] for row in codes]
        lines.append([str(column + 1) for column in range(self.columns)])
        return "\n".join(" ".join(f"{part:>{pad}}" for part in line) for line in lines)

    def svg_board(self) -> str:
        raise NotImplementedError

    def view(self, state: ConnectFourState) -> Array:
        """One code for each cell, the top row first: 0 empty, 1 player 0, 2 player 1."""
        own, taken = self._grid(state.own), self._grid(state.taken)
        mine = self.current_player(state) + 1
        return jnp.where(taken, jnp.where(own, mine, 3 - mine), 0).astype(jnp.int32).reshape(-1)

    @property
    def _lanes(self) -> Lanes:
        return Lanes(self.columns, self.rows + 1)

    @property
    def _cells(self) -> np.ndarray:
        """bool [columns, rows + 1], all but the clear bits."""
        return np.broadcast_to(np.arange(self.rows + 1) < self.rows, (self.columns, self.rows + 1))

    def _has_row(self, discs: Words) -> Array:
        across = self.rows + 1
        steps = (1, across - 1, across, across + 1)
        runs = [self._lanes.has_run(discs, step=step, length=self.connect) for step in steps]
        return functools.reduce(operator.or_, runs)

    def _grid(self, words: Array) -> Array:
        """uint32 [words] -> bool [rows, columns], the top row first."""
        return self._lanes.unpack(words)[:, : self.rows].T[::-1]


def _each(operation, first: Words, second: Words) -> Words:
    return tuple(operation(a, b) for a, b in zip(first, second, strict=True))
