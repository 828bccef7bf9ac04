"""Matches whose games advance on the host, for players that no jitted function can call."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance, draw_chance

from azjax.matches import score_of
from azjax.players.base import Player, act, follows_history, is_jittable
from azjax.players.engines.pool import DECLARED_WIN
from azjax.pytrees import take
from azjax.rollouts import opening_lines
from azjax.types import Array, State

Moves = list[list[tuple[int, str]]]
"""The history of each game so far, see `azjax.players.base.History`."""

_CPU_BATCH = 128


def match_on_host(
    game: Game,
    player_a: Player,
    player_b: Player,
    key: Array,
    num_pairs: int,
    opening_plies: int,
    say: Callable[[int, float, int], None] | None = None,
) -> tuple[np.ndarray, np.ndarray, State]:
    """Plays the games of `azjax.matches.match_scores` with a loop on the host.

    Players that follow the history receive all moves of each game, with its opening.

    Args:
      say: called after each ply with the number of finished games, player a's points in them, and
        the number of plies since the openings.

    Returns:
      Player a's results, float32 in [-1, 1], and the lengths, both [2, num_pairs] by its seat, and
      the states after the openings, [num_pairs, ...].
    """
    opening_key, play_key = jax.random.split(key)
    follows = any(follows_history(player) for player in (player_a, player_b))
    lines, opening_actions = _openings(game, opening_key, num_pairs, opening_plies)
    lengths = np.tile((np.asarray(opening_actions) >= 0).sum(0), 2)
    moves: Moves = [[] for _ in range(2 * num_pairs)]
    for ply in range(opening_plies if follows else 0):
        _write_down(game, take(lines, ply), opening_actions[ply], moves[:num_pairs])
    for pair in range(num_pairs):
        moves[num_pairs + pair] += moves[pair]
    states = jax.tree.map(lambda x: jnp.concatenate([x[-1], x[-1]]), lines)
    seats = np.repeat(np.arange(2), num_pairs)
    ended, movers = (np.asarray(x) for x in status(game, states))
    plies, declared = 0, np.zeros(2 * num_pairs, bool)
    while not ended.all():
        actions = np.full(2 * num_pairs, -1, np.int32)
        for player, turn in ((player_a, movers == seats), (player_b, movers != seats)):
            play_key, move_key = jax.random.split(play_key)
            _fill_actions(player, move_key, states, turn & ~ended, actions, moves)
        # For the rules it is an illegal move, which loses: the result is turned around.
        declared |= actions == DECLARED_WIN
        after = step(game, states, actions)
        if isinstance(game, HasChance):
            after = _roll(game, jax.random.fold_in(play_key, 2), after)
        lengths = lengths + ~ended
        ended, movers = (np.asarray(x) for x in status(game, after))
        if follows:
            # The last move of a game is not needed, and an illegal one has no notation.
            _write_down(game, states, np.where(ended, -1, actions), moves)
        states, plies = after, plies + 1
        if say is not None:
            results = _results(game, states, seats, declared)[ended]
            say(int(ended.sum()), float(score_of(game, results).sum()), plies)
    results = _results(game, states, seats, declared)
    start = take(lines, -1)
    return results.reshape(2, -1), lengths.reshape(2, -1), start


def results_of_seats(game: Game, states: State, seats: np.ndarray) -> np.ndarray:
    """Returns the results of the players in the given seats, float32 [N] in [-1, 1]."""
    return np.asarray(_returns(game, states))[np.arange(len(seats)), seats]


def _results(game: Game, states: State, seats: np.ndarray, declared: np.ndarray) -> np.ndarray:
    results = results_of_seats(game, states, seats)
    return np.where(declared, -results, results)


def _fill_actions(
    player: Player, key: Array, states: State, turn: np.ndarray, actions: np.ndarray, moves: Moves
) -> None:
    """Writes the player's actions where it is its turn; it sees only these positions, in numpy.

    A jittable player sees them in batches of one size, so that it compiles once. On CPUs they are
    small: a player is to move in half of the games, and in few near the end of a match.
    """
    rows = np.flatnonzero(turn)
    if not len(rows):
        return
    states = jax.device_get(states)
    if not is_jittable(player):
        history = ([moves[i] for i in rows],) if follows_history(player) else ()
        actions[rows] = np.asarray(player(key, take(states, rows), *history))
        return
    size = min(_CPU_BATCH, len(turn)) if jax.default_backend() == "cpu" else len(turn)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        filled = np.pad(part, (0, size - len(part)), mode="edge")
        batch_key = jax.random.fold_in(key, start)
        actions[part] = np.asarray(act(player, batch_key, take(states, filled)))[: len(part)]


def _write_down(game: Game, states: State, actions: np.ndarray | Array, moves: Moves) -> None:
    """Appends to each game's moves its action in `states`, unless that is negative."""
    _, movers = status(game, states)
    rows, movers, actions = jax.device_get((states, movers, actions))
    for i in np.flatnonzero(actions >= 0):
        text = game.action_to_string(take(rows, i), int(actions[i]))
        moves[i].append((int(movers[i]), text))


@functools.partial(jax.jit, static_argnums=0)
def status(game: Game, states: State) -> tuple[Array, Array]:
    """Returns which games [B, ...] are over, bool [B], and their movers, int32 [B]."""
    return jax.vmap(game.is_terminal)(states), jax.vmap(game.current_player)(states)


@functools.partial(jax.jit, static_argnums=0)
def step(game: Game, states: State, actions: np.ndarray) -> State:
    """Plays one action, int32 [B], in each game."""
    return jax.vmap(game.step)(states, jnp.asarray(actions))


@functools.partial(jax.jit, static_argnums=0)
def _roll(game: Game, key: Array, states: State) -> State:
    """Rolls the dice of both games [2 * pairs, ...] of each pair alike."""
    pairs = jax.tree.map(lambda x: x.reshape(2, -1, *x.shape[1:]), states)
    rolled = jax.vmap(functools.partial(draw_chance, game, key))(pairs)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rolled)


@functools.partial(jax.jit, static_argnums=0)
def _returns(game: Game, states: State) -> Array:
    return jax.vmap(game.returns)(states)


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def _openings(game: Game, key: Array, num_pairs: int, plies: int) -> tuple[State, Array]:
    return opening_lines(game, key, num_pairs, plies)
