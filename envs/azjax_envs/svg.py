"""Drawings of boards as SVG text: `to_svg` for every game, and helpers for authors of games.

A game's `svg_board()` is a complete SVG document of the empty board. Each part whose look depends
on the position has the attribute `data-cell="i"`. Each part that plays an action when clicked has
`data-action="a"`, and `data-player="p"` too if it plays for one player alone. `view(state)` returns
a style code for every cell. A position is shown by adding `data-code="c"` next to `data-cell="i"`;
the style sheet of the document does the rest. `to_svg` adds these attributes in Python, and a web
page sets them on the elements.

A board can be turned if its second player sits opposite. Parts that must stay upright then have
the class `upright`. A board without such parts is always shown from the same side.
"""

import html
import re
from collections.abc import Iterable, Mapping

import numpy as np

from azjax_envs.game import Game, State, view_of


def to_svg(game: Game, state: State) -> str:
    """Draws the position as a standalone SVG document."""
    return with_codes(game.svg_board(), view_of(game, state))


class Drawing:
    """A picture of a position, which a notebook displays."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg


def draw(game: Game, state: State) -> Drawing:
    """Draws one position as an SVG, which a notebook displays as the value of a cell."""
    return Drawing(to_svg(game, state))


def with_codes(board: str, codes: np.ndarray) -> str:
    """Adds style codes, int32 [num_cells], to the drawing of an empty board."""

    def show(match: re.Match) -> str:
        return f'{match[0]} data-code="{codes[int(match[1])]}"'

    return re.sub(r'data-cell="(\d+)"', show, board)


def document(
    title: str, width: float, height: float, rules: Mapping[str, str], parts: Iterable[str]
) -> str:
    """Returns a complete SVG document.

    Args:
      title: what it shows. The class made from it keeps `rules` from other drawings on a page.
      width, height: the size in pixels, also that of the view box.
      rules: CSS declarations by selector.
      parts: the elements, from back to front.
    """
    scope = "azjax-" + re.sub(r"\W+", "-", title.lower())
    font = f"600 {max(13, round(width / 40))}px"  # on a phone a wide board is half as large
    base = {
        "text": f"font: {font} system-ui, sans-serif; fill: #8792a2; text-anchor: middle",
        "[data-action]": "cursor: pointer",
    }
    style = "\n".join(f".{scope} {rule} {{ {css} }}" for rule, css in {**base, **rules}.items())
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{scope}" role="img" '
        f'aria-label="{html.escape(title)}" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">'
    )
    return "\n".join([start, f"<style>\n{style}\n</style>", *parts, "</svg>", ""])


def element(tag: str, content: str | Iterable[str] = (), **attributes: str | float | None) -> str:
    """Returns one element, without attributes that are None.

    In names, `_` becomes a hyphen (`data_cell`); `cls` becomes `class`.
    """
    names = {"cls": "class"}
    written = "".join(
        f' {names.get(key, key).replace("_", "-")}="{_format(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = content if isinstance(content, str) else "".join(content)
    return f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>"


def label(text: str | int, x: float, y: float, **attributes: str | float) -> str:
    """Returns the text of a coordinate, centred on (x, y)."""
    # Half the height of a digit further down, because few renderers know dominant-baseline.
    return element("text", str(text), x=x, y=y + 4.5, **attributes)


def _format(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
