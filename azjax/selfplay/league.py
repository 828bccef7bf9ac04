"""A league: in some games one seat belongs to a member of a pool of networks.

The pool is an argument of the compiled programs, stacked up to its capacity, so that a pool that
grows compiles nothing again. Each game is played to its end against the network that it was begun
against. Two networks are active at a time. Once all games in progress are against the newer one,
the other makes place for a member that is drawn from the pool.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import LeagueConfig
from azjax.means import mean, nothing
from azjax.network.network import Variables
from azjax.pytrees import take, where
from azjax.search.search import SearchResult
from azjax.types import Array, Metrics, Params, State

_ACTIVE = 2


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class League:
    """The pool of a run, and the networks that games are played against."""

    pool: Variables  # [capacity, ...], the members first
    size: Array  # int32 [], members
    added: Array  # int32 [capacity], cycles done when each was added
    active: Variables  # [2, ...]
    members: Array  # int32 [2], their places in the pool; -1 once another network has the place
    newest: Array  # int32 [], which of the two new games are played against


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Seats:
    """Who plays in B games, as far as they are games of the league."""

    learner: Array  # int32 [B], the seat of the network that learns
    opponent: Array  # int32 [B], which of the active networks has the other seat


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Opponents:
    """The active networks, as self-play uses them."""

    params: Params  # [2, ...], made for inference
    newest: Array  # int32 []


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LeagueStats:
    """Results against the active networks, each float32."""

    games: Array  # [2], finished
    points: Array  # [2], of the learner: 1 for a win, half for a draw
    waiting: Array  # [], games in progress that are not against the newest one


def league_lanes(config: LeagueConfig, lanes: int) -> int:
    """Returns how many of a device's games are of the league: the last ones."""
    return round(config.fraction * lanes) if config.plays else 0


def first_league(config: LeagueConfig, variables: Variables, given: Variables | None) -> League:
    """Returns the pool before the first cycle: the given networks [n, ...], then the run's own."""
    count, capacity = len(config.opponents), config.capacity
    pool = jax.tree.map(lambda x: jnp.broadcast_to(x, (capacity, *x.shape)), variables)
    if given is not None:
        pool = jax.tree.map(lambda x, some: x.at[:count].set(some), pool, given)
    return League(
        pool=pool,
        size=jnp.int32(count + (config.every > 0)),
        added=jnp.zeros(capacity, jnp.int32),
        active=take(pool, jnp.zeros(_ACTIVE, jnp.int32)),
        members=jnp.zeros(_ACTIVE, jnp.int32),
        newest=jnp.int32(0),
    )


def advance(
    config: LeagueConfig,
    league: League,
    variables: Variables,
    cycle: Array,
    stats: LeagueStats,
    key: Array,
) -> League:
    """Returns the pool after a cycle: with another opponent, or with the latest network.

    Args:
      variables: the latest network.
      cycle: cycles done, int32 [].
      stats: sums of the cycle, over all devices.
    """
    drawn, due = jax.random.randint(key, (), 0, league.size), stats.waiting == 0
    newest = jnp.where(due, 1 - league.newest, league.newest)
    active = _set(league.active, newest, take(league.pool, drawn), due)
    members = _set(league.members, newest, drawn, due)
    pool, size, added = league.pool, league.size, league.added
    if config.every:
        given, number = len(config.opponents), cycle // config.every
        place, joins = given + number % (config.capacity - given), cycle % config.every == 0
        pool, added = _set((pool, added), place, (variables, cycle), joins)
        members = jnp.where(joins & (members == place), -1, members)
        size = jnp.minimum(given + 1 + number, config.capacity)
    return League(pool, size, added, active, members, newest)


def _set(rows: Any, place: Array, new: Any, due: Array) -> Any:
    """Returns arrays [n, ...] whose row at `place` is the new one where `due`."""
    return jax.tree.map(lambda x, y: x.at[place].set(jnp.where(due, y, x[place])), rows, new)


def with_opponents(
    game: Game,
    result: SearchResult,
    find: Callable[..., SearchResult],
    opponents: Opponents,
    seats: Seats,
    lanes: int,
    key: Array,
    states: State,
    explore: Array,
) -> SearchResult:
    """Returns a search's result in which opponents decide their own moves, that are not learned.

    Each active network searches all games of the league, with one set of variables. What it finds
    counts where it is to move, so turns may come in any order.

    Args:
      result: by the learner, of all B games.
      find: searches positions, a function of (params, key, states, explore).
      lanes: the number of games of the league, the last ones.
    """

    def search_one(given: tuple[Params, Array]) -> SearchResult:
        return find(*given, last(states), last(explore))

    def last(tree: Any) -> Any:
        return jax.tree.map(lambda x: x[-lanes:], tree)

    keys = jax.random.split(key, _ACTIVE)
    found = jax.lax.map(search_one, (opponents.params, keys))
    found = found._replace(learn=jnp.zeros((_ACTIVE, lanes), bool))
    theirs = jax.tree.map(lambda x: x[last(seats.opponent), jnp.arange(lanes)], found)
    if result.learn is None:
        result = result._replace(learn=jnp.ones(len(explore), bool))
    mover = jax.vmap(game.current_player)(last(states))
    chosen = where(mover != last(seats.learner), theirs, last(result))
    return jax.tree.map(lambda x, y: jnp.concatenate([x[:-lanes], y]), result, chosen)


def finished_games(seats: Seats, lanes: int, done: Array, mover: Array, reward: Array) -> Any:
    """Returns the results of the league's games that have ended, `done` [B], as `LeagueStats`."""
    last = slice(len(done) - lanes, None)
    against = done[last, None] & (seats.opponent[last, None] == jnp.arange(_ACTIVE)[None])
    own = jnp.where(mover == seats.learner, reward, -reward)[last, None]
    return LeagueStats(
        games=jnp.sum(against, axis=0),
        points=jnp.sum(jnp.where(against, 0.5 + 0.5 * own, 0.0), axis=0),
        waiting=jnp.float32(0),
    )


def count_waiting(seats: Seats, lanes: int, newest: Array) -> Array:
    """Returns how many games in progress are not against the newest opponent, float32 []."""
    last = seats.opponent[len(seats.opponent) - lanes :]
    return jnp.sum(last != newest).astype(jnp.float32)


def league_metrics(config: LeagueConfig, league: League, stats: LeagueStats) -> Metrics:
    """Returns the results of a cycle, by the places of the members in the pool; NaN without games.

    `league` is that of the cycle's games.
    """
    metrics = {
        "league/members": league.size.astype(jnp.float32),
        "league/games": jnp.sum(stats.games),
        "league/score": mean(jnp.sum(stats.points), jnp.sum(stats.games)),
    }
    for place in range(config.capacity):
        its = league.members == place
        games, points = (jnp.sum(jnp.where(its, x, 0.0)) for x in (stats.games, stats.points))
        number = place + 1
        metrics[f"league/score_{number}"] = mean(points, games)
        if place >= len(config.opponents):
            added = league.added[place].astype(jnp.float32)
            metrics[f"league/cycle_{number}"] = jnp.where(place < league.size, added, nothing())
    return metrics
