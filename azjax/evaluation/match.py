"""Matches between two players: paired games, many at once, scored from both seats."""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance, HasResults
from jax.sharding import Mesh, NamedSharding

from azjax.errors import UserError
from azjax.evaluation.batch_evaluation import ask_on_mesh
from azjax.evaluation.elo import effective_pairs, estimate_elo
from azjax.evaluation.host_match import match_on_host, results_of_seats
from azjax.evaluation.match_result import MatchResult, different_names, percent
from azjax.matches import Games, after_ply, dice_key, score_of, whose_turns
from azjax.players.base import Player, is_jittable
from azjax.pytrees import take
from azjax.rollouts import random_openings
from azjax.sharding import EVERYWHERE, SPLIT, make_mesh, shard
from azjax.types import Array, State

_JUDGED_PLIES = 7  # of openings whose results connect four's solver looks up


def play_match(
    game: Game,
    player_a: Player,
    player_b: Player,
    key: Array,
    *,
    num_games: int,
    opening_plies: int = 0,
    batch: int = 512,
    results: Callable[[State], np.ndarray] | None = None,
    progress: Callable[[str], None] | None = None,
) -> MatchResult:
    """Plays `num_games` games in pairs and counts the results.

    The two games of a pair start from one opening and swap the seats. In a game of chance they have
    the same dice. A player gets a key for every move, so random players vary their games by
    themselves. Between deterministic players only `opening_plies` makes the pairs differ. Without
    them, all pairs of such players are copies of one pair, which the intervals do not take into
    account. Where games have several points, as in backgammon, a win is a win, and the result also
    tells the points a game.

    Args:
      player_a: called as `player(key, states) -> actions`. If both players are jittable, a ply of
        a whole batch of games is one jitted call; otherwise the games advance on the host.
      num_games: an even number.
      opening_plies: uniformly random moves before the players take over. An opening stops before
        a move that would end the game.
      batch: largest number of pairs played at once.
      results: player 0's results of states [P, ...] under best play, float [P], as
        `GameSuites.results` finds them. Losses from openings of up to seven plies that were lost
        already, before the loser's first move, are then counted apart.
      progress: called with a line about the games played so far.

    Raises:
      UserError: `num_games` is not an even number above zero, or `opening_plies` is negative.
    """
    if num_games < 2 or num_games % 2:
        raise UserError(f"the number of games must be even and above 0, but is {num_games}")
    if opening_plies < 0:
        raise UserError(f"opening_plies must not be negative, but is {opening_plies}")
    opening_plies = min(opening_plies, game.max_steps)  # no opening is longer
    jittable = is_jittable(player_a) and is_jittable(player_b)
    num_pairs = num_games // 2
    devices = jax.local_device_count() if jittable else 1
    chunks = -(-num_pairs // batch)
    # Equal chunks compile once, and divide evenly; the surplus at the end is dropped.
    size = devices * -(-num_pairs // (chunks * devices))
    returns, lengths, openings = list[np.ndarray](), [], []
    for chunk in range(chunks):
        points = sum(float(score_of(game, x).sum()) for x in returns)
        say = functools.partial(_say, progress, num_games, 2 * chunk * size, points)
        say(0, 0.0, 0)
        chunk_key = jax.random.fold_in(key, chunk)
        if jittable:
            out = _match_on_devices(game, player_a, player_b, chunk_key, size, opening_plies)
        else:
            out = match_on_host(game, player_a, player_b, chunk_key, size, opening_plies, say)
        returns.append(np.asarray(out[0]))
        lengths.append(np.asarray(out[1]))
        openings.append(jax.device_get(out[2]))
    results_a = np.concatenate(returns, 1)[:, :num_pairs]  # [2, num_pairs]
    scores = np.asarray(score_of(game, results_a))
    lengths = np.concatenate(lengths, 1)[:, :num_pairs]
    starts = jax.tree.map(lambda *x: np.concatenate(x)[:num_pairs], *openings)
    _, first, opening = np.unique(_rows(starts), axis=0, return_index=True, return_inverse=True)
    if isinstance(game, HasChance):
        opening = np.arange(num_pairs)  # the dice make each pair another one
        results = None  # no opening is lost for sure
    lost = None
    if results is not None and 0 < opening_plies <= _JUDGED_PLIES:
        lost = _losses_of_lost_openings(results(take(starts, first))[opening.reshape(-1)], scores)
    name_a, name_b = different_names([player_a.name, player_b.name])
    result = _result(name_a, name_b, scores, lengths, opening.reshape(-1))
    if isinstance(game, HasResults):
        points = results_a.mean(0) * game.results[0]  # of each pair
        error = float(points.std(ddof=1) / num_pairs**0.5) if num_pairs > 1 else None
        result = dataclasses.replace(result, points=float(points.mean()), points_error=error)
    return dataclasses.replace(result, opening_plies=opening_plies, losses_of_lost_openings=lost)


def prefixed(progress: Callable[[str], None] | None, text: str) -> Callable[[str], None] | None:
    """Returns a function that reports lines after a text, such as the name of a match."""
    return None if progress is None else lambda line: progress(f"{text}: {line}")


def _say(
    progress: Callable[[str], None] | None,
    num_games: int,
    earlier_games: int,
    earlier_points: float,
    games: int,
    points: float,
    plies: int,
) -> None:
    """Says how many games are over and what player a scored, or how long the first ones are."""
    if progress is None:
        return
    done = earlier_games + games
    line = f"{min(done, num_games)} of {num_games} games"
    if done:
        line += f", score {percent((earlier_points + points) / done)}"
    elif plies:
        line += f", {plies} {'ply' if plies == 1 else 'plies'} played"
    progress(line)


def _match_on_devices(
    game: Game, player_a: Player, player_b: Player, key: Array, num_pairs: int, opening_plies: int
) -> tuple[np.ndarray, np.ndarray, State]:
    """Plays the games of `azjax.matches.match_scores`, split over this process's devices.

    Each player has a compiled program of its own, which its other matches share. The host calls
    them ply by ply, so that Ctrl-C ends a match after a ply.
    """
    mesh = make_mesh(jax.local_devices())
    players = jax.device_put((player_a, player_b), NamedSharding(mesh, EVERYWHERE))
    keys = jax.random.split(key, mesh.size)
    starts = _start_on_mesh(game, mesh, num_pairs // mesh.size, opening_plies, keys)
    idle = np.zeros(num_pairs, np.int32)
    found = []
    for seat, games in enumerate(starts):
        while True:
            games, turns = _turns_on_mesh(game, mesh, np.int32(seat), games)
            if not any(np.asarray(turn.any).any() for turn in turns):
                break
            actions = [
                ask_on_mesh(mesh, "__call__", player, turn.keys, games.states)
                if np.asarray(turn.any).any()
                else idle
                for player, turn in zip(players, turns, strict=True)
            ]
            games = _play_on_mesh(game, mesh, games, turns[0].theirs, *actions)
        results = results_of_seats(game, games.states, np.full(num_pairs, seat))
        found.append((results, games.lengths))
    results, lengths = (np.stack(x) for x in zip(*found, strict=True))
    return results, lengths, starts[0].states


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _start_on_mesh(
    game: Game, mesh: Mesh, num_pairs: int, opening_plies: int, keys: Array
) -> tuple[Games, Games]:
    """Returns the games of both seats, [devices * num_pairs, ...], after their openings."""

    def on_one_device(keys: Array) -> tuple[Games, Games]:
        opening_key, play_key = jax.random.split(keys[0])
        start = random_openings(game, opening_key, num_pairs, opening_plies)
        first, second = jax.random.split(play_key)
        dice = jax.tree.map(lambda x: x[None], dice_key(game, play_key))
        return Games(first[None], *start, dice), Games(second[None], *start, dice)

    return shard(on_one_device, mesh, (SPLIT,), SPLIT)(keys)


class _Turn(NamedTuple):
    """A player's part in a ply of N games on D devices."""

    keys: Array  # PRNG keys [D]
    theirs: Array  # bool [N], the games in which it is to move
    any: Array  # bool [D], whether there are any


@functools.partial(jax.jit, static_argnums=(0, 1))
def _turns_on_mesh(
    game: Game, mesh: Mesh, seat: Array, games: Games
) -> tuple[Games, tuple[_Turn, _Turn]]:
    """Returns the games with the key of the next ply, and the turns of both players."""

    def on_one_device(seat: Array, games: Games) -> tuple[Games, tuple[_Turn, _Turn]]:
        key, *keys = jax.random.split(games.key[0], 3)
        turns = whose_turns(game, seat, games.states)
        parts = [
            _Turn(k[None], turn, turn.any()[None]) for k, turn in zip(keys, turns, strict=True)
        ]
        return games._replace(key=key[None]), (parts[0], parts[1])

    return shard(on_one_device, mesh, (EVERYWHERE, SPLIT), SPLIT)(seat, games)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _play_on_mesh(
    game: Game, mesh: Mesh, games: Games, turn_a: Array, actions_a: Array, actions_b: Array
) -> Games:
    """Plays one ply: player a's actions in the games of `turn_a`, player b's in the others."""

    def on_one_device(games: Games, turn_a: Array, actions_a: Array, actions_b: Array) -> Games:
        actions = jnp.where(turn_a, actions_a, actions_b).astype(jnp.int32)
        dice = jax.tree.map(lambda x: x[0], games.dice)
        after = after_ply(game, games.key, games._replace(dice=dice), actions)
        return after._replace(dice=jax.tree.map(lambda x: x[None], after.dice))

    return shard(on_one_device, mesh, (SPLIT, SPLIT, SPLIT, SPLIT), SPLIT)(
        games, turn_a, actions_a, actions_b
    )


def _rows(states: State) -> np.ndarray:
    """Returns the bytes of states [B, ...], uint8 [B, n]: equal rows are equal states."""
    leaves = [np.ascontiguousarray(x) for x in jax.device_get(jax.tree.leaves(states))]
    return np.concatenate([x.reshape(len(x), -1).view(np.uint8) for x in leaves], axis=1)


def _losses_of_lost_openings(results: np.ndarray, scores: np.ndarray) -> int | None:
    """Counts player a's losses, of scores [2, pairs], from openings that its seat had lost.

    `results` are player 0's after the openings, [pairs]. Returns None if any is not known.
    """
    if np.isnan(results).any():
        return None
    lost = np.stack([results < 0, results > 0])
    return int((lost & (scores == 0.0)).sum())


def _result(
    name_a: str, name_b: str, scores: np.ndarray, lengths: np.ndarray, opening: np.ndarray
) -> MatchResult:
    elo = estimate_elo(scores.mean(0), opening)
    points = np.rint(2 * scores.sum(0)).astype(int)  # [num_pairs], 0..4
    return MatchResult(
        player_a=name_a,
        player_b=name_b,
        as_first=_count_results(scores[0]),
        as_second=_count_results(scores[1]),
        pair_counts=tuple(np.bincount(points, minlength=5).tolist()),
        mean_length=float(lengths.mean()),
        effective_games=2 * effective_pairs(scores.mean(0), opening),
        elo=elo.difference,
        elo_low=elo.low,
        elo_high=elo.high,
    )


def _count_results(scores: np.ndarray) -> tuple[int, int, int]:
    return int((scores == 1.0).sum()), int((scores == 0.5).sum()), int((scores == 0.0).sum())
