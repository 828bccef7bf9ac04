"""Finds every reachable state, breadth first and in batches, with a game's own `step`."""

import dataclasses
import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasScore

from azjax.errors import UserError
from azjax.exact.chunks import in_chunks
from azjax.exact.codec import Codec, join, pack_all
from azjax.pytrees import batch_size, expand
from azjax.rollouts import play_randomly, random_openings
from azjax.types import Array, State

_MANY_ACTIONS = 64  # with fewer, the states up to the limit are found in seconds
_EXPECTED_REPETITIONS = 32
_FEW_REPETITIONS = 4
_RANDOM_PLIES = 16


class TooLargeError(UserError):
    """A game has more states than the limit."""


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """All N reachable states, in the order in which they were found: by their fewest plies."""

    words: np.ndarray  # uint32 [N, W], the states packed by `Codec(game)`
    sorted_keys: np.ndarray  # uint64 [N]
    order: np.ndarray  # int32 [N], the state of each sorted key
    children: np.ndarray  # int32 [N, num_actions], -1 where an action is illegal
    movers: np.ndarray  # int8 [N]
    terminal: np.ndarray  # bool [N]
    payoffs: np.ndarray  # float32 [N], player 0's, meaningful where terminal
    layer_starts: np.ndarray  # int64 [plies + 1], the first state of each layer

    @property
    def plies(self) -> np.ndarray:
        """Fewest plies to each state, int32 [N]."""
        sizes = np.diff(np.append(self.layer_starts, len(self.order)))
        return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)


def enumerate_states(
    game: Game,
    payoff: str,
    max_states: int,
    max_bytes: int,
    progress: Callable[[int, int], None] | None = None,
    start: State | None = None,
) -> Graph:
    """Returns the graph of all reachable states; arguments as in `azjax.exact.solver.solve`.

    Duplicates are found by sorted 64-bit keys. States with equal keys are compared word by word.

    Raises:
      TooLargeError: the graph is larger than allowed.
      UserError: the game has a position without legal moves, or two states have one key, as happens
        about once in ten million graphs of two million states.
    """
    codec = Codec(game)
    limit = min(max_states, max_bytes // _bytes_per_state(codec))
    if start is None and game.num_actions >= _MANY_ACTIONS:
        _check_random_games(codec, limit)
    if start is None:
        start = expand(game.init())
    return _enumerate(codec, pack_all(codec, start), payoff, limit, progress)


def _check_random_games(codec: Codec, limit: int) -> None:
    """Raises a TooLargeError if random games show within seconds that a game is too large.

    Of n random positions at one ply, some repeat if there are few of them: as in the birthday
    paradox, n * n / (2 * states) repetitions are expected at least, and fewer than that only if
    there are more states. With the n here that is 32 for a game at the limit, and a game below the
    limit shows at most 4 once in 10^9 times.
    """
    game = codec.game
    num_games = math.isqrt(2 * _EXPECTED_REPETITIONS * limit) + 1
    key = jax.random.PRNGKey(0)
    states, _ = random_openings(game, key, num_games, 0)
    for ply in range(1, min(_RANDOM_PLIES, game.max_steps) + 1):
        states, keys = _play_on(codec, jax.random.fold_in(key, ply), states)
        different = len(np.unique(join(keys)))
        if num_games - different <= _FEW_REPETITIONS:
            size = _rounded(math.log(limit * _bytes_per_state(codec)), "bytes")
            raise TooLargeError(
                f"{game.name} is too large to solve: {num_games:,} random games have {different:,} "
                f"different positions after {ply} plies, so it must have more states than the "
                f"limit, {limit:,} ({size})"
            )


@functools.partial(jax.jit, static_argnums=0)
def _play_on(codec: Codec, key: Array, states: State) -> tuple[State, Array]:
    """Plays one random move in states [B, ...]; returns them and their keys, uint32 [B, 2]."""
    one_move = jnp.ones(batch_size(states, name="states"), jnp.int32)
    states, _ = play_randomly(codec.game, key, states, one_move, most=1)
    return states, pack_all(codec, states)[1]


def _enumerate(
    codec: Codec,
    start: tuple[Array, Array],
    payoff: str,
    limit: int,
    progress: Callable[[int, int], None] | None,
) -> Graph:
    game = codec.game
    # As many states as can be stepped at once in about 64 MB.
    batch = int(np.clip((64 << 20) // (16 * codec.num_words + 64), 1, 8192))
    found = _Found(codec, start)
    expanded = []  # one tuple of arrays for each expanded batch
    layer_starts, done = [0], 0
    while done < found.count:
        # A batch never extends into the next layer, so that layers stay exact.
        layer_end = found.count
        while done < layer_end:
            stop = min(done + batch, layer_end)
            rows = np.minimum(np.arange(done, done + batch), stop - 1)  # always `batch` rows
            out = [np.asarray(x)[: stop - done] for x in _look(codec, payoff, found.words[rows])]
            legal, *per_state = out
            if (~legal.any(-1) & ~per_state[1]).any():
                raise UserError(f"{game.name} has a position without legal moves that is not over")
            children = np.full(legal.shape, -1, np.int32)
            if legal.any():  # legal actions may be rare, so they are listed
                parents, actions = np.nonzero(legal)
                play = functools.partial(_children, codec)
                words, keys = in_chunks(play, batch, found.words[done + parents], actions)
                children[legal] = found.add(join(keys), words)
            expanded.append((children, *per_state))
            done = stop
            _check_size(codec, found.count, layer_starts, limit)
            if progress is not None:
                progress(found.count, len(layer_starts))
        if found.count > layer_end:
            layer_starts.append(layer_end)
    columns = zip(*expanded, strict=True)
    children, movers, terminal, payoffs = (np.concatenate(column) for column in columns)
    return Graph(
        words=found.words[: found.count].copy(),
        sorted_keys=found.sorted_keys,
        order=found.order,
        children=children,
        movers=movers,
        terminal=terminal,
        payoffs=payoffs,
        layer_starts=np.array(layer_starts),
    )


@functools.partial(jax.jit, static_argnums=(0, 1))
def _look(codec: Codec, payoff: str, words: np.ndarray) -> tuple[Array, ...]:
    """Returns legal actions, mover, end and payoff of each of a batch of states."""
    game = codec.game

    def one(words: Array) -> tuple[Array, ...]:
        state = codec.unpack(words)
        if payoff == "margin" and isinstance(game, HasScore):
            score = game.score(state)
            points = score[0] - score[1]
        else:
            points = game.returns(state)[0]
        return (
            game.legal_action_mask(state),
            game.current_player(state).astype(jnp.int8),
            game.is_terminal(state),
            points.astype(jnp.float32),
        )

    return jax.vmap(one)(jnp.asarray(words))


@functools.partial(jax.jit, static_argnums=0)
def _children(codec: Codec, words: np.ndarray, actions: np.ndarray) -> tuple[Array, Array]:
    """Returns words uint32 [L, W] and keys uint32 [L, 2] of the positions after L legal actions."""

    def one(words: Array, action: Array) -> Array:
        return codec.pack(codec.game.step(codec.unpack(words), action))

    child_words = jax.vmap(one)(jnp.asarray(words), jnp.asarray(actions, jnp.int32))
    return child_words, jax.vmap(codec.key)(child_words)


class _Found:
    """The states found so far: their words by index, and their sorted keys."""

    def __init__(self, codec: Codec, start: tuple[Array, Array]):
        words, keys = np.asarray(start[0]), join(start[1])
        self.words = np.empty((0, codec.num_words), np.uint32)  # [capacity, W]
        self.count = 0
        self.sorted_keys = np.empty(0, np.uint64)
        self.order = np.empty(0, np.int32)
        self.add(keys, words)

    def add(self, keys: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Returns the index of each state (keys uint64 [M], words [M, W]), and appends new ones."""
        unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        representatives = words[first]
        self._check_equal(representatives[inverse], words)
        place = np.searchsorted(self.sorted_keys, unique)
        known = np.zeros(len(unique), bool)
        inside = place < self.count
        known[inside] = self.sorted_keys[place[inside]] == unique[inside]
        index = np.empty(len(unique), np.int32)
        index[known] = self.order[place[known]]
        self._check_equal(self.words[index[known]], representatives[known])
        new = ~known
        index[new] = self.count + np.arange(new.sum(), dtype=np.int32)
        self._append(representatives[new])
        self.sorted_keys = np.insert(self.sorted_keys, place[new], unique[new])
        self.order = np.insert(self.order, place[new], index[new])
        return index[inverse]

    def _append(self, words: np.ndarray) -> None:
        needed = self.count + len(words)
        if needed > len(self.words):
            grown = np.empty((max(needed, 2 * len(self.words)), words.shape[1]), np.uint32)
            grown[: self.count] = self.words[: self.count]
            self.words = grown
        self.words[self.count : needed] = words
        self.count = needed

    @staticmethod
    def _check_equal(left: np.ndarray, right: np.ndarray) -> None:
        if not np.array_equal(left, right):
            raise UserError("two different states have one key, so they cannot be told apart")


def _bytes_per_state(codec: Codec) -> int:
    """Returns the memory of words, key, order, children and the small columns."""
    return 4 * codec.num_words + 12 + 4 * codec.game.num_actions + 14


def _check_size(codec: Codec, count: int, layer_starts: list[int], limit: int) -> None:
    if count <= limit:
        return
    per_state = _bytes_per_state(codec)
    log_total = _log_projected_total(np.diff(layer_starts), codec.game.max_steps)
    log_total = max(log_total, math.log(count))
    raise TooLargeError(
        f"{codec.game.name} is too large to solve: {count:,} states found within "
        f"{len(layer_starts)} plies and more to come; the growth so far points to about "
        f"{_rounded(log_total, 'states')}, {_rounded(log_total + math.log(per_state), 'bytes')} "
        f"(the limit is {limit:,} states, {_rounded(math.log(limit * per_state), 'bytes')})"
    )


def _log_projected_total(layer_sizes: np.ndarray, max_steps: int) -> float:
    """Estimates the logarithm of the number of states from the sizes of the finished layers.

    Growth from layer to layer slows as a board fills, quickly at first. Its logarithm is assumed to
    decay exponentially, at the rate so far, until the last ply. The widest layers together are
    assumed to hold five times as much as the last one. On boards that fill up this is right within
    one or two orders of magnitude. It is too high if games end long before `max_steps`.
    """
    growth = np.diff(np.log(np.maximum(layer_sizes, 1)))
    growth = np.maximum(growth, 1e-3)
    if len(growth) == 0:
        return 0.0
    decay = 0.0
    if len(growth) > 2:
        decay = max(-float(np.polyfit(np.arange(len(growth)), np.log(growth), 1)[0]), 0.0)
    plies_left = np.arange(1, max(max_steps - len(growth), 0) + 1)
    further = growth[-1] * np.exp(-decay * plies_left)
    return math.log(layer_sizes[-1]) + float(further.sum()) + math.log(5.0)


def _rounded(log_amount: float, unit: str) -> str:
    exponent = log_amount / math.log(10)
    if unit == "bytes" and exponent < 18:
        for size, name in ((15, "PB"), (12, "TB"), (9, "GB"), (6, "MB")):
            if exponent >= size:
                return f"{10 ** (exponent - size):,.0f} {name}"
        return "1 MB"
    if exponent < 9:
        return f"{float(f'{10**exponent:.1g}'):,.0f} {unit}"
    return f"10^{exponent:.0f} {unit}"
