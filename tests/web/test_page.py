"""A person at the page who is quick, or unlucky: on the local server, in Chromium."""

import pytest

from azjax.play.thinking import make_thinker
from azjax.web import server
from tests.web.person import IDLE, PHONE, wait
from tests.web.sites import listening, untrained


@pytest.fixture(scope="module")
def address():
    """Of a game of tic-tac-toe."""
    app = server.make_app(make_thinker(untrained("tic_tac_toe")), about="a test")
    with listening(app) as port:
        yield f"http://127.0.0.1:{port}/"


def part(action):
    return f"document.querySelector('#board [data-action=\"{action}\"]')"


def play(page, *actions):
    """Clicks without a pause between them."""
    clicks = [
        f"{part(action)}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}));"
        for action in actions
    ]
    page.evaluate("".join(clicks))


def moves(page):
    """Of each move: the player, and its name."""
    rows = page.locator("#moves li").evaluate_all(
        "all => all.map(li => [li.className, li.innerText])"
    )
    return [(int(player.removeprefix("p")), name) for player, name in rows]


def test_a_second_click_is_no_move_of_the_opponent(open_page, address):
    page = open_page(address, PHONE)
    play(page, 4, 0)
    wait(page, "document.querySelectorAll('#moves li').length === 2")
    wait(page, IDLE)
    first, second = moves(page)
    assert first == (0, "b2")
    assert second[0] == 1
