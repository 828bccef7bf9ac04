"""The report card as tables for a terminal, players side by side."""

from rich.console import Console
from rich.table import Table

from azjax.arena.match import MatchResult
from azjax.arena.report import Report, Score


def render(report: Report, console: Console) -> None:
    """Print the report: a table for each ruler, and one of the matches."""
    names = [player.name for player in report.players]
    for scores in zip(*(player.scores for player in report.players), strict=True):
        console.print(_ruler_table(f"{report.game}: {scores[0].ruler}", names, scores))
    matches = [match for player in report.players for match in player.matches]
    if matches:
        render_matches(report.game, matches, console)
    if not matches and not report.players[0].scores:
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


def _ruler_table(title: str, names: list[str], scores: tuple[Score, ...]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    table.add_row("positions", *(f"{s.positions:,}" for s in scores))
    table.add_row("mistakes", *(_share(s.mistakes, s.positions) for s in scores), style="bold")
    table.add_row("without a mistake", *(_percent(1 - s.mistake_rate) for s in scores))
    table.add_row("where one is possible", *(_share(s.mistakes, s.risky) for s in scores))
    table.add_row("best possible moves", *(_percent(s.optimal_rate) for s in scores))
    if any(s.illegal for s in scores):
        table.add_row("illegal moves", *(f"{s.illegal:,}" for s in scores), style="red")
    table.add_section()
    for buckets in zip(*(s.buckets for s in scores), strict=True):
        label = f"plies {buckets[0].first_ply}-{buckets[0].last_ply}"
        table.add_row(label, *(_share(b.mistakes, b.positions) for b in buckets))
    return table


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


def _percent(share: float) -> str:
    # 1937 of 1938 must not read as all of them.
    return "100%" if share == 1 else f"{min(100 * share, 99.99):.2f}%"
