"""Matches of two players as one pure function, alone or inside a larger one."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from azjax_envs import Game, HasChance, HasResults, draw_chance

from azjax.rollouts import random_openings
from azjax.types import Array, State

Act = Callable[[Array, State], Array]
"""(key, states [B, ...]) -> actions int32 [B], such as a jittable player."""


def match_scores(
    game: Game, player_a: Act, player_b: Act, key: Array, num_pairs: int, opening_plies: int
) -> tuple[Array, Array, State]:
    """Plays a match with the same openings for both seats, `num_pairs` games of each.

    In game i player a has the first seat, and game num_pairs + i is the other one of its pair. In a
    game of chance both have the same dice: those of a ply do not depend on the moves before.

    Returns:
      Player a's scores, float32 [2 * num_pairs] in {0, 1/2, 1}; the lengths in plies, int32
      [2 * num_pairs]; the states after the openings, [num_pairs, ...].
    """
    opening_key, play_key = jax.random.split(key)
    start = random_openings(game, opening_key, num_pairs, opening_plies)

    def play_seat(seat_and_key: tuple[Array, Array]) -> tuple[Array, Array]:
        """Plays all games in which player a has `seat`.

        Where turns alternate, one player is to move in all of them and the other is not computed.
        """
        seat, seat_key = seat_and_key

        def unfinished(games: Games) -> Array:
            return ~jnp.all(jax.vmap(game.is_terminal)(games.states))

        games = Games(seat_key, *start, dice_key(game, play_key))
        play = functools.partial(_play_ply, game, player_a, player_b, seat)
        games = jax.lax.while_loop(unfinished, play, games)
        returns = jax.vmap(game.returns)(games.states)  # [num_pairs, 2]
        return score_of(game, jnp.where(seat == 0, returns[:, 0], returns[:, 1])), games.lengths

    seats = jnp.arange(2, dtype=jnp.int32)
    scores, lengths = jax.lax.map(play_seat, (seats, jax.random.split(play_key, 2)))
    return scores.reshape(-1), lengths.reshape(-1), start[0]


def score_of(game: Game, returns: Any) -> Any:
    """Returns scores in {0, 1/2, 1} of results [N]: who wins more points has won one game."""
    return ((jnp.sign(returns) if isinstance(game, HasResults) else returns) + 1) / 2


class Games(NamedTuple):
    """The games of a match in which player a has one seat."""

    key: Array  # PRNG key of the plies to come
    states: State  # [N, ...]
    lengths: Array  # int32 [N], plies so far
    dice: Array | None = None  # PRNG key of the dice to come, in a game of chance


def dice_key(game: Game, key: Array) -> Array | None:
    """Returns the key of a match's dice, the same for both seats; None without chance."""
    return jax.random.fold_in(key, 2) if isinstance(game, HasChance) else None


def _play_ply(game: Game, player_a: Act, player_b: Act, seat: Array | int, games: Games) -> Games:
    """Plays one ply of all games that are not over; player a has `seat`."""
    key, key_a, key_b = jax.random.split(games.key, 3)
    turn_a, turn_b = whose_turns(game, seat, games.states)
    actions_a = _act_if_needed(player_a, key_a, games.states, turn_a)
    actions_b = _act_if_needed(player_b, key_b, games.states, turn_b)
    return after_ply(game, key, games, jnp.where(turn_a, actions_a, actions_b))


def whose_turns(game: Game, seat: Array | int, states: State) -> tuple[Array, Array]:
    """Returns in which games player a, who has `seat`, is to move, and in which player b."""
    running = ~jax.vmap(game.is_terminal)(states)
    movers = jax.vmap(game.current_player)(states)
    return running & (movers == seat), running & (movers != seat)


def after_ply(game: Game, key: Array, games: Games, actions: Array) -> Games:
    """Returns the games after a ply."""
    running = ~jax.vmap(game.is_terminal)(games.states)
    states, dice = jax.vmap(game.step)(games.states, actions), games.dice
    if dice is not None:
        dice, now = jax.random.split(dice)
        states = draw_chance(game, now, states)
    return Games(key, states, games.lengths + running, dice)


def _act_if_needed(player: Act, key: Array, states: State, turn: Array) -> Array:
    """Returns the player's actions, computed only if it is to move in any game."""
    idle = jnp.zeros(turn.shape, jnp.int32)
    return jax.lax.cond(turn.any(), lambda: player(key, states).astype(jnp.int32), lambda: idle)
