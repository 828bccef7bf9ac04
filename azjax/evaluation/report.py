"""The report card: how often players go wrong where that is known, and match results."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import jax
import numpy as np
from azjax_envs import Game

from azjax.evaluation.batched_player import choose, find_values
from azjax.evaluation.intervals import wilson_interval
from azjax.evaluation.match import MatchResult, play_match
from azjax.evaluation.position_suites import Ruler, find_rulers, own_ruler
from azjax.exact.first_moves import FirstMoves, first_moves

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
    """A player held against one ruler.

    The intervals are Wilson's, at 95%. They tell how far the shares may be from those over all
    positions of such a kind, were the positions drawn one by one; those of one game are not quite.
    """

    ruler: str
    positions: int
    mistakes: int  # moves to a worse result (win, draw, loss) than the best one; illegal ones too
    illegal: int
    risky: int  # positions in which some legal move is a mistake
    risky_mistakes: int  # mistakes there: all but illegal moves elsewhere
    optimal: int  # moves whose score is the best there is: the quickest win, where scores tell
    buckets: tuple[Bucket, ...]

    @property
    def mistake_rate(self) -> float:
        return self.mistakes / self.positions

    @property
    def mistake_interval(self) -> tuple[float, float]:
        return wilson_interval(self.mistakes, self.positions)

    @property
    def risky_mistake_rate(self) -> float:
        """Of the positions in which a mistake is possible."""
        return self.risky_mistakes / max(self.risky, 1)

    @property
    def risky_mistake_interval(self) -> tuple[float, float]:
        return wilson_interval(self.risky_mistakes, self.risky)

    @property
    def optimal_rate(self) -> float:
        return self.optimal / self.positions

    def to_dict(self) -> dict[str, object]:
        """For JSON: the counts, and the shares with their intervals."""
        shares = (
            "mistake_rate",
            "mistake_interval",
            "risky_mistake_rate",
            "risky_mistake_interval",
            "optimal_rate",
        )
        return dataclasses.asdict(self) | {name: getattr(self, name) for name in shares}


@dataclasses.dataclass(frozen=True)
class ValueScore:
    """A player's values held against the results of positions.

    A value is right if, of the results that these positions and their moves have, the true one is
    nearest to it: where nothing is drawn, if its sign is right.
    """

    ruler: str
    positions: int
    right: int

    @property
    def right_rate(self) -> float:
        return self.right / self.positions

    @property
    def right_interval(self) -> tuple[float, float]:
        """Wilson's, at 95%."""
        return wilson_interval(self.right, self.positions)

    def to_dict(self) -> dict[str, object]:
        """For JSON: the counts, and the share with its interval."""
        shares = ("right_rate", "right_interval")
        return dataclasses.asdict(self) | {name: getattr(self, name) for name in shares}


@dataclasses.dataclass(frozen=True)
class PlayerReport:
    name: str
    scores: tuple[Score, ...]  # one for each ruler
    values: tuple[ValueScore, ...]  # as many or one more; none of a player without values
    matches: tuple[MatchResult, ...]

    @property
    def positions(self) -> int:
        """Of the first ruler, which depends on the game alone; 0 where there is none."""
        return self.scores[0].positions if self.scores else 0

    @property
    def mistakes(self) -> int:
        """In these positions."""
        return self.scores[0].mistakes if self.scores else 0


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
                "scores": [score.to_dict() for score in player.scores],
                "values": [score.to_dict() for score in player.values],
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
    matched: int = 1,
    num_games: int = 1000,
    opening_plies: int = 2,
    own_games: int = 0,
    seed: int = 0,
    batch_size: int = 1024,
    max_states: int = 2_000_000,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Measure players by every ruler that the game offers, and the first ones in matches too.

    Each player moves in positions in which the worth of every move is known: see `find_rulers` for
    those that a game has. With `own_games`, all are also held against positions that the first
    player comes to by itself, which are other ones than random play meets. What players with a
    method `values` think these positions worth, and the first moves where these are known, is held
    against their results.

    Args:
      players: by the names to be shown, or a sequence, then each shows its own.
      opponents: whom players meet in `num_games` games each.
      matched: the first so many players meet them (`azjax report`: two, with search and without).
      num_games, opening_plies: as in `play_match`.
      own_games: games of the first player with itself whose positions are a ruler, too.
      seed: of everything random here.
      batch_size: positions answered at once.
      max_states: the size up to which solving the game is tried.
      progress: called with a line that says what is being done.
    """
    players, opponents = _named(players), _named(opponents)
    say = progress or (lambda line: None)
    ruler_key, match_key, own_key = jax.random.split(jax.random.key(seed), 3)
    say(f"looking for exact values of {game.name}")
    rulers = find_rulers(game, max_states, seed)
    if own_games and players:
        name, player = next(iter(players.items()))
        say(f"{name}: {own_games} games with itself")
        own = own_ruler(game, player, max_states, own_key, own_games)
        if own is not None:
            rulers += (dataclasses.replace(own, name=own.name.replace("its own", f"{name}'s")),)
    first = first_moves(game)
    judged = rulers if first is None else (first, *rulers)
    reports = []
    for number, (name, player) in enumerate(players.items()):
        scores = []
        for ruler in rulers:
            say(f"{name}: {ruler.name}, {ruler.num_positions:,}")
            actions = choose(player, ruler_key, ruler.states, batch_size)
            scores.append(score_actions(ruler, actions))
        values = []
        for ruler in judged if hasattr(player, "values") else ():
            say(f"{name}: values, {ruler.name}")
            found = find_values(player, ruler_key, ruler.states, batch_size)
            values.append(score_values(ruler, found))
        matches = []
        for opponent_name, opponent in opponents.items() if number < matched else ():
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
        reports.append(PlayerReport(name, tuple(scores), tuple(values), tuple(matches)))
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
        risky_mistakes=int((mistakes & risky).sum()),
        optimal=int((scores[chosen] == scores.max(-1)).sum()),
        buckets=tuple(buckets),
    )


def score_values(ruler: Ruler | FirstMoves, values: np.ndarray) -> ValueScore:
    """Count the values, float32 [P], that are right of the ruler's positions."""
    results = ruler.results
    possible = {float(result) for result in np.unique(results)}
    if isinstance(ruler, Ruler):
        scores = ruler.action_scores
        possible |= {float(result) for result in np.unique(np.sign(scores[np.isfinite(scores)]))}
    among = np.array(sorted(possible | {-1.0, 1.0}), np.float32)
    nearest = among[np.abs(values[:, None] - among).argmin(-1)]
    return ValueScore(ruler.name, len(results), int((nearest == results).sum()))


def _named(players: Mapping[str, object] | Sequence) -> dict[str, object]:
    if isinstance(players, Mapping):
        return dict(players)
    return {player.name: player for player in players}
