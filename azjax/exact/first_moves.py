"""The start of a game and all its first moves: few positions, and the hardest to evaluate."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.hex import Hex

from azjax.exact.known_values import exact_values
from azjax.exact.start_values import start_result
from azjax.pytrees import expand
from azjax.types import Array, State

# The first moves that win hex without the swap, row by row, for each size of the board. The first
# player joins top and bottom. To 7x7: Hayward et al. 2005. 8x8: Henderson, Arneson, Hayward 2009.
# 9x9: Pawlewicz, Hayward 2013. A board turned half around is the same.
_WINNING_HEX_MOVES = {
    3: "..x xxx x..",
    4: "...x ..x. .x.. x...",
    5: "....x .xxxx .xxx. xxxx. x....",
    6: ".....x .xxxxx xxxxxx xxxxxx xxxxx. x.....",
    7: "......x ..x.xxx .xxxxx. xxxxxxx .xxxxx. xxx.x.. x......",
    8: ".......x ......xx .xxxxxx. .xxxxxxx xxxxxxx. .xxxxxx. xx...... x.......",
    9: "........x xxx....xx .xxxxxxx. xxxxxxxxx xxxxxxxxx xxxxxxxxx .xxxxxxx. xx....xxx x........",
}


@dataclasses.dataclass(frozen=True, eq=False)
class FirstMoves:
    """P positions: the start, and then those after each first move. None of them is over.

    Where only the result of the start is known, it is the only position.
    """

    states: State  # [P, ...]
    results: np.ndarray  # float32 [P], 1, 0 or -1 for the player to move, under best play

    @property
    def name(self) -> str:
        return "the start and all first moves" if len(self.results) > 1 else "the start"


def first_moves(game: Game) -> FirstMoves | None:
    """Returns the results of the start and of all first moves; None if they are not known.

    They are known if they have been published, or if the game has a table or a solver. No game is
    enumerated for them.
    """
    scores = _scores_of_first_moves(game)
    if scores is None:
        result = start_result(game)
        if result is None:
            return None
        start = expand(jax.tree.map(jnp.asarray, game.init()))
        return FirstMoves(start, np.array([result], np.float32))
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
        return np.where([move == "x" for move in moves.replace(" ", "")], 1.0, -1.0)
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
