"""The state of a game of shogi, its start, and its conversion to positions."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.shogi import repetition
from azjax_envs.shogi.board import (
    IN_HAND,
    LANES,
    NUM_PLANES,
    START,
    THEIRS,
    count_in_hand,
    pack,
    unpack,
)
from azjax_envs.shogi.moves import NUM_ACTION_PLANES
from azjax_envs.shogi.notation import Position

MAX_PLIES = 512
BOARD_WORDS = 3 * NUM_PLANES
POSITION_WORDS = BOARD_WORDS + 3


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ShogiState:
    """The state of a game of shogi, 5,005 bytes.

    The fingerprints, which detect repetitions, take 4,096 bytes. The latest positions, which a
    network observes, take 576, the legal moves 324, and the rest 9.
    """

    # The latest 8 positions, newest first, each from the perspective of its player to move. A row
    # has the board (see `azjax_envs.shogi.board`), the hands of that player and of the opponent,
    # and the number of times that the position has occurred. Rows before the start are zero.
    past: Array  # uint32 [8, 18]
    # The targets of each plane, from the perspective of the player to move.
    legal: Array  # uint32 [3, 27]
    fingerprints: Array  # uint32 [2, 512], of all positions, by ply
    since: Array  # int16 [2], the ply after which each player has given check with every move
    ply: Array  # int16 []
    player: Array  # uint8 [], to move
    over: Array  # bool []
    result: Array  # int8 [], for player 0


def board(state: ShogiState) -> Array:
    """Returns the board from the perspective of the player to move, uint32 [5, 3].

    It is a numpy array if the state's arrays are.
    """
    return state.past[0, :BOARD_WORDS].reshape(NUM_PLANES, 3)


def hands(state: ShogiState) -> Array:
    """Returns the hands of the player to move and of the opponent, uint32 [2]."""
    return state.past[0, BOARD_WORDS : BOARD_WORDS + 2]


def start() -> ShogiState:
    """Returns the state in which every game starts."""
    position = np.append(pack(START), [0, 0, 1]).astype(np.uint32)
    return begin(jnp.asarray(position), jnp.asarray(_OPENINGS), np.uint8(0), np.int16(0))


def begin(
    position: Array, legal: Array, player: Array | np.integer, ply: Array | np.integer
) -> ShogiState:
    """Returns the first state of a game, after `ply` plies.

    The position is uint32 [18], as in `ShogiState.past`, and its legal moves uint32 [3, 27].
    """
    is_mate = jnp.all(legal == 0)
    fingerprint = repetition.fingerprint(position[:-1], player)
    here = np.arange(MAX_PLIES, dtype=np.int16) == ply
    before = jnp.zeros(7 * POSITION_WORDS, jnp.uint32)
    return ShogiState(
        past=jnp.concatenate([position, before]).reshape(8, POSITION_WORDS),
        legal=legal,
        fingerprints=jnp.where(here[None], fingerprint[:, None], np.uint32(0)),
        since=jnp.full(2, repetition.NEVER),
        ply=jnp.asarray(ply, jnp.int16),
        player=jnp.asarray(player, jnp.uint8),
        over=is_mate | (ply >= MAX_PLIES),
        result=jnp.where(is_mate, 2 * jnp.asarray(player, jnp.int8) - 1, 0).astype(jnp.int8),
    )


def cells(state: ShogiState) -> np.ndarray:
    """Returns the pieces from the side of the player to move, int32 [81] in numpy; see `unpack`."""
    return np.asarray(unpack(np.asarray(board(state))))


def to_position(state: ShogiState) -> Position:
    """Returns a state's position as SFEN gives it."""
    found, player = cells(state), int(state.player)
    held = [
        [int(count_in_hand(hand, kind)) for kind in IN_HAND] for hand in np.asarray(hands(state))
    ]
    if player == 1:
        found, held = _turned(found), held[::-1]
    return Position(found, (tuple(held[0]), tuple(held[1])), player, int(state.ply))


def _turned(found: np.ndarray) -> np.ndarray:
    return np.where(found > 0, found ^ THEIRS, 0)[::-1]


def _openings() -> np.ndarray:
    """Returns the legal moves of the start as `legal_moves` does, uint32 [3, 27]."""
    cells = np.zeros((NUM_ACTION_PLANES, 9, 9), bool)
    cells[0, 5] = True  # the pawns go up,
    cells[0, 7, [0, 2, 3, 4, 5, 6, 8]] = True  # and the last row wherever no own piece blocks it
    cells[1, 7, 3:7] = True
    cells[7, 7, 2:6] = True
    cells[2, 7, 8] = cells[6, 7, 2:7] = True  # the rook
    return np.array([LANES.constant(plane) for plane in cells], np.uint32).T


_OPENINGS = _openings()
