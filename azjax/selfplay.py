"""Self-play: B games advance together, one search and one move a ply."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.arena.openings import play_randomly
from azjax.config import Config
from azjax.replay import Row, pack_policy
from azjax.search import Evaluate, Params, SearchResult, State, search, transition
from azjax.seen import drop_unseen

Array = jax.Array


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["states", "plies"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Games:
    """B games in progress."""

    states: State  # [B, ...]
    plies: Array  # int32 [B], moves made in each


def start_games(game: Game, key: Array, batch: int, *, opening_plies: int) -> Games:
    """`batch` new games, each after 0 to `opening_plies` random moves, drawn uniformly.

    Positions that good play never reaches are met, and valued by good play from there on.
    """
    init_key, length_key, move_key = jax.random.split(key, 3)
    states = jax.vmap(game.init)(jax.random.split(init_key, batch))
    lengths = jax.random.randint(length_key, (batch,), 0, opening_plies + 1)
    states, plies = play_randomly(game, move_key, states, lengths, most=opening_plies)
    return Games(states=states, plies=plies)


def play(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    games: Games,
    config: Config,
) -> tuple[Games, Row, dict[str, Array]]:
    """Advances all games by `config.selfplay.plies_per_cycle` plies.

    Returns:
      The games, their plies as rows [T, B, ...] for the replay ring, and sums over all plies:
      "games_finished", "game_plies" (of the finished games), "draws", "first_player_result" and
      "policy_entropy".
    """

    def ply(games: Games, key: Array) -> tuple[Games, tuple[Row, dict[str, Array]]]:
        search_key, move_key, start_key = jax.random.split(key, 3)
        explore = games.plies < config.selfplay.exploration_plies
        result = search(
            game,
            evaluate,
            params,
            search_key,
            games.states,
            config=config.search,
            gumbel_scale=explore.astype(jnp.float32),
            dirichlet_fraction=config.search.dirichlet_fraction,
        )
        action = choose_move(config, move_key, result, explore)
        states, reward, discount = jax.vmap(functools.partial(transition, game))(
            games.states, action
        )
        row = Row(
            states=drop_unseen(game, games.states),
            policy=pack_policy(result.policy),
            reward=reward.astype(jnp.float16),
            discount=discount.astype(jnp.int8),
        )
        done = jax.vmap(game.is_terminal)(states)
        returns = jax.vmap(game.returns)(states)
        plies = games.plies + 1
        entropy = -jnp.sum(result.policy * jnp.log(jnp.maximum(result.policy, 1e-12)), axis=-1)
        sums = {
            "games_finished": jnp.sum(done),
            "game_plies": jnp.sum(jnp.where(done, plies, 0)),
            "draws": jnp.sum(done & (returns[:, 0] == 0)),
            "first_player_result": jnp.sum(jnp.where(done, returns[:, 0], 0.0)),
            "policy_entropy": jnp.sum(entropy),
        }
        fresh = start_games(
            game, start_key, plies.shape[0], opening_plies=config.selfplay.opening_plies
        )
        games = jax.tree.map(
            functools.partial(_where, done), fresh, Games(states=states, plies=plies)
        )
        return games, (row, jax.tree.map(lambda x: x.astype(jnp.float32), sums))

    keys = jax.random.split(key, config.selfplay.plies_per_cycle)
    games, (rows, sums) = jax.lax.scan(ply, games, keys)
    return games, rows, jax.tree.map(lambda x: jnp.sum(x, axis=0), sums)


def choose_move(config: Config, key: Array, result: SearchResult, explore: Array) -> Array:
    """The moves int32 [B] that are played; `explore` bool [B] is True early in a game.

    Gumbel: mctx's own action; its noise is off (`gumbel_scale` 0) where `explore` is False.
    PUCT: by visits ** (1 / temperature) while exploring, the most visited after.
    """
    if config.search.algorithm == "gumbel":
        return result.action
    visits = result.visits.astype(jnp.float32)
    logits = jnp.where(visits > 0, jnp.log(jnp.maximum(visits, 1.0)), -jnp.inf)
    sampled = jax.random.categorical(key, logits / config.selfplay.temperature)
    return jnp.where(explore, sampled, jnp.argmax(visits, axis=-1)).astype(jnp.int32)


def _where(condition: Array, new: Any, old: Any) -> Any:
    """`new` in the games where `condition` [B] holds."""
    shape = condition.shape + (1,) * (old.ndim - condition.ndim)
    return jnp.where(condition.reshape(shape), new, old)
