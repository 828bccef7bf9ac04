"""Positions that games pass through, for measuring players."""

import functools

import jax
import numpy as np
from azjax_envs import Game, draw_chance

from azjax.evaluation.batch_evaluation import choose
from azjax.evaluation.host_match import status, step
from azjax.exact.codec import Codec, pack_all
from azjax.players.base import Player
from azjax.players.random_player import RandomPlayer
from azjax.pytrees import take
from azjax.rollouts import play_randomly, starts
from azjax.types import Array, State


def positions_of_games(
    game: Game, player: Player, key: Array, *, num_games: int, opening_plies: int
) -> tuple[State, np.ndarray]:
    """Plays a player against itself and collects the different positions.

    Args:
      opening_plies: each game starts after 0 to this many random moves, drawn uniformly. Without
        them, all games of a deterministic player are the same.

    Returns:
      The positions [P, ...] in order of their plies, without ends of games, and the fewest plies to
      each, int32 [P].
    """
    opening_key, play_key = jax.random.split(key)
    states, plies = _openings(game, num_games, opening_plies, opening_key)
    met, met_plies = [], []
    for ply in range(game.max_steps):
        running = ~np.asarray(status(game, states)[0])
        if not running.any():
            break
        met.append(take(jax.device_get(states), running))
        met_plies.append(np.asarray(plies)[running])
        ply_key = jax.random.fold_in(play_key, ply)
        actions = choose(player, ply_key, states, num_games)
        states = draw_chance(game, jax.random.fold_in(ply_key, 1), step(game, states, actions))
        plies = plies + 1
    states = jax.tree.map(lambda *leaves: np.concatenate(leaves), *met)
    return _different(game, states, np.concatenate(met_plies))


def random_positions(game: Game, key: Array, *, num_games: int) -> tuple[State, np.ndarray]:
    """Plays random games and collects the different positions, as `positions_of_games`."""
    player = RandomPlayer(game)
    return positions_of_games(game, player, key, num_games=num_games, opening_plies=0)


def _different(game: Game, states: State, plies: np.ndarray) -> tuple[State, np.ndarray]:
    order = np.argsort(plies, kind="stable")
    words = np.asarray(pack_all(Codec(game), states)[0])[order]
    _, first = np.unique(words, axis=0, return_index=True)
    rows = order[np.sort(first)]
    return take(jax.device_get(states), rows), plies[rows].astype(np.int32)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _openings(game: Game, num_games: int, opening_plies: int, key: Array) -> tuple[State, Array]:
    length_key, move_key = jax.random.split(key)
    lengths = jax.random.randint(length_key, (num_games,), 0, opening_plies + 1)
    start = starts(game, move_key, num_games)
    return play_randomly(game, move_key, start, lengths, most=opening_plies)
