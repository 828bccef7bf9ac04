"""Solves hypergammon: the exact expected points of all ten million positions before a roll.

A position before a roll is a pair of boards, of the player to roll and of the other. What may be
played with a roll depends on the player's own board and on the point that the other holds; with
three checkers they hold one at most. So few lists of moves serve all pairs. Values come by
iteration, until none changes by more than a millionth of a point.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs.backgammon.board import Words
from azjax_envs.backgammon.game import BackgammonState, Hypergammon
from azjax_envs.backgammon.moves import higher, lower

from azjax.exact.chunks import in_chunks
from azjax.pytrees import take
from azjax.types import Array

_PLACES = 26  # of a checker: 0 is off, 25 the bar
_BATCH = 1 << 12
_PRECISE = 1e-6  # points


@dataclasses.dataclass(frozen=True, eq=False)
class Moves:
    """All ways to play all rolls, with N rows.

    A row is one way: of a board, a point that the other holds and a roll.
    """

    own: np.ndarray  # int64 [N], the board, in order
    held: np.ndarray  # int64 [N], the point held, as its owner counts it, or 0
    roll: np.ndarray  # int64 [N]
    after: np.ndarray  # int64 [N], the board afterwards
    lands: np.ndarray  # int64 [N], bit x: a checker landed where one on the other's point x is hit


class Boards:
    """All boards of a player with few checkers, numbered from 0 to M - 1."""

    def __init__(self, checkers: int) -> None:
        self.checkers = checkers
        places = itertools.combinations_with_replacement(range(_PLACES), checkers)
        self.places = np.array(list(places))  # int64 [M, checkers], in order
        self.numbers = np.zeros((_PLACES,) * checkers, np.int64)
        self.numbers[tuple(self.places.T)] = np.arange(len(self.places))

    def __len__(self) -> int:
        return len(self.places)

    def number(self, places: np.ndarray) -> np.ndarray:
        """Returns the numbers of boards [..., checkers] with places in any order, int64 [...]."""
        return self.numbers[tuple(np.moveaxis(np.sort(places, axis=-1), -1, 0))]

    def of_words(self, words: Sequence[np.ndarray | Array]) -> np.ndarray:
        """Returns the numbers of boards of a game's states, uint32 [..., 2], int64 [...]."""
        bits = [np.asarray(word, np.int64)[..., None] >> np.arange(_PLACES) & 1 for word in words]
        counts = sum(bit << k for k, bit in enumerate(bits))
        ends = np.cumsum(counts, axis=-1)[..., None, :]
        wanted = np.arange(self.checkers)[:, None]
        return self.number((ends <= wanted).sum(-1))

    def counts(self, numbers: np.ndarray) -> np.ndarray:
        """Returns the checkers on each place of boards [...], int64 [..., 26]."""
        return (self.places[numbers][..., None] == np.arange(_PLACES)).sum(-2)

    def words(self, numbers: np.ndarray) -> Words:
        """Returns the words of boards [...] for a game's states, uint32 [...] each."""
        counts = self.counts(numbers)
        return tuple(
            np.sum((counts >> k & 1) << np.arange(_PLACES), axis=-1).astype(np.uint32)
            for k in (0, 1)
        )

    def held(self) -> np.ndarray:
        """Returns the point with several checkers of each board, int64 [M], or 0."""
        places = self.places
        same = (places[:, 1:] == places[:, :-1]) & (places[:, 1:] % (_PLACES - 1) != 0)
        return np.where(same, places[:, 1:], 0).max(-1, initial=0)

    def points_lost(self) -> np.ndarray:
        """Returns what each board loses if the other has borne off all, float32 [M]."""
        far = (self.places >= 19).any(1)
        return np.where((self.places == 0).any(1), 1, 2 + far).astype(np.float32)

    def hit(self, lands: np.ndarray) -> np.ndarray:
        """Returns the boards after checkers landed on points, int64 [..., M], of masks [...]."""
        places = self.places
        single = (places[:, :, None] == places[:, None]).sum(-1) == 1
        hits = single & (lands[..., None, None] >> places & 1 == 1)
        return self.number(np.where(hits, _PLACES - 1, places))


def before_roll(game: Hypergammon, own: Words, other: Words) -> BackgammonState:
    """Returns the states before a roll that is not the first one, of boards [M] as words."""
    state = dataclasses.replace(game.init(), moves=jnp.ones((), jnp.uint16))
    many = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(own[0]), *x.shape)), state)
    return dataclasses.replace(many, own=own, other=other)


def find_moves(game: Hypergammon, boards: Boards) -> Moves:
    """Plays all rolls with all boards against each point that the other can hold."""
    points = np.unique(boards.held())
    own = np.flatnonzero(boards.places[:, -1] > 0)
    rolls = np.arange(len(game.chance_probabilities(game.init())))
    own, point, roll = (x.ravel() for x in np.meshgrid(own, points, rolls, indexing="ij"))
    # Two checkers hold a point. Who holds none has one on the bar.
    one = jnp.asarray(np.where(point == 0, 1 << (_PLACES - 1), 0), jnp.uint32)
    several = jnp.asarray(np.where(point == 0, 0, 1 << point), jnp.uint32)
    states = before_roll(game, boards.words(own), (one, several))
    states = jax.device_get(jax.vmap(game.chance_step)(states, jnp.asarray(roll)))
    group = (own * _PLACES + point) * len(rolls) + roll
    lands, found = np.zeros(len(group), np.int64), []
    while len(group):
        rows, actions = np.nonzero(legal(game, states))
        states, landed = play(game, take(states, rows), actions)
        group, lands = group[rows], lands[rows] | landed
        goes_on, stays = states.dice > 0, own_stays(states)
        # The other's board is none of the numbered ones.
        words = [np.where(stays, x, y) for x, y in zip(states.own, states.other, strict=True)]
        key = _join(group, boards.of_words(words), lands)
        found.append(np.unique(key[~goes_on]))
        # The order of two moves is often without meaning.
        firsts = np.unique(np.where(goes_on, key << 3 | states.dice & 7, -1), return_index=True)[1]
        on = firsts[goes_on[firsts]]
        group, lands, states = group[on], lands[on], take(states, on)
    group, after, lands = _split(np.unique(np.concatenate(found)))
    rest, roll = np.divmod(group, len(rolls))
    own, held = np.divmod(rest, _PLACES)
    return Moves(own, held, roll, after, lands)


def _join(group: np.ndarray, board: np.ndarray, lands: np.ndarray) -> np.ndarray:
    """Returns one number for each way, int64 [N]."""
    return (group * 4096 + board) << _PLACES | lands


def _split(key: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rest, lands = key >> _PLACES, key & ((1 << _PLACES) - 1)
    return *np.divmod(rest, 4096), lands


def solve(
    game: Hypergammon,
    boards: Boards,
    moves: Moves,
    progress: Callable[[int, float], None] | None = None,
) -> np.ndarray:
    """Returns the expected points of the player to roll, float32 [M, M], of own board and other.

    Args:
      progress: called as `progress(sweep, change)`, with the largest change of a value in points.
    """
    size, held, every = len(boards), boards.held(), np.arange(len(boards))
    values = np.zeros((size, size), np.float32)  # of the other's board, who rolls next, and the own
    over = boards.numbers[(0,) * boards.checkers]
    values[over] = -boards.points_lost()
    masks, mask = np.unique(moves.lands, return_inverse=True)
    hits = boards.hit(masks)  # [masks, M]
    later = dataclasses.replace(game.init(), moves=jnp.ones((), jnp.uint16))
    chances = np.asarray(game.chance_probabilities(later), np.float32)
    # The ways of a board, a point and a roll stand together.
    key = (moves.own * len(chances) + moves.roll) * _PLACES + moves.held
    order = np.argsort(key, kind="stable")
    after, mask = moves.after[order], mask[order]
    shape = size, len(chances), _PLACES
    firsts = np.searchsorted(key[order], np.arange(np.prod(shape))).reshape(shape)
    counts = np.bincount(key, minlength=np.prod(shape)).reshape(shape)
    sweep, change = 0, np.inf
    while change >= _PRECISE:
        sweep, change = sweep + 1, 0.0
        for own in np.flatnonzero(boards.places[:, -1] > 0):
            new = np.zeros(size, np.float32)
            for roll, chance in enumerate(chances):
                first, count = firsts[own, roll], counts[own, roll]
                # Points with fewer ways have their last one several times.
                way = np.arange(count.max())[:, None]
                rows = (first + np.minimum(way, count - 1))[:, held]
                reached = values[after[rows], hits[mask[rows], every]]
                new -= chance * reached.min(0)
            new[over] = values[over, own]
            change = max(change, float(abs(new - values[:, own]).max()))
            values[:, own] = new
        if progress is not None:
            progress(sweep, change)
    return values.T


def start_value(game: Hypergammon, boards: Boards, points: np.ndarray) -> float:
    """Returns the expected points of the player who has the first roll."""
    rolls = np.arange(len(game.chance_probabilities(game.init())))
    states = jax.vmap(game.chance_step, (None, 0))(game.init(), jnp.asarray(rolls))
    values = TablePlayer(game, boards, points).move_values(jax.device_get(states))
    chances = np.asarray(game.chance_probabilities(game.init()))
    possible = chances > 0
    return float(game.results[0] * chances[possible] @ values[possible].max(-1))


@dataclasses.dataclass(frozen=True, eq=False)
class TablePlayer:
    """Perfect play of hypergammon by a table of expected points."""

    game: Hypergammon
    boards: Boards
    points: np.ndarray  # float32 [M, M], of the player to roll, as of `solve`

    def move_values(self, states: BackgammonState) -> np.ndarray:
        """Returns the mover's expected result after each move in states [B, ...] with dice.

        float32 [B, A], from -1 to 1. Illegal moves have -inf.
        """
        states = jax.device_get(states)
        mask = legal(self.game, states)
        rows, actions = np.nonzero(mask)
        values = np.full(mask.shape, -np.inf, np.float32)
        if len(rows):
            after, _ = play(self.game, take(states, rows), actions)
            values[rows, actions] = self._values_after(after)
        return values

    def _values_after(self, states: BackgammonState) -> np.ndarray:
        """Returns the expected results of who has just moved, float32 [B]."""
        own, other = self.boards.of_words(states.own), self.boards.of_words(states.other)
        won = self.boards.places[own, -1] == 0
        points = np.where(won, self.boards.points_lost()[other], -self.points[own, other])
        values = (points / self.game.results[0]).astype(np.float32)
        goes_on = np.flatnonzero(states.dice > 0)
        if len(goes_on):
            on = take(states, goes_on)
            values[goes_on] = self.move_values(on).max(-1)
        return values


def legal(game: Hypergammon, states: BackgammonState) -> np.ndarray:
    """Returns the legal actions of states [N, ...] on the host, bool [N, A]."""
    return _in_chunks(_legal, game, states)[0]


def play(
    game: Hypergammon, states: BackgammonState, actions: np.ndarray
) -> tuple[BackgammonState, np.ndarray]:
    """Plays legal actions, int [N]; also returns where they land, int64 [N], as in `Moves`."""
    structure = jax.tree.structure(states)
    lands, *leaves = _in_chunks(_play, game, states, actions.astype(np.int32))
    return jax.tree.unflatten(structure, leaves), lands.astype(np.int64)


def own_stays(states: BackgammonState) -> np.ndarray:
    """Returns whether who has just moved is still to move, or has won, bool [N]."""
    return np.asarray((states.dice > 0) | ((states.own[0] | states.own[1]) >> 1 == 0))


def _in_chunks(
    function: Callable[..., tuple[Array, ...]],
    game: Hypergammon,
    states: BackgammonState,
    *arrays: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Calls a function of states and arrays with a fixed number of rows at a time."""
    leaves, structure = jax.tree.flatten(states)

    def run(*rows: np.ndarray) -> tuple[Array, ...]:
        own = jax.tree.unflatten(structure, rows[len(arrays) :])
        return function(game, own, *rows[: len(arrays)])

    return in_chunks(run, _BATCH, *arrays, *leaves)


@functools.partial(jax.jit, static_argnums=0)
def _legal(game: Hypergammon, states: BackgammonState) -> tuple[Array]:
    return (jax.vmap(game.legal_action_mask)(states),)


@functools.partial(jax.jit, static_argnums=0)
def _play(game: Hypergammon, states: BackgammonState, actions: Array) -> tuple[Array, ...]:
    point, dice = actions % 25 + 1, states.dice.astype(jnp.uint32)
    die = jnp.where(actions >= 25, lower(dice), higher(dice)).astype(jnp.int32)
    passes = game.num_actions - 1
    moves_on = (actions < passes) & (point > die)
    # Point i is the other's point 25 - i.
    lands = jnp.where(moves_on, 1 << jnp.clip(25 + die - point, 0, 24), 0)
    return lands, *jax.tree.leaves(jax.vmap(game.step)(states, actions))
