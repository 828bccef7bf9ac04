"""Games out of configs and names, for people: what is wrong becomes one line."""

from __future__ import annotations

from typing import Any

from azjax_envs import Game, make

from azjax.config import Config
from azjax.errors import UserError


def make_game(config: Config) -> Game:
    """The game that a config names.

    Raises:
      UserError: there is no such game, or it does not take these options.
    """
    return game_from_name(config.game.name, **dict(config.game.options))


def game_from_name(name: str, **options: Any) -> Game:
    """`azjax_envs.make`, whose complaints become a UserError."""
    try:
        return make(name, **options)
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(str(error)) from error
