"""The documents of the three pages, without a browser."""

import pytest
from azjax_envs import make

from azjax.web.page import Card, render_gallery, render_page, render_review

TEXTS = {"title": "A & B", "about": "1 < 2", "setup": {"game": "</script>"}}
PAGES = {
    "game": lambda: render_page(make("tic_tac_toe"), **TEXTS, files={"model": b"0"}),
    "review": lambda: render_review(make("tic_tac_toe"), **TEXTS),
    "gallery": lambda: render_gallery([Card("go", "A & B", "1 < 2", "<svg></svg>")]),
}
RULES = {".board {": PAGES, "#board svg {": ("game", "review"), "#steps {": ("review",)}
RULES |= {".gallery {": ("gallery",)}


@pytest.mark.parametrize("name", PAGES)
def test_pages_share_the_head_and_have_their_own_style(name):
    head, _, body = PAGES[name]().partition("</head>")
    titles = {"gallery": "Play against AlphaZero"}
    assert head.startswith("<!doctype html>")
    assert f"<title>{titles.get(name, 'A &amp; B')}</title>" in head
    assert 'name="viewport" content="width=device-width' in head
    assert "$" not in head
    for rule, pages in RULES.items():
        assert (f"\n{rule}" in head) == (name in pages), rule
    assert body.strip().startswith("<body")
    assert "1 &lt; 2" in body
    assert body.strip().endswith("</body>\n</html>")
