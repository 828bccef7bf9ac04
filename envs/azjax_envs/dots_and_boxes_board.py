"""The drawing of the dots and boxes board."""

from azjax_envs import svg


def svg_board(rows: int, columns: int) -> str:
    """Draws the board; `data-cell` follows `DotsAndBoxes.view`, `data-action` the actions."""
    size, left, top = 64, 44, 36

    def x(column: float) -> float:
        return left + column * size

    def y(row: float) -> float:
        return top + row * size

    width, height = x(columns) + 20, y(rows) + 34
    paper = {
        "x": left - 16,
        "y": top - 16,
        "width": columns * size + 32,
        "height": rows * size + 32,
    }
    parts = [svg.element("rect", cls="paper", rx=14, **paper)]

    across = [(row, col, row, col + 1) for row in range(rows + 1) for col in range(columns)]
    down = [(row, col, row + 1, col) for row in range(rows) for col in range(columns + 1)]
    boxes = []
    for box in range(rows * columns):
        row, column = divmod(box, columns)
        area = {"x": x(column), "y": y(row), "width": size, "height": size}
        boxes.append(
            svg.element("rect", cls="box", data_cell=len(across) + len(down) + box, **area)
        )
    edges = []
    for action, (row, column, to_row, to_column) in enumerate(across + down):
        ends = {"x1": x(column), "y1": y(row), "x2": x(to_column), "y2": y(to_row)}
        lines = [svg.element("line", cls="area", **ends), svg.element("line", cls="edge", **ends)]
        edges.append(svg.element("g", lines, data_cell=action, data_action=action))
    dots = [
        svg.element("circle", cls="dot", cx=x(column), cy=y(row), r=6)
        for row in range(rows + 1)
        for column in range(columns + 1)
    ]
    labels = [svg.label(column + 1, x(column + 0.5), top - 25) for column in range(columns)]
    labels += [svg.label(column + 1, x(column), y(rows) + 25) for column in range(columns + 1)]
    labels += [svg.label(f"h{row + 1}", left - 30, y(row)) for row in range(rows + 1)]
    labels += [svg.label(f"v{row + 1}", left - 30, y(row + 0.5)) for row in range(rows)]
    return svg.document(
        "Dots and boxes", width, height, _STYLE, parts + boxes + edges + dots + labels
    )


_STYLE = {
    ".paper": "fill: #fbfaf7; stroke: #e4e0d6; stroke-width: 2",
    ".box": "fill: none",
    '.box[data-code="1"]': "fill: #b9d3f5",
    '.box[data-code="2"]': "fill: #f7c3bb",
    ".area": "stroke: #000; stroke-opacity: 0; stroke-width: 22",
    ".edge": "stroke: #cbc6b8; stroke-width: 3; stroke-dasharray: 2 6; stroke-linecap: round",
    '[data-code="1"] .edge': "stroke: #43536b; stroke-width: 6; stroke-dasharray: none",
    ".dot": "fill: #2b3648",
}
