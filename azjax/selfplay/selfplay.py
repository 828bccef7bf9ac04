"""Self-play: B games advance together, one search and one move a ply."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import Config
from azjax.pytrees import where
from azjax.replay.auxiliary import ending_of
from azjax.replay.buffer import Row, pack_policy
from azjax.replay.compact_states import drop_unseen
from azjax.search.model import Evaluate, Params, State, transition
from azjax.search.search import SearchResult, exploration_of, search
from azjax.selfplay.openings import Games, Openings, start_games
from azjax.selfplay.resignation import after_search, evidence_of
from azjax.types import Array


def play(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    games: Games,
    config: Config,
    *,
    openings: Openings | None = None,
    full: Array | None = None,
    resign_below: Array | float = -2.0,
) -> tuple[Games, Row, dict[str, Any]]:
    """Advances all games by `config.selfplay.plies_per_cycle` plies.

    Args:
      game: the game.
      evaluate: see `search`.
      params: for `evaluate`.
      key: PRNG key.
      games: games in progress.
      config: search and self-play.
      openings: where new games begin; None for the game's start.
      full: bool [T], the plies that are searched in full; None for all. See `full_plies`.
      resign_below: the value below which players resign, where they do.

    Returns:
      The games, their plies as rows [T, B, ...] for the replay ring, and sums over all plies:
      "games_finished", "game_plies" (of the finished games), "draws", "first_player_result",
      "policy_entropy" (of full searches), "searched" (in full), and where players resign
      "resigned" and "evidence".
    """
    in_depth, at_a_glance = (
        functools.partial(_search, game, evaluate, params, config, fast) for fast in (False, True)
    )

    def ply(games: Games, step: tuple[Array, Array | None]) -> tuple[Games, tuple[Row, Any]]:
        key, in_full = step
        search_key, move_key, start_key = jax.random.split(key, 3)
        explore = games.plies < config.selfplay.sampled_plies
        position = (search_key, games.states, explore)
        if in_full is None:
            result = in_depth(*position)
        else:
            result = jax.lax.cond(in_full, in_depth, at_a_glance, *position)
        action = choose_move(config, move_key, result, explore)
        mover = jax.vmap(game.current_player)(games.states)
        states, reward, discount = jax.vmap(functools.partial(transition, game))(
            games.states, action
        )
        done, prospects = jax.vmap(game.is_terminal)(states), games.prospects
        resigned = jnp.zeros_like(done)
        if prospects is not None:
            prospects = after_search(prospects, mover, result.value)
            resigned = (result.value < resign_below) & ~prospects.played_out
            reward = jnp.where(resigned, -1.0, reward)
            discount = jnp.where(resigned, 0.0, discount)
            done |= resigned
        row = Row(
            states=games.states
            if config.replay.reanalyse_positions
            else drop_unseen(game, games.states),
            policy=pack_policy(result.policy),
            value=result.value.astype(jnp.float16),
            full=jnp.broadcast_to(True if in_full is None else in_full, done.shape),
            reward=reward.astype(jnp.float16),
            discount=discount.astype(jnp.int8),
            ending=ending_of(game, config, mover, states, done & ~resigned),
        )
        plies = games.plies + 1
        entropy = -jnp.sum(result.policy * jnp.log(jnp.maximum(result.policy, 1e-12)), axis=-1)
        sums = {
            "games_finished": jnp.sum(done),
            "game_plies": jnp.sum(jnp.where(done, plies, 0)),
            "draws": jnp.sum(done & (reward == 0)),
            "first_player_result": jnp.sum(
                jnp.where(done, jnp.where(mover == 0, reward, -reward), 0.0)
            ),
            "policy_entropy": jnp.sum(jnp.where(row.full, entropy, 0.0)),
            "searched": jnp.sum(row.full),
        }
        if prospects is not None:
            sign = jnp.where(jnp.arange(2)[None] == mover[:, None], 1.0, -1.0)
            sums["resigned"] = jnp.sum(resigned)
            sums["evidence"] = evidence_of(prospects, done, sign * reward[:, None])
        fresh = start_games(game, start_key, plies.shape[0], config.selfplay, openings)
        games = where(done, fresh, Games(states, plies, prospects))
        return games, (row, jax.tree.map(lambda x: x.astype(jnp.float32), sums))

    keys = jax.random.split(key, config.selfplay.plies_per_cycle)
    games, (rows, sums) = jax.lax.scan(ply, games, (keys, full))
    return games, rows, jax.tree.map(lambda x: jnp.sum(x, axis=0), sums)


def full_plies(key: Array, config: Config) -> Array | None:
    """The plies of a cycle that are searched in full, bool [T]; None where all are.

    Drawn by lot, always equally many, and the same for all games: searches run side by side, and a
    batch would take as long as the longest. The games are of all ages.
    """
    plies = config.selfplay.plies_per_cycle
    count = round(config.selfplay.full_search_fraction * plies)
    return None if count == plies else jax.random.permutation(key, plies) < count


def choose_move(config: Config, key: Array, result: SearchResult, explore: Array) -> Array:
    """The moves int32 [B] that are played; `explore` bool [B] is True early in a game.

    Gumbel: mctx's own action; its noise is off (`gumbel_scale` 0) where `explore` is False.
    PUCT: by the policy ** (1 / temperature), or the likeliest where the temperature is 0.
    """
    if config.search.algorithm == "gumbel":
        return result.action
    chances = result.policy
    logits = jnp.where(chances > 0, jnp.log(jnp.maximum(chances, 1e-30)), -jnp.inf)
    early, late = config.selfplay.temperature, config.selfplay.final_temperature
    temperature = jnp.where(explore, early, late or early)[:, None]
    sampled = jax.random.categorical(key, logits / temperature)
    if late == 0:
        sampled = jnp.where(explore, sampled, jnp.argmax(result.visits, axis=-1))
    return sampled.astype(jnp.int32)


def _search(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    config: Config,
    fast: bool,
    key: Array,
    states: State,
    explore: Array,
) -> SearchResult:
    """A search to learn from; or a fast one without noise, which plays as well as it can."""
    find = functools.partial(search, game, evaluate, params, key, states)
    settings = config.search
    if fast:
        return find(config=replace(settings, num_simulations=config.selfplay.fast_simulations))
    exploration = exploration_of(settings, gumbel_scale=explore.astype(jnp.float32))
    return find(config=settings, exploration=exploration)
