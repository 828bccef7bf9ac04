"""Tables of a report: the players' mistakes side by side, and the matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE
from rich.console import RenderableType
from rich.table import Table

from azjax.evaluation.match import match_table, percent
from azjax.evaluation.report import Report, Score


def report_tables(report: Report) -> list[RenderableType]:
    """Returns a table with a part for each position suite, and one of the matches."""
    measured = any(player.scores or player.values for player in report.players)
    matches = [match for player in report.players for match in player.matches]
    if not measured and not matches:
        return [
            f"{report.game} is too large to solve and has no file of scored positions: only "
            "matches can measure a player"
        ]
    tables: list[RenderableType] = []
    if measured:
        tables.append(_mistake_table(report))
    if matches:
        tables.append(match_table(matches, report.game))
    return tables


def _mistake_table(report: Report) -> Table:
    title = f"{report.game}: mistakes, with 95% intervals of the shares"
    # Four players fit into 80 columns.
    table = Table(
        title=title,
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
        _add_suite(table, scores)
        if number + 1 < len(suites):
            table.add_row()
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
