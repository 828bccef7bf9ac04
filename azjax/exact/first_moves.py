"""The start of a game and all its first moves: few positions, and the hardest to evaluate."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.chess import GardnerChess
from azjax_envs.connect_four import ConnectFour
from azjax_envs.dots_and_boxes import DotsAndBoxes
from azjax_envs.go import Go
from azjax_envs.gomoku import Gomoku, Mnk
from azjax_envs.hex import Hex
from azjax_envs.mancala import Mancala
from azjax_envs.othello import Othello

from azjax.exact.known_values import exact_values
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

# The results of best play from the start, where the game is too large to solve here.
# Allen 1988, Allis 1988; small boards by enumeration. By rows and columns.
_CONNECT_FOUR = {(6, 7): 1, (4, 4): 0, (5, 4): 0, (4, 5): 0, (5, 5): 0, (4, 6): -1}
# Black's margin by area. Van der Werf 2004 (to 5x5); Li Zhe 2015 (7x7, which is not proven). On 2x2
# it is 1 without a limit of moves, but 0 within the 8 moves of `Go`.
_GO_MARGINS = {2: 0, 3: 9, 4: 2, 5: 25, 7: 9}
# By the shorter side, the longer one and k.
_MNK = {(3, 3, 3): 0, (4, 4, 4): 0, (4, 5, 4): 0, (3, 4, 3): 1, (4, 4, 3): 1, (3, 5, 3): 1}
# With empty captures, by pits, then for 1, 2, ... seeds: Irving, Donkers, Uiterwijk 2000.
_KALAH = {1: "DLWLWD", 2: "WLLLWW", 3: "DWWWWL", 4: "WWWWWD", 5: "DDWWWW", 6: "WWWWW"}
# Without them, the first player's margin by pits and seeds: recomputed by alpha-beta, (6, 4) too;
# (6, 4) and (6, 5) are Mark Rawlings', 2015.
_KALAH_MARGINS = {(4, 3): 6, (5, 3): 6, (5, 4): 10, (6, 2): 6, (6, 4): 8, (6, 5): 10}


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


def start_result(game: Game) -> int | None:
    """Returns the first player's result under best play: 1, 0 or -1; None if not published."""
    find = _KNOWN.get(type(game))
    return None if find is None else find(game)


def _go(game: Go) -> int | None:
    if game.size not in _GO_MARGINS or game.suicide:
        return None
    return _sign(_GO_MARGINS[game.size] - game.komi)


def _kalah(game: Mancala) -> int | None:
    if game.empty_capture:
        letter = _KALAH.get(game.pits, "")[game.seeds - 1 : game.seeds]
        return "LDW".index(letter) - 1 if letter else None
    margin = _KALAH_MARGINS.get((game.pits, game.seeds))
    return None if margin is None else _sign(margin)


def _sign(margin: float) -> int:
    return (margin > 0) - (margin < 0)


_KNOWN: dict[type, Callable[[Any], int | None]] = {
    ConnectFour: lambda g: _CONNECT_FOUR.get((g.rows, g.columns)) if g.connect == 4 else None,
    # Barker and Korf 2012.
    DotsAndBoxes: lambda game: 0 if sorted((game.rows, game.columns)) == [4, 5] else None,
    GardnerChess: lambda game: 0,  # Mhalla and Prost 2013
    Go: _go,
    Gomoku: lambda game: 1 if game.size == 15 and not game.exactly_five else None,  # Allis 1994
    Hex: lambda game: -1 if game.swap and game.size > 1 else 1,  # Nash's argument, without draws
    Mancala: _kalah,
    Mnk: lambda game: _MNK.get((min(game.m, game.n), max(game.m, game.n), game.k)),
    Othello: lambda game: {4: -1, 6: -1, 8: 0}.get(game.size),  # 8x8: Takizawa 2023
}
