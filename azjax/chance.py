"""Games of chance, which only parts of the package know: one place says which do not."""

from typing import Any

from azjax_envs import HasChance

from azjax.errors import UserError


def require_no_chance(game: Any) -> None:
    """Raises a UserError if a game has dice, which search, training and play do not know."""
    if isinstance(game, HasChance):
        name = getattr(game, "name", type(game).__name__)
        raise UserError(
            f"{name} is a game of chance: search, training, engines, files and pages know no "
            "dice; azjax bench envs and azjax_envs do"
        )
