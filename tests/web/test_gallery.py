"""`azjax web --all`: a page that links to the pages of several players."""

import functools
import http.server
import re
import threading

import pytest

from azjax.cli.main import main
from azjax.players.weights_file import pretrained
from azjax.web.runtime import SCRIPT, WASM
from azjax.web.site import write_gallery
from tests.web.person import IDLE, PHONE, click, picture, wait
from tests.web.sites import untrained

pytest.importorskip("onnxruntime")

NAMES = ("connect_four", "tic_tac_toe", "ur_2")
ABOUT = {
    "connect_four": "wins <often>\nmost <days>",
    "tic_tac_toe": "never loses",
    "ur_2": "rolls <dice>\noften <dice>",
}


@pytest.fixture(scope="module")
def gallery(runtime, tmp_path_factory):
    out = tmp_path_factory.mktemp("gallery") / "site"
    said = []
    checks = write_gallery(
        {name: untrained(name) for name in NAMES},
        out,
        about=ABOUT,
        games=1,
        progress=lambda name, check: said.append((name, check)),
    )
    assert list(checks.items()) == said
    return out


def test_pages_share_one_runtime(gallery):
    files = {file.relative_to(gallery).as_posix() for file in gallery.rglob("*") if file.is_file()}
    own = {f"{name}/{file}" for name in NAMES for file in ("index.html", "game.json", "model.onnx")}
    assert files == own | {"index.html", "worker.js", SCRIPT, WASM}


def test_players_are_told_apart(gallery):
    page = (gallery / "index.html").read_text()
    assert "<p>wins &lt;often&gt;</p></a><details>" in page
    assert "<p>most &lt;days&gt;</p></details>" in page
    assert "<p>never loses</p></a></article>" in page  # there is no more to tell
    assert page.count("<svg") == len(NAMES)
    for name in NAMES:
        assert f'href="{name}/index.html"' in page


def test_texts_of_the_players_that_come_along(monkeypatch, tmp_path):
    """The headline is first. Then each result is named after how the network plays."""
    texts = {}

    def keep(players, out, *, about, **how):
        assert players.keys() == about.keys() == pretrained().keys()
        texts.update(about)
        out.mkdir()

    monkeypatch.setattr("azjax.web.site.write_gallery", keep)
    monkeypatch.setattr("azjax.cli.web.load_search_player", lambda name: None)
    assert main(["web", "--all", "--out", str(tmp_path / "site")]) == 0
    for text in texts.values():
        headline, strength, *lines = text.splitlines()
        assert len(headline) < 110
        assert re.search(r", with (64|400) simulations\.$", headline)
        assert strength.startswith("With 64 simulations: ")
        training = next(line for line in lines if line.startswith("Trained for "))
        assert lines.index(training) >= len(lines) - 2  # after it, what is weakest
    assert texts["tic_tac_toe"].startswith("Makes no mistake in any of the 4,520 reachable posit")
    assert texts["chess"].startswith("A beginner that scored ")
    assert texts["shogi"].startswith("A beginner that lost all ")


@pytest.fixture
def address(gallery):
    class QuietHandler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(QuietHandler, directory=gallery)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as plain:
        threading.Thread(target=plain.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{plain.server_port}/"
        plain.shutdown()


def test_a_visitor_comes_from_the_gallery_to_a_game(browser, address):
    page, errors = browser.new_page(viewport=PHONE), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    picture(page, "gallery", full_page=True)
    page.click('a[href="connect_four/index.html"]')
    wait(page, IDLE)
    click(page, page.query_selector('[data-action="3"]'))
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    page.close()
    assert errors == []
