"""A position as the script of an analysed game's page reads it (`web/page/review.js`)."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.game import HasClicks, HasWinningCells, clicks_of

from azjax.types import Array, State


def describe_position(game: Game, state: State, actions: Sequence[int]) -> dict[str, Any]:
    """Returns the codes of the cells, the cells that won, and the legal actions to draw."""
    state = jax.device_get(state)
    view, won = jax.device_get(_facts(game, state))
    clicks = clicks_of(game, state) if isinstance(game, HasClicks) and actions else None
    return {
        "view": np.asarray(view).tolist(),
        "winning": np.flatnonzero(won).tolist(),
        "moves": [
            {
                "action": action,
                "name": game.action_to_string(state, action),
                "clicks": None if clicks is None else clicks[action].tolist(),
            }
            for action in actions
        ],
    }


@functools.partial(jax.jit, static_argnums=0)
def _facts(game: Game, state: State) -> tuple[Array, Array]:
    view = game.view(state)
    return view, game.winning_cells(state) if isinstance(game, HasWinningCells) else view < 0
