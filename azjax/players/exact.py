"""Perfect play: looked up in a solved game or in a table, or searched for."""

import dataclasses
import functools
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance, random_action

from azjax.errors import UserError
from azjax.exact.chance_solver import ChanceSolution, chance_keys, solve_chance
from azjax.exact.codec import Codec, pack_all, split
from azjax.exact.known_values import Scorer, exact_values
from azjax.exact.solver import Solution, solve
from azjax.players.base import is_jittable, register_player
from azjax.pytrees import check_key, check_states, expand, first, take
from azjax.search import transition
from azjax.types import Array, State, static


class MoveResults(NamedTuple):
    """The results of all moves under best play afterwards, from the mover's perspective."""

    results: Array | np.ndarray  # float32 [B, A]: 1, 0 or -1, and -inf if illegal
    plies: Array | np.ndarray  # int32 [B, A], to the end of the game, this move included; 0 unknown


@register_player
@dataclasses.dataclass(frozen=True, eq=False)
class ExactPlayer:
    """A perfect player, which plays a random one of the actions that keep the game's value.

    In a position that cannot be reached it plays any legal action.
    """

    game: Game = static()
    keys: Array  # uint32 [N, 2], the sorted keys of all states, (high, low)
    optimal: Array  # bool [N, num_actions], in the order of `keys`
    results: Array  # int8 [N], of player 0, in the same order
    plies_left: Array  # int32 [N], to the end under best play; 0 in draws

    name = "exact"

    def __call__(self, key: Array, states: State) -> Array:
        check_key(key)
        check_states(self.game, states)
        row, found = find_rows(self.keys, pack_all(Codec(self.game), states)[1])
        legal = jax.vmap(self.game.legal_action_mask)(states)
        return random_action(key, jnp.where(found[:, None], self.optimal[row], legal))

    def move_results(self, states: State) -> MoveResults:
        """Returns the results of all moves in states [B, ...] that are not over."""
        check_states(self.game, states)
        actions = jnp.arange(self.game.num_actions)
        after = jax.vmap(lambda state: jax.vmap(self.game.step, (None, 0))(state, actions))(states)
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), after)
        row, found = find_rows(self.keys, pack_all(Codec(self.game), flat)[1])
        row, found = (x.reshape(-1, len(actions)) for x in (row, found))
        sign = 1 - 2 * jax.vmap(self.game.current_player)(states)
        legal = found & jax.vmap(self.game.legal_action_mask)(states)
        results = jnp.where(legal, sign[:, None] * self.results[row], -jnp.inf)
        decided = legal & (results != 0)
        return MoveResults(results, jnp.where(decided, 1 + self.plies_left[row], 0))


def find_rows(all_keys: Array, keys: Array) -> tuple[Array, Array]:
    """Returns the rows of keys, uint32 [B, 2], in sorted ones, and whether they are there."""
    count = all_keys.shape[0]
    row = jnp.zeros(keys.shape[0], jnp.int32)
    for bit in reversed(range(count.bit_length())):
        later = row + (1 << bit)
        there = all_keys[jnp.minimum(later, count - 1)]
        not_above = (there[:, 0] < keys[:, 0]) | (
            (there[:, 0] == keys[:, 0]) & (there[:, 1] <= keys[:, 1])
        )
        row = jnp.where((later < count) & not_above, later, row)
    return row, (all_keys[row] == keys).all(-1)


@register_player
@dataclasses.dataclass(frozen=True, eq=False)
class ExactChancePlayer:
    """A perfect player of a game of chance: it plays a move with the best expected result.

    Among equals it plays a random one. A position that cannot be reached counts as even.
    """

    game: Game = static()
    keys: Array  # uint32 [N, 2], the sorted keys of all states, (high, low)
    state_values: Array  # float32 [N], expected results of their movers, in the order of `keys`

    name = "exact"

    def __call__(self, key: Array, states: State) -> Array:
        check_key(key)
        values = self.move_values(states)
        return random_action(key, values >= values.max(-1, keepdims=True) - _ROUNDING)

    def move_values(self, states: State) -> Array:
        """Returns the mover's expected result after each move in states [B, ...], float32 [B, A].

        Illegal moves have -inf.
        """
        check_states(self.game, states)
        actions = jnp.arange(self.game.num_actions)
        move = functools.partial(transition, self.game)
        after, reward, discount = jax.vmap(lambda state: jax.vmap(move, (None, 0))(state, actions))(
            states
        )
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), after)
        row, found = find_rows(self.keys, chance_keys(self.game, flat))
        value = jnp.where(found, self.state_values[row], 0.0).reshape(reward.shape)
        legal = jax.vmap(self.game.legal_action_mask)(states)
        return jnp.where(legal, reward + discount * value, -jnp.inf)


_ROUNDING = 1e-6  # of float32 values


@register_player
@dataclasses.dataclass(frozen=True, eq=False)
class ExactTablePlayer:
    """A perfect player, which plays a random one of the actions with the best score."""

    game: Game = static()
    scorer: Scorer  # a pytree

    name = "exact"

    def __call__(self, key: Array, states: State) -> Array:
        check_key(key)
        check_states(self.game, states)
        scores = self.scorer.action_scores(states)
        # At the end no action is legal, and any is fine.
        return random_action(key, scores == scores.max(-1, keepdims=True))

    def move_results(self, states: State) -> MoveResults:
        """Returns the results of all moves in states [B, ...] that are not over."""
        check_states(self.game, states)
        scores = jnp.asarray(self.scorer.action_scores(states))
        results = jnp.where(jnp.isneginf(scores), -jnp.inf, jnp.sign(scores))
        plies = np.zeros(scores.shape, np.int32)
        if hasattr(self.scorer, "plies_left"):
            plies = self.scorer.plies_left(states, scores)
        return MoveResults(results, plies)


@dataclasses.dataclass(frozen=True, eq=False)
class ExactSearchPlayer(ExactTablePlayer):
    """A perfect player, which searches on the host for the actions with the best score.

    It plays a random one of them. So it wins as soon as it can, or loses as late as it can.
    """

    jittable: ClassVar[bool] = False

    def __call__(self, key: Array, states: State) -> np.ndarray:
        check_key(key)
        check_states(self.game, states)
        over = np.asarray(jax.vmap(self.game.is_terminal)(states))
        best = np.ones((len(over), self.game.num_actions), bool)  # any action at the end
        scores = np.asarray(self.scorer.action_scores(take(states, np.flatnonzero(~over))))
        best[~over] = scores == scores.max(-1, keepdims=True)
        return np.asarray(random_action(key, jnp.asarray(best)))


def exact_player(
    game: Game, solution: Solution | None = None
) -> ExactPlayer | ExactChancePlayer | ExactTablePlayer:
    """Returns a perfect player: from a solution, from exact values, or by solving the game now.

    Raises:
      UserError: the game is too large to solve, or something must be installed first.
    """
    if isinstance(game, HasChance):
        return exact_chance_player(solve_chance(game))
    values = exact_values(game)
    if solution is None and values is not None:
        if values.missing:
            raise UserError(f"exact play of {game.name} needs {values.missing}")
        if values.complete:
            player = ExactTablePlayer if values.pure else ExactSearchPlayer
            return player(game, values.load())
    solution = solve(game) if solution is None else solution
    optimal = np.asarray(solution.optimal_actions(solution.order))
    keys = split(solution.sorted_keys)
    values = solution.values[solution.order].astype(np.int8)
    left = solution.plies_left()[solution.order]
    return ExactPlayer(game, *map(jnp.asarray, (keys, optimal, values, left)))


def exact_chance_player(solution: ChanceSolution) -> ExactChancePlayer:
    """Returns the perfect player of a solved game of chance."""
    values = solution.values[solution.order].astype(np.float32)
    keys = jnp.asarray(split(solution.keys))
    return ExactChancePlayer(solution.game, keys, jnp.asarray(values))


def results_at(player: Any, state: State) -> MoveResults | None:
    """Returns the results of all moves in one state, if the player knows them, without a batch."""
    if not hasattr(player, "move_results"):
        return None
    run = _results_jit if is_jittable(player) else _results
    return jax.device_get(run(player, state))


def _results(player: Any, state: State) -> MoveResults:
    return first(player.move_results(expand(state)))


_results_jit = jax.jit(_results)


def results_in_words(known: MoveResults) -> dict[int, str]:
    """Returns the results of one position's legal moves in words, by action, the best first.

    They are such as "win in 3 plies". Quick wins and slow losses come first.
    """
    results, plies = np.asarray(known.results), np.asarray(known.plies)
    legal = np.flatnonzero(np.isfinite(results))
    best = sorted(legal, key=lambda a: (results[a], -results[a] * plies[a]), reverse=True)
    return {int(a): result_in_words(float(results[a]), int(plies[a])) for a in best}


def result_in_words(result: float, plies: int) -> str:
    """Returns a result in words, such as "win in 3 plies"; 0 plies are unknown."""
    word = "draw" if result == 0 else "win" if result > 0 else "loss"
    return f"{word} in {plies} {'ply' if plies == 1 else 'plies'}" if plies else word
