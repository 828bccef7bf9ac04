"""Drawings of boards as SVG text: `to_svg` for every game, and the helpers games draw with.

A game's `svg_board()` is a complete SVG document of the empty board. Each part whose look depends
on the position carries `data-cell="i"`, and each part that plays when clicked `data-action="a"`.
`view(state)` gives every cell a style code, and to show a position is nothing but to write
`data-code="c"` beside `data-cell="i"`: the document's own style sheet does the rest. `to_svg` does
so in Python, and a page does it by setting that attribute.

A board whose second player sits opposite can be turned: the parts to keep upright then are of the
class `upright`. A board without any is always seen from the same side.
"""

import re
from collections.abc import Iterable, Mapping

import jax
import numpy as np

from azjax_envs.game import Game, State


def to_svg(game: Game, state: State) -> str:
    """Draws the position as a standalone SVG document."""
    return with_codes(game.svg_board(), np.asarray(jax.device_get(game.view(state))))


class Drawing:
    """A position as a picture; a notebook shows it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg


def draw(game: Game, state: State) -> Drawing:
    """Draws one position: an SVG that a notebook shows where it is the value of a cell."""
    return Drawing(to_svg(game, state))


def with_codes(board: str, codes: np.ndarray) -> str:
    """Applies style codes, int32 [num_cells], to the drawing of an empty board.

    Args:
      board: the empty one, as `svg_board` draws it.
      codes: what `view` gives.
    """

    def show(match: re.Match) -> str:
        return f'{match[0]} data-code="{codes[int(match[1])]}"'

    return re.sub(r'data-cell="(\d+)"', show, board)


def document(
    title: str, width: float, height: float, rules: Mapping[str, str], parts: Iterable[str]
) -> str:
    """Makes a whole SVG document.

    Args:
      title: what it shows; also the class that keeps `rules` from other drawings on a page.
      width, height: the size in pixels, which is also the view box.
      rules: from CSS selectors to declarations.
      parts: the elements, from back to front.
    """
    scope = "azjax-" + re.sub(r"\W+", "-", title.lower())
    base = {
        "text": "font: 600 13px system-ui, sans-serif; fill: #8792a2; text-anchor: middle",
        "[data-action]": "cursor: pointer",
    }
    style = "\n".join(f".{scope} {rule} {{ {css} }}" for rule, css in {**base, **rules}.items())
    box = f"{width:g} {height:g}"
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{scope}" role="img" aria-label="{title}" '
        f'width="{width:g}" height="{height:g}" viewBox="0 0 {box}">'
    )
    return "\n".join([start, f"<style>\n{style}\n</style>", *parts, "</svg>", ""])


def element(tag: str, content: str | Iterable[str] = (), **attributes: str | float) -> str:
    """Makes one element. In names, `_` becomes a hyphen (`data_cell`), `cls` becomes `class`."""
    names = {"cls": "class"}
    written = "".join(
        f' {names.get(key, key).replace("_", "-")}="{_format(value)}"'
        for key, value in attributes.items()
    )
    inside = content if isinstance(content, str) else "".join(content)
    return f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>"


def label(text: str | int, x: float, y: float, **attributes: str | float) -> str:
    """Makes the text of a coordinate, centred on (x, y)."""
    # Half the height of a digit down: few renderers know dominant-baseline.
    return element("text", str(text), x=x, y=y + 4.5, **attributes)


def _format(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
