"""A backgammon board as text and as an SVG document, from the codes of `Backgammon.view`."""

import numpy as np

from azjax_envs import svg

_MOST = 15  # checkers of a player
_ROWS = 5  # checkers that a point shows one by one
_TOP, _BOTTOM = [*range(13, 25)], [*range(12, 0, -1)]  # points, from left to right


def text(codes: np.ndarray, turn: str) -> str:
    """Returns a board as lines of text, of int32 [37]."""
    points, (bar, their_bar, off, their_off) = codes[:24].tolist(), codes[24:28].tolist()
    lines = [_numbers(_TOP)]
    lines += [_checkers(points, _TOP, row) for row in range(_ROWS)]
    lines += [f"{'':18} |   |".rstrip()]
    lines += [_checkers(points, _BOTTOM, row) for row in reversed(range(_ROWS))]
    lines += [_numbers(_BOTTOM)]
    faces = " ".join(str(face) for face in codes[28:36] if face)
    if turn != "over":
        turn += f", dice: {faces}" if faces else ", dice to be rolled"
    counts = f"X: {bar} on the bar, {off} off; O: {their_bar} on the bar, {their_off} off"
    return "\n".join([*lines, turn, counts])


def _numbers(points: list[int]) -> str:
    return _line([f"{point:3}" for point in points])


def _checkers(points: list[int], shown: list[int], row: int) -> str:
    """Returns a row of checkers, counted from the edge; the last one tells how many there are."""
    cells = []
    for point in shown:
        code = points[point - 1]
        count = (code - 1) % _MOST + 1 if code else 0
        sign = "XO"[code > _MOST] if row < count else ""
        more = row == _ROWS - 1 and count > _ROWS
        cells.append(f"{count if more else sign:>3}")
    return _line(cells)


def _line(cells: list[str]) -> str:
    return f"{''.join(cells[:6])} |   |{''.join(cells[6:])}".rstrip()


_SIZE, _RADIUS = 44, 19  # of a point's width, and of a checker
_LEFT, _UPPER, _LOWER = 22, 34, 488  # the edges of the playing field
_BAR, _TRAY = 48, 54
_RIGHT = _LEFT + 12 * _SIZE + _BAR
_MIDDLE = (_UPPER + _LOWER) / 2


def svg_board(name: str, checkers: int) -> str:
    """Returns the empty board, for a number of checkers of each player."""
    width, height = _RIGHT + _TRAY + 30, _LOWER + _UPPER
    parts = [svg.element("rect", cls="frame", width=width, height=height, rx=12)]
    for x, wide in ((_LEFT, 6 * _SIZE), (_LEFT + 6 * _SIZE + _BAR, 6 * _SIZE)):
        parts.append(_field(x, wide))
    parts += [_point(point, checkers) for point in range(1, 25)]
    edges = {p: _UPPER - 15 if p > 12 else _LOWER + 17 for p in range(1, 25)}
    parts += [svg.label(p, _x(p), y, cls="number") for p, y in edges.items()]
    parts += [_on_bar(player, checkers) for player in (0, 1)]
    parts += [_off(player, checkers) for player in (0, 1)]
    parts += [_die(die // 4, die % 4, 28 + die) for die in range(8)]
    parts.append(_turn(36))
    return svg.document(name, width, height, _STYLE | _shown(checkers), parts)


def _x(point: int) -> float:
    """Returns the middle of a point."""
    column = point - 13 if point > 12 else 12 - point
    return _LEFT + (column + 0.5) * _SIZE + (_BAR if column > 5 else 0)


def _field(x: float, width: float) -> str:
    return svg.element(
        "rect", cls="field", x=x, y=_UPPER, width=width, height=_LOWER - _UPPER, rx=3
    )


def _classes(first: int, last: int) -> str:
    """Returns the classes of a part that is shown for the numbers from the first to the last."""
    return " ".join(f"n{n}" for n in range(first, last + 1))


def _point(point: int, checkers: int) -> str:
    x, edge, down = _x(point), _UPPER if point > 12 else _LOWER, 1 if point > 12 else -1
    half, tip = _SIZE / 2 - 1, edge + down * 182
    corners = f"{x - half:g},{edge} {x + half:g},{edge} {x:g},{tip:g}"
    parts = [svg.element("polygon", cls=f"t{point % 2}", points=corners)]
    for k in range(1, min(checkers, _ROWS) + 1):
        y = edge + down * (_RADIUS + 1 + (k - 1) * 2 * _RADIUS)
        at = {"cx": x, "cy": y, "r": _RADIUS - 1}
        parts.append(svg.element("circle", cls=f"c {_classes(k, checkers)}", **at))
    y = edge + down * (_RADIUS + 1 + (_ROWS - 1) * 2 * _RADIUS)
    parts += [svg.label(n, x, y, cls=f"m n{n}") for n in range(_ROWS + 1, checkers + 1)]
    return svg.element("g", parts, data_cell=point - 1)


def _on_bar(player: int, checkers: int) -> str:
    at = {"cx": _LEFT + 6 * _SIZE + _BAR / 2, "cy": _MIDDLE + (60, -60)[player]}
    parts = [svg.element("circle", cls=f"c {_classes(1, checkers)}", r=_RADIUS - 1, **at)]
    parts += [svg.label(n, at["cx"], at["cy"], cls=f"m n{n}") for n in range(2, checkers + 1)]
    return svg.element("g", parts, cls=f"p{player}", data_cell=24 + player)


def _off(player: int, checkers: int) -> str:
    """Draws checkers borne off as a pile of slabs beside the home of their player."""
    x, slab = _RIGHT + 14, 12
    pile = _MOST * slab + 6
    top = _LOWER - pile if player == 0 else _UPPER
    parts = [svg.element("rect", cls="tray", x=x, y=top, width=_TRAY, height=pile, rx=3)]
    for k in range(1, checkers + 1):
        y = _LOWER - 3 - k * slab if player == 0 else _UPPER + 3 + (k - 1) * slab
        at = {"x": x + 4, "y": y + 1, "width": _TRAY - 8, "height": slab - 2, "rx": 3}
        parts.append(svg.element("rect", cls=f"c {_classes(k, checkers)}", **at))
    return svg.element("g", parts, cls=f"p{player}", data_cell=26 + player)


_PIPS = {  # the faces that show the pip at each place
    (0, 0): (1, 3, 5),
    (-1, -1): (2, 3, 4, 5, 6),
    (1, 1): (2, 3, 4, 5, 6),
    (1, -1): (4, 5, 6),
    (-1, 1): (4, 5, 6),
    (-1, 0): (6,),
    (1, 0): (6,),
}


def _half(player: int) -> float:
    """Returns the left edge of the half where a player rolls; that of player 0 is at the right."""
    return _LEFT + (0 if player else 6 * _SIZE + _BAR)


def _die(player: int, place: int, cell: int) -> str:
    size, x = 36, _half(player) + 86 + place * 44
    y = _MIDDLE - size / 2
    faces = " ".join(f"f{face}" for face in range(1, 7))
    parts = [svg.element("rect", cls=f"die {faces}", x=x, y=y, width=size, height=size, rx=7)]
    for (right, down), shown in _PIPS.items():
        at = {"cx": x + size / 2 + 10 * right, "cy": y + size / 2 + 10 * down, "r": 3.6}
        parts.append(
            svg.element("circle", cls=f"pip {' '.join(f'f{face}' for face in shown)}", **at)
        )
    return svg.element("g", parts, cls=f"d{player}", data_cell=cell)


def _turn(cell: int) -> str:
    # Beside the dice, or above four of them.
    words = {1: ("to roll", 46, 0), 2: ("to roll", 46, 0)}
    words |= {code: ("no move", 132, -34) for code in (5, 6)}
    parts = [
        svg.label(word, _half(1 - code % 2) + x, _MIDDLE + y, cls=f"turn s{code}")
        for code, (word, x, y) in words.items()
    ]
    return svg.element("g", parts, data_cell=cell)


def _shown(checkers: int) -> dict[str, str]:
    """Returns the rules that show the parts of each code."""
    rules = {}
    for n in range(1, checkers + 1):
        rules |= {
            f'[data-code="{n}"] > .c.n{n}': _LIGHT,
            f'[data-code="{n + _MOST}"] > .c.n{n}': _DARK,
            f'.p1[data-code="{n}"] > .c.n{n}': _DARK,
            f'[data-code="{n}"] > .m.n{n}': "display: inline; fill: #27323d",
            f'[data-code="{n + _MOST}"] > .m.n{n}': "display: inline; fill: #fbf7ec",
            f'.p1[data-code="{n}"] > .m.n{n}': "display: inline; fill: #fbf7ec",
        }
    for face in range(1, 7):
        rules |= {
            f'.d0[data-code="{face}"] > .die': "fill: #fffdf6; stroke: #8a7350; stroke-width: 1.5",
            f'.d1[data-code="{face}"] > .die': "fill: #27323d; stroke: #0f161d; stroke-width: 1.5",
            f'.d0[data-code="{face}"] > .pip.f{face}': "fill: #27323d",
            f'.d1[data-code="{face}"] > .pip.f{face}': "fill: #fbf7ec",
        }
    return rules | {f'[data-code="{code}"] > .s{code}': "display: inline" for code in (1, 2, 5, 6)}


_LIGHT = "fill: #fbf7ec; stroke: #6b5b45; stroke-width: 2"
_DARK = "fill: #27323d; stroke: #0f161d; stroke-width: 2"
_STYLE = {
    ".frame": "fill: #5a3d28",
    ".field": "fill: #ecdcb9",
    ".t0": "fill: #c2724a",
    ".t1": "fill: #dcb37e",
    ".tray": "fill: #402a1b",
    ".c": "fill: none",
    ".m": "display: none; font-size: 18px",
    ".die": "fill: none",
    ".pip": "fill: none",
    ".turn": "display: none; fill: #7a5c3e",
    ".number": "fill: #d9c7a0",
}
