"""The evaluation report of a run."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from azjax_envs import Game

from azjax.evaluation.report import Report, report
from azjax.network import Network
from azjax.players.base import Player
from azjax.players.load import checkpoint_cycle, load_player, load_run_config, untrained_player
from azjax.players.network_players import SearchPlayer
from azjax.players.spec import parse_run
from azjax.search import Search

REPORT_FILE = "report.json"


def report_run(
    run: str | Path,
    *,
    game: Game | None = None,
    network: Network | None = None,
    search: Search | None = None,
    simulations: int | Sequence[int] | None = None,
    baselines: Sequence[str] = ("uct:1000",),
    against: Sequence[str] = ("random",),
    games: int = 200,
    opening_plies: int | None = None,
    own_games: int = 128,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Measures a run's player, its raw policy and the untrained network, and other players.

    Args:
      run: a run directory, or RUN@best, RUN@CYCLE.
      game: as in `load_player`, like `network` and `search`.
      simulations: of the searching players, one number or several; None for the number in the
        run's evaluations. The first one also plays the matches.
      baselines: spellings of players to measure on the same positions.
      against: spellings of opponents that the run's player and its raw policy play matches with.
      opening_plies: as in `azjax.report`.
      own_games: games of the run's player against itself, after up to six random plies. All players
        are measured on their positions, too.
      progress: called with a line about the next step.

    Raises:
      UserError: there is no such run or player.
    """
    spec = parse_run(run)
    config = load_run_config(spec.path)
    numbers = [simulations] if isinstance(simulations, int) else simulations
    first, *more = numbers or [config.evaluation.num_simulations]
    own: dict[str, Any] = {"game": game, "network": network}
    player = load_player(spec, simulations=first, search=search, **own)
    if isinstance(player, SearchPlayer):
        own["search"] = player.search  # so that what is said of it is said once
    game = player.game
    players: dict[str, Player] = {
        f"search:{first}": player,
        "policy": load_player(dataclasses.replace(spec, how="policy"), **own),
        **{f"search:{number}": load_player(spec, simulations=number, **own) for number in more},
        f"untrained search:{first}": untrained_player(spec.path, simulations=first, **own),
        **{text: load_player(text, game=game) for text in baselines},
    }
    result = report(
        game,
        players,
        opponents={text: load_player(text, game=game) for text in against},
        matched=2,
        num_games=games,
        opening_plies=opening_plies,
        own_games=own_games,
        seed=seed,
        progress=progress,
    )
    return dataclasses.replace(result, cycle=checkpoint_cycle(spec))


def save_report(result: Report, run: str | Path) -> None:
    """Writes `report.json` into a run directory; `run` may be RUN@best or RUN@CYCLE, too."""
    text = json.dumps(result.to_dict(), indent=2)
    (parse_run(run).path / REPORT_FILE).write_text(text + "\n")
