"""`azjax analyse`, from files to files."""

import pytest

from azjax.cli.main import main
from azjax.players.weights_file import SavedPlayer
from tests.web.conftest import browser  # noqa: F401, a fixture
from tests.web.person import DESKTOP, PHONE
from tests.web.sites import untrained

GAMES = "4 4 4 4 4 2 3\n9\n1 1 9\n"


@pytest.fixture
def analysed(tmp_path, capsys):
    (tmp_path / "games.txt").write_text(GAMES)
    arguments = [str(tmp_path / "games.txt"), "--game", "connect_four", "--simulations", "8"]
    assert main(["analyse", *arguments]) == 0
    return tmp_path, capsys.readouterr(), arguments


def test_good_games_are_analysed_and_bad_ones_get_a_line(analysed):
    folder, output, arguments = analysed
    for where in ("game 2: move 1", "game 3: move 3"):
        assert f"{folder / 'games.txt'}, {where}: '9' is not legal here" in output.err
    assert "connect_four, not over after 7 moves; judged by search:8" in output.out
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["games-1.analysed.html", "games-3.analysed.html", "games.txt"]
    before = (folder / "games-1.analysed.html").read_bytes()
    assert main(["analyse", *arguments]) == 2  # nothing is overwritten
    assert (folder / "games-1.analysed.html").read_bytes() == before


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_person_steps_through_a_game(browser, analysed, size):  # noqa: F811
    folder, _, _ = analysed
    errors = []
    page = browser.new_page(viewport=size)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((folder / "games-1.analysed.html").as_uri())
    assert page.inner_text("#status") == "The start"
    page.keyboard.press("ArrowRight")
    page.click("#forward")
    assert page.inner_text("#status") == "2. 4"
    assert page.locator("#board [data-code='1'], #board [data-code='2']").count() == 2
    page.click("#moves li:last-child button")
    assert page.inner_text("#status") == "7. 3"
    assert page.is_disabled("#forward")
    assert page.inner_text("#detail").startswith("Red ")
    page.keyboard.press("Home")
    assert page.is_disabled("#back")
    assert page.locator("#board .visits").count() > 0
    page.click("#visits")
    assert page.locator("#board .visits").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert errors == []
    page.close()


def test_a_judge_that_is_a_beginner_is_named(tmp_path, capsys, monkeypatch):
    file = tmp_path / "a.txt"
    file.write_text("b2 a1\n")
    saved = SavedPlayer(None, {}, {"beginner": "5.0% of the points in 40 games"})
    monkeypatch.setattr("azjax.players.weights_file.load_saved", lambda *a, **b: saved)
    player = untrained("tic_tac_toe")
    monkeypatch.setattr("azjax.players.load.load_player", lambda *a, **b: player)
    assert main(["analyse", str(file), "--player", "hex_5x5"]) == 0
    line, *_ = capsys.readouterr().err.splitlines()
    assert line.startswith("the judge hex_5x5 is a beginner, 5.0% of the points in 40 games")
