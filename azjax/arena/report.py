"""The report card: how often players go wrong where that is known, and match results."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from jax.sharding import NamedSharding

from azjax.arena.match import MatchResult, play_match
from azjax.arena.rulers import Ruler, find_rulers
from azjax.sharding import EVERYWHERE, SPLIT, make_mesh, shard

_BUCKET_PLIES = 6


@dataclasses.dataclass(frozen=True)
class Bucket:
    """The positions of plies `first_ply` to `last_ply`."""

    first_ply: int
    last_ply: int
    positions: int
    mistakes: int


@dataclasses.dataclass(frozen=True)
class Score:
    """A player held against one ruler."""

    ruler: str
    positions: int
    mistakes: int  # moves to a worse result (win, draw, loss) than the best one; illegal ones too
    illegal: int
    risky: int  # positions in which a mistake is possible at all
    optimal: int  # moves whose score is the best there is: the quickest win, where scores tell
    buckets: tuple[Bucket, ...]

    @property
    def mistake_rate(self) -> float:
        return self.mistakes / self.positions

    @property
    def risky_mistake_rate(self) -> float:
        """Of the positions in which a mistake is possible."""
        return self.mistakes / max(self.risky, 1)

    @property
    def optimal_rate(self) -> float:
        return self.optimal / self.positions


@dataclasses.dataclass(frozen=True)
class PlayerReport:
    name: str
    scores: tuple[Score, ...]  # one for each ruler of the game
    matches: tuple[MatchResult, ...]

    @property
    def positions(self) -> int:
        """Over all rulers; 0 where the game has none."""
        return sum(score.positions for score in self.scores)

    @property
    def mistakes(self) -> int:
        return sum(score.mistakes for score in self.scores)


@dataclasses.dataclass(frozen=True)
class Report:
    game: str
    players: tuple[PlayerReport, ...]

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        players = [
            {
                "name": player.name,
                "positions": player.positions,
                "mistakes": player.mistakes,
                "scores": [dataclasses.asdict(score) for score in player.scores],
                "matches": [match.to_dict() for match in player.matches],
            }
            for player in self.players
        ]
        return {"game": self.game, "players": players}


def report(
    game: Game,
    players: Mapping[str, object] | Sequence,
    *,
    opponents: Mapping[str, object] | Sequence = (),
    num_games: int = 1000,
    opening_plies: int = 0,
    seed: int = 0,
    batch_size: int = 1024,
    max_states: int = 2_000_000,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Measure players by every ruler that the game offers, and the first in matches too.

    If the game's reachable states can be enumerated, each player moves in all of them, and if the
    package has a file of scored positions for the game, in those.

    Args:
      players: by the names to be shown, or a sequence, then each shows its own.
      opponents: whom the first player meets in `num_games` games each.
      num_games, opening_plies: as in `play_match`.
      seed: of everything random here.
      batch_size: positions answered at once.
      max_states: the size up to which solving the game is tried.
      progress: called with a line that says what is being done.
    """
    players, opponents = _named(players), _named(opponents)
    say = progress or (lambda line: None)
    say(f"looking for exact values of {game.name}")
    rulers = find_rulers(game, max_states)
    ruler_key, match_key = jax.random.split(jax.random.key(seed))
    reports = []
    for number, (name, player) in enumerate(players.items()):
        scores = []
        for ruler in rulers:
            say(f"{name}: {ruler.name}, {ruler.num_positions:,}")
            actions = choose(player, ruler_key, ruler.states, batch_size)
            scores.append(score_actions(ruler, actions))
        matches = []
        for opponent_name, opponent in opponents.items() if number == 0 else ():
            say(f"{name}: {num_games} games against {opponent_name}")
            match = play_match(
                game,
                player,
                opponent,
                jax.random.fold_in(match_key, len(matches)),
                num_games=num_games,
                opening_plies=opening_plies,
            )
            matches.append(dataclasses.replace(match, player_a=name, player_b=opponent_name))
        reports.append(PlayerReport(name, tuple(scores), tuple(matches)))
    return Report(game.name, tuple(reports))


def score_actions(ruler: Ruler, actions: np.ndarray) -> Score:
    """Count what is wrong with one action, int32 [P], in each position of the ruler."""
    scores = ruler.action_scores
    legal = np.isfinite(scores)
    results = np.where(legal, np.sign(scores), -np.inf)
    best_result = results.max(-1)
    chosen = np.arange(len(scores)), actions
    mistakes = results[chosen] < best_result
    risky = (legal & (results < best_result[:, None])).any(-1)
    buckets = []
    for first in range(0, int(ruler.plies.max()) + 1, _BUCKET_PLIES):
        last = first + _BUCKET_PLIES - 1
        inside = (ruler.plies >= first) & (ruler.plies <= last)
        if inside.any():
            counts = int(inside.sum()), int(mistakes[inside].sum())
            buckets.append(Bucket(first, last, *counts))
    return Score(
        ruler=ruler.name,
        positions=len(scores),
        mistakes=int(mistakes.sum()),
        illegal=int((~legal[chosen]).sum()),
        risky=int(risky.sum()),
        optimal=int((scores[chosen] == scores.max(-1)).sum()),
        buckets=tuple(buckets),
    )


def choose(player, key: jax.Array, states, batch_size: int) -> np.ndarray:
    """The player's actions int32 [P] in batched states [P, ...], by batches of one size.

    A jittable player has each batch split over this process's devices. The last batch is filled
    up with copies of the last state.
    """
    positions = jax.tree.leaves(states)[0].shape[0]
    if not getattr(player, "jittable", True):
        return np.asarray(player(key, states), np.int32)
    mesh = make_mesh(jax.local_devices())
    player = jax.device_put(player, NamedSharding(mesh, EVERYWHERE))
    batches = -(-positions // batch_size)
    size = mesh.size * -(-positions // (batches * mesh.size))
    states = jax.tree.map(np.asarray, states)
    actions = []
    for batch in range(batches):
        rows = np.minimum(np.arange(batch * size, (batch + 1) * size), positions - 1)
        part = jax.tree.map(lambda x, rows=rows: x[rows], states)
        keys = jax.random.split(jax.random.fold_in(key, batch), mesh.size)
        actions.append(np.asarray(_choose(mesh, player, keys, part)))
    return np.concatenate(actions)[:positions].astype(np.int32)


@functools.partial(jax.jit, static_argnums=0)
def _choose(mesh, player, keys, states):
    def on_one_device(player, keys, states):
        return player(keys[0], states)

    states = jax.tree.map(jnp.asarray, states)
    return shard(on_one_device, mesh, (EVERYWHERE, SPLIT, SPLIT), SPLIT)(player, keys, states)


def _named(players: Mapping[str, object] | Sequence) -> dict[str, object]:
    if isinstance(players, Mapping):
        return dict(players)
    return {player.name: player for player in players}
