"""Drawing a shogi board with its pieces and both hands."""

from azjax_envs import svg

_WIDE, _TALL = 52, 56  # a square
_HAND, _MARGIN = 80, 26  # the room for a hand and for coordinates
_LEFT, _TOP = _HAND, _MARGIN
_RIGHT, _BOTTOM = _LEFT + 9 * _WIDE, _TOP + 9 * _TALL

# In the order of the codes: the name in SFEN, the label, and the size. As in a real set, the higher
# a piece the larger it is.
_PIECES = (
    ("P", "歩", 0.86),
    ("L", "香", 0.91),
    ("N", "桂", 0.91),
    ("S", "銀", 0.96),
    ("G", "金", 0.96),
    ("B", "角", 1.0),
    ("R", "飛", 1.0),
    ("K", "玉", 1.05),
    ("+P", "と", 0.86),
    ("+L", "杏", 0.91),
    ("+N", "圭", 0.91),
    ("+S", "全", 0.96),
    ("+B", "馬", 1.0),
    ("+R", "龍", 1.0),
)
_IN_HAND = (("R", 2), ("B", 2), ("G", 4), ("S", 4), ("N", 4), ("L", 4), ("P", 18))  # at most


def svg_board() -> str:
    """Draws the empty board as an SVG document, from sente's side.

    `Shogi.view` lists the cells and their codes.
    """
    width, height = _RIGHT + _MARGIN + _HAND, _BOTTOM + _MARGIN / 2
    board = {"x": _LEFT, "y": _TOP, "width": 9 * _WIDE, "height": 9 * _TALL}
    parts = [
        svg.element("defs", [_piece(*piece) for piece in _PIECES]),
        svg.element("rect", cls="table", x=0, y=0, width=width, height=height, rx=10),
        svg.element("rect", cls="wood", **board),
        *(_square(cell) for cell in range(81)),
        svg.element("path", cls="line", d=_lines()),
        svg.element("rect", cls="edge", **board),
    ]
    for x, y in ((3, 3), (6, 3), (3, 6), (6, 6)):
        at = {"cx": _LEFT + x * _WIDE, "cy": _TOP + y * _TALL}
        parts.append(svg.element("circle", cls="star", r=3, **at))
    for i in range(9):
        x, y = _LEFT + (i + 0.5) * _WIDE, _TOP + (i + 0.5) * _TALL
        parts.append(svg.label(9 - i, x, _TOP / 2, cls="upright"))
        parts.append(svg.label("abcdefghi"[i], _RIGHT + _MARGIN / 2, y, cls="upright"))
    # Each player finds the hand to the right of the board, the pawns nearest.
    for i, (name, most) in enumerate(_IN_HAND):
        up = (6.5 - i) * _TALL
        parts.append(_held(81 + i, name, most, _RIGHT + _MARGIN + 28, _BOTTOM - up, turned=False))
    for i, (name, most) in enumerate(_IN_HAND):
        down = (6.5 - i) * _TALL
        parts.append(_held(88 + i, name, most, _LEFT - 28, _TOP + down, turned=True))
    return svg.document("Shogi", width, height, _style(), parts)


def _piece(name: str, kanji: str, size: float) -> str:
    """Draws a piece's outline, its centre at the origin."""
    # Styled in place, because browsers differ in which rules of a style sheet reach a <use>.
    dark, pale = ("#b8201a", "#b8201a") if name[0] == "+" else ("#20160a", "#8a6a3c")
    shape = [
        svg.element("path", d="M0-25L13.5-19L18.5 21.5H-18.5L-13.5-19Z", style=_WOODEN),
        svg.element("text", kanji, y=9.5, style=f"font: {_MINCHO}; fill: {dark}"),
        svg.element("text", name, y=19, style=f"font: {_SMALL}; fill: {pale}"),
    ]
    return svg.element("g", shape, id=_id(name), text_anchor="middle", transform=f"scale({size})")


def _square(cell: int) -> str:
    row, column = divmod(cell, 9)
    x, y = _LEFT + (column + 0.5) * _WIDE, _TOP + (row + 0.5) * _TALL
    pieces = [svg.element("use", cls=_class(name), href=f"#{_id(name)}") for name, *_ in _PIECES]
    inside = [
        svg.element("rect", cls="area", x=-_WIDE / 2, y=-_TALL / 2, width=_WIDE, height=_TALL),
        svg.element("g", pieces, cls="piece"),
    ]
    return svg.element("g", inside, transform=f"translate({x:g} {y:g})", data_cell=cell)


def _held(cell: int, name: str, most: int, x: float, y: float, *, turned: bool) -> str:
    """Draws a kind of piece in hand, with its number if that is more than one."""
    numbers = [
        svg.element("text", str(n), cls=f"n{n} upright", x=-28 if turned else 28, y=7)
        for n in range(2, most + 1)
    ]
    turn = "scale(-1)" if turned else None
    inside = [svg.element("use", cls="held", href=f"#{_id(name)}", transform=turn), *numbers]
    return svg.element("g", inside, cls="hand", transform=f"translate({x:g} {y:g})", data_cell=cell)


def _lines() -> str:
    down = [f"M{_LEFT + i * _WIDE} {_TOP}V{_BOTTOM}" for i in range(1, 9)]
    across = [f"M{_LEFT} {_TOP + i * _TALL}H{_RIGHT}" for i in range(1, 9)]
    return "".join(down + across)


def _id(name: str) -> str:
    # The shapes are the same in every board, so that any number of them may stand on a page.
    return f"azjax-shogi-{_class(name)}"


def _class(name: str) -> str:
    return name.replace("+", "p")


def _style() -> dict[str, str]:
    rules = dict(_STYLE)
    for code, (name, *_) in enumerate(_PIECES, start=1):
        for shown in (code, code + 14, code + 32, code + 46):
            rules[f'[data-code="{shown}"] .{_class(name)}'] = "visibility: visible"
        for shown in (code + 14, code + 46):
            rules[f'[data-code="{shown}"] .piece'] = "transform: scale(-1)"
    for code in range(32, 32 + 2 * len(_PIECES) + 1):
        rules[f'[data-code="{code}"] .area'] = "fill: #f6d36b"
    for count in range(1, 19):
        rules[f'.hand[data-code="{count}"] .held'] = "opacity: 1"
        if count > 1:
            rules[f'.hand[data-code="{count}"] .n{count}'] = "visibility: visible"
    return rules


_WOODEN = "fill: #fbe9c3; stroke: #70501f; stroke-width: 1.4; stroke-linejoin: round"
_MINCHO = (
    "600 25px 'Hiragino Mincho ProN', 'Yu Mincho', 'Noto Serif CJK JP', 'Noto Serif JP', "
    "IPAMincho, 'MS Mincho', 'Noto Sans CJK JP', serif"
)
_SMALL = "700 7.5px system-ui, sans-serif"
_STYLE = {
    "text": "font: 600 13px system-ui, sans-serif; fill: #8a6a3c; text-anchor: middle",
    ".table": "fill: #f4ead7",
    ".wood": "fill: #e5b96f",
    ".area": "fill: #e5b96f",
    ".line": "fill: none; stroke: #5b3f1a; stroke-width: 1",
    ".edge": "fill: none; stroke: #5b3f1a; stroke-width: 2",
    ".star": "fill: #5b3f1a",
    "use": "visibility: hidden",
    ".held": "visibility: visible; opacity: 0.22",
    ".hand text": "font: 700 17px system-ui, sans-serif; fill: #4a3416; visibility: hidden",
}
