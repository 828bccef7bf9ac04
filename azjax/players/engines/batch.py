"""A batch as single positions, and an engine's move in one of them."""

from __future__ import annotations

from typing import Any

import jax
from azjax_envs import Game

from azjax.errors import UserError

RESIGNED = -1  # illegal, and loses


def unstack(states: Any) -> list[Any]:
    """The B positions of states [B, ...], in numpy."""
    rows = jax.device_get(states)
    count = len(jax.tree.leaves(rows)[0])
    return [jax.tree.map(lambda x, i=i: x[i], rows) for i in range(count)]


def read_move(player: str, game: Game, state: Any, answer: str) -> int:
    """The action that an engine named.

    Raises:
      UserError: it is illegal.
    """
    if answer.lower() == "resign":
        return RESIGNED
    try:
        return game.string_to_action(state, answer)
    except ValueError as error:
        raise UserError(
            f"{player}: the engine played {answer!r}, which is illegal in {game.name} here; do its "
            "rules differ?"
        ) from error
