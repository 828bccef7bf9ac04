"""A whole random game by clicks on the local page of each game, whose rules tell the result."""

import urllib.parse

import jax
import numpy as np
import pytest
from azjax_envs import available_games, make

from azjax.engine.anytime import make_anytime_search
from azjax.web import server
from tests.web.person import DESKTOP
from tests.web.sites import listening, untrained

# From the start, or near the end of a game. The first position of chess has promotions and
# castling, and is drawn after ten moves without a capture or a pawn's move.
GAMES = {
    "chess": "4k2r/P6P/8/8/8/8/p6p/4K2R w Kk - 90 60",
    "connect_four": "",
    "dots_and_boxes_2x2": "",
    "gardner_chess": "k3r/4P/5/5/K4 w - - 90 60",
    "go_3x3": "",
    "gomoku_6x6": "",
    "hex_4x4": "",
    "mancala": "",
    "mnk_4x4x3": "",
    "othello_6x6": "",
    "shogi": "k8/2K6/9/9/9/9/9/9/9 b 4G2P 1",
    "tic_tac_toe": "",
}

# Parts that a screen reader calls buttons are what can be clicked now.
PLAY = """async (seed) => {
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const buttons = () => document.querySelectorAll(
    document.querySelector("#choice").open ? "#choice button"
      : "#board [role=button], #board .others:not([inert]) button");
  const ended = () => document.querySelector("#status").dataset.over === "true"
    || document.body.classList.contains("failed");
  for (;;) {
    while (!ended() && !buttons().length) await new Promise((go) => setTimeout(go, 2));
    if (ended()) return [...document.querySelectorAll("#moves li")].map((row) => row.innerText);
    const button = buttons()[Math.floor(random() * buttons().length)];
    button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    await new Promise((go) => setTimeout(go));
  }
}"""


def test_no_family_is_missing():
    families = {name.rstrip("0123456789x").rstrip("_") for name in GAMES}
    dice = {"backgammon", "hypergammon", "ur"}  # test_dice.py plays them
    assert families == set(available_games()) - dice


# The rules of these take longest to compile.
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("chess", "shogi")]


@pytest.mark.parametrize("name", [*SLOW, *sorted(GAMES.keys() - {"chess", "shogi"})])
def test_a_whole_game_by_clicks(browser, name):
    game, start, errors = make(name), GAMES[name], []
    app = server.make_app(make_anytime_search(untrained(name), memory_mb=1), about="")
    with listening(app) as port:
        page = browser.new_page(viewport=DESKTOP)
        page.on("pageerror", lambda error: errors.append(str(error)))
        from_start = f"&start={urllib.parse.quote(start)}" if start else ""
        page.goto(f"http://127.0.0.1:{port}/#side=both{from_start}")
        names = page.evaluate(PLAY, 1)
        status = page.inner_text("#status")
        codes = page.locator("#board [data-cell]").evaluate_all(
            "parts => Object.fromEntries(parts.map(p => [p.dataset.cell, +p.dataset.code]))"
        )
        page.close()
    state = game.init()
    if start:
        state = game.from_sfen(start) if name == "shogi" else game.from_fen(start)
    step = jax.jit(game.step)
    for move in names:
        assert not game.is_terminal(state)
        state = step(state, game.string_to_action(jax.device_get(state), move))
    assert game.is_terminal(state)
    first, second = np.asarray(game.returns(state))
    players = getattr(game, "player_names", None) or ("first", "second")
    words = "A draw" if first == second else f"{players[int(second > first)].capitalize()} wins"
    assert status == f"{words} after {len(names)} moves"
    assert [codes[str(i)] for i in range(len(codes))] == np.asarray(game.view(state)).tolist()
    assert errors == []
