"""Games from configs and names; mistakes become errors of one line."""

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


def resolve_game(named: GameConfig, given: Game | None, *, owner: str) -> Game:
    """Returns the game that a saved config names, or an object that no name leads to.

    Args:
      named: the game's section of the config.
      given: the user's game; None for the one that the config names.
      owner: what plays the game, such as a run directory, for the messages.

    Raises:
      UserError: the config names another game than the given one, or one that must be given.
    """
    if given is not None and game_config(given) == named:
        return given
    try:
        game = game_from_name(named.name, **dict(named.options))
    except UserError as error:
        if given is None:
            raise UserError(
                f"{owner}: {error}; a game of your own that has no such name must be given as game"
            ) from error
        game = None
    if given is not None and given != game:
        names = named.name, given.name
        if names[0] == names[1] and type(game) is type(given):
            names = repr(game), repr(given)  # such as two komis of go
        raise UserError(f"{owner} plays {names[0]}, not {names[1]}")
    assert game is not None
    return game


def game_config(game: Game) -> GameConfig:
    """Returns the config section that names `game`, so that `make_game` makes an equal one.

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
    """Returns the game that `azjax_envs.make` makes; its errors become a UserError.

    Raises:
      UserError: there is no such game, or it does not take these options.
    """
    try:
        return make(name, **options)
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(str(error)) from error
