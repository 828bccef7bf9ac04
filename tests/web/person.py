"""What a person does at the page."""

import time
from pathlib import Path

READY = r"/^Your move|^A draw|wins? after/.test(document.querySelector('#status').textContent)"
IDLE = f"{READY} && !document.body.classList.contains('thinking')"
DESK, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
PATIENCE_S = 120

_SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


def wait(page, condition):
    """Until it holds. (Playwright's own waiting wants eval, which the server's page forbids.)"""
    end = time.monotonic() + PATIENCE_S
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"waited too long for {condition}"
        page.wait_for_timeout(30)


def click(page, place):
    """With the mouse, where the middle of an element is on the screen."""
    box = place.evaluate(
        "e => { const b = e.getBoundingClientRect(); return [b.x + b.width / 2, "
        "b.y + b.height / 2] }"
    )
    page.mouse.click(*box)


def picture(page, name, **options):
    """Keeps what is seen, in build/screenshots."""
    page.screenshot(path=_SCREENSHOTS / f"{name}.png", **options)
