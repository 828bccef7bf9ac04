"""The report card for a terminal: one table of mistakes, players side by side, one of matches."""

from collections.abc import Iterable

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from azjax.evaluation.match import MatchResult
from azjax.evaluation.report import Report, Score


def render(report: Report, console: Console) -> None:
    """Print the report: a table with a part for each ruler, and one of the matches."""
    if any(player.scores or player.values for player in report.players):
        console.print(_card(report))
    matches = [match for player in report.players for match in player.matches]
    if matches:
        render_matches(report.game, matches, console)
    if not matches and not any(p.scores or p.values for p in report.players):
        console.print(
            f"{report.game} is too large to solve and no scored positions of it are at hand: "
            "only matches can measure a player"
        )


def render_matches(game: str, matches: list[MatchResult], console: Console) -> None:
    """Print a table of the matches."""
    console.print(_match_table(game, matches))


def elo_text(match: MatchResult) -> str:
    """The Elo difference with its interval; a bound alone where every game went one way."""
    if match.score == 1.0:
        return f"> {match.elo_low:+.0f}"
    if match.score == 0.0:
        return f"< {match.elo_high:+.0f}"
    return f"{match.elo:+.0f} [{match.elo_low:+.0f}, {match.elo_high:+.0f}]"


def _card(report: Report) -> Table:
    title = f"{report.game}: mistakes, with 95% intervals of the shares"
    # Four players fit into 80 columns.
    tight = {"show_edge": False, "pad_edge": False, "collapse_padding": True}
    table = Table(title=title, title_justify="left", box=SIMPLE, **tight)
    table.add_column("", min_width=17)
    for player in report.players:
        table.add_column(player.name, justify="right")
    rulers = list(zip(*(player.scores for player in report.players), strict=True))
    for number, scores in enumerate(rulers):
        _add_ruler(table, scores)
        if number + 1 < len(rulers):
            table.add_row()
    _add_values(table, report)
    return table


def _add_values(table: Table, report: Report) -> None:
    """How often the players' values were wrong; nothing if none of them has values."""
    rulers = max((player.values for player in report.players), key=len)
    if rulers:
        table.add_row()
        table.add_row("wrong values", style="bold")
    for number, ruler in enumerate(rulers):
        scores = [player.values[number] if player.values else None for player in report.players]
        wrong = ("" if s is None else _share(s.positions - s.right, s.positions) for s in scores)
        table.add_row(f" {ruler.ruler}", *wrong)
        table.add_row(" right", *("" if s is None else _percent(s.right_rate) for s in scores))


def _add_ruler(table: Table, scores: tuple[Score, ...]) -> None:
    """The rows of one ruler, a column for each player's score."""

    def row(label: str, cells: Iterable[str], style: str | None = None) -> None:
        table.add_row(label, *cells, style=style)

    row(scores[0].ruler, (f"{s.positions:,}" for s in scores), "bold")
    row(" mistakes", (_share(s.mistakes, s.positions) for s in scores))
    row(" without one", (_percent(1 - s.mistake_rate) for s in scores), "bold")
    row("", (_without(s.mistake_interval) for s in scores))
    row(" where possible", (_share(s.risky_mistakes, s.risky) for s in scores))
    row(" without one", (_percent(1 - s.risky_mistake_rate) for s in scores))
    row("", (_without(s.risky_mistake_interval) for s in scores))
    row(" best moves", (_percent(s.optimal_rate) for s in scores))
    if any(s.illegal for s in scores):
        row(" illegal moves", (f"{s.illegal:,}" for s in scores), "red")
    for buckets in zip(*(s.buckets for s in scores), strict=True):
        label = f" plies {buckets[0].first_ply}-{buckets[0].last_ply}"
        row(label, (_share(b.mistakes, b.positions) for b in buckets))


def _match_table(game: str, matches: list[MatchResult]) -> Table:
    table = Table(title=f"{game}: matches (wins/draws/losses)", title_justify="left")
    for heading in ("player", "opponent"):
        table.add_column(heading)
    for heading in ("moving first", "moving second", "score", "Elo (95%)", "plies"):
        table.add_column(heading, justify="right")
    for match in matches:
        table.add_row(
            match.player_a,
            match.player_b,
            "/".join(map(str, match.as_first)),
            "/".join(map(str, match.as_second)),
            _percent(match.score),
            elo_text(match),
            f"{match.mean_length:.1f}",
        )
    return table


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}"


def _without(mistakes: tuple[float, float]) -> str:
    """The interval of the share without a mistake, from that of the share with one."""
    low, high = (_percent(1 - share).removesuffix("%") for share in reversed(mistakes))
    return f"{low}-{high}%"


def _percent(share: float) -> str:
    # 1937 of 1938 must not read as all of them.
    return "100%" if share == 1 else f"{min(100 * share, 99.99):.2f}%"
