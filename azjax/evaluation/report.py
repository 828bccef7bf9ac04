"""The evaluation report: mistakes on positions with exact values, and match results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import jax
import numpy as np
from azjax_envs import Game
from rich.console import RenderableType

from azjax.evaluation.batched_player import choose, find_values
from azjax.evaluation.elo import wilson_interval
from azjax.evaluation.match import MatchResult, play_match, prefixed
from azjax.evaluation.position_suites import GameSuites, PositionSuite
from azjax.exact.display import Displayed
from azjax.exact.first_moves import FirstMoves, first_moves
from azjax.players.base import Player

_BUCKET_PLIES = 6


@dataclasses.dataclass(frozen=True)
class Bucket:
    """Mistakes in the positions of one class of a suite."""

    name: str  # such as "plies 0-5" or "begin-hard"
    positions: int
    mistakes: int


@dataclasses.dataclass(frozen=True)
class Score:
    """A player's moves on one position suite.

    The intervals are Wilson's, at 95%. They assume positions drawn independently, which positions
    of one game are not quite.
    """

    suite: str
    positions: int
    mistakes: int  # moves to a worse result (win, draw, loss) than the best, and illegal moves
    illegal: int
    risky: int  # positions in which a legal move can be a mistake
    risky_mistakes: int  # mistakes in those positions
    optimal: int  # moves with the best score, such as the quickest win if scores show it
    buckets: tuple[Bucket, ...]
    has_classes: bool  # the buckets are named classes, not classes by plies

    @property
    def mistake_rate(self) -> float:
        """Share of all positions."""
        return self.mistakes / self.positions

    @property
    def mistake_interval(self) -> tuple[float, float]:
        """Interval of `mistake_rate`."""
        return wilson_interval(self.mistakes, self.positions)

    @property
    def risky_mistake_rate(self) -> float:
        """Share of the positions in which a mistake is possible."""
        return self.risky_mistakes / max(self.risky, 1)

    @property
    def risky_mistake_interval(self) -> tuple[float, float]:
        """Interval of `risky_mistake_rate`."""
        return wilson_interval(self.risky_mistakes, self.risky)

    @property
    def optimal_rate(self) -> float:
        """Share of the moves with the best score."""
        return self.optimal / self.positions

    def to_dict(self) -> dict[str, object]:
        """Returns the counts, the shares and their intervals, for JSON."""
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
    """A player's values of positions with known results.

    A value is right if the true result is the nearest of all results that these positions and
    their moves have. Without draws, that means that its sign is right.
    """

    suite: str
    positions: int
    right: int
    squared_error: float  # mean over the positions; results are -1, 0 and 1

    @property
    def right_rate(self) -> float:
        """Share of right values."""
        return self.right / self.positions

    @property
    def right_interval(self) -> tuple[float, float]:
        """Wilson's interval of `right_rate`, at 95%."""
        return wilson_interval(self.right, self.positions)

    def to_dict(self) -> dict[str, object]:
        """Returns the counts, the share and its interval, for JSON."""
        shares = ("right_rate", "right_interval")
        return dataclasses.asdict(self) | {name: getattr(self, name) for name in shares}


@dataclasses.dataclass(frozen=True)
class PlayerReport:
    """One player's part of a report."""

    name: str
    scores: tuple[Score, ...]  # one per suite
    values: tuple[ValueScore, ...]  # one per suite, and the first moves; none without values
    matches: tuple[MatchResult, ...]

    @property
    def positions(self) -> int:
        """Positions of the first suite, which depends on the game alone; 0 if there is none."""
        return self.scores[0].positions if self.scores else 0

    @property
    def mistakes(self) -> int:
        """Mistakes in these positions."""
        return self.scores[0].mistakes if self.scores else 0

    def class_rates(self) -> dict[str, float]:
        """Returns the share of mistakes in each named class of positions."""
        return {
            bucket.name: bucket.mistakes / bucket.positions
            for score in self.scores
            if score.has_classes
            for bucket in score.buckets
        }


@dataclasses.dataclass(frozen=True)
class Report(Displayed):
    """The figures that `report` measured; they print themselves as tables."""

    game: str
    players: tuple[PlayerReport, ...]
    cycle: int | None = None  # of a run's checkpoint; None for other players

    def __rich_console__(self, *_: object) -> Iterable[RenderableType]:
        from azjax.evaluation.report_table import report_tables

        return report_tables(self)

    def to_dict(self) -> dict[str, object]:
        """Returns all figures, for JSON."""
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
        cycle: dict[str, object] = {} if self.cycle is None else {"cycle": self.cycle}
        return cycle | {"game": self.game, "players": players}


def report(
    game: Game,
    players: Mapping[str, Player] | Sequence[Player],
    *,
    opponents: Mapping[str, Player] | Sequence[Player] = (),
    matched: int = 1,
    num_games: int = 1000,
    opening_plies: int = 2,
    own_games: int = 0,
    seed: int = 0,
    batch_size: int = 1024,
    max_states: int = 2_000_000,
    suites: GameSuites | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Measures players on positions with exact values, and the first ones in matches, too.

    Each player moves on every position suite of the game (see `GameSuites`). If a player has a
    method `values`, its values of these positions are compared with the results. So are its values
    of the first moves where those are known. Positions of the first player's own games, with
    `own_games`, differ from those that random play reaches.

    Args:
      game: the game.
      players: by the names to show, or a sequence of players with names of their own.
      opponents: the opponents in matches of `num_games` games each.
      matched: number of the players, from the first, that play these matches.
      num_games: games of each match, see `play_match`.
      opening_plies: random plies of each game, see `play_match`.
      own_games: games of the first player against itself; their positions are a suite, too.
      seed: of everything random here.
      batch_size: number of positions evaluated at once.
      max_states: a game with more reachable states is not solved.
      suites: the game's position suites, to keep exact values between several reports. They have
        their own `max_states` and seed. By default they are computed here.
      progress: called with a line about the next step.

    Returns:
      The figures, which print themselves.
    """
    players, opponents = _named(players), _named(opponents)
    say = progress or (lambda line: None)
    suite_key, match_key, own_key = jax.random.split(jax.random.key(seed), 3)
    say(f"looking for exact values of {game.name}")
    suites = suites or GameSuites(game, max_states, seed)
    measured = suites.fixed
    if own_games and players:
        name, player = next(iter(players.items()))
        say(f"{name}: {own_games} games against itself")
        own = suites.of_own_games(player, own_key, own_games)
        if own is not None:
            measured += (dataclasses.replace(own, name=own.name.replace("its own", f"{name}'s")),)
    first = first_moves(game)
    judged = measured if first is None else (first, *measured)
    reports = []
    for number, (name, player) in enumerate(players.items()):
        scores = []
        for suite in measured:
            say(f"{name}: {suite.name}, {suite.num_positions:,}")
            actions = choose(player, suite_key, suite.states, batch_size)
            scores.append(score_actions(suite, actions))
        values = []
        for suite in judged if hasattr(player, "values") else ():
            say(f"{name}: values, {suite.name}")
            found = find_values(player, suite_key, suite.states, batch_size)
            values.append(score_values(suite, found))
        matches = []
        for opponent_name, opponent in opponents.items() if number < matched else ():
            match = play_match(
                game,
                player,
                opponent,
                jax.random.fold_in(match_key, len(matches)),
                num_games=num_games,
                opening_plies=opening_plies,
                progress=prefixed(progress, f"{name} against {opponent_name}"),
            )
            matches.append(dataclasses.replace(match, player_a=name, player_b=opponent_name))
        reports.append(PlayerReport(name, tuple(scores), tuple(values), tuple(matches)))
    return Report(game.name, tuple(reports))


def score_actions(suite: PositionSuite, actions: np.ndarray) -> Score:
    """Counts the mistakes among one action, int32 [P], in each position of a suite."""
    scores = suite.action_scores
    legal = np.isfinite(scores)
    results = np.where(legal, np.sign(scores), -np.inf)
    best_result = results.max(-1)
    chosen = np.arange(len(scores)), actions
    mistakes = results[chosen] < best_result
    risky = (legal & (results < best_result[:, None])).any(-1)
    classes = np.array(suite.classes or [_class_by_plies(ply) for ply in suite.plies.tolist()])
    # In the order of the suite, or of the plies.
    order = range(len(classes)) if suite.classes else np.argsort(suite.plies, kind="stable")
    buckets = []
    for name in dict.fromkeys(classes[list(order)].tolist()):
        inside = classes == name
        buckets.append(Bucket(name, int(inside.sum()), int(mistakes[inside].sum())))
    return Score(
        suite=suite.name,
        positions=len(scores),
        mistakes=int(mistakes.sum()),
        illegal=int((~legal[chosen]).sum()),
        risky=int(risky.sum()),
        risky_mistakes=int((mistakes & risky).sum()),
        optimal=int((scores[chosen] == scores.max(-1)).sum()),
        buckets=tuple(buckets),
        has_classes=suite.classes is not None,
    )


def _class_by_plies(ply: int) -> str:
    first = ply - ply % _BUCKET_PLIES
    return f"plies {first}-{first + _BUCKET_PLIES - 1}"


def score_values(suite: PositionSuite | FirstMoves, values: np.ndarray) -> ValueScore:
    """Compares the values, float32 [P], of a suite's positions with their results."""
    results = suite.results
    possible = {float(result) for result in np.unique(results)}
    if isinstance(suite, PositionSuite):
        scores = suite.action_scores
        possible |= {float(result) for result in np.unique(np.sign(scores[np.isfinite(scores)]))}
    among = np.array(sorted(possible | {-1.0, 1.0}), np.float32)
    nearest = among[np.abs(values[:, None] - among).argmin(-1)]
    return ValueScore(
        suite=suite.name,
        positions=len(results),
        right=int((nearest == results).sum()),
        squared_error=float(np.mean((values - results) ** 2, dtype=np.float64)),
    )


def _named(players: Mapping[str, Player] | Sequence[Player]) -> dict[str, Player]:
    if isinstance(players, Mapping):
        return dict(players)
    return {player.name: player for player in players}
