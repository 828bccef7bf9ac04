"""Kalah solved from its end: values of all positions with few seeds left in the pits."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs.mancala import Mancala, MancalaState

from azjax.exact.chunks import in_chunks
from azjax.types import Array, static

MOST_POSITIONS = 11_000_000  # of a table; enough for all 24 seeds of (4, 3)
_CHUNK = 1 << 14  # positions expanded at once; one size, to compile once


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class KalahTable:
    """The best margin that the player to move can still make, by the seeds in the pits.

    Seeds in the stores are out of play, so this margin determines all values. The result is the
    sign of the final margin. The sign never falls when the margin rises, so the sign of the best
    margin is the best result.
    """

    game: Mancala = static()
    margins: Array  # int8 [positions], in the order of `_rank`

    def action_scores(self, states: MancalaState) -> Array:
        """Returns the final margin of seeds after each action, see `Scorer`.

        No position has more seeds in the pits than `seeds_known(game)`.
        """

        def one(state: MancalaState) -> Array:
            pits = self.game.pits
            rank, gain, again = _moves(self.game, state)
            rest = self.margins[rank].astype(jnp.int32)
            stores = state.own[pits].astype(jnp.int32) - state.other[pits].astype(jnp.int32)
            total = stores + gain + jnp.where(again, rest, -rest)
            legal = self.game.legal_action_mask(state)
            return jnp.where(legal, total.astype(jnp.float32), -jnp.inf)

        return jax.vmap(one)(states)


def seeds_known(game: Mancala) -> int:
    """Returns the largest number of seeds in the pits with which positions are in the table."""
    total, holes = 2 * game.pits * game.seeds, 2 * game.pits
    return max(n for n in range(total + 1) if math.comb(n + holes, holes) <= MOST_POSITIONS)


def seeds_left(states: MancalaState) -> Array:
    """Returns the seeds in the pits of both sides, int32 [P], for states [P, ...]."""
    pits = [side[:, :-1].astype(jnp.int32).sum(-1) for side in (states.own, states.other)]
    return pits[0] + pits[1]


def kalah_table(game: Mancala) -> KalahTable:
    """Solves all positions with up to `seeds_known(game)` seeds in the pits."""
    return KalahTable(game, jnp.asarray(best_margins(game, seeds_known(game))))


def best_margins(game: Mancala, seeds: int) -> np.ndarray:
    """Returns the best margins of all positions with up to `seeds` seeds in the pits.

    A move that puts a seed into the store leads to fewer seeds. Any other move shifts seeds to the
    right within the mover's side. It lowers the weight, which counts for each seed the pits to its
    right. Positions with equally many seeds are therefore computed in the order of their weight.
    Returns int8 [positions], in the order of `_rank`.
    """
    holes = 2 * game.pits
    margins = np.zeros(math.comb(seeds + holes, holes), np.int8)
    pits_to_the_right = np.tile(np.arange(game.pits)[::-1], 2)
    for left in range(1, seeds + 1):
        first = math.comb(left - 1 + holes, holes)
        counts = _of_seeds(left, holes)
        moves = in_chunks(functools.partial(_moves_of_counts, game), _CHUNK, counts)
        weight = counts @ pits_to_the_right.astype(np.uint16)
        order = np.argsort(weight, kind="stable")
        starts = np.flatnonzero(np.diff(weight[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            rank, gain, again, legal = (x[rows] for x in moves)
            rest = margins[rank]
            total = gain + np.where(again, rest, -rest)
            best = np.where(legal, total, -128).max(-1)
            # With no seed on the mover's side the game is over, and no move leads there.
            margins[first + rows] = np.where(legal.any(-1), best, 0)
    return margins


@functools.partial(jax.jit, static_argnums=0)
def _moves_of_counts(game: Mancala, counts: np.ndarray) -> tuple[Array, ...]:
    """Returns `_moves` of positions [M, 2 * pits] and which are legal, [M, pits] each."""
    no = jnp.zeros((), jnp.bool_)

    def one(counts: Array) -> tuple[Array, ...]:
        own, other = (jnp.pad(side, (0, 1)) for side in counts.reshape(2, game.pits))
        state = MancalaState(own=own, other=other, player=jnp.zeros((), jnp.uint8), forfeited=no)
        return *_moves(game, state), game.legal_action_mask(state)

    return jax.vmap(one)(jnp.asarray(counts))


def _moves(game: Mancala, state: MancalaState) -> tuple[Array, Array, Array]:
    """Plays each action in one position.

    Returns the rank of the pits after it, int32 [pits]; the seeds that it gains, int8 [pits];
    whether the mover moves again, bool [pits].
    """
    pits = game.pits
    after = jax.vmap(game.step, (None, 0))(state, jnp.arange(pits))
    again = after.player == state.player
    own, other = (side.astype(jnp.int32) for side in (after.own, after.other))
    sides = jnp.concatenate([own[:, :pits], other[:, :pits]], -1)
    mine = jnp.where(again, own[:, pits], other[:, pits])
    theirs = jnp.where(again, other[:, pits], own[:, pits])
    gain = mine - theirs - (state.own[pits].astype(jnp.int32) - state.other[pits])
    return _rank(sides), gain.astype(jnp.int8), again


def _rank(counts: Array) -> Array:
    """Returns the index of each row of seeds in holes [M, holes] among all rows: int32 [M].

    Fewer seeds come first. Let s_i be the seeds up to hole i. The numbers s_i + i form a set, whose
    index in colexicographic order (the combinatorial number system) is the result.
    """
    holes = counts.shape[-1]
    places = jnp.cumsum(counts, -1) + np.arange(holes)[None]
    binomials = jnp.asarray(_binomials(holes))
    return sum((binomials[i][places[:, i]] for i in range(1, holes)), binomials[0][places[:, 0]])


@functools.cache
def _binomials(holes: int) -> np.ndarray:
    """Returns the binomials n over i + 1 of hole i and number n: int32 [holes, numbers]."""
    count = 256 + holes
    table = [[min(math.comb(n, i + 1), 2**31 - 1) for n in range(count)] for i in range(holes)]
    return np.array(table, np.int32)


def _of_seeds(seeds: int, holes: int) -> np.ndarray:
    """Returns all ways to put seeds into holes, in the order of `_rank`: uint8 [ways, holes]."""
    first = math.comb(seeds - 1 + holes, holes)
    rank = np.arange(first, math.comb(seeds + holes, holes), dtype=np.int32)
    sums = np.zeros((len(rank), holes + 1), np.uint8)
    for hole in reversed(range(holes)):
        binomials = _binomials(holes)[hole]
        place = np.searchsorted(binomials, rank, side="right") - 1
        rank -= binomials[place]
        sums[:, hole + 1] = place - hole
    return np.diff(sums, axis=1)
