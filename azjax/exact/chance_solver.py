"""Solves a small game of chance: finds every reachable state, and values them by iteration."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance
from azjax_envs.game import unobserved_leaves
from rich.text import Text

from azjax.errors import UserError
from azjax.exact.chunks import in_chunks
from azjax.exact.codec import Codec, join, pack_all
from azjax.exact.state_graph import TooLargeError
from azjax.rich_repr import RichRepr
from azjax.types import Array, State

_BATCH = 8192  # states that are stepped at once
_PART = 1 << 18  # edges between two looks at the limit
_DIGITS = 8  # of a value that is told
_PRECISE = 1e-9  # values change less in the last sweep
_MOST_SWEEPS = 10_000


@dataclasses.dataclass(frozen=True, eq=False)
class ChanceSolution(RichRepr):
    """A solved game of chance with N states; prints a summary of itself.

    States that differ in `unobserved` parts alone are one, unless these decide about the next dice.
    So counters of moves do not make a finite game of it: values hold as if a game could last for
    ever. Values are expected results from the perspective of the player to move.
    """

    game: Game
    keys: np.ndarray  # uint64 [N], sorted
    order: np.ndarray  # int32 [N], the state of each key
    values: np.ndarray  # float64 [N]
    chance: np.ndarray  # bool [N], states in which chance is next

    @property
    def num_states(self) -> int:
        return len(self.values)

    @property
    def value(self) -> float:
        """Expected result of the first player, from -1 to 1."""
        start = jax.tree.map(lambda x: jnp.asarray(x)[None], self.game.init())
        sign = 1 - 2 * int(self.game.current_player(self.game.init()))
        return sign * float(self.state_values(start)[0])

    def state_values(self, states: State) -> np.ndarray:
        """Returns the expected results of states [M, ...] for their movers, float64 [M].

        Raises:
          ValueError: a state cannot be reached, or is over.
        """
        keys = join(chance_keys(self.game, states))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        if not (self.keys[place] == keys).all():
            raise ValueError(f"not a reachable state of {self.game.name} that goes on")
        return self.values[self.order[place]]

    def to_dict(self) -> dict[str, object]:
        """Returns the sizes and the start's value, for JSON."""
        return {
            "game": self.game.name,
            "states": self.num_states,
            "before chance": int(self.chance.sum()),
            "value": round(self.value, _DIGITS),
        }

    def __rich__(self) -> Text:
        return Text("\n".join(f"{key}: {value}" for key, value in self.to_dict().items()))


def solve_chance(
    game: Game,
    *,
    max_states: int = 6_000_000,
    progress: Callable[[int, int], None] | None = None,
) -> ChanceSolution:
    """Computes the expected result of every reachable state under best play of both sides.

    Args:
      game: a game of chance with few states. Positions may repeat.
      progress: called as `progress(states_found, plies)` while states are being found.

    Raises:
      TooLargeError: the game has more states than the limit.
    """
    if not isinstance(game, HasChance):
        raise UserError(f"{game.name} is no game of chance: solve it with azjax.solve")
    codec: Any = Codec(game)
    start = jax.tree.map(lambda x: jnp.asarray(x)[None], _shown(game, game.init()))
    words, keys = jax.tree.map(np.asarray, pack_all(codec, start))
    sorted_keys, order = join(keys), np.zeros(1, np.int32)
    layers, edges, chance = [words], [], []
    count, plies = 1, 0
    while len(layers[-1]):
        words = layers[-1]
        chosen = functools.partial(_options, codec)
        is_chance, weights, kept = in_chunks(chosen, _BATCH, words)
        rows, options = np.nonzero(kept)
        play = functools.partial(_outcomes, codec)
        parts, found = [], np.zeros(0, np.uint64)
        for first in range(0, len(rows), _PART):
            part = slice(first, first + _PART)
            parts.append(in_chunks(play, _BATCH, words[rows[part]], options[part].astype(np.int32)))
            # A layer of a game that is far too large would take minutes.
            found = np.union1d(found, join(parts[-1][1])[~parts[-1][4]])
            if len(found) > max_states:
                raise _too_large(game, len(found), plies, max_states)
        new_words, new_keys, signs, rewards, over = map(np.concatenate, zip(*parts, strict=True))
        new_keys = join(new_keys)
        unique, firsts, inverse = np.unique(new_keys[~over], return_index=True, return_inverse=True)
        place = np.searchsorted(sorted_keys, unique)
        inside = np.minimum(place, len(sorted_keys) - 1)
        known = sorted_keys[inside] == unique
        index = np.where(known, order[inside], 0)
        index[~known] = count + np.arange((~known).sum())
        targets = np.full(len(rows), -1, np.int32)
        targets[~over] = index[inverse]
        sorted_keys = np.insert(sorted_keys, place[~known], unique[~known])
        order = np.insert(order, place[~known], index[~known].astype(np.int32))
        edges.append((rows, targets, signs, rewards, weights[rows, options]))
        chance.append(is_chance)
        layers.append(new_words[~over][firsts[~known]])
        count += len(layers[-1])
        plies += 1
        if count > max_states:
            raise _too_large(game, count, plies, max_states)
        if progress is not None:
            progress(count, plies)
    values = _iterate(edges, chance, count)
    return ChanceSolution(game, sorted_keys, order, values, np.concatenate(chance))


def _too_large(game: Game, count: int, plies: int, limit: int) -> TooLargeError:
    return TooLargeError(
        f"{game.name} is too large to solve: {count:,} states found within {plies} events and "
        f"more to come (the limit is {limit:,} states)"
    )


def _iterate(edges: list[tuple[np.ndarray, ...]], chance: list[np.ndarray], count: int) -> Any:
    """Returns the values of all states, float64 [count], layer by layer until none changes.

    Each sweep goes from the last layer to the first, as values come from later events.
    """
    values = np.zeros(count)
    bounds = np.cumsum([0, *map(len, chance)])
    for _ in range(_MOST_SWEEPS):
        change = 0.0
        for layer in reversed(range(len(edges))):
            rows, targets, signs, rewards, weights = edges[layer]
            # The states of a layer are in order, and each has an edge.
            starts = np.flatnonzero(np.diff(rows, prepend=-1))
            reached = rewards + np.where(targets >= 0, signs * values[targets], 0)
            best = np.maximum.reduceat(reached, starts)
            mean = np.add.reduceat(weights * reached, starts)
            new = np.where(chance[layer], mean, best)
            place = slice(bounds[layer], bounds[layer + 1])
            change = max(change, float(abs(new - values[place]).max()))
            values[place] = new
        if change < _PRECISE:
            return values
    raise UserError(f"the values did not settle within {_MOST_SWEEPS} sweeps")


def _shown(game: Any, state: State) -> State:
    """Returns a state with its unobserved parts as after the first move.

    They stay where the chances of the next outcomes depend on them: backgammon's first roll is no
    double, as the counter of moves tells.
    """
    leaves, structure = jax.tree.flatten(state)
    later, dropped = jax.tree.leaves(_after_one_move(game)), unobserved_leaves(game)
    shown = [new if drop else old for old, new, drop in zip(leaves, later, dropped, strict=True)]
    shown = jax.tree.unflatten(structure, shown)
    both = game.chance_probabilities(state), game.chance_probabilities(shown)
    matters = game.is_chance(state) & (both[0] != both[1]).any()
    return jax.tree.map(lambda old, new: jnp.where(matters, old, new), state, shown)


def _after_one_move(game: Any) -> State:
    """Returns the state after the likeliest first outcome and the first legal action."""
    state = game.init()
    rolled = game.chance_step(state, jnp.argmax(game.chance_probabilities(state)))
    state = jax.tree.map(lambda x, y: jnp.where(game.is_chance(state), x, y), rolled, state)
    return game.step(state, jnp.argmax(game.legal_action_mask(state)))


@functools.partial(jax.jit, static_argnums=0)
def chance_keys(game: Game, states: State) -> Array:
    """Returns the keys of states [M, ...] in a solution, uint32 [M, 2], (high, low)."""
    return pack_all(Codec(game), jax.vmap(functools.partial(_shown, game))(states))[1]


@functools.partial(jax.jit, static_argnums=0)
def _options(codec: Any, words: np.ndarray) -> tuple[Array, ...]:
    """Returns whether chance is next, the weights of outcomes, and which actions or outcomes are.

    Actions and outcomes share the axis of the weights, float32 [M, max(num_actions, K)].
    """
    game = codec.game

    def one(words: Array) -> tuple[Array, ...]:
        state = codec.unpack(words)
        chance, shares = game.is_chance(state), game.chance_probabilities(state)
        mask = game.legal_action_mask(state)
        size = max(mask.size, shares.size)
        shares, mask = (
            jnp.pad(shares, (0, size - shares.size)),
            jnp.pad(mask, (0, size - mask.size)),
        )
        return chance, shares, jnp.where(chance, shares > 0, mask)

    return jax.vmap(one)(jnp.asarray(words))


@functools.partial(jax.jit, static_argnums=0)
def _outcomes(codec: Any, words: np.ndarray, options: np.ndarray) -> tuple[Array, ...]:
    """Plays one action or outcome in each of M states.

    Returns words and keys, the sign of the new value for the old mover, the result, and the end.
    """
    game = codec.game

    def one(words: Array, option: Array) -> tuple[Array, ...]:
        state = codec.unpack(words)
        mover = game.current_player(state)
        rolled, played = game.chance_step(state, option), game.step(state, option)
        chance = game.is_chance(state)
        after = jax.tree.map(lambda x, y: jnp.where(chance, x, y), rolled, played)
        sign = jnp.where(game.current_player(after) == mover, 1.0, -1.0)
        packed = codec.pack(_shown(game, after))
        return packed, codec.key(packed), sign, game.returns(after)[mover], game.is_terminal(after)

    return jax.vmap(one)(jnp.asarray(words), jnp.asarray(options, jnp.int32))
