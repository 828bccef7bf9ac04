"""Matches between two players: paired games, many at once, scored from both seats."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from azjax.arena.elo import EloEstimate, estimate_elo
from azjax.errors import UserError
from azjax.players.random import random_action
from azjax_envs import Game


@dataclasses.dataclass(frozen=True)
class MatchResult:
    """How player a fared against player b. `as_first` and `as_second` are a's wins, draws, losses."""

    player_a: str
    player_b: str
    as_first: tuple[int, int, int]  # a plays the first seat (player 0)
    as_second: tuple[int, int, int]  # a plays the second seat (player 1)
    pair_counts: tuple[int, int, int, int, int]  # pairs in which a scored 0, 1/2, 1, 3/2, 2
    mean_length: float  # plies of a game, its opening included
    elo: EloEstimate  # of a over b, with its 95% interval

    @property
    def wins(self) -> int:
        return self.as_first[0] + self.as_second[0]

    @property
    def draws(self) -> int:
        return self.as_first[1] + self.as_second[1]

    @property
    def losses(self) -> int:
        return self.as_first[2] + self.as_second[2]

    @property
    def num_games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """The share of points a took, in [0, 1]."""
        return (self.wins + self.draws / 2) / self.num_games

    def to_dict(self) -> dict[str, object]:
        """For JSON, which knows no infinity: an Elo that has no finite value or end is None."""
        ends = dataclasses.asdict(self.elo)
        elo = {name: end if math.isfinite(end) else None for name, end in ends.items()}
        total = {"games": self.num_games, "wins": self.wins, "draws": self.draws}
        total |= {"losses": self.losses, "score": self.score}
        return dataclasses.asdict(self) | total | {"elo": elo}


def play_match(
    game: Game,
    player_a,
    player_b,
    key: jax.Array,
    *,
    num_games: int,
    opening_plies: int = 0,
    batch: int = 512,
) -> MatchResult:
    """Play `num_games` games in pairs and count.

    The two games of a pair start from one opening and swap the seats. A player gets a key for
    every move, so players that draw lots vary their games by themselves; between players that do
    not, all games from one opening are alike, and `opening_plies` is what tells pairs apart.

    Args:
      player_a, player_b: called as `player(key, states) -> actions`. Where both are jittable a
        whole batch of games is one jitted call; otherwise the games advance on the host.
      num_games: an even number.
      opening_plies: uniformly random moves before the players take over; an opening stops short
        of a move that would end the game.
      batch: pairs played at once, at most.

    Raises:
      UserError: `num_games` is not an even number above zero, or `opening_plies` is negative.
    """
    if num_games < 2 or num_games % 2:
        raise UserError(f"games are played in pairs: choose an even number, not {num_games}")
    if opening_plies < 0:
        raise UserError(f"opening_plies must not be negative, but is {opening_plies}")
    jittable = getattr(player_a, "jittable", True) and getattr(player_b, "jittable", True)
    play = _match_scores_jit if jittable else _match_scores_host
    num_pairs = num_games // 2
    chunks = -(-num_pairs // batch)
    size = -(-num_pairs // chunks)  # equal chunks compile once; the surplus at the end is dropped
    scores, lengths = [], []
    for chunk in range(chunks):
        chunk_key = jax.random.fold_in(key, chunk)
        out = play(game, player_a, player_b, chunk_key, size, opening_plies)
        out = [np.asarray(x).reshape(2, size) for x in out]
        scores.append(out[0])
        lengths.append(out[1])
    scores = np.concatenate(scores, 1)[:, :num_pairs]  # [2, num_pairs]
    lengths = np.concatenate(lengths, 1)[:, :num_pairs]
    return _result(player_a.name, player_b.name, scores, lengths)


def match_scores(
    game: Game, player_a, player_b, key: jax.Array, num_pairs: int, opening_plies: int
) -> tuple[jax.Array, jax.Array]:
    """The same as a pure function, to be jitted or used inside a larger one.

    Returns:
      a's scores, float32 [2 * num_pairs] in {0, 1/2, 1}, and the lengths in plies, int32
      [2 * num_pairs]. Game i has a in the first seat, game num_pairs + i is the other of its
      pair.
    """
    opening_key, play_key = jax.random.split(key)
    start = _openings(game, opening_key, num_pairs, opening_plies)

    def play_seat(seat_and_key):
        """All games in which a sits in `seat`: where turns alternate, one player moves at a time
        in all of them, and the other is not computed."""
        seat, seat_key = seat_and_key

        def unfinished(carry):
            _, states, _ = carry
            return ~jnp.all(jax.vmap(game.is_terminal)(states))

        def ply(carry):
            key, states, lengths = carry
            key, key_a, key_b = jax.random.split(key, 3)
            running = ~jax.vmap(game.is_terminal)(states)
            movers = jax.vmap(game.current_player)(states)
            turn_a = running & (movers == seat)
            turn_b = running & (movers != seat)
            actions_a = _act_if_needed(player_a, key_a, states, turn_a)
            actions_b = _act_if_needed(player_b, key_b, states, turn_b)
            states = jax.vmap(game.step)(states, jnp.where(turn_a, actions_a, actions_b))
            return key, states, lengths + running

        _, final, lengths = jax.lax.while_loop(unfinished, ply, (seat_key, *start))
        returns = jax.vmap(game.returns)(final)  # [num_pairs, 2]
        return (jnp.where(seat == 0, returns[:, 0], returns[:, 1]) + 1) / 2, lengths

    seats = jnp.arange(2, dtype=jnp.int32)
    scores, lengths = jax.lax.map(play_seat, (seats, jax.random.split(play_key, 2)))
    return scores.reshape(-1), lengths.reshape(-1)


_match_scores_jit = jax.jit(match_scores, static_argnums=(0, 4, 5))


def _act_if_needed(player, key: jax.Array, states, turn: jax.Array) -> jax.Array:
    """The player's actions where it is to move somewhere, without computing any otherwise."""
    idle = jnp.zeros(turn.shape, jnp.int32)
    return jax.lax.cond(turn.any(), lambda: player(key, states).astype(jnp.int32), lambda: idle)


def _openings(game: Game, key: jax.Array, num_pairs: int, plies: int):
    """Random starts: batched states [num_pairs] and the plies played, int32 [num_pairs]."""
    start = game.init()
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (num_pairs, *jnp.shape(x))), start)

    def ply(i, carry):
        states, lengths = carry
        mask = jax.vmap(game.legal_action_mask)(states)
        actions = random_action(jax.random.fold_in(key, i), mask)
        moved = jax.vmap(game.step)(states, actions)
        goes_on = ~jax.vmap(game.is_terminal)(moved)
        return _where(goes_on, moved, states), lengths + goes_on

    return jax.lax.fori_loop(0, plies, ply, (states, jnp.zeros(num_pairs, jnp.int32)))


def _where(condition: jax.Array, left, right):
    """`jnp.where` by rows [B] on two batched states."""

    def choose(x, y):
        return jnp.where(condition.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(choose, left, right)


_openings_jit = jax.jit(_openings, static_argnums=(0, 2, 3))


def _match_scores_host(game: Game, player_a, player_b, key, num_pairs: int, opening_plies: int):
    """`match_scores` with a loop on the host, for players that no jitted function can call."""
    opening_key, play_key = jax.random.split(key)
    pairs, lengths = _openings_jit(game, opening_key, num_pairs, opening_plies)
    states = jax.tree.map(lambda x: jnp.concatenate([x, x]), pairs)
    lengths = np.concatenate([lengths, lengths])
    seats = np.repeat(np.arange(2), num_pairs)
    while True:
        ended, movers = (np.asarray(x) for x in _status(game, states))
        if ended.all():
            break
        actions = np.zeros(2 * num_pairs, np.int32)
        for player, turn in ((player_a, movers == seats), (player_b, movers != seats)):
            play_key, move_key = jax.random.split(play_key)
            _fill_actions(player, move_key, states, turn & ~ended, actions)
        states = _step(game, states, actions)
        lengths = lengths + ~ended
    returns = np.asarray(_returns(game, states))
    return (returns[np.arange(2 * num_pairs), seats] + 1) / 2, lengths


def _fill_actions(player, key, states, turn: np.ndarray, actions: np.ndarray) -> None:
    """Write the player's moves. A jittable one sees the whole batch, so that it compiles once;
    another one sees only the positions it has to answer."""
    if not turn.any():
        return
    if getattr(player, "jittable", True):
        actions[turn] = np.asarray(_act(player, key, states))[turn]
    else:
        where = np.flatnonzero(turn)
        actions[where] = np.asarray(player(key, jax.tree.map(lambda x: x[where], states)))


@jax.jit
def _act(player, key, states):
    return player(key, states)


@functools.partial(jax.jit, static_argnums=0)
def _status(game: Game, states):
    return jax.vmap(game.is_terminal)(states), jax.vmap(game.current_player)(states)


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, states, actions):
    return jax.vmap(game.step)(states, actions)


@functools.partial(jax.jit, static_argnums=0)
def _returns(game: Game, states):
    return jax.vmap(game.returns)(states)


def _result(name_a: str, name_b: str, scores: np.ndarray, lengths: np.ndarray) -> MatchResult:
    """Count scores [2, num_pairs], row s being the games with a in seat s."""
    by_seat = [tuple(int((row == points).sum()) for points in (1.0, 0.5, 0.0)) for row in scores]
    points = np.rint(2 * scores.sum(0)).astype(int)  # [num_pairs], 0..4
    return MatchResult(
        player_a=name_a,
        player_b=name_b,
        as_first=by_seat[0],
        as_second=by_seat[1],
        pair_counts=tuple(int((points == n).sum()) for n in range(5)),
        mean_length=float(lengths.mean()),
        elo=estimate_elo(scores.mean(0)),
    )
