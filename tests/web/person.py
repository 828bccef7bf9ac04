"""The actions of a person on the page."""

import time
from pathlib import Path

READY = r"/^Your move|^A draw|wins? after/.test(document.querySelector('#status').textContent)"
IDLE = f"{READY} && !document.body.classList.contains('thinking')"
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
TIMEOUT_S = 120

_SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


def wait(page, condition):
    """Waits until a condition holds. Playwright's own waiting uses eval, which the page forbids."""
    end = time.monotonic() + TIMEOUT_S
    while not page.evaluate(condition):
        if time.monotonic() > end:
            shown = page.evaluate("document.querySelector('#status')?.textContent")
            raise AssertionError(f"waited too long for {condition}; the page says {shown!r}")
        page.wait_for_timeout(30)


def click(page, element):
    """Clicks with the mouse at the middle of an element."""
    box = element.evaluate(
        "e => { const b = e.getBoundingClientRect(); return [b.x + b.width / 2, "
        "b.y + b.height / 2] }"
    )
    page.mouse.click(*box)


def picture(page, name, **options):
    """Saves a screenshot in build/screenshots."""
    page.screenshot(path=_SCREENSHOTS / f"{name}.png", **options)
