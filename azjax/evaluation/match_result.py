"""The result of a match, and results as a table with readable names and figures."""

import dataclasses
import math
import re
from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from azjax.rich_repr import RichRepr

_PLAYERS = ("player", "opponent")
_FIGURES = ("moving first", "moving second", "score", "Elo (95%)", "plies")
_LOST = "from lost openings"  # shown where the openings' results are known
_POINTS = "points a game"  # shown where a game may have several
_UNLIMITED = 10_000  # columns
_ENGINE = re.compile("(gtp|uci|usi):")


@dataclasses.dataclass(frozen=True)
class MatchResult(RichRepr):
    """Result of a match between players a and b; prints itself as a table."""

    player_a: str
    player_b: str
    as_first: tuple[int, int, int]  # a plays the first seat (player 0)
    as_second: tuple[int, int, int]  # a plays the second seat (player 1)
    pair_counts: tuple[int, ...]  # pairs in which a scored 0, 1/2, 1, 3/2, 2
    mean_length: float  # plies of a game, its opening included
    effective_games: float  # of different openings, equally informative, see `effective_pairs`
    elo: float  # of a over b; infinite after a perfect match
    elo_low: float  # the ends of its 95% interval, see `estimate_elo`
    elo_high: float
    opening_plies: int = 0  # random plies before the players started
    losses_of_lost_openings: int | None = None  # games that a lost from openings lost already
    points: float | None = None  # a game of player a, where games have several, as backgammon's
    points_error: float | None = None  # the standard error of that; unknown with one pair

    @property
    def wins(self) -> int:
        """Games that player a won."""
        return self.as_first[0] + self.as_second[0]

    @property
    def draws(self) -> int:
        """Games that were drawn."""
        return self.as_first[1] + self.as_second[1]

    @property
    def losses(self) -> int:
        """Games that player a lost."""
        return self.as_first[2] + self.as_second[2]

    @property
    def num_games(self) -> int:
        """All games."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Share of the points that player a took, in [0, 1]."""
        return (self.wins + self.draws / 2) / self.num_games

    def to_dict(self) -> dict[str, object]:
        """Returns all figures, for JSON; an infinite Elo becomes None."""
        fields = dataclasses.asdict(self)
        fields |= {"games": self.num_games, "wins": self.wins, "draws": self.draws}
        fields |= {"losses": self.losses, "score": self.score}
        for name in ("elo", "elo_low", "elo_high"):
            fields[name] = fields[name] if math.isfinite(fields[name]) else None
        return fields

    def __rich__(self) -> RenderableType:
        return MatchTable((self,))


@dataclasses.dataclass(frozen=True)
class MatchTable:
    """Matches as a table with a row each, or as a list where it is wider than the terminal."""

    matches: tuple[MatchResult, ...]
    game: str = ""  # for the title

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        known = any(match.losses_of_lost_openings is not None for match in self.matches)
        counted = any(match.points is not None for match in self.matches)
        rows, title = self._rows(known, counted), "matches (wins/draws/losses)"
        figures_shown = [*_FIGURES[:2], *[_LOST] * known, _FIGURES[2], *[_POINTS] * counted]
        figures_shown += _FIGURES[3:]
        title = f"{self.game}: {title}" if self.game else title
        table = Table(title=title, title_justify="left")
        for heading in _PLAYERS:
            table.add_column(heading)
        for heading in figures_shown:
            table.add_column(heading, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        unlimited = options.update(width=_UNLIMITED)
        if console.measure(table, options=unlimited).maximum <= options.max_width:
            yield table
            return
        yield Text(title, style="italic")
        for player, opponent, *figures in rows:
            yield Text(f"{player} against {opponent}", style="bold")
            listed = Table.grid(padding=(0, 2))
            for heading, figure in zip(figures_shown, figures, strict=True):
                listed.add_row(f"  {heading}", figure)
            yield listed

    def _rows(self, known: bool, counted: bool) -> list[list[str]]:
        names = [name for each in self.matches for name in (each.player_a, each.player_b)]
        shown = dict(zip(names, short_names(names), strict=True))
        return [
            [
                shown[match.player_a],
                shown[match.player_b],
                "/".join(map(str, match.as_first)),
                "/".join(map(str, match.as_second)),
                *lost_openings_text(match, known),
                percent(match.score),
                *[points_text(match)] * counted,
                elo_text(match),
                f"{match.mean_length:.1f}",
            ]
            for match in self.matches
        ]


def lost_openings_text(match: MatchResult, known: bool = True) -> tuple[str, ...]:
    """Returns how many losses began from openings that were lost already: ("8 of 9 losses",)."""
    if not known:
        return ()
    lost = match.losses_of_lost_openings
    return ("" if lost is None else f"{lost} of {match.losses} losses",)


def points_text(match: MatchResult) -> str:
    """Returns the points a game with their standard error: "+0.132 ± 0.031"."""
    if match.points is None:
        return ""
    error = "" if match.points_error is None else f" ± {match.points_error:.3f}"
    return f"{match.points:+.3f}{error}"


def elo_text(match: MatchResult) -> str:
    """Returns the Elo difference with its interval; only a bound after a perfect match."""
    if match.score == 1.0:
        return f"> {match.elo_low:+.0f}"
    if match.score == 0.0:
        return f"< {match.elo_high:+.0f}"
    return f"{match.elo:+.0f} [{match.elo_low:+.0f}, {match.elo_high:+.0f}]"


def percent(share: float) -> str:
    """Returns a share in percent. 1937 of 1938 is not shown as 100%."""
    return "100%" if share == 1 else f"{min(100 * share, 99.99):.2f}%"


def different_names(names: Sequence[str]) -> list[str]:
    """Returns players' names, in which equal ones are numbered: "search:32 (1)"."""
    seen = [names[: i + 1].count(name) for i, name in enumerate(names)]
    return [
        f"{name} ({number})" if names.count(name) > 1 else name
        for name, number in zip(names, seen, strict=True)
    ]


def short_names(names: Sequence[str]) -> list[str]:
    """Returns players' names without leading folders, as far as different names stay different.

    Names of engines are not shortened, because their commands have slashes.
    """
    parts = [[name] if _ENGINE.match(name) else name.strip("/").split("/") for name in names]
    for kept in range(1, max(map(len, parts), default=0)):
        short = ["/".join(part[-kept:]) for part in parts]
        if len(set(short)) == len(set(names)):
            return short
    return list(names)
