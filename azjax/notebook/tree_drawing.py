"""A search tree as an SVG document: leaves in a row, parents above the middle of their children."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from azjax_envs import svg

from azjax.notebook.board_drawing import Picture

_ACROSS, _DOWN, _LARGEST, _SMALLEST, _MARGIN = 58, 96, 27, 18, 34
_LOST, _EVEN, _WON = (213, 94, 0), (244, 244, 240), (0, 114, 178)  # colours of Okabe and Ito


class Node(NamedTuple):
    """A node as it is drawn; its parent comes before it in the list."""

    parent: int  # -1 at the root
    move: str  # that led to the node, or the outcome of chance with its probability
    visits: int
    value: float  # in [-1, 1], from the perspective of the player to move at the root
    same_mover: bool  # the player to move is the one at the root
    over: bool  # the game is over
    on_path: bool  # the newest simulation came through the node
    chance: bool = False  # chance is next, such as a roll of dice


def draw(nodes: Sequence[Node], *, hidden: int) -> Picture:
    """Draws a tree, the root first, each node after its parent; `hidden` others are counted."""
    places = _layout(nodes)
    legend = _legend(nodes, hidden)
    width = max(max(x for x, _ in places) + _MARGIN + 12, 7 * max(map(len, legend)))
    bottom = max(y for _, y in places) + _LARGEST + 24
    parts = []
    for node, (x, y) in zip(nodes, places, strict=True):
        if node.parent >= 0:
            from_x, from_y = places[node.parent]
            cls = "path" if node.on_path else "edge"
            parts.append(svg.element("line", cls=cls, x1=from_x, y1=from_y, x2=x, y2=y))
    for node, (x, y) in zip(nodes, places, strict=True):
        parts += _node(node, x, y, nodes[0].visits)
    for row, line in enumerate(legend):
        parts.append(_text("legend", line, 8, bottom + 17 * row))
    height = bottom + 17 * len(legend)
    document = svg.document("Search tree", width, height, _STYLE, parts)
    return Picture(document, math.ceil(width))


def _layout(nodes: Sequence[Node]) -> list[tuple[float, float]]:
    """Returns the centres of the nodes."""
    children: list[list[int]] = [[] for _ in nodes]
    depth = [0] * len(nodes)
    for i, node in enumerate(nodes):
        if node.parent >= 0:
            children[node.parent].append(i)
            depth[i] = depth[node.parent] + 1
    for siblings in children:  # the most visited on the left
        siblings.sort(key=lambda i: -nodes[i].visits)
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack += reversed(children[order[-1]])
    across = [0.0] * len(nodes)
    for column, leaf in enumerate(i for i in order if not children[i]):
        across[leaf] = column
    for i in reversed(order):  # children before their parents
        if children[i]:
            across[i] = (across[children[i][0]] + across[children[i][-1]]) / 2
    return [
        (_MARGIN + _ACROSS * x, _MARGIN + _DOWN * y) for x, y in zip(across, depth, strict=True)
    ]


def _node(node: Node, x: float, y: float, most: int) -> list[str]:
    size = _SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(node.visits / most)
    cls = "over" if node.over else "node"
    look = {"cls": f"{cls} new" if node.on_path else cls, "fill": _colour(node.value)}
    if node.chance:
        half = 1.3 * size
        corners = f"{x:g},{y - half:g} {x + half:g},{y:g} {x:g},{y + half:g} {x - half:g},{y:g}"
        shape = svg.element("polygon", points=corners, **look)
    elif node.same_mover:
        shape = svg.element("circle", cx=x, cy=y, r=size, **look)
    else:
        side = 1.8 * size
        shape = svg.element(
            "rect", x=x - side / 2, y=y - side / 2, width=side, height=side, rx=4, **look
        )
    value = "value light" if abs(node.value) > 0.6 else "value"
    parts = [
        shape,
        _text(value, f"{node.value:+.2f}", x, y + 4),
        _text("visits", f"{node.visits:,}", x, y + size * _reach(node) + 12),
    ]
    # The move is written at the child, because edges are too close together at the parent.
    return (
        [*parts, _text("move", node.move, x, y - size * _reach(node) - 6)] if node.move else parts
    )


def _reach(node: Node) -> float:
    """Returns how far a node's shape reaches up and down, as a multiple of its size."""
    return 1.3 if node.chance else 1.0


def _legend(nodes: Sequence[Node], hidden: int) -> list[str]:
    lines = ["in the nodes: value for the player to move at the top; below them: visits"]
    if any(node.chance for node in nodes):
        lines.append("diamond: chance is next; below it each outcome with its probability")
    if not all(node.same_mover for node in nodes if not node.chance):
        lines.append("round: that player is to move; square: the opponent")
    if any(node.over for node in nodes):
        lines.append("dashed: the game is over")
    if hidden:
        lines.append(f"{hidden:,} less visited nodes are not shown")
    return lines


def _colour(value: float) -> str:
    end, share = (_WON if value > 0 else _LOST), min(abs(value), 1.0)
    mixed = (round(a + share * (b - a)) for a, b in zip(_EVEN, end, strict=True))
    return f"rgb({', '.join(map(str, mixed))})"


def _text(cls: str, text: str, x: float, y: float) -> str:
    safe = text.replace("&", "&amp;").replace("<", "&lt;")
    return svg.element("text", safe, cls=cls, x=x, y=y)


_HALO = "stroke: #ffffff; stroke-width: 4px; paint-order: stroke; stroke-linejoin: round"
_STYLE = {
    ".edge": "stroke: #b9bfc7; stroke-width: 1.5",
    ".path": "stroke: #2b3648; stroke-width: 3",
    ".node": "stroke: #8792a2; stroke-width: 1.2",
    ".over": "stroke: #2b3648; stroke-width: 1.6; stroke-dasharray: 4 3",
    ".new": "stroke: #2b3648; stroke-width: 2.6",
    ".value": "font-size: 11px; fill: #1d2733",
    ".light": "fill: #ffffff",
    ".visits": "font-size: 10px; font-weight: 500; fill: #5c6673; " + _HALO,
    ".move": "font-size: 11px; fill: #1d2733; " + _HALO,
    ".legend": "font-size: 11px; font-weight: 500; fill: #5c6673; text-anchor: start",
}
