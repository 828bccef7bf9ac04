"""Drawing a go board."""

from azjax_envs import svg

_STARS: dict[int, tuple[int, ...]] = {
    7: (3,),
    9: (2, 4, 6),
    11: (3, 5, 7),
    13: (3, 6, 9),
    19: (3, 9, 15),
}


def svg_board(size: int, letters: str) -> str:
    """Draws the empty board as an SVG document, with columns named by `letters`."""
    step, margin = 32, 40
    end = margin + (size - 1) * step
    width = end + margin
    parts = [
        svg.element("rect", cls="wood", x=0, y=0, width=width, height=width, rx=10),
        svg.element("path", cls="line", d=_lines(size, step, margin, end)),
    ]
    stars = _STARS.get(size, ())
    for row in stars:
        for column in stars:
            if size in (9, 11, 13) and (row, column).count(stars[1]) == 1:
                continue  # small boards have the corners and the centre
            at = {"cx": margin + column * step, "cy": margin + row * step}
            parts.append(svg.element("circle", cls="star", r=3.5, **at))
    for cell in range(size * size):
        row, column = divmod(cell, size)
        x, y = margin + column * step, margin + row * step
        area = {"x": x - step / 2, "y": y - step / 2, "width": step, "height": step}
        stone = [
            svg.element("rect", cls="area", **area),
            svg.element("circle", cls="stone", cx=x, cy=y, r=step / 2 - 0.75),
            svg.element("circle", cls="mark", cx=x, cy=y, r=step / 5),
        ]
        parts.append(svg.element("g", stone, data_cell=cell, data_action=cell))
    for i in range(size):
        at = margin + i * step
        parts += [svg.label(letters[i], at, y) for y in (margin / 3 + 2, width - margin / 3 - 2)]
        parts += [svg.label(size - i, x, at) for x in (margin / 3 + 2, width - margin / 3 - 2)]
    x = width / 2
    button = [
        svg.element("rect", cls="button", x=x - 44, y=width + 10, width=88, height=30, rx=15),
        svg.label("pass", x, width + 25),
    ]
    parts.append(svg.element("g", button, data_action=size * size))
    return svg.document("Go", width, width + 48, _STYLE, parts)


def _lines(size: int, step: int, margin: int, end: int) -> str:
    lines = [margin + i * step for i in range(size)]
    across = [f"M{margin} {at}H{end}" for at in lines]
    down = [f"M{at} {margin}V{end}" for at in lines]
    return "".join(across + down)


_STYLE = {
    ".wood": "fill: #e3b872",
    ".line": "fill: none; stroke: #5d4322; stroke-width: 1; stroke-linecap: square",
    ".star": "fill: #5d4322",
    ".area": "fill: #000; fill-opacity: 0",
    "text": "font: 600 12px system-ui, sans-serif; fill: #7a5a30; text-anchor: middle",
    ".button": "fill: #f4e4c8; stroke: #c79a55",
    ".stone": "fill: none; stroke: none",
    ".mark": "fill: none; stroke: none; stroke-width: 2",
    '[data-code="1"] .stone, [data-code="4"] .stone': "fill: #1d1f23; stroke: #000",
    '[data-code="2"] .stone, [data-code="5"] .stone': "fill: #fbfaf6; stroke: #a39a8b",
    '[data-code="4"] .mark': "stroke: #fbfaf6",
    '[data-code="5"] .mark': "stroke: #1d1f23",
}
