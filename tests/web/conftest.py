"""Chromium, pages in it, and ONNX Runtime Web."""

import shutil

import pytest

from azjax.errors import UserError
from azjax.web.runtime import runtime_files
from tests.absent import skip
from tests.web.person import IDLE, TIMEOUT_S, wait


@pytest.fixture(scope="module")
def runtime():
    """Puts ONNX Runtime Web into the cache."""
    try:
        runtime_files(None)
    except UserError as error:
        skip(str(error))


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        skip("chromium is not installed (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Returns a function (address, size) -> page with a new game; its errors fail the test."""
    errors, pages = [], []

    def open_page(address, size):
        page = browser.new_page(viewport=size)
        pages.append(page)
        page.set_default_timeout(1000 * TIMEOUT_S)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda m: m.type == "error" and errors.append(m.text))
        page.goto(address)
        wait(page, IDLE)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert errors == []
