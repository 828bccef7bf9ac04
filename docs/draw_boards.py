"""Draws the positions on the pages of the games: python docs/draw_boards.py"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game, HasChance, make
from azjax_envs.svg import to_svg

FOLDER = Path(__file__).parent / "images" / "games"

# For each page the game's name and the moves to its position.
POSITIONS = {
    # In a game of chance the outcome stands before the move after it, and may stand alone.
    "backgammon": (
        "backgammon",
        "1:8/5 6/5 13:24/18 18/14 16:13/11* 13/11 6/4 6/4 7:bar/23 13/8 3:",
    ),
    "chess": ("chess", "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5"),
    "connect_four": ("connect_four", "4 4 4 4 4 2 2 3 6 6 3 3 3 5"),
    "dots_and_boxes": (
        "dots_and_boxes_3x3",
        "h-1-1 v-1-2 h-4-3 h-2-3 v-3-1 v-1-4 h-3-2 v-2-3 h-2-1 v-1-1 h-1-3 v-1-3 h-4-1",
    ),
    "gardner_chess": ("gardner_chess", "b2b3 c4b3 a2b3 d4d3 c2d3 e4d3 b1c3"),
    "go": ("go_9x9", "E5 E7 D7 D6 C6 E6 C5 F4 G4 G5 F3 F5 H5 G6 D8 E8"),
    "gomoku": ("gomoku_15x15", "h8 i9 h10 h9 g9 i7 i11 f8 j12 k13 g10 i10 g11 i8 i6"),
    "hex": ("hex_7x7", "d4 e3 c5 e5 b6 f2 d3 c6 e2 f3 d6"),
    "hypergammon": ("hypergammon", "11:24/18 22/19 12:24/20 23/18 6:"),
    "mancala": ("mancala", "3 6 1 4 2 5 1"),
    "othello": ("othello", "d3 c5 e6 f5 f6 e3 c3 f3 f4 d2"),
    "shogi": ("shogi", "7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d P*2c 2d3d 2b8h+"),
    "tic_tac_toe": ("tic_tac_toe", "b2 a1 c1 a3 a2"),
    "ur": ("ur", "1:new 2:new 4:new 2:a1 1:new 3:a4 0:pass 4:c3 3:new 2:"),
}


def picture(name: str, moves: str) -> str:
    """Returns the SVG of the position after the moves."""
    game = make(name)
    state = game.init()
    for move in moves.split():
        state = play(game, state, move)
    return to_svg(game, state)


def play(game: Game, state: Any, move: str) -> Any:
    """Returns the state after a move, with the roll before it: "d4", "2:new", "2:"."""
    state, move = roll(game, state, move)
    return jax.jit(game.step)(state, game.string_to_action(state, move)) if move else state


def roll(game: Game, state: Any, move: str) -> tuple[Any, str]:
    """Returns the state after the roll that stands before a move, and the move."""
    if isinstance(game, HasChance) and game.is_chance(state):
        outcome, _, move = move.partition(":")
        state = game.chance_step(state, jnp.int32(outcome))
    return state, move


def main() -> None:
    """Writes all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for page, (name, moves) in POSITIONS.items():
        (FOLDER / f"{page}.svg").write_text(picture(name, moves).rstrip() + "\n")


if __name__ == "__main__":
    main()
