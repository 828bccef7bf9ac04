"""Drawings of boards as SVG text: the helpers games draw with, and `to_svg` for all of them.

A game's `svg_board()` is a complete SVG document of the empty board. Each part whose look depends
on the position carries `data-cell="i"`, and each part that a click plays carries `data-action="a"`.
`view(state)` gives every cell a style code, and showing a position is nothing but writing
`data-code="c"` beside `data-cell="i"`: the document's own style sheet does the rest. `to_svg` does
so in Python, and a page does the same by setting that attribute.
"""

import re

import jax
import numpy as np

from azjax_envs.game import Game, State


def to_svg(game: Game, state: State) -> str:
    """The position as a standalone SVG document."""
    codes = np.asarray(jax.device_get(game.view(state)))

    def style(match: re.Match) -> str:
        return f'{match[0]} data-code="{codes[int(match[1])]}"'

    return re.sub(r'data-cell="(\d+)"', style, game.svg_board())
