"""Chess with king and queen, rook or pawn against king: solved backwards from the mates.

All moves are made by the game's own `step`. (Retrograde analysis: T. Ströhlein 1970, K. Thompson
1986.)
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs.chess import Chess
from azjax_envs.chess.state import ChessState

from azjax.exact.chunks import in_chunks
from azjax.pytrees import batch_size, take
from azjax.types import Array

ENDINGS = ("KQK", "KRK", "KPK")
_LETTERS = "PNBRQK"  # of the codes 1 to 6 that a view of the board has
_SQUARES = 64
_SIZE = len(ENDINGS) * 2 * _SQUARES**3
_CHUNK = 1 << 12  # positions whose moves are made at once
_DRAWN, _IMPOSSIBLE = -1, -2
_NO_ENDING = -1  # index of a position with other pieces
_DEAD = -2  # index of a position that too little material has drawn


@dataclasses.dataclass(frozen=True, eq=False)
class ChessEndings:
    """The distance to mate in every position with a queen, a rook or a pawn against a king.

    A position and its mirror image are one: that with the stronger king on the left half.
    """

    game: Chess
    distances: np.ndarray  # int8 [index], plies to mate; -1 drawn, -2 no position

    def action_scores(self, states: ChessState) -> np.ndarray:
        """Returns the values of all actions in positions of these endings, see `Scorer`.

        They are 0 for a draw, 128 less the plies to mate for a win, the negative of that for a
        loss.
        """
        rows, actions, after = _all_moves(self.game, states)
        values = np.where(after >= 0, self.distances[np.maximum(after, 0)], _DRAWN)
        # An even distance is that of the side that is mated; the other one has moved.
        size = 127.0 - values
        scores = np.full((batch_size(states, name="states"), self.game.num_actions), -np.inf)
        scores[rows, actions] = np.where(values < 0, 0.0, np.where(values % 2 == 0, size, -size))
        return scores.astype(np.float32)

    def draw_positions(self, rng: np.random.Generator, count: int) -> tuple[ChessState, list[str]]:
        """Draws `count` positions that are not over, as many of each ending, with its name."""
        known = np.flatnonzero(self.distances > 0)
        drawn = np.flatnonzero(self.distances == _DRAWN)
        over = np.asarray(_states_of(jnp.asarray(drawn)).over)
        playable = np.concatenate([known, drawn[~over]])
        ending = playable // (_SIZE // len(ENDINGS))
        index = np.concatenate(
            [
                rng.choice(playable[ending == number], count // len(ENDINGS), replace=False)
                for number in range(len(ENDINGS))
            ]
        )
        names = [ENDINGS[number] for number in index // (_SIZE // len(ENDINGS))]
        return _states_of(jnp.asarray(index)), names


def chess_endings(game: Chess) -> ChessEndings:
    """Solves all positions of these endings, in about a minute."""
    rows, after, mated, possible = _whole_graph(game)
    distances = np.where(possible, _DRAWN, _IMPOSSIBLE).astype(np.int8)
    distances[mated] = 0
    first = np.flatnonzero(np.diff(rows, prepend=-1))  # each position's first move
    movers = rows[first]
    new = [np.flatnonzero(mated)]
    while len(new[-1]) or len(new[-2]):
        plies = len(new)
        found = np.where(after == _DEAD, _DRAWN, distances[np.maximum(after, 0)])
        if plies % 2:  # won: a move leads to a position that is lost in one ply less
            solved = np.logical_or.reduceat(found == plies - 1, first)
        else:  # lost: all moves lead to positions that are won
            solved = np.logical_and.reduceat((found > 0) & (found % 2 == 1), first)
        new.append(movers[solved & (distances[movers] == _DRAWN)])
        distances[new[-1]] = plies
    return ChessEndings(game, distances)


def ending_index(game: Chess, state: ChessState) -> Array:
    """Returns the index of a position, int32 []; a negative number if it is of no such ending."""
    codes = game.view(state).astype(jnp.int32) & 15  # from White's side, the far rank first
    is_piece = (codes > 0) & (codes % 6 != 0)
    place = jnp.argmax(is_piece)
    code = codes[place]
    is_black = code > 6
    kind = (code - 1) % 6 + 1
    ending = jnp.select([kind == 5, kind == 4, kind == 1], [0, 1, 2], 3)
    # Seen from the stronger side.
    strong, weak = jnp.argmax(codes == 6), jnp.argmax(codes == 12)
    strong, weak = jnp.where(is_black, weak, strong), jnp.where(is_black, strong, weak)
    turned = jnp.where(is_black, 56, 0)  # upside down
    mirrored = jnp.where(strong % 8 >= 4, 7, 0)
    weak_moves = (game.current_player(state) == 1) != is_black
    index = ending * 2 + weak_moves
    for square in (strong, place, weak):
        index = index * _SQUARES + (square ^ turned ^ mirrored)
    count = jnp.sum(is_piece)
    index = jnp.where((count == 1) & (ending < 3), index, _NO_ENDING)
    return jnp.where((count == 0) | ((count == 1) & (ending == 3)), _DEAD, index).astype(jnp.int32)


def _fields(index: Array) -> tuple[Array, ...]:
    """Returns the ending, whether the weaker side moves, and the squares of king, piece, king."""
    weak, place = index % _SQUARES, index // _SQUARES % _SQUARES
    strong, rest = index // _SQUARES**2 % _SQUARES, index // _SQUARES**3
    return rest // 2, rest % 2 == 1, strong, place, weak


def _set_up(index: Array) -> tuple[ChessState, Array]:
    """Returns the position of an index, with White as the stronger side, and if it is possible."""
    ending, weak_moves, strong, place, weak = _fields(index)
    pieces = (strong, 6), (place, jnp.array([5, 4, 1])[ending]), (weak, 12)
    squares = [jnp.where(np.arange(_SQUARES) == square, code, 0) for square, code in pieces]
    view, ply = jnp.sum(jnp.stack(squares), axis=0), weak_moves.astype(jnp.int32)
    return Chess().set_up(view, ply, jnp.int32(0), jnp.int32(_SQUARES), jnp.int32(0))


_states_of = jax.jit(jax.vmap(lambda index: _set_up(index)[0]))


@jax.jit
def _judge(index: Array) -> tuple[Array, Array]:
    """Returns which positions [N] are possible, and which are mate."""

    def one(index: Array) -> tuple[Array, Array]:
        ending, _, strong, place, weak = _fields(index)
        state, is_possible = _set_up(index)
        different = (strong != place) & (strong != weak) & (place != weak)
        pawn_fits = (ending != 2) | ((place >= 8) & (place < 56))
        legal = (strong % 8 < 4) & different & pawn_fits & is_possible
        return legal, legal & state.over & state.check

    return jax.vmap(one)(index)


def _whole_graph(game: Chess) -> tuple[np.ndarray, ...]:
    """Returns the moves of all positions: rows, indices after them; which are mate, possible."""
    rows, after = [], []
    possible, mated = in_chunks(_judge, _CHUNK, np.arange(_SIZE))
    index = np.flatnonzero(possible)
    for start in range(0, len(index), _CHUNK):
        part = index[start : start + _CHUNK]
        found, _, targets = _all_moves(game, _states_of(jnp.asarray(np.resize(part, _CHUNK))))
        keep = found < len(part)
        rows.append(part[found[keep]])
        after.append(targets[keep])
    return np.concatenate(rows), np.concatenate(after), mated, possible


def _all_moves(game: Chess, states: ChessState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns all legal moves of positions: rows, actions, and the index of the position after."""
    rows, actions = np.nonzero(np.asarray(_legal(game, states)))
    states = jax.device_get(states)  # whose rows numpy takes in a tenth of the time

    def play(rows: np.ndarray, actions: np.ndarray) -> tuple[Array]:
        return (_after(game, take(states, rows), jnp.asarray(actions)),)

    (after,) = in_chunks(play, _CHUNK, rows, actions)
    return rows, actions, after


@functools.partial(jax.jit, static_argnums=0)
def _legal(game: Chess, states: ChessState) -> Array:
    return jax.vmap(game.legal_action_mask)(states)


@functools.partial(jax.jit, static_argnums=0)
def _after(game: Chess, states: ChessState, actions: Array) -> Array:
    after = jax.vmap(game.step)(states, actions)
    return jax.vmap(functools.partial(ending_index, game))(after)
