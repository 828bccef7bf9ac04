"""Games from configs and names; what is wrong becomes a one-line error."""

from __future__ import annotations

import contextlib
from typing import Any

from azjax_envs import Game, make

from azjax.config import Config, GameConfig, Option
from azjax.errors import UserError


def make_game(config: Config) -> Game:
    """Returns the game that a config names.

    Raises:
      UserError: there is no such game, or it does not take these options.
    """
    return game_from_name(config.game.name, **dict(config.game.options))


def game_config(game: Game) -> GameConfig:
    """Returns what a config says to name `game`, so that `make_game` makes an equal one.

    A game that cannot be made from a name (one defined in a notebook, say) gets its own name.
    """
    options = tuple(
        (name, value)
        for name, value in sorted(vars(game).items())
        if isinstance(value, Option) and name != "name"
    )
    kind = type(game)
    for named in (
        GameConfig(game.name),
        GameConfig(f"{kind.__module__}:{kind.__qualname__}"),
        GameConfig(f"{kind.__module__}:{kind.__qualname__}", options),
    ):
        with contextlib.suppress(UserError):
            if kind.__module__ != "__main__" and make_game(Config(game=named)) == game:
                return named
    return GameConfig(game.name)


def game_from_name(name: str, **options: Any) -> Game:
    """Returns the game that `azjax_envs.make` makes; its errors become a UserError."""
    try:
        return make(name, **options)
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(str(error)) from error
