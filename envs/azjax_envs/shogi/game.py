"""The game of shogi."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.base_game import BaseGame
from azjax_envs.bitboard import without
from azjax_envs.game import Symmetries, returns_of, settle
from azjax_envs.shogi import clicks, drawing, notation, observation, rays, repetition
from azjax_envs.shogi.attacks import threats
from azjax_envs.shogi.board import (
    IN_HAND,
    KING,
    LANES,
    NUM_PLANES,
    SILVER,
    THEIRS,
    count_in_hand,
    occupied,
    one_in_hand,
    pack,
    pieces,
    turned,
    unpack,
)
from azjax_envs.shogi.moves import NUM_ACTION_PLANES, NUM_MOVES, legal_moves
from azjax_envs.shogi.play import play
from azjax_envs.shogi.state import (
    BOARD_WORDS,
    MAX_PLIES,
    POSITION_WORDS,
    ShogiState,
    begin,
    board,
    cells,
    hands,
    start,
    to_position,
)
from azjax_envs.symmetry import mirrored
from azjax_envs.xla_cpu import fusion_barrier, jit_for_few_calls


@dataclasses.dataclass(frozen=True)
class Shogi(BaseGame):
    """Shogi by the rules of professional games, without impasse.

    Player 0 is sente (black) and moves first. Pieces move, capture and promote as usual: a move
    that starts or ends in the three farthest rows may promote, and must where the piece could never
    move again. Captured pieces come to hand and may be dropped later, where they could still
    move. A pawn may not be dropped on a file with another own unpromoted pawn, nor where it mates
    at once. A player without a legal move has lost. The game ends when a position (board, hands and
    player to move) occurs for the fourth time. A player who alone gave check with every move since
    its first occurrence has lost; otherwise it is a draw. It is also a draw after 512 plies. There
    is no rule for entering kings (jishogi).

    The board is shown from the side of the player to move, whose pieces move up. For gote it is
    turned round. Action `(row * 9 + column) * 27 + plane` moves a piece to that cell, rows from the
    far side. Planes 0 to 7 are the directions in which it moves, any distance: up, up right, right,
    down right, down, down left, left, up left; 8 and 9 a knight's jumps to the left and right; 10
    to 19 the same with promotion; 20 to 26 the drops of a pawn, lance, knight, silver, gold, bishop
    and rook. Only the first piece behind the target can have come from there, so an action needs no
    start: 81 x 27 actions instead of AlphaZero's 81 x 139. In text moves are as in USI: `7g7f`,
    `8h2b+`, `P*5e`.

    Observation [9, 9, 362], AlphaZero's planes: the latest 8 positions, newest first, 45 for each,
    all from the side of the player to move:

    - 0 to 13 the own pawns, lances, knights, silvers, golds, bishops, rooks, kings, promoted pawns,
      lances, knights and silvers, horses (promoted bishops) and dragons (rooks);
    - 14 to 27 the opponent's;
    - 28 to 30 one everywhere if the position occurred for the first, second, third time;
    - 31 to 37 the own pawns, lances, knights, silvers, golds, bishops and rooks in hand, as shares
      of all that there are; 38 to 44 the opponent's.

    Before the start all are zero. Plane 360 is one everywhere for sente, and 361 the number of
    plies played, as a share of 512.

    The one symmetry is the mirror image. It keeps the rules, though not the starting position.

    Sources: the rules of the Japan Shogi Association as summed up in
    https://en.wikipedia.org/wiki/Shogi; Silver et al., "A general reinforcement learning algorithm
    that masters chess, shogi, and Go through self-play", 2018 (the planes).
    """

    player_names = ("black (sente)", "white (gote)")
    unobserved = ("fingerprints", "since", "result")
    name = "shogi"

    num_actions = 81 * NUM_ACTION_PLANES
    observation_shape = (9, 9, observation.CHANNELS)
    max_steps = MAX_PLIES
    max_legal_actions = 593  # no position with more is known
    num_symmetries = 2

    def init(self, key: Array | None = None) -> ShogiState:
        return start()

    def step(self, state: ShogiState, action: Array) -> ShogiState:
        action = jnp.asarray(action).astype(jnp.int32)
        inside = (action >= 0) & (action < self.num_actions)
        target, plane = jnp.divmod(jnp.where(inside, action, 0), NUM_ACTION_PLANES)
        cell = jnp.stack(LANES.one(target // 9, target % 9))
        chosen = (np.arange(NUM_ACTION_PLANES) == plane)[None] & (state.legal & cell[:, None] != 0)
        return settle(
            state,
            over=state.over,
            legal=inside & jnp.any(chosen),
            moved=self._moved(state, target, plane),
            forfeited=dataclasses.replace(
                state,
                over=jnp.ones((), jnp.bool_),
                result=(2 * state.player.astype(jnp.int8) - 1).astype(jnp.int8),
            ),
        )

    def current_player(self, state: ShogiState) -> Array:
        return state.player.astype(jnp.int32)

    def legal_action_mask(self, state: ShogiState) -> Array:
        places = np.arange(27, dtype=np.uint32)[None, :, None]
        # Whoever flattens the mask or sums over it would compute it again, one by one.
        legal = jnp.where(state.over, np.uint32(0), state.legal)
        bits = (legal[:, None] >> places).astype(jnp.uint8) & np.uint8(1)
        (mask,) = fusion_barrier(bits != 0)
        return mask.reshape(-1)

    def is_terminal(self, state: ShogiState) -> Array:
        return state.over

    def returns(self, state: ShogiState) -> Array:
        return returns_of(state.result.astype(jnp.int32))

    def observe(self, state: ShogiState) -> Array:
        progress = state.ply.astype(jnp.float32) / MAX_PLIES
        return observation.observe(state.past, self.current_player(state), progress)

    def observe_other(self, state: ShogiState) -> Array:
        return observation.exchange_sides(self.observe(state))

    def symmetries(self) -> Symmetries:
        moves = [rays.STEPS.index((row, -column)) for row, column in rays.STEPS]
        promotions = [NUM_MOVES + move for move in moves]
        return mirrored(9, 9, [*moves, *promotions, *range(2 * NUM_MOVES, NUM_ACTION_PLANES)])

    def action_to_string(self, state: ShogiState, action: int) -> str:
        return notation.to_usi(cells(state), int(state.player), int(action))

    def to_string(self, state: ShogiState) -> str:
        """Returns the board in the letters of SFEN, sente's in capitals, with both hands."""
        return notation.to_text(to_position(state))

    def from_sfen(self, text: str, *, strict: bool = True) -> ShogiState:
        """Returns the position of an SFEN, as the first position of its game.

        Repetition starts from this position. The move number counts towards the 512 plies.

        Args:
          strict: refuse a move number out of range, and missing fields; otherwise the count begins
            again, sente is to move, and the hands are empty.

        Raises:
          ValueError: if the SFEN is malformed, or its position is impossible.
        """
        state, is_possible = _set_up(self, **notation.parse_sfen(text, MAX_PLIES, strict=strict))
        if not is_possible:
            raise notation.wrong(text, "the side that is not to move is in check")
        return state

    def set_up(self, view: Array, ply: Array, player: Array) -> tuple[ShogiState, Array]:
        """Returns the first state of a game, and whether the position is possible.

        Args:
          view: int32 [95], as `view` returns it. Marks of the last move have no effect.
          ply: int32 [], the plies played before.
          player: int32 [], to move.

        Returns:
          The state, and bool [], whether the king of the player not to move is out of check.
        """
        codes, counts = view[:81] % 32, view[81:].reshape(2, -1)
        kinds = (codes + 13) % 14 + 1
        kinds += (kinds > KING + SILVER).astype(jnp.int32) + jnp.where(codes > 14, THEIRS, 0)
        planes = pack(jnp.where(codes > 0, kinds, 0))
        planes = jnp.where(player == 0, planes, turned(planes))
        units = np.array([one_in_hand(kind) for kind in reversed(IN_HAND)], np.uint32)
        held = jnp.sum(counts.astype(jnp.uint32) * units[None], axis=1, dtype=jnp.uint32)
        held = jnp.where(player == 0, held, held[::-1])
        position = jnp.concatenate([planes.reshape(-1), held, jnp.ones(1, jnp.uint32)])
        legal = legal_moves(planes, held[0])[0]
        state = begin(position, legal, player.astype(jnp.uint8), ply.astype(jnp.int16))
        theirs = tuple(planes[NUM_PLANES - 1])
        ours = without(occupied(planes), theirs)
        danger, _ = threats(pieces(planes), ours, theirs, pawn=LANES.empty())
        return state, danger.checkers[1] == 0

    def to_sfen(self, state: ShogiState) -> str:
        return notation.to_sfen(to_position(state))

    def svg_board(self) -> str:
        return drawing.svg_board()

    def view(self, state: ShogiState) -> Array:
        """Returns a code for each cell from sente's side, then the pieces in hand.

        0 is empty. 1 to 14 are sente's pawn, lance, knight, silver, gold, bishop, rook, king,
        promoted pawn, lance, knight, silver, horse and dragon. 15 to 28 are gote's. 32 is added
        where the last move started or ended. Sente's numbers of rooks, bishops, golds, silvers,
        knights, lances and pawns in hand follow, then gote's.
        """
        boards = state.past[:2, :BOARD_WORDS].reshape(2, NUM_PLANES, 3)
        now, before = unpack(boards[0]), unpack(turned(boards[1]))
        changed = (now != before) & jnp.any(boards[1] != 0)
        kind = now % THEIRS
        is_first = (now < THEIRS) == (state.player == 0)
        codes = kind - (kind > KING + SILVER).astype(jnp.int32) + jnp.where(is_first, 0, 14)
        codes = jnp.where(kind > 0, codes, 0) + jnp.where(changed, 32, 0)
        codes = jnp.where(state.player == 0, codes, codes[::-1])
        both = jnp.where(state.player == 0, hands(state), hands(state)[::-1])
        held = [count_in_hand(both[i], kind) for i in (0, 1) for kind in reversed(IN_HAND)]
        return jnp.concatenate([codes, jnp.stack(held).astype(jnp.int32)])

    cell_names = clicks.CELL_NAMES
    click_choices = clicks.CHOICES

    def clicks(self, state: ShogiState) -> Array:
        return clicks.clicks(unpack(board(state)), state.player)

    def _moved(self, state: ShogiState, target: Array, plane: Array) -> ShogiState:
        """Returns the state after a legal action."""
        hand, waiting = hands(state)
        planes, hand = play(board(state), hand, target, plane)
        planes, hand = fusion_barrier(turned(planes), hand)
        legal, in_check = legal_moves(planes, waiting)
        legal, in_check = fusion_barrier(legal, in_check)

        mover, player, ply = state.player, 1 - state.player, state.ply + np.int16(1)
        position = jnp.concatenate([planes.reshape(-1), jnp.stack([waiting, hand])])
        fingerprint = repetition.fingerprint(position, player)
        earlier, first = repetition.earlier(state.fingerprints, fingerprint)
        since = repetition.checking_since(state.since, mover, in_check, ply)

        is_mate = jnp.all(legal == 0)
        is_repeated = earlier >= 3
        repeated = jnp.where(is_repeated, repetition.result(since, player, first), 0)
        times = jnp.minimum(earlier + 1, 4).astype(jnp.uint32)
        # Flat, for so a CPU copies it fast: to put rows together doubles the time of a step.
        past = jnp.concatenate([position, times[None], state.past.reshape(-1)[:-POSITION_WORDS]])
        here = np.arange(MAX_PLIES, dtype=np.int16) == ply
        return ShogiState(
            past=past.reshape(state.past.shape),
            legal=legal,
            fingerprints=jnp.where(here[None], fingerprint[:, None], state.fingerprints),
            since=since,
            ply=ply,
            player=player,
            over=is_mate | is_repeated | (ply >= MAX_PLIES),
            result=jnp.where(is_mate, 1 - 2 * mover.astype(jnp.int8), repeated).astype(jnp.int8),
        )


@functools.partial(jit_for_few_calls, static_argnums=0)
def _set_up(game: Shogi, **fields: Array) -> tuple[ShogiState, Array]:
    return game.set_up(**fields)
