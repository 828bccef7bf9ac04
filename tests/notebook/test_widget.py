"""The opponent in a notebook: its Python side by messages, its JavaScript in a browser."""

import json
import re
import shutil

import jax
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.tic_tac_toe import TicTacToe

from azjax.errors import UserError

pytest.importorskip("anywidget")

from azjax.notebook import opponent
from azjax.notebook.widget import Opponent
from tests.absent import skip
from tests.oracles.players import SureLowest

GAME = make("tic_tac_toe")
CHESS = make("gardner_chess")
BOXES = make("dots_and_boxes", rows=1, columns=2)
KEY = jax.random.PRNGKey(0)


def make_opponent(game=GAME, human=0):
    return opponent(game, SureLowest(game, 0.96), key=KEY, human=human)


def click(widget, **content):
    """Sends a message as the browser does, and returns what is shown."""
    widget._handle_custom_msg(content, [])
    return widget.shown


def test_a_game_by_clicks():
    widget = make_opponent()
    assert widget.shown["status"] == "Your move."
    assert widget.shown["legal"] == list(range(9))
    assert widget.shown["value"] == ""
    assert not widget.shown["undo"]
    shown = click(widget, do="play", action=4)  # b2; the answer is a1
    assert shown["codes"] == [2, 0, 0, 0, 1, 0, 0, 0, 0]
    assert shown["legal"] == [1, 2, 3, 5, 6, 7, 8]
    assert shown["moves"] == "b2 a1"
    assert shown["value"] == "lowest sees itself winning: win chance 98%."
    click(widget, do="play", action=2)
    shown = click(widget, do="play", action=6)
    assert shown["status"] == "You win after 5 moves."
    assert shown["legal"] == []
    assert shown["value"] == ""
    assert shown["codes"] == np.asarray(GAME.view(widget.session.current.state)).tolist()
    shown = click(widget, do="new")
    assert shown["codes"] == [0] * 9
    assert widget.session.earlier.wins == 1


def test_clicks_that_come_too_late_change_nothing():
    widget = make_opponent()
    click(widget, do="play", action=4)
    before = widget.shown
    for content in [
        {"do": "play", "action": 4},
        {"do": "play", "action": 99},
        {"do": "play", "action": None},
        {"do": "play"},
        {"do": "dance"},
        {},
    ]:
        assert click(widget, **content) == before


def test_undo():
    widget = make_opponent()
    click(widget, do="play", action=4)
    click(widget, do="play", action=2)
    assert click(widget, do="undo")["moves"] == "b2 a1"
    shown = click(widget, do="undo")
    assert shown["moves"] == ""
    assert not shown["undo"]
    assert click(widget, do="undo") == shown


def test_the_player_moves_first_for_the_second_seat():
    widget = make_opponent(human=1)
    assert widget.shown["moves"] == "a1"
    assert widget.shown["status"] == "Your move."
    assert click(widget, do="new")["moves"] == "a1"


def test_turns_need_not_alternate():
    widget = make_opponent(BOXES)
    statuses = []
    widget.observe(lambda change: statuses.append(change["new"]["status"]), "shown")
    # Edges 0 to 3 are horizontal, 4 to 6 upright. The player draws 1 and 2, the person closes the
    # left box with the last of 0, 2, 4, 5.
    for action in (0, 4, 5):
        click(widget, do="play", action=action)
    assert "Your move again." in statuses
    assert any("lowest is thinking" in status for status in statuses)


def test_moves_in_text():
    widget = make_opponent()
    widget.play("b2")
    assert widget.shown["moves"] == "b2 a1"
    with pytest.raises(ValueError, match="not legal here"):
        widget.play("b2")
    widget.undo()
    widget.new_game()
    assert widget.shown["moves"] == ""


def test_seats():
    with pytest.raises(UserError, match="human = 2: must be 0"):
        make_opponent(human=2)


class WithoutParts(TicTacToe):
    """Tic-tac-toe whose drawing has no parts to click."""

    def svg_board(self):
        return re.sub(r' data-action="\d+"', "", super().svg_board())


def test_moves_without_a_part_get_buttons():
    assert make_opponent().shown["buttons"] == []
    game = WithoutParts()
    widget = opponent(game, SureLowest(game, 0.96), key=KEY)
    assert len(widget.shown["buttons"]) == 9
    assert widget.shown["buttons"][4] == [4, "b2"]
    assert len(click(widget, do="play", action=4)["buttons"]) == 7


def test_moves_of_chess_are_two_clicks():
    widget = opponent(CHESS, SureLowest(CHESS, 0.96), key=KEY)
    assert widget.shown["buttons"] == []
    moves = {name: (first, then) for _, first, then, name in widget.shown["clicks"]}
    # Cells are counted from the top left, which is a5.
    assert moves["a3"] == (15, 10)
    assert len(moves) == len(widget.shown["legal"]) == 7
    after = click(widget, do="play", action=widget.shown["clicks"][0][0])
    assert all(after["codes"][first] % 16 in range(1, 7) for _, first, _, _ in after["clicks"])


PAGE = """<!doctype html><meta charset="utf-8"><div id="el"></div><script type="module">
const listeners = {};
window.sent = [];
window.state = STATE;
const model = {
  get: (name) => window.state[name],
  send: (content) => window.sent.push(content),
  on: (event, act) => { listeners[event] = act; },
  off: (event) => { delete listeners[event]; },
};
window.answer = (shown) => { window.state.shown = shown; listeners["change:shown"](); };
window.listeners = listeners;
const url = URL.createObjectURL(new Blob([ESM], { type: "text/javascript" }));
const widget = (await import(url)).default;
window.leave = widget.render({ model, el: document.getElementById("el") });
window.ready = true;
</script>"""


def test_the_widget_in_a_browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        skip("no chromium or chrome is installed")
    widget = make_opponent()
    state = {"board": widget.board, "shown": widget.shown}
    page_text = PAGE.replace("STATE", _script(state)).replace("ESM", _script(str(widget._esm)))
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(error))
        page.set_content(page_text)
        page.wait_for_function("window.ready")

        def sent():
            return page.evaluate("window.sent.splice(0)")

        def answered(content):
            page.evaluate("window.answer", click(widget, **content))

        codes = "[...document.querySelectorAll('[data-cell]')].map(c => Number(c.dataset.code))"
        assert page.evaluate(codes) == [0] * 9
        assert page.inner_text(".status") == "Your move."
        assert page.locator("[data-action].legal").count() == 9
        page.click("[data-action='4']")
        page.click("[data-action='3']")  # before the answer: not sent
        (first,) = sent()
        assert first == {"do": "play", "action": 4}
        answered(first)
        assert page.evaluate(codes) == widget.shown["codes"]
        assert sorted(page.evaluate(codes)) == [0] * 7 + [1, 2]
        assert "lowest sees itself winning" in page.inner_text(".value")
        assert page.inner_text(".record") == "b2 a1"
        page.click("[data-action='0']")  # taken
        assert sent() == []
        page.click("text=Undo")
        (undo,) = sent()
        answered(undo)
        assert page.evaluate(codes) == [0] * 9
        assert page.locator("button", has_text="Undo").is_disabled()
        page.click("text=New game")
        assert sent() == [{"do": "new"}]
        page.evaluate("window.answer", {**widget.shown, "buttons": [[7, "pass"]]})
        page.click("text=pass")
        assert sent() == [{"do": "play", "action": 7}]
        page.evaluate("window.answer", {**widget.shown, "legal": [7, 8, 9], "clicks": PROMOTING})
        page.click("[data-cell='3']")  # no move begins there
        assert page.locator(".picked").count() == 0
        page.click("[data-cell='0']")
        assert page.locator(".target").count() == 2
        page.click("[data-cell='1']")  # a queen or a knight?
        assert page.locator(".moves button").all_inner_texts() == ["a7a8q", "a7a8n"]
        page.click("[data-cell='0']")
        page.click("[data-cell='2']")
        assert sent() == [{"do": "play", "action": 9}]
        page.evaluate("window.leave()")
        assert page.evaluate("Object.keys(window.listeners)") == []
        assert errors == []
        browser.close()


# Moves of a pawn on the first cell: [action, first, then, name].
PROMOTING = [[7, 0, 1, "a7a8q"], [8, 0, 1, "a7a8n"], [9, 0, 2, "a7b8"]]


def _script(value):
    return json.dumps(value).replace("<", "\\u003c")


def test_the_widgets_files_exist():
    assert "export default" in str(Opponent._esm)
    assert ".azjax-opponent" in str(Opponent._css)
