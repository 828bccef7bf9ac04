"""How positions look: text, names of moves, and the planes of the player to move, in `golden/`.

`UPDATE_GOLDEN=1 pytest tests/envs/test_golden.py` writes the files anew.
"""

import os
from pathlib import Path

import jax
import numpy as np
import pytest
from azjax_envs import available_games, legal_actions, make

from docs.draw_boards import play

FOLDER = Path(__file__).with_name("golden")
MOST_PLANES = 40  # more are compared with those that the games' own tests build
# A game and its options, moves with the rolls before them, and texts that a player might type.
POSITIONS = {
    "backgammon": ("backgammon 1:8/5 6/5 13:24/18 18/14 16:", "13/11* 13/11 6/3"),
    "chess": ("chess e2e4 e7e5 g1f3", "b8c6 B8C6 b8c5"),
    "connect_four": ("connect_four 1 1 7", "4 8"),
    "connect_four_2x3x3": ("connect_four_2x3x3 1 1 3", "1 3"),
    "dots_and_boxes": ("dots_and_boxes_2x2 h-1-1 h-2-1 v-1-1 v-1-2 v-2-3", "V-2-1 h-1-1"),
    "gardner_chess": ("gardner_chess b2b3 c4b3", "a2b3 b3b4"),
    "go": ("go_9x9 A9 J1 H8", "j9 I5"),
    "go_after_a_pass": ("go_5x5 A5 B5 pass", "PASS A6 A5 F1 resign"),
    "gomoku": ("gomoku_9x9 a9 b8 i1", "I2 i15"),
    "hex": ("hex_11x11 a1 b2 k1", "K11 b2"),
    "hex_before_a_swap": ("hex_3x3+swap b1", "swap b1"),
    "hex_after_a_swap": ("hex_3x3+swap b1 swap", "swap"),
    "hypergammon": ("hypergammon 11:24/18 22/19 12:24/20 23/18 6:", "24/21"),
    "mancala": ("mancala 3 6", "4"),
    "mancala_again": ("mancala 3", "3 4"),
    "mnk": ("mnk_4x3x3 a1 b2 D3", "b2 e1"),
    "othello": ("othello d3", "c3 pass"),
    "othello_4x4": ("othello_4x4 B1", "a1 a2 pass"),
    "shogi": ("shogi 7g7f 3c3d 8h2b+ 3a2b", "b*5e 8h2b+"),
    "tic_tac_toe": ("tic_tac_toe a1 c2 a3", "C1 a1"),
    "ur": ("ur 1:new 2:new 4:", "NEW b2"),
}


def test_every_game_has_one_and_every_file_is_read():
    games = {make(line.split("+")[0].split()[0]).__class__ for line, _ in POSITIONS.values()}
    assert games == {make(name).__class__ for name in available_games()}
    assert {file.stem for file in FOLDER.iterdir()} == set(POSITIONS)


@pytest.mark.parametrize("name", POSITIONS)
def test_a_position_looks_as_in_its_file(name):
    line, typed = POSITIONS[name]
    file, text = FOLDER / f"{name}.txt", picture(*line.split(), typed=typed.split())
    if "UPDATE_GOLDEN" in os.environ:
        file.write_text(text)
    assert file.read_text() == text


def picture(name, *moves, typed):
    """Returns the text of a golden file."""
    name, *options = name.split("+")
    game = make(name, **dict.fromkeys(options, True))
    state = game.init()
    for move in moves:
        state = play(game, state, move)
    parts = [" ".join([name, *options, *moves]), game.to_string(state)]
    names = {action: game.action_to_string(state, action) for action in legal_actions(game, state)}
    parts.append("legal: " + ", ".join(f"{action} {name}" for action, name in names.items()))
    parts.append("\n".join(reading(game, state, f" {text} ") for text in typed))
    if game.observation_shape[-1] <= MOST_PLANES:
        parts += drawings(np.moveaxis(np.asarray(jax.jit(game.observe)(state)), -1, 0))
    return "\n\n".join(parts) + "\n"


def reading(game, state, text):
    """Returns the action that a text names, or why it is none."""
    try:
        return f"{text!r} is action {game.string_to_action(state, text)}"
    except ValueError as error:
        return str(error)


def drawings(planes):
    """Yields planes row by row; at last, those of one value each."""
    same = {}
    for i, plane in enumerate(planes):
        rows = [" ".join(f"{value:.4g}" for value in row) for row in plane]
        if np.ptp(plane) == 0:
            same.setdefault(f"{plane.flat[0]:.4g}", []).append(str(i))
        else:
            yield "\n".join([f"plane {i}:", *rows])
    yield from (f"all {value}: plane {', '.join(numbers)}" for value, numbers in same.items())
