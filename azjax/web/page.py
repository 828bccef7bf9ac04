"""The page: one HTML document, for the engine in the browser and for the local server.

The gallery is another, which links to the pages of several games. A third steps through a game that
has been played.
"""

import base64
import gzip
import html
import importlib.resources
import json
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from azjax_envs import Game
from azjax_envs.game import HasSetUp

_PAGE = (
    "engines.js",
    "chart.js",
    "board.js",
    "san.js",
    "main.js",
)  # each after the files it imports
WORKER = ("search.js", "san.js", "worker.js")
_REVIEW = ("chart.js", "board.js", "review.js")


def render_page(
    game: Game, *, title: str, about: str, setup: dict[str, Any], files: dict[str, bytes]
) -> str:
    """Returns the HTML document of a game.

    Args:
      about: lines about the player, folded under the heading.
      setup: data for the page's script: `game`, and where the engine is (see main.js).
      files: files to embed in the page, gzipped, by name.
    """
    scripts = ("notation.js", *_PAGE) if isinstance(game, HasSetUp) else _PAGE
    packed = {name: base64.b64encode(gzip.compress(x, mtime=0)) for name, x in files.items()}
    embedded = [
        f'<script type="application/octet-stream" id="{name}">{x.decode()}</script>'
        for name, x in packed.items()
    ]
    return _render(
        "index.html",
        ("board.css",),
        title=title,
        files="\n".join(embedded),
        **_board_parts(game, about, setup, scripts),
    )


@dataclass(frozen=True)
class Card:
    """One game of a gallery."""

    folder: str  # of its page
    title: str
    about: str  # its first line is shown, the rest is folded
    drawing: str  # SVG


def render_gallery(cards: Sequence[Card]) -> str:
    """Returns the HTML document that links to the pages of several games."""
    return _render(
        "gallery.html",
        ("gallery.css",),
        title="Play against AlphaZero",
        cards="\n".join(map(_render_card, cards)),
    )


def _render_card(card: Card) -> str:
    headline, _, rest = html.escape(card.about).partition("\n")
    more = f"<details><summary>More</summary><p>{rest}</p></details>" if rest else ""
    return (
        f'<article><a href="{html.escape(card.folder)}/index.html">{card.drawing}'
        f"<h2>{html.escape(card.title)}</h2><p>{headline}</p></a>{more}</article>"
    )


def render_review(game: Game, *, title: str, about: str, setup: dict[str, Any]) -> str:
    """Returns the HTML document that steps through a game.

    Args:
      about: a line about the game.
      setup: data for the page's script: the positions and the players' names (see review.js).
    """
    parts = _board_parts(game, about, setup, _REVIEW)
    return _render("review.html", ("board.css", "review.css"), title=title, **parts)


def _board_parts(
    game: Game, about: str, setup: dict[str, Any], scripts: tuple[str, ...]
) -> dict[str, str]:
    """Returns what the pages with a board fill in alike."""
    return {
        "headline": html.escape(about.partition("\n")[0]) if "\n" in about else "About this player",
        "about": html.escape(about),
        "drawing": game.svg_board(),
        "setup": json.dumps(setup, separators=(",", ":")).replace("</", "<\\/"),
        "script": join_scripts(scripts),
    }


def _render(name: str, styles: tuple[str, ...], *, title: str, **parts: str) -> str:
    """Returns the document of a template, with the head that all pages share."""
    parts["title"] = html.escape(title)
    style = "\n".join(map(_read, ("style.css", *styles)))
    head = string.Template(_read("head.html")).substitute(parts, style=style)
    return string.Template(_read(name)).substitute(parts, head=head)


def join_scripts(names: tuple[str, ...]) -> str:
    """Returns several modules as one script, without imports and exports."""
    text = "\n".join(_read(name) for name in names)
    text = re.sub(r"^import .*?;\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^export \{.*?\};\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def _read(name: str) -> str:
    return (importlib.resources.files("azjax.web") / "page" / name).read_text("utf-8")
