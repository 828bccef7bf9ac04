"""The start of a game and all its first moves: few positions, and the hardest to evaluate."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.hex import Hex

from azjax.exact.known_values import exact_values
from azjax.pytrees import expand
from azjax.types import Array, State

# Published solutions of hex without the swap: the first moves that win, by the board's size.
_WINNING_HEX_MOVES = {
    3: "c1 a2 b2 c2 a3",
    4: "d1 c2 b3 a4",
    5: "e1 b2 c2 d2 e2 b3 c3 d3 a4 b4 c4 d4 a5",
}


@dataclasses.dataclass(frozen=True, eq=False)
class FirstMoves:
    """P positions: the start, and then those after each first move. None of them is over."""

    states: State  # [P, ...]
    results: np.ndarray  # float32 [P], 1, 0 or -1 for the player to move, under best play

    name = "the start and all first moves"


def first_moves(game: Game) -> FirstMoves | None:
    """Returns the results of all first moves if known without solving the game, else None."""
    scores = _scores_of_first_moves(game)
    if scores is None:
        return None
    start, states, again = _play_first_moves(game)
    actions = np.flatnonzero(np.isfinite(scores))
    # The next player has the opposite result, unless the same player moves again.
    after = np.sign(scores) * np.where(np.asarray(again), 1, -1)
    states = jax.tree.map(
        lambda x, y: np.concatenate([np.asarray(x)[None], np.asarray(y)[actions]]), start, states
    )
    results = np.concatenate([[np.sign(scores.max())], after[actions]])
    return FirstMoves(states, results.astype(np.float32))


def _scores_of_first_moves(game: Game) -> np.ndarray | None:
    """Returns the value of each action at the start, float32 [num_actions]; -inf if illegal."""
    if isinstance(game, Hex):
        moves = None if game.swap else _WINNING_HEX_MOVES.get(game.size)
        if moves is None:
            return None
        start = game.init()
        won = [game.string_to_action(start, move) for move in moves.split()]
        return np.where(np.isin(np.arange(game.num_actions), won), 1.0, -1.0)
    values = exact_values(game)
    if values is None or not values.complete:
        return None
    start = expand(jax.tree.map(jnp.asarray, game.init()))
    return np.asarray(values.load().action_scores(start))[0]


@functools.partial(jax.jit, static_argnums=0)
def _play_first_moves(game: Game) -> tuple[State, State, Array]:
    """Returns the start, the position after each action, and whether the same player is to move."""
    start = game.init()
    states = jax.vmap(game.step, in_axes=(None, 0))(start, jnp.arange(game.num_actions))
    again = jax.vmap(game.current_player)(states) == game.current_player(start)
    return start, states, again
