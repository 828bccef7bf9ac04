"""Games of chance, which only parts of the package know: one place says which do not."""

from typing import Any

from azjax_envs import HasChance, make

from azjax.errors import UserError


def require_no_chance(game: Any) -> None:
    """Raises a UserError if a game has dice, which search, training and play do not know."""
    if isinstance(game, HasChance):
        name = getattr(game, "name", type(game).__name__)
        raise UserError(
            f"{name} is a game of chance: search, training, engines, files and pages know no "
            "dice; azjax solve, azjax bench envs and azjax_envs do"
        )


def require_no_dice_in(name: str) -> None:
    """Raises a UserError if a text is the name of a game of chance that comes with azjax."""
    if ":" in name:  # a module, which nobody asked to import
        return
    try:
        game = make(name)
    except ValueError:
        return
    require_no_chance(game)
