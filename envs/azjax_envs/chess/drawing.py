"""Drawing a chess board of any size: flat silhouettes in the spirit of Staunton's pieces."""

from azjax_envs import svg

_CELL, _MARGIN = 60, 24
_NAMES = ("pawn", "knight", "bishop", "rook", "queen", "king")  # in the order of the codes


def svg_board(size: int) -> str:
    """Draws the empty board as an SVG document, from White's side.

    `Chess.view` lists the cells and their codes.
    """
    board = size * _CELL
    width = board + 2 * _MARGIN
    shapes = [
        svg.element("g", shape, id=_id(name)) for name, shape in zip(_NAMES, _SHAPES, strict=True)
    ]
    parts = [
        svg.element("defs", shapes),
        svg.element("rect", cls="frame", x=0, y=0, width=width, height=width, rx=8),
    ]
    for cell in range(size * size):
        row, column = divmod(cell, size)
        x, y = _MARGIN + column * _CELL, _MARGIN + row * _CELL
        # The near left square is dark whatever the size.
        shade = "light" if (size - 1 - row + column) % 2 else "dark"
        # All six are there, whichever is seen: the group's middle is the same with each of them.
        pieces = [svg.element("use", cls=name, href=f"#{_id(name)}", x=x, y=y) for name in _NAMES]
        inside = [
            svg.element("rect", cls=shade, x=x, y=y, width=_CELL, height=_CELL),
            svg.element("g", pieces, cls="upright"),
        ]
        parts.append(svg.element("g", inside, data_cell=cell))
    for i in range(size):
        at = _MARGIN + (i + 0.5) * _CELL
        for end in (_MARGIN / 2, width - _MARGIN / 2):
            parts.append(svg.label("abcdefgh"[i], at, end, cls="upright"))
            parts.append(svg.label(size - i, end, at, cls="upright"))
    title = "Chess" if size == 8 else f"Chess {size}x{size}"
    return svg.document(title, width, width, _style(), parts)


def _id(name: str) -> str:
    # The shapes are the same in every board, so that any number of them may stand on a page.
    return f"azjax-chess-{name}"


def _style() -> dict[str, str]:
    rules = dict(_STYLE)
    for code, name in enumerate(_NAMES * 2, start=1):
        for shown in (code, code + 16, code + 32):
            if shown < 32 or name == "king":
                colours = _WHITE if code <= len(_NAMES) else _BLACK
                rules[f'[data-code="{shown}"] .{name}'] = f"visibility: visible; {colours}"
    for code in range(16, 16 + 2 * len(_NAMES) + 1):
        rules[f'[data-code="{code}"] .light'] = "fill: #f3e08a"
        rules[f'[data-code="{code}"] .dark'] = "fill: #d3b04e"
    for code in (32 + 6, 32 + 12):
        rules[f'[data-code="{code}"] .light'] = "fill: #f19c86"
        rules[f'[data-code="{code}"] .dark'] = "fill: #dc6e59"
    return rules


_WHITE = "fill: #fffdf7; stroke: #33302c; color: #33302c"
_BLACK = "fill: #37342f; stroke: #141311; color: #efe9dc"
_STYLE = {
    ".frame": "fill: #4a4038",
    ".light": "fill: #efe3cd",
    ".dark": "fill: #b58f6c",
    "text": "font: 600 13px system-ui, sans-serif; fill: #dccdb8; text-anchor: middle",
    "use": "visibility: hidden; stroke-width: 1.7; stroke-linejoin: round; stroke-linecap: round",
}


def _line(d: str) -> str:
    """Draws a line within a piece, visible on the fill of either colour."""
    return svg.element("path", d=d, fill="none", stroke="currentColor", stroke_width=1.5)


def _dot(x: float, y: float, r: float) -> str:
    return svg.element("circle", cx=x, cy=y, r=r, fill="currentColor", stroke="none")


def _area(d: str) -> str:
    return svg.element("path", d=d)


def _ball(x: float, y: float, r: float) -> str:
    return svg.element("circle", cx=x, cy=y, r=r)


def _slab(width: float, y: float, height: float) -> str:
    """Draws a rounded bar in the middle of the square."""
    middle = _CELL / 2 - width / 2
    return svg.element("rect", x=middle, y=y, width=width, height=height, rx=height / 2.4)


# Each stands on a square of 60 by 60 and is drawn from back to front.
_PAWN = (
    _area("M20 46C25 42 26.5 36 26.5 28H33.5C33.5 36 35 42 40 46Z"),
    _ball(30, 18.8, 7.8),
    _slab(18, 25.4, 4),
    _slab(27, 45.5, 6.5),
)
_KNIGHT = (
    _area(
        "M19.5 46C19.5 38.5 27 36 28 29.5C25.5 31.5 23 31.5 21 33.5L18 36.8C15.8 38.4 12.6 36.8 "
        "12.4 33.8C12.2 31.6 13.4 29.6 14.6 27.6L19.4 19.4C19.8 16 21 13.4 23 11.6L22.4 6.6L28 "
        "10C38.5 11 45.5 20 45 33C44.8 38.2 43.5 42 42 46Z"
    ),
    _line("M30.5 14.5C37.5 17.5 40.5 25 39.5 34"),
    _dot(22.6, 20.6, 1.7),
    _dot(15.6, 33, 1),
    _slab(31, 45.5, 6.5),
)
_BISHOP = (
    _area("M20 46C25 43.5 26.5 41 26.5 36H33.5C33.5 41 35 43.5 40 46Z"),
    _area(
        "M30 11.5C38.5 17.5 41.5 25 38.5 31C37.5 33 36.5 34 34.5 35H25.5C23.5 34 22.5 33 21.5 "
        "31C18.5 25 21.5 17.5 30 11.5Z"
    ),
    _line("M34 17.5L29.5 25"),
    _ball(30, 9.5, 3.2),
    _slab(20, 33.8, 4),
    _slab(31, 45.5, 6.5),
)
_ROOK = (
    _area("M22 23H38C38 33 39 40 41.5 46H18.5C21 40 22 33 22 23Z"),
    _area("M16.5 10H22.5V13.8H27V10H33V13.8H37.5V10H43.5V20.5L39.5 24.5H20.5L16.5 20.5Z"),
    _line("M20.5 20H39.5"),
    _slab(31, 45.5, 6.5),
)
_QUEEN = (
    _area(
        "M19 46C21 43.5 21.5 41 20 37L13 20L22 29L23 14.5L30 27L37 14.5L38 29L47 20L40 37C38.5 "
        "41 39 43.5 41 46Z"
    ),
    _ball(12.2, 17.5, 2.8),
    _ball(22.4, 11.5, 2.8),
    _ball(37.6, 11.5, 2.8),
    _ball(47.8, 17.5, 2.8),
    _line("M21.5 38.5C27 36.8 33 36.8 38.5 38.5"),
    _slab(31, 45.5, 6.5),
)
_KING = (
    _area("M28.2 19V14.6H24V11H28.2V6.8H31.8V11H36V14.6H31.8V19Z"),
    _area(
        "M19.5 46C21.5 43 21.5 41 20.5 37L16.5 22.5C20.5 18.5 25 17.5 30 17.5C35 17.5 39.5 18.5 "
        "43.5 22.5L39.5 37C38.5 41 38.5 43 40.5 46Z"
    ),
    _line("M21.5 38.5C27 36.8 33 36.8 38.5 38.5"),
    _slab(31, 45.5, 6.5),
)
_SHAPES = (_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN, _KING)
