"""Ratings of players on one Elo scale: of any, or of all checkpoints of a run and some others."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jax
import numpy as np
from azjax_envs import Game
from rich.table import Table

from azjax.errors import UserError
from azjax.evaluation.bradley_terry import fit_ratings
from azjax.evaluation.match import play_match, prefixed
from azjax.evaluation.match_result import MatchResult, different_names, short_names
from azjax.games import resolve_game
from azjax.network import Network
from azjax.players.base import Player
from azjax.players.load import load_player, load_run_config, warn_on_stderr
from azjax.players.network_players import SearchPlayer
from azjax.rich_repr import RichRepr
from azjax.runs.checkpoint import BrokenCheckpointError, Checkpoints
from azjax.runs.metrics import read_metrics
from azjax.runs.plots import COLOURS, Lines, figure_over_cycles, finish, save
from azjax.search import Search

RATING_FILE = "rating.json"


@dataclasses.dataclass(frozen=True)
class RatedPlayer:
    """A checkpoint or an anchor; `low` and `high` are the ends of the 95% interval."""

    name: str
    cycle: int | None  # None for anchors
    elo: float
    low: float
    high: float
    games: int
    score: float  # share of the points in its games


@dataclasses.dataclass(frozen=True)
class Rating(RichRepr):
    """Ratings of players, such as a run's checkpoints and the anchors; prints itself as a table.

    See `azjax.evaluation.bradley_terry` for the model.
    """

    game: str
    simulations: int | None  # of the checkpoints' search; None if no run was rated
    zero: str  # the anchor whose Elo is 0
    players: tuple[RatedPlayer, ...]  # checkpoints, oldest first, then anchors
    matches: tuple[MatchResult, ...]

    def to_dict(self) -> dict[str, object]:
        """Returns all figures, for JSON."""
        return dataclasses.asdict(self) | {"matches": [each.to_dict() for each in self.matches]}

    def __rich__(self) -> Table:
        title = f"{self.game}: Elo, {self.zero} = 0"
        if self.simulations is not None:
            title += f"; {self.simulations} simulations"
        table = Table(title=title, title_justify="left")
        table.add_column("player")
        for heading in ("Elo", "95% interval", "score", "games"):
            table.add_column(heading, justify="right", no_wrap=True)
        names = [player.name for player in self.players]
        shown = dict(zip(names, short_names(names), strict=True))
        for player in sorted(self.players, key=lambda player: -player.elo):
            table.add_row(
                shown[player.name],
                f"{player.elo:+.0f}",
                "" if player.name == self.zero else f"{player.low:+.0f} to {player.high:+.0f}",
                f"{player.score:.1%}",
                f"{player.games:,}",
                style="dim" if player.cycle is None and self.simulations is not None else None,
            )
        return table


def rate_run(
    run: str | Path,
    *,
    game: Game | None = None,
    network: Network | None = None,
    search: Search | None = None,
    anchors: Sequence[str] = (),
    simulations: int | None = None,
    games: int = 40,
    opening_plies: int = 2,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    warn: Callable[[str], None] = warn_on_stderr,
) -> Rating:
    """Plays matches between a run's checkpoints and anchors, and rates all of them.

    Each checkpoint plays the next one and all anchors, and the anchors play each other. The number
    of matches therefore grows linearly with that of the checkpoints.

    Args:
      game: as in `load_player`, like `network` and `search`.
      anchors: spellings of players, the first of which has Elo 0; `default_anchors` if empty.
      simulations: of the checkpoints' search; None for the number in the run's evaluations.
      games: of each match, half from each seat.
      progress: called with a line about the next match.
      warn: called with a line about each checkpoint that is broken and skipped.

    Raises:
      UserError: there is no run, no checkpoint or no such anchor, or an anchor is named twice.
    """
    run = Path(run)
    config = load_run_config(run)
    game = resolve_game(config.game, game, owner=str(run))
    if simulations is None:
        simulations = config.evaluation.num_simulations
    if simulations < 1:
        raise UserError(f"the number of simulations must be at least 1, but is {simulations}")
    anchors = tuple(anchors) or default_anchors(game)
    if len(set(anchors)) < len(anchors):
        raise UserError(f"an anchor is named twice: {', '.join(anchors)}")
    with Checkpoints(run, read_only=True) as checkpoints:
        cycles = checkpoints.cycles()
    players = {spec: load_player(spec, game=game) for spec in anchors}
    names = {}
    for cycle in cycles:
        try:
            player = load_player(
                run,
                game=game,
                network=network,
                search=search,
                simulations=simulations,
                checkpoint=cycle,
                warn=warn,
            )
        except BrokenCheckpointError as error:
            warn(f"{error}; it is left out")
            continue
        if isinstance(player, SearchPlayer):
            search = player.search  # so that what is said of it is said once
        names[f"cycle {cycle}"] = cycle
        players[f"cycle {cycle}"] = player
    if not names:
        raise UserError(f"{run}: there is no intact checkpoint")
    pairings = _pairings(list(names), list(anchors))
    matches = _play(game, players, pairings, games, opening_plies, seed, progress)
    rated = rate_players([*names, *anchors], matches, zero=anchors[0], cycles=names)
    return Rating(game.name, simulations, anchors[0], rated, tuple(matches))


def rate(
    game: Game,
    players: Mapping[str, Player] | Sequence[Player],
    *,
    zero: str | None = None,
    games: int = 40,
    opening_plies: int = 2,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Rating:
    """Rates players of any kind on one Elo scale, by matches of each against each.

    Args:
      players: by the names to show, or a sequence of players with names of their own.
      zero: the name of the player whose Elo is 0; the last one by default.
      games: of each match, half from each seat.
      progress: called with a line about the next match.

    Raises:
      UserError: there are fewer than two players, none is called `zero`, or one plays another game.

    Example:
        ```python
        players = {"mine": player, "random": azjax.load_player("random", game=player.game)}
        print(azjax.rate(player.game, players))
        ```
    """
    if not isinstance(players, Mapping):
        names = different_names([player.name for player in players])
        players = dict(zip(names, players, strict=True))
    names = list(players)
    if len(names) < 2:
        raise UserError(f"rate needs at least two players, but has {len(names)}")
    zero = names[-1] if zero is None else zero
    if zero not in names:
        raise UserError(f"zero = {zero!r} must be one of the players: {', '.join(names)}")
    for name, player in players.items():
        if player.game != game:
            raise UserError(f"{name} plays {player.game.name}, not {game.name}")
    pairings = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    matches = _play(game, players, pairings, games, opening_plies, seed, progress)
    rated = rate_players(names, matches, zero=zero, cycles={})
    return Rating(game.name, None, zero, rated, tuple(matches))


def _play(
    game: Game,
    players: Mapping[str, Player],
    pairings: Sequence[tuple[str, str]],
    games: int,
    opening_plies: int,
    seed: int,
    progress: Callable[[str], None] | None,
) -> list[MatchResult]:
    """Plays the matches of a rating."""
    matches = []
    key = jax.random.PRNGKey(seed)
    for number, (a, b) in enumerate(pairings):
        about = f"match {number + 1} of {len(pairings)}: {a} against {b}"
        result = play_match(
            game,
            players[a],
            players[b],
            jax.random.fold_in(key, number),
            num_games=games,
            opening_plies=opening_plies,
            progress=prefixed(progress, about),
        )
        matches.append(dataclasses.replace(result, player_a=a, player_b=b))
    return matches


def save_rating(rating: Rating, run: str | Path) -> None:
    """Writes `rating.json` and `plots/rating.png` into a run directory."""
    run = Path(run)
    (run / RATING_FILE).write_text(json.dumps(rating.to_dict(), indent=2) + "\n")
    _draw(run, read_metrics(run), rating.players, zero=rating.zero)


def default_anchors(game: Game) -> tuple[str, ...]:
    """Returns random play, and UCT if its random playouts are short enough."""
    if game.max_steps <= 64:
        return "random", "uct:100", "uct:1000"
    return ("random", "uct:100") if game.max_steps <= 200 else ("random",)


def rate_players(
    names: Sequence[str], matches: Sequence[MatchResult], *, zero: str, cycles: dict[str, int]
) -> tuple[RatedPlayer, ...]:
    """Rates players by their matches, in the order of `names`; `zero` has Elo 0.

    `cycles` are those of the players that are checkpoints.
    """
    row = {name: i for i, name in enumerate(names)}
    points, effective = np.zeros((2, len(names), len(names)))
    for match in matches:
        a, b = row[match.player_a], row[match.player_b]
        points[a, b] += match.score * match.num_games
        points[b, a] += (1 - match.score) * match.num_games
        effective[[a, b], [b, a]] += match.effective_games
    independent = effective / np.maximum(points + points.T, 1)
    ratings = fit_ratings(points, anchor=row[zero], independent=independent)
    taken, games = points.sum(1), (points + points.T).sum(1)
    return tuple(
        RatedPlayer(
            name=name,
            cycle=cycles.get(name),
            elo=float(ratings.elo[i]),
            low=float(ratings.low[i]),
            high=float(ratings.high[i]),
            games=round(games[i]),
            score=float(taken[i] / games[i]),
        )
        for i, name in enumerate(names)
    )


def _pairings(checkpoints: list[str], anchors: list[str]) -> list[tuple[str, str]]:
    neighbours = list(zip(checkpoints[1:], checkpoints[:-1], strict=True))
    against = [(checkpoint, anchor) for checkpoint in checkpoints for anchor in anchors]
    among = [(a, b) for i, a in enumerate(anchors) for b in anchors[:i]]
    return neighbours + against + among


def _draw(run_dir: Path, lines: Lines, players: Sequence[RatedPlayer], *, zero: str) -> Path:
    """Draws `plots/rating.png`: checkpoints with 95% intervals, and anchors as horizontal lines."""
    figure, (axes,) = figure_over_cycles(lines, 1)
    for number, anchor in enumerate(x for x in players if x.cycle is None):
        colour = COLOURS[1 + number % (len(COLOURS) - 1)]
        axes.axhspan(anchor.low, anchor.high, color=colour, alpha=0.12, linewidth=0)
        axes.axhline(anchor.elo, color=colour, linewidth=1.2, linestyle=(0, (4, 2)))
        axes.plot([], [], color=colour, linewidth=1.2, linestyle=(0, (4, 2)), label=anchor.name)
    checkpoints = [x for x in players if x.cycle is not None]
    cycles = [x.cycle for x in checkpoints if x.cycle is not None]
    elo = [x.elo for x in checkpoints]
    below = [x.elo - x.low for x in checkpoints]
    above = [x.high - x.elo for x in checkpoints]
    axes.errorbar(
        cycles,
        elo,
        (below, above),
        color=COLOURS[0],
        marker="o",
        markersize=4.5,
        linewidth=1.8,
        elinewidth=1.2,
        capsize=2.5,
        label="checkpoints",
    )
    axes.set_ylabel(f"Elo ({zero} = 0), with 95% intervals")
    return save(finish(figure, "Rating"), run_dir, "rating.png")
