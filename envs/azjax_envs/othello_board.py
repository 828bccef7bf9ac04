"""The drawing of the othello board."""

import itertools

from azjax_envs import svg


def svg_board(size: int) -> str:
    """Draws the board; `data-cell` numbers follow `Othello.view`, `data-action` the actions."""
    cell, left, top = 56, 34, 34
    board = size * cell
    parts = [
        svg.element(
            "rect", cls="frame", x=left - 8, y=top - 8, width=board + 16, height=board + 16, rx=8
        ),
        svg.element("rect", cls="cloth", x=left, y=top, width=board, height=board),
    ]
    for action in range(size * size):
        row, column = divmod(action, size)
        x, y = left + column * cell, top + row * cell
        middle = {"cx": x + cell / 2, "cy": y + cell / 2}
        shapes = [
            svg.element("rect", cls="area", x=x, y=y, width=cell, height=cell),
            svg.element("circle", cls="disc", r=23, **middle),
            svg.element("circle", cls="hint", r=7, **middle),
        ]
        parts.append(svg.element("g", shapes, data_cell=action, data_action=action))
    # As on a real board, dots mark where the inner lines cross two cells from the edges.
    if size > 4:
        for row, column in itertools.product((2, size - 2), repeat=2):
            parts.append(
                svg.element("circle", cls="dot", cx=left + column * cell, cy=top + row * cell, r=4)
            )
    for i in range(size):
        middle = (i + 0.5) * cell
        parts.append(svg.label("abcdefgh"[i], left + middle, top - 20))
        parts.append(svg.label(i + 1, left - 20, top + middle))
    x, y = left + board / 2, top + board + 34
    button = [
        svg.element("rect", cls="button", x=x - 42, y=y - 15, width=84, height=30, rx=15),
        svg.label("pass", x, y - 0.5),
    ]
    parts.append(svg.element("g", button, cls="pass", data_cell=size**2, data_action=size**2))
    return svg.document("Othello", board + 2 * left, y + 26, _STYLE, parts)


_STYLE = {
    ".frame": "fill: #2b2622",
    ".cloth": "fill: #1f7a4d",
    ".area": "fill: #1f7a4d; stroke: #14573a; stroke-width: 1.5",
    ".dot": "fill: #14573a",
    ".disc": "fill: none; stroke: none; stroke-width: 2",
    ".hint": "fill: none",
    '[data-code="1"] .disc': "fill: #1c1e21; stroke: #0c0d0f",
    '[data-code="2"] .disc': "fill: #f6f4ee; stroke: #c9c5b8",
    '[data-code="3"] .hint': "fill: #0d3f29; fill-opacity: 0.45",
    ".pass": "opacity: 0.3",
    '.pass[data-code="1"]': "opacity: 1",
    ".button": "fill: none; stroke: #8792a2; stroke-width: 1.5",
    '.pass[data-code="1"] .button': "fill: #f8cb46; stroke: #cf9f1d",
    '.pass[data-code="1"] text': "fill: #3b2f0b",
}
