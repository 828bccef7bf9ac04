"""The published result of best play from the start, for games too large to solve here."""

from collections.abc import Callable
from typing import Any

from azjax_envs import Game
from azjax_envs.chess import GardnerChess
from azjax_envs.connect_four import ConnectFour
from azjax_envs.dots_and_boxes import DotsAndBoxes
from azjax_envs.go import Go
from azjax_envs.gomoku import Gomoku, Mnk
from azjax_envs.hex import Hex
from azjax_envs.mancala import Mancala
from azjax_envs.othello import Othello

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
