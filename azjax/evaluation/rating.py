"""The rating list of a run: all its checkpoints and some fixed players on one scale."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import jax
import numpy as np
from azjax_envs import Game
from rich.console import Console
from rich.table import Table

from azjax.errors import UserError
from azjax.evaluation.bradley_terry import fit_ratings
from azjax.evaluation.match import MatchResult, play_match
from azjax.evaluation.rating_plot import draw_rating
from azjax.games import make_game
from azjax.players.load import load_player, load_run_config, player_from_spec
from azjax.players.network_players import SearchPlayer
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.metrics import read_metrics

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
    score: float  # the share of the points of its games


@dataclasses.dataclass(frozen=True)
class Rating:
    """What `azjax rate` finds out; see `azjax.evaluation.bradley_terry` for the model."""

    game: str
    simulations: int  # of the checkpoints' search
    zero: str  # the anchor whose Elo is 0
    players: tuple[RatedPlayer, ...]  # checkpoints, oldest first, then anchors
    matches: tuple[MatchResult, ...]

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return dataclasses.asdict(self) | {"matches": [each.to_dict() for each in self.matches]}


def rate_run(
    run: str | Path,
    *,
    anchors: tuple[str, ...] = (),
    simulations: int | None = None,
    games: int = 40,
    opening_plies: int = 2,
    seed: int = 0,
    json: bool = False,
    console: Console | None = None,
) -> Rating:
    """Plays the matches, prints the list, and writes `rating.json` and `plots/rating.png`.

    Each checkpoint meets the next one and all anchors, and the anchors meet each other: the number
    of matches grows with that of the checkpoints, and not with its square.

    Args:
      run: a run directory.
      anchors: players in text, the first of which has Elo 0; none for those of `default_anchors`.
      simulations: of the checkpoints' search; None for as many as the run's evaluations have.
      games: of each match, half from each seat.
      opening_plies: random plies of each game before the players start.
      seed: of everything random.
      json: print JSON instead of a table.
      console: where to print.

    Raises:
      UserError: there is no run or no checkpoint, no such anchor, or one is named twice.
    """
    run = Path(run)
    config = load_run_config(run)
    game = make_game(config)
    if simulations is None:
        simulations = config.evaluation.num_simulations
    if simulations < 1:
        raise UserError(f"--simulations {simulations}: at least 1 is wanted")
    anchors = anchors or default_anchors(game)
    if len(set(anchors)) < len(anchors):
        raise UserError(f"an anchor is named twice: {', '.join(anchors)}")
    with Checkpoints(run, read_only=True) as checkpoints:
        cycles = checkpoints.cycles()
    players = {spec: player_from_spec(spec, game) for spec in anchors}
    names = {}
    for cycle in cycles:
        player = _load(run, simulations, cycle)
        if player is not None:
            names[f"cycle {cycle}"] = cycle
            players[f"cycle {cycle}"] = player
    if not names:
        raise UserError(f"{run}: no intact checkpoint is there")
    console = console or Console()
    matches = []
    key = jax.random.PRNGKey(seed)
    with console.status("", spinner="dots") as status:
        pairings = _pairings(list(names), list(anchors))
        for number, (a, b) in enumerate(pairings):
            status.update(f"match {number + 1} of {len(pairings)}: {a} against {b}")
            result = play_match(
                game,
                players[a],
                players[b],
                jax.random.fold_in(key, number),
                num_games=games,
                opening_plies=opening_plies,
            )
            matches.append(dataclasses.replace(result, player_a=a, player_b=b))
    rated = rate_players([*names, *anchors], matches, zero=anchors[0], cycles=names)
    rating = Rating(game.name, simulations, anchors[0], rated, tuple(matches))
    _write(run, rating)
    _print(rating, console, as_json=json)
    return rating


def default_anchors(game: Game) -> tuple[str, ...]:
    """Random, and UCT where its random playouts do not take too long."""
    if game.max_steps <= 64:
        return "random", "uct:100", "uct:1000"
    return ("random", "uct:100") if game.max_steps <= 200 else ("random",)


def rate_players(
    names: list[str], matches: list[MatchResult], *, zero: str, cycles: dict[str, int]
) -> tuple[RatedPlayer, ...]:
    """The players in order, rated by their matches; `cycles` has those of checkpoints."""
    place = {name: i for i, name in enumerate(names)}
    points, effective = np.zeros((2, len(names), len(names)))
    for match in matches:
        a, b = place[match.player_a], place[match.player_b]
        points[a, b] += match.score * match.num_games
        points[b, a] += (1 - match.score) * match.num_games
        effective[[a, b], [b, a]] += match.effective_games
    telling = effective / np.maximum(points + points.T, 1)
    ratings = fit_ratings(points, anchor=place[zero], telling=telling)
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


def _load(run: Path, simulations: int, cycle: int) -> SearchPlayer | None:
    try:
        return load_player(run, simulations=simulations, checkpoint=cycle)
    except UserError:
        raise
    # Whatever a damaged file makes the reader raise means the same here.
    except Exception as error:
        print(
            f"checkpoint {cycle} is broken and left out ({type(error).__name__})", file=sys.stderr
        )
        return None


def _pairings(checkpoints: list[str], anchors: list[str]) -> list[tuple[str, str]]:
    neighbours = list(zip(checkpoints[1:], checkpoints[:-1], strict=True))
    against = [(checkpoint, anchor) for checkpoint in checkpoints for anchor in anchors]
    among = [(a, b) for i, a in enumerate(anchors) for b in anchors[:i]]
    return neighbours + against + among


def _write(run: Path, rating: Rating) -> None:
    (run / RATING_FILE).write_text(json.dumps(rating.to_dict(), indent=2) + "\n")
    draw_rating(run, read_metrics(run), rating.players, zero=rating.zero)


def _print(rating: Rating, console: Console, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(rating.to_dict(), indent=2))
        return
    title = f"{rating.game}: Elo, {rating.zero} = 0; {rating.simulations} simulations"
    table = Table(title=title, title_justify="left")
    table.add_column("player")
    for heading in ("Elo", "95% interval", "score", "games"):
        table.add_column(heading, justify="right")
    for player in sorted(rating.players, key=lambda player: -player.elo):
        table.add_row(
            player.name,
            f"{player.elo:+.0f}",
            "" if player.name == rating.zero else f"{player.low:+.0f} to {player.high:+.0f}",
            f"{player.score:.1%}",
            f"{player.games:,}",
            style="dim" if player.cycle is None else None,
        )
    console.print(table)
