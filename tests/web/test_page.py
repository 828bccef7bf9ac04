"""The page on the local server in Chromium: quick clicks, failed requests, the keyboard."""

import contextlib
import dataclasses
import json
import re

import pytest
from azjax_envs.tic_tac_toe import TicTacToe

from azjax.engine.anytime import make_anytime_search
from azjax.web import server
from tests.web.person import DESKTOP, IDLE, PHONE, picture, wait
from tests.web.sites import listening, untrained


class NoMiddle(TicTacToe):
    """Tic-tac-toe on a board whose middle cannot be clicked."""

    def svg_board(self):
        return super().svg_board().replace('data-action="4"', "")


@pytest.fixture(scope="module")
def address():
    player = dataclasses.replace(untrained("tic_tac_toe"), game=NoMiddle())
    app = server.make_app(make_anytime_search(player), about="a test")
    with listening(app) as port:
        yield f"http://127.0.0.1:{port}/"


def part(action):
    return f"document.querySelector('#board [data-action=\"{action}\"]')"


def play(page, *actions):
    """Clicks without pauses."""
    clicks = [
        f"{part(action)}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}));"
        for action in actions
    ]
    page.evaluate("".join(clicks))


def moves(page):
    """Returns (player, name) of each move."""
    rows = page.locator("#moves li").evaluate_all(
        "all => all.map(li => [li.className, li.innerText])"
    )
    return [(int(player.removeprefix("p")), name) for player, name in rows]


@contextlib.contextmanager
def without_answers(page, path, promise):
    """Answers requests to that path with a promise, inside the context."""
    page.evaluate(
        f"window.realFetch = fetch; fetch = (path, ...others) => path === '{path}' "
        f"? {promise} : realFetch(path, ...others); 0"
    )
    yield
    page.evaluate("fetch = realFetch; 0")


def test_a_second_click_is_not_a_move_of_the_opponent(open_page, address):
    page = open_page(address, PHONE)
    play(page, 8, 0)
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    wait(page, IDLE)
    first, second = moves(page)
    assert first == (0, "c3")
    assert second[0] == 1


def test_a_request_that_fails_changes_nothing(open_page, address):
    page = open_page(address, PHONE)
    with without_answers(page, "api/position", "Promise.reject(new Error())"):
        play(page, 8)
        wait(page, "document.body.classList.contains('failed')")
        assert "The server does not answer" in page.inner_text("#status")
        assert moves(page) == []
    play(page, 8)
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    wait(page, IDLE)
    assert [player for player, _ in moves(page)] == [0, 1]
    assert page.get_attribute("body", "class") == ""
    # The next hint clears the error of a failed one.
    with without_answers(page, "api/search", "Promise.reject(new Error())"):
        page.click("#hint")
        wait(page, "document.body.classList.contains('failed')")
    page.click("#hint")
    page.wait_for_selector("#board .hint")
    assert page.get_attribute("body", "class") == ""
    assert page.inner_text("#status") == "Your move"


def test_a_page_waits_for_a_busy_server(open_page, address):
    page = open_page(address, PHONE)
    busy = "new Response('{\"error\": \"busy\"}', { status: 503, headers: { 'Retry-After': '1' } })"
    with without_answers(page, "api/search", f"Promise.resolve({busy})"):
        play(page, 8)
        wait(page, "/busy with other games/.test(document.querySelector('#status').textContent)")
        assert page.get_attribute("body", "class") == "thinking"
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    wait(page, IDLE)
    assert page.inner_text("#status") == "Your move"


def test_a_move_stops_the_search_for_a_hint(open_page, address):
    page = open_page(address, PHONE)
    # The network never answers, so the person can play for both sides.
    with without_answers(page, "api/search", "new Promise(() => {})"):
        for action, side in [(0, "second"), (3, "first"), (1, "second"), (5, "first")]:
            play(page, action)
            wait(page, "document.querySelector('#hint').disabled")
            page.select_option("#side", side)
            wait(page, IDLE)
        page.click("#hint")
        assert page.get_attribute("body", "class") == "thinking"
        play(page, 2)
        wait(page, "document.querySelector('#status').dataset.over === 'true'")
        assert page.inner_text("#status") == "You win after 5 moves"
        assert page.inner_text("#detail") == "You play X. Won with 3 in a row, marked on the board."
        marked = page.locator("#board .decided .winning").evaluate_all(
            "parts => parts.map(part => part.dataset.cell)"
        )
        assert marked == ["0", "1", "2"]
        assert page.locator("#board .won.ring").count() == 3
        # The loser's pieces, too, keep their colours.
        assert page.locator("#board [data-cell]").evaluate_all(
            "parts => parts.every(part => getComputedStyle(part).filter === 'none')"
        )
        assert page.inner_text("#meaning") == ""
        assert page.get_attribute("body", "class") == ""


def test_undo_and_hints_before_a_move_is_answered(open_page, address):
    page = open_page(address, PHONE)
    play(page, 8)
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    wait(page, IDLE)
    before, free = moves(page), page.get_attribute("#board .legal", "data-action")
    with without_answers(page, "api/position", "new Promise(() => {})"):
        play(page, free)
        page.click("#hint")  # too late
        assert page.get_attribute("body", "class") == ""
    page.click("#undo")  # takes back that move
    page.wait_for_selector("#board svg .legal")  # the button of b2 stays while moves are loading
    assert moves(page) == before
    play(page, free)
    wait(page, "document.querySelectorAll('#moves li').length > 2")


def test_a_move_that_is_not_on_the_board_is_a_button(open_page, address):
    page = open_page(address, PHONE)
    assert page.locator("#board button").all_inner_texts() == ["b2"]
    found = {"action": 4, "visits": [[4, 8]], "value": 0, "line": [], "simulations": 8, "ms": 0}
    answer = f"new Response({json.dumps(json.dumps(found))} + '\\n')"
    with without_answers(page, "api/search", f"Promise.resolve({answer})"):
        page.click("#hint")
        page.wait_for_selector("#board button.hint")
    assert page.inner_text("#search") == "8 simulations in 0.00 s"
    picture(page, "not_drawn", full_page=True)
    page.click("#board button")
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    wait(page, IDLE)
    assert moves(page)[0] == (0, "b2")
    assert page.locator("#board button").count() == 0


def test_whose_pieces_are_whose_and_what_the_numbers_are(open_page, address):
    page = open_page(address, DESKTOP)
    assert page.inner_text("#detail") == "You play X."
    assert "percent of the simulations" in page.inner_text("#legend")
    page.click("#visits")
    assert "percent" not in page.inner_text("#legend")
    assert "last move" in page.inner_text("#legend")
    with without_answers(page, "api/search", "new Promise(() => {})"):
        page.select_option("#side", "second")
        wait(page, "/^You play O/.test(document.querySelector('#detail').textContent)")
        page.select_option("#side", "none")
        wait(page, "/^First to move: X/.test(document.querySelector('#detail').textContent)")
        assert page.inner_text("#detail") == "First to move: X."


def test_the_chances_of_an_empty_board_are_explained(open_page, address):
    page = open_page(address, PHONE)
    assert page.inner_text("#meaning") == (
        "No move yet: the share of the points that the network expects for the first player."
    )
    play(page, 8)
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    assert page.inner_text("#meaning") == (
        "The share of the points that the network expects for you if both play well."
    )


def test_everything_that_can_be_pressed_has_a_name(open_page, address):
    page = open_page(address, DESKTOP)
    assert page.locator("#level option:checked").inner_text() == "8 simulations (default)"
    page.click("#board .legal")
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    wait(page, IDLE)
    tree = page.locator("body").aria_snapshot()
    pressed = re.findall(r"- (?:button|checkbox|combobox|dialog|textbox|option)(.*)", tree)
    assert len(pressed) > 15
    assert all(re.match(r' "[\w/&].*"', name) for name in pressed), tree


def test_numbers_are_legible_at_every_share(open_page, address):
    """White letters on the opaque colour of a disc, inside it; and no letters on the bar."""
    page = open_page(address, DESKTOP)
    visits = [[0, 1], [1, 4], [2, 10], [3, 85]]
    found = {"action": 3, "visits": visits, "value": -0.98, "line": [], "simulations": 100, "ms": 0}
    answer = f"new Response({json.dumps(json.dumps(found))} + '\\n')"
    with without_answers(page, "api/search", f"Promise.resolve({answer})"):
        page.click("#hint")
        page.wait_for_selector("#board .hint")
    assert page.locator("#board text.share").all_text_contents() == ["1", "4", "10", "85"]
    discs = page.locator("#board circle.visits").evaluate_all(
        "all => all.map(disc => [getComputedStyle(disc).opacity, getComputedStyle(disc).fill, "
        "disc.getBoundingClientRect().width])"
    )
    letters = page.locator("#board text.share").evaluate_all(
        "all => all.map(text => text.getBoundingClientRect().width)"
    )
    assert [disc[:2] for disc in discs] == [["1", "rgb(44, 127, 118)"]] * 4
    assert all(width < disc[2] for width, disc in zip(letters, discs, strict=True))
    assert page.inner_text("#tried") == "a2 85%, c1 10%, b1 4%, a1 1%"
    assert page.inner_text("#near-share") == "1%"
    assert page.inner_text("#far-share") == "99%"
    assert page.inner_text("#bar") == ""


def test_nothing_looks_hovered_on_a_phone(open_page, address):
    page = open_page(address, PHONE)
    outside = page.evaluate(
        "[...document.styleSheets].flatMap(sheet => [...sheet.cssRules])"
        ".filter(rule => rule.selectorText?.includes(':hover')).map(rule => rule.selectorText)"
    )
    assert outside == []


def test_the_policy_allows_the_choice_of_a_promotion(open_page, address):
    page = open_page(address, DESKTOP)
    page.evaluate(
        "() => { const dialog = document.querySelector('#choice');"
        "dialog.querySelector('form').innerHTML = '<button value=\"1\">queen</button>';"
        "dialog.showModal() }"
    )
    page.click("#choice button")
    wait(page, "!document.querySelector('#choice').open")
    assert page.evaluate("document.querySelector('#choice').returnValue") == "1"


def test_a_move_by_keyboard(open_page, address):
    page = open_page(address, DESKTOP)
    for _ in range(3):  # the text about the player, a1, b1
        page.keyboard.press("Tab")
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused) == "b1"
    picture(page, "keyboard")
    page.keyboard.press("Enter")
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    wait(page, IDLE)
    assert moves(page)[0] == (0, "b1")
    page.keyboard.press("Tab")  # to the next move that is still legal
    assert page.evaluate(focused) not in [None, *(name for _, name in moves(page))]
