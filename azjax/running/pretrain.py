"""Supervised learning from files of recorded games."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from azjax_envs import Game
from rich.console import Console

from azjax.config import Config
from azjax.errors import printable
from azjax.files.dataset import Dataset, dataset
from azjax.files.read import read_games
from azjax.games import game_config, make_game
from azjax.running.loop import train
from azjax.training import TrainState

_MOST_LINES = 10


def pretrain(
    config: Config,
    paths: str | Path | Iterable[str | Path],
    run_dir: str | Path,
    *,
    game: Game | None = None,
    console: Console | None = None,
    **options: Any,
) -> TrainState:
    """Trains a network on recorded games: to predict their moves, and their results.

    This is the supervised learning of AlphaGo (Silver et al. 2016). The run is like any other: it
    has evaluations, checkpoints and plots, `resume` continues it, and `train` with `start_from`
    goes on from it by self-play. One game in twenty is held out, and its repeats are not
    learned. The metrics that begin with "heldout/" tell how often its moves are predicted, and the
    error of its results.

    Args:
      config: its cycles make `learning.updates_per_cycle` updates each.
      paths: files of games, see `azjax.read_games`. A file that cannot be read gets a line.
      run_dir: as in `train`, like `game` and `console`.
      options: more arguments of `train`, such as `network`, `loss` and `start_from`.

    Raises:
      UserError: no game can be used, or as in `train`.

    Example:
        ```python
        azjax.pretrain(azjax.load_config("go_9x9"), ["games.sgf"], "runs/from_games")
        ```
    """
    if game is None:
        game = make_game(config)
    else:
        config = replace(config, game=game_config(game))
    config = replace(config, learning=replace(config.learning, games_fraction=1.0))
    console = console or Console()
    games = read_examples(paths, game, console)
    return train(config, run_dir, game=game, games=games, console=console, **options)


def read_examples(
    paths: str | Path | Iterable[str | Path], game: Game, console: Console
) -> Dataset:
    """Returns the examples of files of games, and prints which games are left out.

    Raises:
      UserError: no game can be used.
    """

    def say(text: str) -> None:
        console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    games = dataset(game, read_games(paths, game, strict=False))
    for line in (*games.unread, *games.left_out[:_MOST_LINES]):
        say(line)
    if (more := len(games.left_out) - _MOST_LINES) > 0:
        say(f"... and {more} more")
    left = f"; {len(games.left_out)} left out" if games.left_out else ""
    if count := len(games.unread):
        left += f"; {count} file{'s' * (count > 1)} cannot be read"
    number = f"{games.num_games:,} game{'s' * (games.num_games != 1)}"
    if repeats := games.num_games - len(np.unique(games.originals)):
        left = f"; {repeats:,} repeat{'s' * (repeats == 1)} another game{left}"
    say(f"learning from {len(games):,} positions of {number}{left}")
    return games
