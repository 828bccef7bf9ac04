"""Self-play: B games advance together, one search and one move per ply."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game, HasChance

from azjax.chance import roll
from azjax.compact_states import drop_unobserved
from azjax.config import Config, SelfPlayConfig
from azjax.network.results import told_apart
from azjax.pytrees import take, where
from azjax.replay.buffer import BeforeDice, Transition, pack_policy
from azjax.replay.custom_targets import RunTargets
from azjax.search.model import Evaluate, transition
from azjax.search.search import Exploration, Search, SearchResult, check_result, search
from azjax.selfplay.league import (
    LeagueStats,
    Opponents,
    count_waiting,
    finished_games,
    league_lanes,
    with_opponents,
)
from azjax.selfplay.luck import roll_luck
from azjax.selfplay.openings import Games, Openings, start_games
from azjax.selfplay.resignation import ResignationStats, stats_of_finished, update_minima
from azjax.types import Array, Params, State

_NO_TARGETS = RunTargets(())
_OPPONENTS = 7  # the stream of their keys; a search uses lower numbers of its own


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SelfPlayStats:
    """Sums over all plies of a call, each float32 []."""

    games_finished: Array
    game_plies: Array  # of the finished games
    draws: Array
    first_player_result: Array
    policy_entropy: Array  # of the plies that are learned from
    learned_plies: Array
    resigned: Array | None  # where players resign
    resignation: ResignationStats | None  # where players resign
    league: LeagueStats | None  # with a league


def play_plies(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    games: Games,
    config: Config,
    *,
    search: Search = search,
    openings: Openings | None = None,
    full_search_mask: Array | None = None,
    resign_threshold: Array | None = None,
    targets: RunTargets = _NO_TARGETS,
    opponents: Opponents | None = None,
) -> tuple[Games, Transition, SelfPlayStats]:
    """Advances all games by `config.selfplay.plies_per_cycle` plies.

    Args:
      search: searches all positions and chooses their moves.
      openings: where new games begin; None for the game's own start.
      full_search_mask: bool [T], which plies get a full search; None for all. See
        `draw_full_search_mask`.
      resign_threshold: float32 [], the value below which players resign; None if nobody does.
      opponents: the networks that have a seat in the last games, with a league.
      targets: what the plies are to record for targets of one's own.

    Returns:
      The games, their plies as transitions [T, B, ...] for the replay buffer, and sums over all
      plies.
    """
    full_search, fast_search = (
        functools.partial(_search, search, game, evaluate, config, fast) for fast in (False, True)
    )
    start_key, ply_key = jax.random.split(key)
    lanes = games.plies.shape[0]
    newest = None if opponents is None else opponents.newest
    starts = start_games(game, start_key, lanes, config.selfplay, openings, newest)
    league = 0 if opponents is None else league_lanes(config.league, lanes)
    in_league = jnp.arange(lanes) >= lanes - league

    def ply(
        carry: tuple[Games, Array], step: tuple[Array, Array | None]
    ) -> tuple[tuple[Games, Array], tuple[Transition, SelfPlayStats, State | None]]:
        (games, started), (key, is_full) = carry, step
        search_key = jax.random.fold_in(key, 0)
        explore = games.plies < config.selfplay.sampled_plies

        def decide(find: Callable[..., SearchResult], *position: Any) -> SearchResult:
            result = find(params, *position)
            if opponents is None or games.seats is None:
                return result
            key = jax.random.fold_in(position[0], _OPPONENTS)
            return with_opponents(
                game, result, find, opponents, games.seats, league, key, *position[1:]
            )

        position = (search_key, games.states, explore)
        decisions = [functools.partial(decide, find) for find in (full_search, fast_search)]
        if is_full is None:
            result = decisions[0](*position)
        else:
            with jax.named_scope("search"):
                result = jax.lax.cond(is_full, *decisions, *position)
        learn = jnp.ones(lanes, bool) if result.learn is None else result.learn
        if is_full is not None:
            learn &= is_full
        mover = jax.vmap(game.current_player)(games.states)
        states, before_dice, reward, discount = _play_moves(game, key, games.states, result.action)
        done, minima = jax.vmap(game.is_terminal)(states), games.minima
        resigned = jnp.zeros_like(done)
        if minima is not None:
            minima = update_minima(minima, mover, result.value)
            if resign_threshold is not None:
                resigned = (result.value < resign_threshold) & ~minima.disabled
                resigned = resigned & ~in_league if league else resigned
            reward = jnp.where(resigned, -1.0, reward)
            discount = jnp.where(resigned, 0.0, discount)
            done |= resigned
        new = Transition(
            states=drop_unobserved(game, games.states),
            policy=pack_policy(result.policy),
            value=result.value.astype(jnp.float16),
            learn=learn,
            reward=reward.astype(jnp.float16),
            discount=discount.astype(jnp.int8),
            recorded=targets.record(game, mover, states, done & ~resigned),
            before_dice=_before_dice(game, games.before_dice, mover),
        )
        plies = games.plies + 1
        entropy = -jnp.sum(result.policy * jnp.log(jnp.maximum(result.policy, 1e-12)), axis=-1)
        first_result = jnp.where(mover == 0, reward, -reward)
        stats = SelfPlayStats(
            games_finished=jnp.sum(done),
            game_plies=jnp.sum(jnp.where(done, plies, 0)),
            draws=jnp.sum(done & (reward == 0)),
            first_player_result=jnp.sum(jnp.where(done, first_result, 0.0)),
            policy_entropy=jnp.sum(jnp.where(learn, entropy, 0.0)),
            learned_plies=jnp.sum(learn),
            resigned=None,
            resignation=None,
            league=None,
        )
        if minima is not None:
            sign = jnp.where(jnp.arange(2)[None] == mover[:, None], 1.0, -1.0)
            stats = replace(
                stats,
                resigned=jnp.sum(resigned),
                resignation=stats_of_finished(
                    minima, done & ~in_league if league else done, sign * reward[:, None]
                ),
            )
        if games.seats is not None:
            stats = replace(stats, league=finished_games(games.seats, league, done, mover, reward))
        fresh = take(starts, next_start(lanes, started))
        rolls = None if before_dice is None else (games.before_dice, games.states)
        games = where(done, fresh, Games(states, plies, minima, games.seats, before_dice))
        stats = jax.tree.map(lambda x: x.astype(jnp.float32), stats)
        return (games, started + done), (new, stats, rolls)

    keys = jax.random.split(ply_key, config.selfplay.plies_per_cycle)
    carry = games, jnp.zeros(lanes, jnp.int32)
    with jax.named_scope("plies"):
        (games, _), (transitions, stats, rolls) = jax.lax.scan(ply, carry, (keys, full_search_mask))
    # Luck is one number: it does not tell more than three results apart.
    if len(told_apart(game, config.network)) == 3:
        transitions = _with_luck(game, evaluate, params, transitions, rolls)
    sums = jax.tree.map(lambda x: jnp.sum(x, axis=0), stats)
    if games.seats is not None and sums.league is not None and newest is not None:
        waiting = count_waiting(games.seats, league, newest)
        sums = replace(sums, league=replace(sums.league, waiting=waiting))
    return games, transitions, sums


def _play_moves(
    game: Game, key: Array, states: State, actions: Array
) -> tuple[State, State | None, Array, Array]:
    """Plays one move in each game and rolls the dice; results [B, ...] as in `transition`.

    The second result are the states before the dice, in a game of chance.
    """
    if not isinstance(game, HasChance):
        states, reward, discount = jax.vmap(functools.partial(transition, game))(states, actions)
        return states, None, reward, discount

    def play(word: Array, state: State, action: Array) -> tuple[State, State, Array, Array]:
        chance = functools.partial(roll, game, word)
        rolled, reward, discount = transition(game, state, action, chance=chance)
        return rolled, game.step(state, action), reward, discount  # XLA makes this step once

    words = jax.random.bits(jax.random.fold_in(key, 1), actions.shape, jnp.uint32)
    return jax.vmap(play)(words, states, actions)


def _before_dice(game: Game, states: State | None, mover: Array) -> BeforeDice | None:
    """Returns what is stored of the positions before the dice, after which `mover` [B] moves."""
    if states is None:
        return None
    same = jax.vmap(game.current_player)(states) == mover
    luck = jnp.zeros(mover.shape, jnp.float16)
    return BeforeDice(states=drop_unobserved(game, states), same_mover=same, luck=luck)


def _with_luck(
    game: Game, evaluate: Evaluate, params: Params, transitions: Transition, rolls: State | None
) -> Transition:
    """Adds the luck of rolls, states [T, B, ...] before and after the dice, in games of chance."""
    if transitions.before_dice is None:
        return transitions
    plies, lanes = transitions.learn.shape
    before, after = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rolls)
    with jax.named_scope("luck"):
        luck = roll_luck(game, evaluate, params, before, after, block=plies * lanes)
    luck = luck.reshape(plies, lanes).astype(jnp.float16)
    return replace(transitions, before_dice=replace(transitions.before_dice, luck=luck))


def next_start(lanes: int, started: Array) -> Array:
    """Returns which of B starts each lane takes for its next game, int32 [B].

    The starts are drawn once for all plies, since random openings take many steps and few lanes
    need one at a ply. A lane's first game is its own start. A second one in the same call, of which
    `started` [B] counts the games, is that of a lane far away.
    """
    far = lanes // 2 + 1
    return (jnp.arange(lanes) + far * started) % lanes


def draw_full_search_mask(key: Array, config: SelfPlayConfig) -> Array | None:
    """Draws the plies of a cycle that get a full search, bool [T]; None if all do.

    Their number is constant. They are the same for all games, because a batch of searches takes as
    long as its longest search. Games are at different plies, so each stage of a game has its share.
    """
    plies = config.plies_per_cycle
    count = round(config.full_search_fraction * plies)
    return None if count == plies else jax.random.permutation(key, plies) < count


def _search(
    search: Search,
    game: Game,
    evaluate: Evaluate,
    config: Config,
    fast: bool,
    params: Params,
    key: Array,
    states: State,
    explore: Array,
) -> SearchResult:
    """Searches all positions: in full, or fast and without noise.

    Moves are sampled where `explore` is True, bool [B].
    """
    settings, played = config.search, config.selfplay
    temperature = jnp.where(explore, played.temperature, played.final_temperature)
    exploration = Exploration(temperature=temperature)
    if fast:
        settings = replace(settings, num_simulations=played.fast_simulations)
    else:
        exploration = exploration._replace(
            gumbel_scale=explore.astype(jnp.float32),
            dirichlet_fraction=settings.puct.dirichlet_fraction,
        )
    with jax.named_scope("fast_search" if fast else "full_search"):
        result = search(
            game, evaluate, params, key, states, config=settings, exploration=exploration
        )
    check_result(result, len(explore), game.num_actions)
    return result
