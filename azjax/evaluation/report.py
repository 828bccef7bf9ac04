"""The evaluation report: mistakes on positions with exact values, and match results."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import jax
from azjax_envs import Game
from rich.box import SIMPLE
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from azjax.evaluation.batch_evaluation import choose_and_value
from azjax.evaluation.match import play_match, prefixed
from azjax.evaluation.match_result import MatchResult, MatchTable, different_names, percent
from azjax.evaluation.position_suites import GameSuites
from azjax.evaluation.scores import Score, ValueScore, score_actions, score_values
from azjax.evaluation.summary import summarize
from azjax.exact.first_moves import first_moves
from azjax.players.base import Player
from azjax.rich_repr import RichRepr


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
class Report(RichRepr):
    """The figures that `report` measured; they print themselves as tables and three sentences."""

    game: str
    players: tuple[PlayerReport, ...]
    cycle: int | None = None  # of a run's checkpoint; None for other players

    def __rich_console__(self, *_: object) -> Iterable[RenderableType]:
        measured = any(player.scores or player.values for player in self.players)
        matches = tuple(match for player in self.players for match in player.matches)
        if measured:
            yield _mistake_table(self)
        if matches:
            yield MatchTable(matches, self.game)
        if measured or matches:
            yield Text("\n" + "\n".join(self.sentences()))
        if not measured and not matches:
            yield (
                f"{self.game} is too large to solve and has no file of scored positions: only "
                "matches can measure a player"
            )

    def sentences(self) -> list[str]:
        """Returns the result in up to three sentences, see `summarize`."""
        if not self.players:
            return []
        first, *others = self.players
        score = first.scores[0] if first.scores else None
        made = {player.name: player.scores[0] for player in others if player.scores}
        return list(summarize(self.game, first.name, score, first.matches, made))

    def to_dict(self) -> dict[str, object]:
        """Returns all figures, for JSON."""
        players = [
            {
                "name": player.name,
                "positions": player.positions,
                "mistakes": player.mistakes,
                "scores": [dataclasses.asdict(score) for score in player.scores],
                "values": [dataclasses.asdict(score) for score in player.values],
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
    opening_plies: int | None = None,
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
      players: by the names to show, or a sequence of players with names of their own.
      opponents: the opponents in matches of `num_games` games each, see `play_match`.
      matched: number of the players, from the first, that play these matches.
      opening_plies: random plies before the players start. None for 2, or for none where all states
        of the game are known: after random plies such a game is often lost already.
      own_games: games of the first player against itself; their positions are a suite, too.
      max_states: a game with more reachable states is not solved.
      suites: the game's position suites, to keep exact values between several reports. They have
        their own `max_states` and seed. By default they are computed here.
      progress: called with a line about the next step.
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
    judged = measured if first is None else (*measured, first)
    if opening_plies is None:
        opening_plies = 2 if suites.solution is None else 0
    reports = []
    for number, (name, player) in enumerate(players.items()):
        asked = judged if hasattr(player, "values") else measured
        say(f"{name}: {', '.join(f'{suite.name}, {len(suite.results):,}' for suite in asked)}")
        found = (
            choose_and_value(player, suite_key, [suite.states for suite in asked], batch_size)
            if asked
            else []
        )
        scores = [
            score_actions(s, actions) for s, (actions, _) in zip(measured, found, strict=False)
        ]
        values = [
            score_values(suite, worth)
            for suite, (_, worth) in zip(asked, found, strict=True)
            if worth is not None
        ]
        if first is not None:
            values = values[-1:] + values[:-1]
        matches = []
        for opponent_name, opponent in opponents.items() if number < matched else ():
            match = play_match(
                game,
                player,
                opponent,
                jax.random.fold_in(match_key, len(matches)),
                num_games=num_games,
                opening_plies=opening_plies,
                results=suites.results,
                progress=prefixed(progress, f"{name} against {opponent_name}"),
            )
            matches.append(dataclasses.replace(match, player_a=name, player_b=opponent_name))
        reports.append(PlayerReport(name, tuple(scores), tuple(values), tuple(matches)))
    return Report(game.name, tuple(reports))


def _named(players: Mapping[str, Player] | Sequence[Player]) -> dict[str, Player]:
    if isinstance(players, Mapping):
        return dict(players)
    names = different_names([player.name for player in players])
    return dict(zip(names, players, strict=True))


def _title(report: Report) -> str:
    expected = any(score.expected for player in report.players for score in player.scores)
    told = "expected losses" if expected else "mistakes, with 95% intervals of the shares"
    return f"{report.game}: {told}"


def _mistake_table(report: Report) -> Table:
    table = Table(  # four players fit into 80 columns
        title=_title(report),
        title_justify="left",
        box=SIMPLE,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("", min_width=17)
    for player in report.players:
        table.add_column(player.name, justify="right")
    suites = list(zip(*(player.scores for player in report.players), strict=True))
    for number, scores in enumerate(suites):
        if number:
            table.add_row()
        _add_suite(table, scores)
    _add_values(table, report)
    return table


def _add_values(table: Table, report: Report) -> None:
    """Adds how often the players' values were wrong; nothing if no player has values."""
    suites = max((player.values for player in report.players), key=len)
    if suites:
        table.add_row()
        table.add_row("wrong values", style="bold")
    for number, suite in enumerate(suites):
        scores = [player.values[number] if player.values else None for player in report.players]
        wrong = ("" if s is None else _share(s.positions - s.right, s.positions) for s in scores)
        table.add_row(f" {suite.suite}", *wrong)
        table.add_row(" right", *("" if s is None else percent(s.right_rate) for s in scores))
        errors = ("" if s is None else f"{s.squared_error:.4f}" for s in scores)
        table.add_row(" squared error", *errors)


def _add_suite(table: Table, scores: Sequence[Score]) -> None:
    """Adds the rows of one suite, with a column for each player."""

    def row(label: str, cells: Iterable[str], style: str | None = None) -> None:
        table.add_row(label, *cells, style=style)

    row(scores[0].suite, (f"{s.positions:,}" for s in scores), "bold")
    if scores[0].expected:  # where most mistakes are tiny
        row(" points lost by a move", (f"{s.loss:.3%}" for s in scores), "bold")
        row(" standard error", (f"{s.loss_error:.3%}" for s in scores))
        row(" best moves", (percent(s.optimal_rate) for s in scores))
        return
    row(" mistakes", (_share(s.mistakes, s.positions) for s in scores))
    row(" without one", (percent(1 - s.mistake_rate) for s in scores), "bold")
    row("", (_without(s.mistake_interval) for s in scores))
    row(" where possible", (_share(s.risky_mistakes, s.risky) for s in scores))
    row(" without one", (percent(1 - s.risky_mistake_rate) for s in scores))
    row("", (_without(s.risky_mistake_interval) for s in scores))
    row(" best moves", (percent(s.optimal_rate) for s in scores))
    if any(s.illegal for s in scores):
        row(" illegal moves", (f"{s.illegal:,}" for s in scores), "red")
    for buckets in zip(*(s.buckets for s in scores), strict=True):
        row(f" {buckets[0].name}", (_share(b.mistakes, b.positions) for b in buckets))


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}"


def _without(mistakes: tuple[float, float]) -> str:
    """Returns the interval of the share without a mistake, from that of the mistakes."""
    low, high = (percent(1 - share).removesuffix("%") for share in reversed(mistakes))
    return f"{low}-{high}%"
