"""Games of dice on both pages: what the server tells, and games by clicks in Chromium."""

import json

import numpy as np
import pytest
from azjax_envs import make

from azjax.engine.anytime import make_anytime_search
from azjax.exact.chance_solver import solve_chance
from azjax.files.game_record import replay
from azjax.players.load import load_player
from azjax.web import api, server
from azjax.web.exact_api import PerfectPlay
from azjax.web.site import write_site
from tests.web.person import DESKTOP, PHONE, click, picture, wait
from tests.web.sites import listening, untrained

testclient = pytest.importorskip("starlette.testclient")

GAME = make("ur_2")
A = GAME.num_actions  # A + k is outcome k
NEW = 0


@pytest.fixture(scope="module")
def network():
    return make_anytime_search(untrained("ur_2"), memory_mb=1)


@pytest.fixture(scope="module")
def perfect():
    return PerfectPlay(load_player("exact", game=GAME))


@pytest.fixture(scope="module", params=["network", "perfect"])
def search(request):
    return request.getfixturevalue(request.param)


def test_rolls_are_among_the_moves(search):
    found = api.describe_position(search, [])
    assert found["moves"] == []
    assert [(roll["action"], roll["name"]) for roll in found["rolls"]] == [
        (A + k, str(k)) for k in range(5)
    ]
    assert [16 * roll["probability"] for roll in found["rolls"]] == [1, 4, 6, 4, 1]
    found = api.describe_position(search, [A + 2, NEW, A + 1, NEW, A + 1])
    state = replay(GAME, ["2:", "new", "1:", "new", "1:"]).current.state
    assert found["rolls"] is None
    assert found["view"] == np.asarray(GAME.view(state)).tolist()
    assert [move["name"] for move in found["moves"]] == ["new", "a3"]
    [*_, report] = api.search_position(search, [A + 2, NEW, A + 1, NEW, A + 1], 8)
    assert report["action"] in (NEW, 2)
    assert len(report["line"]) == 1  # then the dice are rolled
    assert all(action < A for action, _ in report["visits"])


def test_values_before_a_roll_are_means_over_the_rolls(network, perfect):
    solution = solve_chance(GAME)
    assert api.describe_position(perfect, [])["value"] == pytest.approx(solution.value, abs=1e-5)
    for search in (network, perfect):
        before = api.describe_position(search, [A + 1, NEW])
        after = [api.describe_position(search, [A + 1, NEW, A + k]) for k in range(5)]
        shares = [roll["probability"] for roll in before["rolls"]]
        mean = np.dot(shares, [found["value"] for found in after])
        assert before["value"] == pytest.approx(mean, abs=1e-4)


def test_perfect_play_tells_the_chances_of_all_moves(perfect):
    [report] = api.search_position(perfect, [A + 2, NEW, A + 1, NEW, A + 1], 1)
    chances = [float(text.rstrip("%")) for _, text in report["results"]]
    assert {name for name, _ in report["results"]} == {"new", "a3"}
    assert chances == sorted(chances, reverse=True)
    assert (1 + report["value"]) / 2 == pytest.approx(chances[0] / 100, abs=0.006)


@pytest.mark.parametrize(
    ("path", "moves", "words"),
    [
        ("position", [NEW], "move 1, action 0, is not legal there"),
        ("position", [A + 1, A + 1], "move 2, action 17, is not legal there"),
        ("position", [A + 5], "actions must be from 0 to 20"),
        ("position", [A] * 802, "at most 801 moves"),
        ("search", [], "the dice must be rolled before there is a move to search for"),
    ],
)
def test_mistakes_get_one_line(network, path, moves, words):
    app = server.make_app(network, about="")
    body = {"moves": moves} | ({"simulations": 8} if path == "search" else {})
    with testclient.TestClient(app, base_url="http://127.0.0.1") as client:
        answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def moves_of(page):
    """Returns the entries of the list of moves, rolls with a colon."""
    return page.locator("#moves li").evaluate_all(
        "rows => rows.map(row => row.innerText + (row.classList.contains('roll') ? ':' : ''))"
    )


def codes_of(page):
    found = page.locator("#board [data-cell]").evaluate_all(
        "parts => Object.fromEntries(parts.map(p => [p.dataset.cell, +p.dataset.code]))"
    )
    return [found[str(i)] for i in range(len(found))]


def status_is(pattern):
    return f"/{pattern}/.test(document.querySelector('#status').textContent)"


MY_TURN = status_is("^Your (roll|move)|^You must pass|wins? after")

# Clicks on what can be clicked: the dice, or a move.
PLAY = """async (seed) => {
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const ended = () => document.querySelector("#status").dataset.over === "true"
    || document.body.classList.contains("failed");
  const buttons = () => document.querySelector("#dice").inert
    ? document.querySelectorAll("#board [role=button], #board .others:not([inert]) button")
    : document.querySelectorAll("#roll");
  for (;;) {
    const began = performance.now();
    while (!ended() && !buttons().length) {
      if (performance.now() - began > 60000) throw new Error("nothing can be clicked");
      await new Promise((go) => setTimeout(go, 2));
    }
    if (ended()) return;
    const button = buttons()[Math.floor(random() * buttons().length)];
    button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    await new Promise((go) => setTimeout(go));
  }
}"""


@pytest.fixture
def page_of(browser):
    """Returns a function (a port or an address, size, hash) -> page, whose errors fail the test."""
    errors, pages = [], []

    def open_page(place, size, told=""):
        page = browser.new_page(viewport=size)
        pages.append(page)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"http://127.0.0.1:{place}/{told}" if isinstance(place, int) else place + told)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert errors == []


@pytest.mark.parametrize("name", ["ur_2", pytest.param("hypergammon", marks=pytest.mark.slow)])
def test_a_whole_game_by_clicks(page_of, name):
    game = make(name)
    app = server.make_app(make_anytime_search(untrained(name), memory_mb=1), about="")
    with listening(app) as port:
        page = page_of(port, DESKTOP, "#side=both")
        check_whole_game(page, game)


def check_whole_game(page, game):
    """Plays a game of two people by clicks, and compares it with the rules."""
    page.evaluate(PLAY, 1)
    words, status, codes = moves_of(page), page.inner_text("#status"), codes_of(page)
    record = replay(game, words)
    assert record.current.over
    winner = game.player_names[int(record.current.returns[1] > 0)]
    assert status == f"{winner.capitalize()} wins after {record.num_moves} moves"
    assert codes == np.asarray(game.view(record.current.state)).tolist()


@pytest.fixture(scope="module")
def page_file(runtime, tmp_path_factory):
    """Returns a function name -> address of the page of an untrained player, in one file."""
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("pages")

    def write(name):
        file = folder / f"{name}.html"
        if not file.exists():
            write_site(untrained(name), file, about="a test", games=1, single_file=True)
        return file.as_uri()

    return write


@pytest.mark.parametrize("name", ["ur_2", pytest.param("hypergammon", marks=pytest.mark.slow)])
def test_a_whole_game_by_clicks_without_a_server(page_of, page_file, name):
    check_whole_game(page_of(page_file(name), DESKTOP, "#side=both"), make(name))


def test_a_network_rolls_and_searches_without_a_server(page_of, page_file, network):
    page = page_of(page_file("ur_2"), PHONE)
    wait(page, MY_TURN)
    assert page.inner_text("#status") == "Your roll"
    before = api.describe_position(network, [])["value"]
    assert page.inner_text("#near-share") == f"{50 * (1 + before):.0f}%"
    page.evaluate("Math.random = () => 0.4")  # always a roll of 2
    page.click("#roll")
    wait(page, status_is("^Your move: rolled 2"))
    assert codes_of(page)[24] == 1 + 2
    click(page, page.query_selector('[data-cell="20"]'))  # the pieces to come
    assert page.locator("#board circle.target").count() == 1
    click(page, page.query_selector('[data-cell="2"]'))  # a3, where one lands
    wait(page, status_is("^Your roll") + " && document.querySelectorAll('#moves li').length > 2")
    assert moves_of(page) == ["2:", "new", "2:", "new"]
    assert page.inner_text("#detail") == "You play the lower row.\nThe network, 2: new"
    # A choice of two moves: a hint, its numbers, and a line that ends before the next roll.
    page = page_of(page_file("ur_2"), DESKTOP, "#moves=2:,new,1:,new,1:")
    wait(page, status_is("^Your move: rolled 1"))
    assert page.locator("#board .movable").count() == 2
    page.click("#hint")
    wait(page, "document.querySelectorAll('#board .hint').length > 0")
    [*_, report] = api.search_position(network, [A + 2, NEW, A + 1, NEW, A + 1], 8)
    assert page.inner_text("#line").split() == report["line"]
    found = dict(text.rsplit(" ", 1) for text in page.inner_text("#tried").split(", "))
    names = {NEW: "new", 2: "a3"}
    total = sum(count for _, count in report["visits"])
    assert found == {names[a]: f"{100 * n / total:.0f}%" for a, n in report["visits"]}
    picture(page, "ur_without_a_server")


def test_moves_are_marked_on_the_side_of_the_player_to_move(page_of, page_file):
    """Action 2 leaves a3 for the first player, and c3 for the second."""
    page = page_of(page_file("ur_2"), DESKTOP, "#side=both&moves=2:,new,2:,new,1:")
    wait(page, status_is("to move: rolled 1"))
    movable = "parts => parts.map(part => part.dataset.code)"
    fields = page.locator("#board [data-cell][role=button]:not(.beside)")
    assert fields.evaluate_all(movable) == ["1"]
    page = page_of(page_file("ur_2"), DESKTOP, "#side=both&moves=2:,new,2:,new,1:,new,1:")
    wait(page, status_is("to move: rolled 1"))
    assert page.locator("#board [data-cell][role=button]:not(.beside)").evaluate_all(movable) == [
        "2"
    ]


HITS = (
    "6-5: 23/17 24/19 4-3: 23/20 20/16 4-4: 22/18 17/13 18/14 19/15 5-5: 24/19 22/17 16/11* 17/12* "
    "6-4: bar/19 bar/21 6-5: 11/6* 12/6 6-6:"
)


@pytest.mark.parametrize("name", ["ur_2", "hypergammon"])
def test_a_forced_pass_is_told_and_has_a_button(page_of, page_file, name):
    words = {"ur_2": "2: new 1: new 0:", "hypergammon": HITS}[name]
    page = page_of(page_file(name), DESKTOP, f"#side=first&moves={','.join(words.split())}")
    wait(page, status_is("^You must pass: rolled"))
    assert moves_of(page) == words.split()
    picture(page, f"{name}_must_pass")
    page.click("#board .legal")
    wait(page, f"document.querySelectorAll('#moves li').length > {len(words.split())}")
    assert moves_of(page)[len(words.split())] == "pass"


def test_a_person_rolls_and_the_opponent_rolls_itself(page_of, perfect):
    app = server.make_app(perfect, about="a test")
    with listening(app) as port:
        page = page_of(port, PHONE)
        wait(page, MY_TURN)
        assert page.inner_text("#status") == "Your roll"
        assert page.is_disabled("#hint")
        picture(page, "ur_to_roll", full_page=True)
        page.evaluate("Math.random = () => 0.9")  # always a roll of 3
        page.click("#roll")
        wait(page, status_is("^Your move: rolled 3"))
        roll = "3"
        assert codes_of(page)[24] == 1 + 3  # as the board draws it
        assert page.evaluate("document.querySelector('#dice').inert")
        picture(page, "ur_rolled", full_page=True)
        page.click("#hint")
        wait(page, "document.querySelector('#tried').textContent.includes('%')")
        click(page, page.query_selector('[data-cell="20"]'))
        click(page, page.query_selector('[data-cell="1"]'))
        wait(page, "document.querySelectorAll('#moves li').length > 2")
        wait(page, MY_TURN)
        words = moves_of(page)
        record = replay(GAME, words)
        assert record.current.mover == 0
        # Taking a move back keeps its roll.
        page.click("#undo")
        wait(page, status_is(f"^Your move: rolled {roll}"))
        assert moves_of(page) == [f"{roll}:"]
        # A link has the rolls, too.
        address = page.url
        assert address.endswith(f"&moves={roll}%3A")
        page.reload()
        wait(page, status_is(f"^Your move: rolled {roll}"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_real_dice_are_typed_or_picked(page_of):
    search = make_anytime_search(untrained("hypergammon"), memory_mb=1)
    with listening(server.make_app(search, about="")) as port:
        page = page_of(port, DESKTOP)
        page.select_option("#level", "8")
        wait(page, MY_TURN)
        page.click("#real")
        assert page.is_hidden("#roll")
        assert page.locator("#outcomes button").count() == 15  # no double at first
        page.fill("#rolled", "77")
        page.keyboard.press("Enter")
        wait(page, "document.body.classList.contains('failed')")
        assert page.inner_text("#status").startswith("77 is no roll here; rolls are 2-1, 3-1,")
        page.fill("#rolled", "36")
        page.keyboard.press("Enter")
        wait(page, status_is("^Your move: rolled 6-3"))
        assert codes_of(page)[28:30] == [6, 3]
        picture(page, "hypergammon_real_dice")
        # Two clicks move a checker: from point 24, and by which die.
        click(page, page.query_selector('[data-cell="23"]'))
        assert page.locator("#board circle.target").count() == 2
        click(page, page.query_selector('[data-cell="17"]'))
        wait(page, status_is("^Your move again: rolled 6-3"))
        click(page, page.query_selector('[data-cell="22"]'))
        click(page, page.query_selector('[data-cell="19"]'))
        wait(page, status_is("^The network to roll"))
        page.click("#outcomes button:has-text('5-4')")
        wait(page, MY_TURN)
        words = moves_of(page)
        assert words[:4] == ["6-3:", "24/18", "23/20", "5-4:"]
        replay(search.game, words)
        assert page.inner_text("#status") == "Your roll"
        page.click("#outcomes button:has-text('1-1')")
        wait(page, status_is("^Your move: rolled 1-1"))
        page.click("#undo")  # a roll that was typed by mistake
        wait(page, status_is("^Your roll"))
        # The same game as text, with a roll that is missing.
        page.click("summary:has-text('Set up')")
        page.fill("#text", "6-3: 24/18 23/20 24/20")
        page.keyboard.press("Enter")
        wait(page, "document.body.classList.contains('failed')")
        assert "Move 3: a roll must stand there, such as" in page.inner_text("#status")
        page.fill("#text", "63:24/18 23/20 4-5:")
        page.keyboard.press("Enter")
        wait(page, "document.querySelectorAll('#moves li').length > 3")
        assert moves_of(page)[:4] == ["6-3:", "24/18", "23/20", "5-4:"]


def test_other_games_have_no_dice(page_of):
    app = server.make_app(make_anytime_search(untrained("tic_tac_toe")), about="")
    with listening(app) as port:
        page = page_of(port, DESKTOP)
        wait(page, MY_TURN)
        assert page.is_hidden("#dice")
        assert page.is_hidden("#real")


def test_the_page_says_which_games_have_dice():
    for name, dice in (("ur_2", True), ("tic_tac_toe", False)):
        app = server.make_app(make_anytime_search(untrained(name), memory_mb=1), about="")
        with testclient.TestClient(app, base_url="http://127.0.0.1") as client:
            assert f'"dice":{json.dumps(dice)}' in client.get("/").text
