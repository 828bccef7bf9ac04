"""The game of chess, and Gardner's chess on 5x5."""

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.base_game import BaseGame
from azjax_envs.chess import actions, clicks, drawing, notation, observation, san, san_line
from azjax_envs.chess.state import ChessState, play, set_up
from azjax_envs.game import Symmetries, legal_actions, not_legal, returns_of, settle
from azjax_envs.symmetry import mirrored
from azjax_envs.xla_cpu import fusion_barrier, jit_for_few_calls, reshape_barrier


class _ChessGame(BaseGame):
    """The base of both games: everything except the size, the start and the longest game."""

    _size: ClassVar[int]
    _start: ClassVar[str]

    player_names = ("white", "black")
    click_choices = clicks.CHOICES

    @property
    def num_actions(self) -> int:
        return self._size**2 * actions.num_planes(self._size)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (self._size, self._size, observation.num_channels(self._size))

    def init(self, key: Array | None = None) -> ChessState:
        return jax.tree.map(jnp.asarray, _start(self))

    def step(self, state: ChessState, action: Array) -> ChessState:
        action = jnp.asarray(action).astype(jnp.int32)
        played = jnp.clip(action, 0, self.num_actions - 1)
        square, plane = jnp.divmod(played.astype(jnp.uint32), actions.num_planes(self._size))
        row, column = jnp.divmod(square, self._size)
        legal = state.legal[row, plane] >> column.astype(jnp.uint8) & np.uint8(1) != 0
        (legal,) = fusion_barrier(legal & (action == played))
        lost = jnp.where(state.ply % 2 == 0, -1, 1).astype(jnp.int8)
        forfeited = dataclasses.replace(
            state, over=jnp.ones_like(state.over), result=lost, legal=jnp.zeros_like(state.legal)
        )
        moved = play(self._size, state, square, plane)
        return settle(state, over=state.over, legal=legal, moved=moved, forfeited=forfeited)

    def current_player(self, state: ChessState) -> Array:
        return (state.ply % 2).astype(jnp.int32)

    def legal_action_mask(self, state: ChessState) -> Array:
        columns = (1 << np.arange(self._size)).astype(np.uint8)
        mask = state.legal[:, None] & columns[None, :, None] != 0
        return reshape_barrier(mask.reshape(self._size**2, -1)).reshape(-1)

    def is_terminal(self, state: ChessState) -> Array:
        return state.over

    def returns(self, state: ChessState) -> Array:
        return returns_of(state.result)

    def observe(self, state: ChessState) -> Array:
        return observation.observe(self._size, self.max_steps, state)

    def observe_other(self, state: ChessState) -> Array:
        return observation.exchange_sides(self._size, self.observe(state))

    def action_to_string(self, state: ChessState, action: int) -> str:
        return notation.action_to_uci(self._size, jax.device_get(state), action)

    def string_to_action(self, state: ChessState, text: str) -> int:
        """Returns the legal action that `text` names, in UCI's letters or as people write it.

        "Nf3", "Ng1-f3", "nf3" and "g1f3" are the same move, and so are "O-O", "0-0", "e1g1" and
        "e1h1". Signs of capture, promotion and check may be missing.

        Raises:
          ValueError: no legal move, or several, have that name.
        """
        moves, board = self._uci_moves(state)
        found = san.read_san(text, board, list(moves))
        if len(found) == 1:
            return moves[found[0]]
        if found:
            names = " or ".join(san.write_san(m, board, list(moves), self._size) for m in found)
            raise ValueError(f"{text!r} is not clear: it can be {names}")
        if text.strip() in san.NULL_MOVES:
            raise ValueError(f"{text!r} is a null move, and nobody may pass in chess")
        raise not_legal(text, list(self.shown_moves(state).values()))

    def shown_moves(self, state: ChessState) -> dict[int, str]:
        """Returns the legal actions with their names in standard algebraic notation: "Nf3"."""
        moves, board = self._uci_moves(state)
        legal = list(moves)
        return {a: san.write_san(m, board, legal, self._size) for m, a in moves.items()}

    def number_moves(self, state: ChessState, names: Sequence[str]) -> list[str]:
        """Returns the names of moves from a position with their numbers: "8. Nf3", "Nc6"."""
        first = int(state.ply)
        return [
            f"{ply // 2 + 1}{'...' if ply % 2 else '.'} {name}"
            if ply in (first, ply & ~1)
            else name
            for ply, name in enumerate(names, first)
        ]

    def _uci_moves(self, state: ChessState) -> tuple[dict[str, int], san.Board]:
        state = jax.device_get(state)
        legal = legal_actions(self, state)
        names = {notation.action_to_uci(self._size, state, a): a for a in legal}
        return names, notation.to_board(self._size, state)

    def from_fen(self, text: str, *, strict: bool = True) -> ChessState:
        """Returns the position of a FEN of four to six fields, without earlier positions.

        Args:
          strict: refuse castling rights, en-passant squares and counters that cannot be. Otherwise
            they are dropped, fields may be missing after the board, Shredder-FEN is read, and a
            drawn position with a legal move is open, as the programs are that let two players go
            on.

        Raises:
          ValueError: if the text is not a FEN, or its position is impossible.
        """
        fields = notation.parse_fen(text, self._size, strict=strict)
        # In a thread, which has no part in what the caller may be tracing.
        with ThreadPoolExecutor(1) as another:
            state, is_possible = another.submit(_set_up, self, strict, **fields).result()
        if not is_possible:
            waits, moves = ("Black", "White") if fields["ply"] % 2 == 0 else ("White", "Black")
            raise notation.error(text, f"{waits} is in check though {moves} is to move")
        return state

    def set_up(
        self, view: Array, ply: Array, castling: Array, passed: Array, clock: Array
    ) -> tuple[ChessState, Array]:
        """Returns a state without earlier positions, and whether the position is possible.

        Args:
          view: int32 [size * size], as `view` returns it. Marks of moves and checks do nothing.
          ply: int32 [], even when White is to move.
          castling, clock: int32 [], as in `ChessState`.
          passed: int32 [], the square that a pawn has just passed, or size * size.

        Returns:
          The state, and bool [], whether the king of the side that is not to move is out of check.
        """
        return set_up(self._size, view, ply, castling, passed, clock, plies=self.max_steps)

    def to_fen(self, state: ChessState) -> str:
        """Returns the position in Forsyth-Edwards notation.

        An en-passant square is included only if the capture is legal.
        """
        return notation.format_fen(self._size, jax.device_get(state))

    def to_string(self, state: ChessState) -> str:
        return notation.to_text(self._size, jax.device_get(state))

    def svg_board(self) -> str:
        return drawing.svg_board(self._size)

    def view(self, state: ChessState) -> Array:
        """Returns the code of each square from White's side, the far rank first.

        0 is empty, 1 to 6 are White's pawn, knight, bishop, rook, queen and king, and 7 to 12 are
        Black's. 16 is added if the last move left or entered the square, and 32 for a king in
        check.
        """
        return observation.view(self._size, state)

    @property
    def cell_names(self) -> tuple[str, ...]:
        return clicks.cell_names(self._size)

    def clicks(self, state: ChessState) -> Array:
        return clicks.clicks(self._size, state)


@dataclasses.dataclass(frozen=True)
class Chess(_ChessGame):
    """Chess by the rules of FIDE.

    Player 0 is White. The game ends at once, without a claim, on checkmate, stalemate, the third
    occurrence of a position (the same pieces, side to move, castling rights, and en-passant capture
    where one is legal), after 100 plies without a capture or a pawn's move (unless the last one
    mates), with too little material (a lone knight or bishop, or bishops that all stand on one
    colour), and after 512 plies. All but mate are draws.

    Action square * 73 + plane, in AlphaZero's 73 planes; see `azjax_envs.chess.actions`. Squares
    count from the side to move: row by row from its opponent's side, the a-file first. For Black
    the board is therefore upside down. In text, moves are UCI's: "e2e4", "e7e8q", "e1g1".

    Observation [8, 8, 119], AlphaZero's planes, from the side to move. For each of the latest 8
    positions, newest first: its pawns, knights, bishops, rooks, queens, king; the opponent's; two
    planes that are one if the position had occurred at least once and twice before. Then one
    everywhere if Black is to move; plies / 512; its right to castle king-side and queen-side; the
    opponent's; plies without a capture or a pawn's move / 100.

    Sources: FIDE Laws of Chess (2023), articles 3, 5 and 9, draws without a claim; Silver et al.,
    "A general reinforcement learning algorithm that masters chess, shogi, and Go through
    self-play", Science 2018 (actions and planes).
    """

    name = "chess"
    max_steps = 512
    unobserved = ("passed", "last_ply", "check", "hashes", "over", "result")
    max_legal_actions = 218  # N. Petrovic's position, 1964; none with more is known
    _size: ClassVar[int] = 8
    _start: ClassVar[str] = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

    def read_line(self, state: ChessState, texts: Sequence[str]) -> list[tuple[int, str]]:
        """Returns moves in a row with their names in UCI, many times as fast as one by one.

        Args:
          texts: the moves from `state` on, in plain SAN or in UCI's letters.

        Returns:
          Those before the first that is written in another way, or not clear. They may be illegal.
        """
        state = jax.device_get(state)
        white = bool(state.ply % 2 == 0)
        board = notation.to_board(self._size, state)
        names = san_line.read_plain_line(texts, board, white=white)
        sides = itertools.cycle([white, not white])
        tables = (notation.actions_by_name(self._size, is_white=side) for side in sides)
        moves = zip(tables, names, strict=False)
        known = itertools.takewhile(lambda move: move[1] in move[0], moves)
        return [(table[name], name) for table, name in known]


@dataclasses.dataclass(frozen=True)
class GardnerChess(_ChessGame):
    """Gardner's chess: the rules of chess on 5x5, without castling and double steps.

    Player 0 is White; either side has a rook, a knight, a bishop, the queen and the king from a to
    e, and five pawns before them, with one empty row between. Pawns become queens, rooks, bishops
    or knights. The game ends as chess does, and in a draw after 256 plies.

    Action square * 49 + plane, squares and planes as in `Chess`, with four distances.

    Observation [5, 5, 115]: as in `Chess`, without the planes of castling, plies / 256.

    Symmetries: left and right may be exchanged.

    Sources: M. Gardner, "Mathematical Games", Scientific American, 1969; weakly solved as a draw by
    M. Mhalla and F. Prost, "Gardner's minichess variant is solved", 2013.
    """

    name = "gardner_chess"
    max_steps = 256
    unobserved = ("castling", *Chess.unobserved)
    # A king has 8 moves at most, and each of the nine other pieces 16, those of a queen.
    max_legal_actions = 8 + 9 * 16
    num_symmetries = 2
    _size: ClassVar[int] = 5
    _start: ClassVar[str] = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"

    def symmetries(self) -> Symmetries:
        return mirrored(self._size, self._size, actions.mirrored_planes(self._size))


@functools.partial(jit_for_few_calls, static_argnums=(0, 1))
def _set_up(game: _ChessGame, draws: bool, **fields: Array) -> tuple[ChessState, Array]:
    return set_up(game._size, **fields, plies=game.max_steps, draws=draws)


@functools.cache
def _start(game: _ChessGame) -> ChessState:
    """Returns the start as numpy arrays, so that the cache holds no tracer."""
    return jax.device_get(game.from_fen(game._start))
