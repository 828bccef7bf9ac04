"""The game of go."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.base_game import BaseGame
from azjax_envs.game import Symmetries, require_flag, require_range, returns_of
from azjax_envs.go import drawing, rules, superko
from azjax_envs.row_bitboard import any_cell, count, one_cell, unpack, word_type
from azjax_envs.symmetry import dihedral, on_cells

_BOARDS = 8  # the latest boards, which a network observes (AlphaGo Zero)
_COLUMNS = "ABCDEFGHJKLMNOPQRST"  # without I


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class GoState:
    """Row bitboards (`azjax_envs.row_bitboard`), and the fingerprints of all boards of the game."""

    boards: Array  # [8, 2, size], the latest 8 boards, newest first; black's stones, white's
    atari: Array  # [size], the stones in chains with one liberty
    chains: Array  # [bits, size], the bits of the number of each stone's chain
    open: Array  # [size], the cells on which the player to move may place a stone
    fingerprint: Array  # uint32 [3], the board's fingerprint
    history: Array  # uint32 [3, max_steps], the fingerprints of all boards, by ply
    ply: Array  # int16 []
    passes: Array  # uint8 [], the number of passes in a row
    lost: Array  # bool [], the player to move has lost


@dataclasses.dataclass(frozen=True)
class Go(BaseGame):
    """Go by the Tromp-Taylor rules, with positional superko and (mostly) without suicide.

    Black, player 0, begins. A move places a stone or passes. Chains of the opponent without a
    liberty are captured. Then own chains without one are, which is illegal unless `suicide` is set.
    A placement that recreates any earlier board of the game is illegal; a pass never is. The game
    ends after two passes in a row, or after 2 * size * size moves. A side's score is its stones and
    the empty cells that reach only them; White adds `komi`. More points win, equal points draw.

    Action row * size + column places a stone, rows counted from the top; the last action passes.
    In text, moves are as in GTP: "D4" (columns without I, rows from the bottom), "pass".

    Observation [size, size, 17], AlphaGo Zero's planes: 0 to 7 the stones of the player to move on
    the latest 8 boards, newest first; 8 to 15 the opponent's; 16 is one everywhere for Black.

    Sources: https://tromp.github.io/go.html; Silver et al., "Mastering the game of Go without human
    knowledge", 2017 (the planes). Under those rules a superko repetition ends the game at once;
    here such a move is illegal.
    """

    size: int = 19
    komi: float = 7.5
    suicide: bool = False

    def __post_init__(self):
        require_range("go", "size", self.size, 2, 19)
        is_number = isinstance(self.komi, int | float) and not isinstance(self.komi, bool)
        if not is_number or not abs(self.komi) <= 361:
            raise ValueError(f"go: komi must be a number from -361 to 361, not {self.komi!r}")
        require_flag("go", "suicide", self.suicide)

    player_names = ("black", "white")
    unobserved = ("atari", "chains", "fingerprint", "history")

    @property
    def name(self) -> str:
        return "go" if self.size == Go.size else f"go_{self.size}x{self.size}"

    @property
    def num_actions(self) -> int:
        return self.size**2 + 1

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (self.size, self.size, 2 * _BOARDS + 1)

    @property
    def max_steps(self) -> int:
        return 2 * self.size**2

    num_symmetries = 8

    def init(self, key: Array | None = None) -> GoState:
        word = word_type(self.size)
        return GoState(
            boards=jnp.zeros((_BOARDS, 2, self.size), word),
            atari=jnp.zeros(self.size, word),
            chains=jnp.zeros_like(rules.numbers(self.size)),
            open=jnp.full(self.size, 2**self.size - 1, word),
            fingerprint=jnp.zeros(3, jnp.uint32),
            history=jnp.zeros((3, self.max_steps), jnp.uint32),
            ply=jnp.zeros((), jnp.int16),
            passes=jnp.zeros((), jnp.uint8),
            lost=jnp.zeros((), jnp.bool_),
        )

    def step(self, state: GoState, action: Array) -> GoState:
        action = jnp.asarray(action).astype(jnp.int32)
        over, player = self.is_terminal(state), self.current_player(state)
        is_pass = action == self.size**2
        placed = jnp.where((action >= 0) & ~is_pass & ~over, action, -1)
        stone = one_cell(placed, self.size, self.size) & state.open
        puts = any_cell(stone)
        legal = is_pass | puts
        moves = legal & ~over

        # Illegal moves and moves after the end place no stone, so the code below changes nothing.
        after, taken, gone = rules.play(self._position(state), stone)
        added = superko.fingerprint_of_cell(jnp.where(puts, placed, -1), player)
        changes = added - superko.fingerprint(taken, 1 - player)
        if self.suicide:
            changes = changes - superko.fingerprint(gone, player)
        sides = jnp.where(player == 0, *self._orders(after.own, after.other))
        boards = jnp.concatenate([sides[None], state.boards[:-1]])
        ply = state.ply + moves.astype(jnp.int16)
        now = state.fingerprint + changes
        passes = jnp.where(is_pass, state.passes + 1, 0).astype(jnp.uint8)
        written = moves & (jnp.arange(self.max_steps, dtype=jnp.int16) == ply)
        state = GoState(
            boards=jnp.where(moves, boards, state.boards),
            atari=after.atari,
            chains=after.chains,
            open=state.open,
            fingerprint=now,
            history=jnp.where(written, now[:, None], state.history),
            ply=ply,
            passes=jnp.where(moves, passes, state.passes),
            lost=state.lost | ~over & ~legal,
        )
        return dataclasses.replace(state, open=self._open(state))

    def current_player(self, state: GoState) -> Array:
        return (state.ply & 1).astype(jnp.int32)

    def legal_action_mask(self, state: GoState) -> Array:
        mask = jnp.append(unpack(state.open, self.size).reshape(-1), True)
        return mask & ~self.is_terminal(state)

    def is_terminal(self, state: GoState) -> Array:
        return state.lost | (state.passes >= 2) | (state.ply >= self.max_steps)

    def returns(self, state: GoState) -> Array:
        # Areas are computed only at the end of a game, so that steps in a search stay cheap.
        black, white = self._score(state, where=self.is_terminal(state) & ~state.lost)
        result = jnp.sign(black - white).astype(jnp.int32)
        result = jnp.where(state.lost, 2 * self.current_player(state) - 1, result)
        return returns_of(jnp.where(self.is_terminal(state), result, 0))

    def score(self, state: GoState) -> Array:
        """Returns the area of each side, plus White's komi, if the game ended now, float32 [2]."""
        return jnp.stack(self._score(state, where=jnp.ones((), jnp.bool_)))

    def ownership(self, state: GoState) -> Array:
        """Returns the owner of each point, float32 [size * size].

        The area of the player to move is 1, that of the opponent -1, and the rest 0.
        """
        black, white = self._area(state, where=jnp.ones((), jnp.bool_))
        black, white = (unpack(cells, self.size).astype(jnp.float32) for cells in (black, white))
        owner = black - white
        return jnp.where(self.current_player(state) == 0, owner, -owner).reshape(-1)

    def observe(self, state: GoState) -> Array:
        player = self.current_player(state)
        boards = unpack(state.boards, self.size).astype(jnp.float32)  # [8, 2, size, size]
        black, white = jnp.moveaxis(boards, 1, 0)
        own, other = jnp.where(player == 0, black, white), jnp.where(player == 0, white, black)
        colour = jnp.broadcast_to(player == 0, (1, self.size, self.size)).astype(jnp.float32)
        return jnp.moveaxis(jnp.concatenate([own, other, colour]), 0, -1)

    def observe_other(self, state: GoState) -> Array:
        own, other, colour = jnp.split(self.observe(state), [8, 16], axis=-1)
        return jnp.concatenate([other, own, 1 - colour], axis=-1)

    def symmetries(self) -> Symmetries:
        return on_cells(dihedral(self.size, self.size), np.arange(self.size**2), self.num_actions)

    def action_to_string(self, state: GoState, action: int) -> str:
        if action == self.size**2:
            return "pass"
        row, column = divmod(int(action), self.size)
        return f"{_COLUMNS[column]}{self.size - row}"

    def to_string(self, state: GoState) -> str:
        codes = np.asarray(self.view(state)).reshape(self.size, self.size)
        lines = [
            f"{self.size - row:2} " + " ".join(".XO"[code % 3] for code in codes[row])
            for row in range(self.size)
        ]
        return "\n".join([*lines, "   " + " ".join(_COLUMNS[: self.size])])

    def svg_board(self) -> str:
        return drawing.svg_board(self.size, _COLUMNS)

    def view(self, state: GoState) -> Array:
        """Returns the code of each cell: 0 empty, 1 black, 2 white, 4 and 5 a stone just placed."""
        black, white = (unpack(state.boards[0, side], self.size) for side in (0, 1))
        before = unpack(state.boards[1], self.size)
        new = (black & ~before[0]) | (white & ~before[1])
        black, white, new = (cells.astype(jnp.int32) for cells in (black, white, new))
        return (black + 2 * white + 3 * new).reshape(-1)

    def _position(self, state: GoState) -> rules.Position:
        own, other = jnp.where(self.current_player(state) == 0, *self._orders(*state.boards[0]))
        return rules.Position(own=own, other=other, atari=state.atari, chains=state.chains)

    def _orders(self, a: Array, b: Array) -> tuple[Array, Array]:
        return jnp.stack([a, b]), jnp.stack([b, a])

    def _open(self, state: GoState) -> Array:
        position = self._position(state)
        known = (self.current_player(state), state.fingerprint, state.history)
        breathing = rules.breathing_moves(position)
        moves = breathing & ~superko.repetitions(position, *known)
        if self.suicide:
            dying = position.empty & ~breathing
            moves |= dying & ~superko.repeating_suicides(position, dying, *known)
        return moves

    def _score(self, state: GoState, *, where: Array) -> tuple[Array, Array]:
        black, white = self._area(state, where=where)
        return count(black).astype(jnp.float32), count(white).astype(jnp.float32) + jnp.float32(
            self.komi
        )

    def _area(self, state: GoState, *, where: Array) -> tuple[Array, Array]:
        return rules.area(*jnp.where(where, state.boards[0], 0))
