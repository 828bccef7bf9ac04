"""Whole games by clicks in Chromium; screenshots are saved in build/screenshots.

Needs Debian's chromium and ONNX Runtime Web from npm.
"""

import functools
import http.server
import random
import re
import threading

import numpy as np
import pytest
from azjax_envs import HasScore, HasWinningCells

from azjax.engine.anytime import make_anytime_search
from azjax.players.load import load_player
from azjax.web import server
from azjax.web.site import write_site
from tests.web.person import DESKTOP, IDLE, PHONE, click, picture, wait
from tests.web.sites import listening, untrained

pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.usefixtures("runtime")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path):
    """Returns a function player -> address of its page on a plain web server."""
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(QuietHandler, directory=tmp_path)
    ) as plain:
        threading.Thread(target=plain.serve_forever, daemon=True).start()

        def serve(player):
            write_site(player, tmp_path / "site", about="a test", games=1)
            return f"http://127.0.0.1:{plain.server_port}/site/"

        yield serve
        plain.shutdown()


def top_of(page, cell):
    """Returns how far down the screen a cell is, in pixels."""
    return page.query_selector(f'[data-cell="{cell}"]').bounding_box()["y"]


def play_to_the_end(page, game, seed):
    """Clicks on legal moves until the game is over; returns the names of the moves."""
    chance = random.Random(seed)
    for _ in range(game.max_steps):
        wait(page, IDLE)
        if page.get_attribute("#status", "data-over") == "true":
            break
        count = page.locator("#moves li").count()
        click(page, chance.choice(page.locator("#board .legal").element_handles()))
        wait(page, f"document.querySelectorAll('#moves li').length > {count}")
    return page.locator("#moves li").all_inner_texts()


def check_result(page, game, names):
    """Checks that the moves are legal and that the page shows the right result."""
    state = game.init()
    for name in names:
        assert not game.is_terminal(state)
        state = game.step(state, game.string_to_action(state, name))
    assert game.is_terminal(state)
    status, returns = page.inner_text("#status"), np.asarray(game.returns(state))
    words = "A draw" if returns[0] == 0 else "You win" if returns[0] > 0 else "The network wins"
    assert status == f"{words} after {len(names)} moves"
    detail = page.inner_text("#detail")
    assert detail.startswith(f"You play {game.player_names[0]}.")
    marked = page.locator("#board .decided .winning").evaluate_all(
        "parts => parts.map(part => +part.dataset.cell).sort((a, b) => a - b)"
    )
    if isinstance(game, HasWinningCells):
        assert marked == np.flatnonzero(game.winning_cells(state)).tolist()
        assert (f"Won with {game.winning_shape}, marked" in detail) == (returns[0] != 0)
    if isinstance(game, HasScore):
        mine, theirs = np.asarray(game.score(state))
        assert detail.endswith(f"Points: you {mine:g}, the network {theirs:g}.")
    view = page.locator("#board [data-cell]").evaluate_all(
        "parts => Object.fromEntries(parts.map(p => [p.dataset.cell, +p.dataset.code]))"
    )
    assert [view[str(i)] for i in range(len(view))] == np.asarray(game.view(state)).tolist()


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("dots_and_boxes_2x2", PHONE),
        ("connect_four", DESKTOP),
        ("go_3x3", PHONE),
    ],
)
def test_a_person_plays_to_the_end_against_the_network(open_page, served, name, size):
    player = load_player(name) if name == "connect_four" else untrained(name)
    page = open_page(served(player), size)
    names = play_to_the_end(page, player.game, seed=1)
    picture(page, name, full_page=True)
    check_result(page, player.game, names)
    assert re.fullmatch(r"\d+ simulations in [\d.]+ s", page.inner_text("#search"))
    assert page.locator("#history .curve").count() == 1
    # The page fits the width of a phone.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hints_undo_sides_and_strength_in_one_file_from_a_disk(open_page, tmp_path):
    file = tmp_path / "game.html"
    write_site(load_player("connect_four"), file, about="", games=1, single_file=True)
    page = open_page(file.as_uri(), PHONE)
    page.select_option("#level", "32")
    click(page, page.query_selector('[data-action="3"]'))
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    wait(page, IDLE)
    page.click("#hint")
    page.wait_for_selector("#board .hint")
    assert page.locator("#board .visits").count() > 0
    assert page.inner_text("#search").startswith("32 simulations")
    assert len(page.inner_text("#line").split()) > 1
    page.click("#visits")  # off and on again: the hint stays, and the visits come back
    assert page.locator("#board .visits").count() == 0
    assert page.locator("#board .hint").count() == 1
    page.click("#visits")
    assert page.locator("#board .visits").count() > 0
    page.click("#undo")
    wait(page, "document.querySelectorAll('#moves li').length === 0")
    assert page.locator('#board [data-code="1"]').count() == 0
    shown = shown_during_search(page)
    seconds = [float(text.split()[-2]) for text, _ in shown]
    assert seconds == sorted(seconds)
    assert len(set(seconds)) > 3  # times of this search, not of the one before
    assert all(line for _, line in shown)
    assert len(shown[-1][1].split()) > 1  # after the first step it is one move
    page.select_option("#side", "second")
    wait(page, "document.querySelectorAll('#moves li').length === 1")


def shown_during_search(page):
    """Returns all (search, line) that the page shows during a longer search."""
    page.select_option("#level", "512")
    page.evaluate(
        "() => { const text = (id) => document.getElementById(id).innerText; window.shown = [];"
        "new MutationObserver(() => window.shown.push([text('search'), text('line')]))"
        ".observe(document.getElementById('search'), { childList: true }) }"
    )
    page.click("#hint")
    page.wait_for_selector("#board .hint")
    return [found for found in page.evaluate("window.shown") if found[0]]


def test_moves_of_two_clicks_on_the_local_server(open_page):
    app = server.make_app(make_anytime_search(untrained("gardner_chess")), about="")
    with listening(app) as port:
        page = open_page(f"http://127.0.0.1:{port}/", PHONE)
        page.select_option("#level", "8")
        click(page, page.query_selector('[data-cell="15"]'))  # a2, a pawn
        assert page.locator("#board circle.target").count() == 1
        click(page, page.query_selector('[data-cell="10"]'))  # a3
        wait(page, "document.querySelectorAll('#moves li').length === 2")
        wait(page, IDLE)
        picture(page, "gardner_chess")
        assert page.locator("#moves li").first.inner_text() == "a3"
        assert page.locator("#moves li").first.get_attribute("data-number") == "1. "
        assert re.fullmatch(r"[a-e1-5KQRBNx=+#]+ \d+%.*", page.inner_text("#tried"))
        assert "#side=first&moves=a2a3," in page.url
        assert page.inner_text("#status") == "Your move"
        assert top_of(page, 20) > top_of(page, 0)  # White's first rank is at the bottom
        # The second player sees the board turned around, and clicks follow.
        page.select_option("#side", "second")
        page.click("#new")
        wait(page, "document.querySelectorAll('#moves li').length === 1")
        wait(page, IDLE)
        assert top_of(page, 20) < top_of(page, 0)
        click(page, page.query_selector("#board .start"))  # a black piece that can move
        assert page.locator("#board circle.target").count() >= 1
        picture(page, "gardner_chess_turned")
        page.click("#flip")
        assert top_of(page, 20) > top_of(page, 0)
        # A position in text, with moves after it.
        page.select_option("#side", "both")
        page.click("summary:has-text('Set up')")
        page.fill("#text", "4k/5/5/P4/4K w - - 0 1 moves a2a3")
        page.keyboard.press("Enter")
        wait(page, "location.hash.includes('start=') && location.hash.endsWith('a2a3')")
        assert page.inner_text("#status") == "Black to move"
        assert page.locator("#board [data-code]:not([data-code='0'])").count() <= 5
        page.reload()
        wait(page, "document.querySelectorAll('#moves li').length === 1")
        assert page.inner_text("#status") == "Black to move"


def test_positions_in_text_without_a_server(open_page, browser, served):
    """A FEN from the field, moves and a search from there, its link, mistakes, and a new game."""
    address = served(untrained("gardner_chess"))
    page = open_page(address, DESKTOP)
    codes = "[...document.querySelectorAll('#board [data-cell]')].map(cell => +cell.dataset.code)"
    start = page.evaluate(codes)
    moves = "document.querySelectorAll('#moves li').length"
    page.select_option("#side", "both")
    page.click("summary:has-text('Set up')")
    assert "FEN" in page.get_attribute("#text", "placeholder")

    def enter(text):
        page.fill("#text", text)
        page.keyboard.press("Enter")

    enter("4k/5/5/P4/4K w - - 0 1")
    wait(page, "location.hash.includes('start=')")
    assert page.evaluate(codes) == [0, 0, 0, 0, 12, *[0] * 10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 6]
    click(page, page.query_selector('[data-cell="15"]'))  # the pawn on a2
    click(page, page.query_selector('[data-cell="10"]'))
    wait(page, f"{moves} === 1")
    assert page.inner_text("#status") == "Black to move"
    assert page.input_value("#text") == "4k/5/5/P4/4K w - - 0 1 moves 1. a3"
    assert page.url.endswith("#side=both&start=4k%2F5%2F5%2FP4%2F4K%20w%20-%20-%200%201&moves=a2a3")
    page.click("#hint")
    page.wait_for_selector("#board .hint")
    assert page.inner_text("#search").startswith("8 simulations")
    shown = page.evaluate(codes)
    other = browser.new_page(viewport=DESKTOP)
    other.goto(page.url)
    wait(other, f"{moves} === 1")
    assert other.evaluate(codes) == shown
    other.goto(address + "#side=both&start=4k/5/5/P4/4k w - -")
    other.reload()
    wait(other, "document.body.classList.contains('failed')")
    assert other.inner_text("#status") == "FEN: White must have one king, not 0"
    assert other.evaluate(codes) == start
    other.close()
    for text, says in [
        ("4k/5/5/P4 w - - 0 1", "FEN: the board must have 5 ranks, not 4"),
        ("4k/3P1/5/5/4K w - - 0 1", "FEN: the side that is not to move is in check"),
        ("4k/5/5/P4/4K w - - 0 1 moves a2a4", "Move 1, a2a4, is not legal there."),
    ]:
        enter(text)
        wait(page, f"document.querySelector('#status').textContent === {says!r}")
        assert page.evaluate(codes) == shown
    page.click("#undo")
    wait(page, f"{moves} === 0")
    assert page.inner_text("#status") == "White to move"
    # Moves as players write them, and a game of another program.
    for text, names, number in [
        ("fen 4k/5/5/P4/4K moves a3 Ke5d5", ["a3", "Kd5"], "1. "),
        ("4k/5/5/P4/4K w KQ a3 150 3 moves a3", ["a3"], "3. "),
        ("position fen 4k/5/5/P4/4K b - - 0 7 moves kd5", ["Kd5"], "7... "),
        (
            '[Event "a/b"]\n[FEN "4k/5/5/P4/4K w - - 0 1"]\n\n1.a3! $1 {x} Kd5 ; y\n'
            "(1... Ke4 2. a4) 2.a4 ch Kc5+ 1/2-1/2",
            ["a3", "Kd5", "a4", "Kc5"],
            "1. ",
        ),
        ("1. a3 bxa3 2. bxa3 *", ["a3", "bxa3", "bxa3"], "1. "),
    ]:
        enter(text)
        shown_moves = "[...document.querySelectorAll('#moves li')].map((li) => li.innerText).join()"
        wait(page, f"{shown_moves} === {','.join(names)!r}")
        assert page.locator("#moves li").first.get_attribute("data-number") == number
    page.click("#hint")
    page.wait_for_selector("#board .hint")
    assert re.match(r"2\.\.\. [KQRBNa-e]", page.inner_text("#line"))
    enter("e4 xyz")
    wait(page, "/Move 1, e4, is not legal there/.test(document.querySelector('#status').innerText)")
    page.click("#new")
    wait(page, f"{moves} === 0")
    # The network moves at once, as the position is its turn.
    page.select_option("#side", "second")
    wait(page, f"{moves} === 1")
    wait(page, IDLE)
    page.select_option("#side", "both")
    page.click("#new")
    wait(page, f"{moves} === 0 && !location.hash.includes('start=')")
    assert page.evaluate(codes) == start


def test_two_people_share_a_position_by_its_address(open_page, browser, served):
    address = served(load_player("connect_four"))
    page = open_page(address, PHONE)
    page.select_option("#side", "both")
    for count in (1, 2):
        wait(page, "document.querySelectorAll('#board .legal').length > 0")
        click(page, page.query_selector('#board .legal[data-action="3"]'))
        wait(page, f"document.querySelectorAll('#moves li').length === {count}")
    assert page.inner_text("#status") == "Red to move"
    assert page.inner_text("#near") == "Red"
    page.click("#undo")
    wait(page, "document.querySelectorAll('#moves li').length === 1")
    assert page.inner_text("#status") == "Yellow to move"
    page.click("summary:has-text('Set up')")
    page.fill("#text", "1. 44, 2. 3")
    page.keyboard.press("Enter")
    wait(page, "document.querySelectorAll('#moves li').length === 3")
    assert page.url.endswith("#side=both&moves=4,4,3")
    other = browser.new_page(viewport=DESKTOP)
    other.goto(page.url)
    wait(other, "document.querySelectorAll('#moves li').length === 3")
    assert other.input_value("#side") == "both"
    assert other.locator("#board [data-code]:not([data-code='0'])").count() == 3
    mark = other.locator("#board circle.last").bounding_box()
    disc = other.locator('#board [data-cell="37"]').bounding_box()  # of the last move
    assert disc["x"] < mark["x"] < disc["x"] + disc["width"]
    assert disc["y"] < mark["y"] < disc["y"] + disc["height"]
    page.fill("#text", "9 4")
    page.keyboard.press("Enter")
    wait(page, "document.body.classList.contains('failed')")
    assert page.inner_text("#status") == "Move 1, 9, is not legal there."
    page.fill("#text", "7/7")
    page.keyboard.press("Enter")
    wait(page, "/no text/.test(document.querySelector('#status').textContent)")
    says = "This game has no text for positions: give the moves from its start."
    assert page.inner_text("#status") == says
    assert page.locator("#moves li").count() == 3  # the game goes on where it was
    other.goto(address + "#moves=4,x")
    other.reload()
    wait(other, "document.body.classList.contains('failed')")
    shown = "The board shows the move before it."
    assert other.inner_text("#status") == f"Move 2, x, is not legal there. {shown}"
    assert other.locator("#moves li").count() == 1
    other.click("summary:has-text('Set up')")
    other.fill("#text", "1. 44, 2. 3 9 5")  # more than the board has before it
    other.keyboard.press("Enter")
    wait(
        other,
        "/Move 4, 9, .* the 3 moves before it/.test(document.querySelector('#status').innerText)",
    )
    assert other.locator("#moves li").count() == 3
    assert other.input_value("#text") == "1. 44, 2. 3 9 5"
    other.close()
