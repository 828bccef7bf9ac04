"""Splits a batch into single positions, and reads an engine's move in one of them."""

import jax
from azjax_envs import Game

from azjax.errors import UserError
from azjax.pytrees import batch_size, take
from azjax.types import State

RESIGNED = -1  # illegal, and loses
DECLARED_WIN = -2
"""The engine has won by a declaration, as USI's engines do with an entering king."""


def unstack(states: State) -> list[State]:
    """Returns the B positions of states [B, ...] one by one, in numpy."""
    rows = jax.device_get(states)
    return [take(rows, i) for i in range(batch_size(rows, name="states"))]


def read_move(player: str, game: Game, state: State, answer: str) -> int:
    """Returns the action that an engine answered, `RESIGNED` or `DECLARED_WIN`.

    Args:
      player: name of the player, for the error message.
      state: the position, not batched.
      answer: the move as the engine writes it.

    Raises:
      UserError: the move is illegal.
    """
    ends = {"resign": RESIGNED, "win": DECLARED_WIN}
    if answer.lower() in ends:
        return ends[answer.lower()]
    try:
        return game.string_to_action(state, answer)
    except ValueError as error:
        raise UserError(
            f"{player}: the engine played {answer!r}, which is illegal in this position of "
            f"{game.name}; its rules may differ"
        ) from error
