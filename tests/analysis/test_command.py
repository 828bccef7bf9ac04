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


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("a.txt", [], "a list of moves needs --player, such as connect_four:400, or --game"),
        ("a.sgf", [], "no player of go_19x19 comes with azjax: give one of your own"),
        ("a.txt", ["--player", "random", "--game", "hex_6x6"], "random: must be a player with"),
        (
            "a.txt",
            ["--player", "uci:x"],
            "uci:x does not know the game of a list of moves: give --",
        ),
        ("a.pgn", ["--player", "uci:nosuch"], "engine nosuch: not found"),
        ("a.pgn", ["--player", "gtp:nosuch"], "GTP is for go, hex and othello, not for chess"),
        ("a.sgf", ["--player", "usi:nosuch"], "usi engines play shogi, not go"),
        ("a.txt", ["--player", "hex_6x6", "--simulations", "0"], "must be at least 1"),
        ("a.pgn", ["--player", "hex_6x6"], "files .pgn are of chess, not hex_6x6"),
        ("b.txt", ["--player", "hex_6x6"], "there is no such file"),
    ],
)
def test_mistakes_end_in_one_line(tmp_path, capsys, name, arguments, message):
    for existing in ("a.txt", "a.sgf", "a.pgn"):
        (tmp_path / existing).write_text("(;SZ[19])")
    assert main(["analyse", str(tmp_path / name), *arguments]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_player_may_have_learned_with_another_komi(tmp_path, capsys):
    file = tmp_path / "a.sgf"
    file.write_text("(;SZ[7]KM[7.5];B[zz])")  # whose point tells that the player was taken
    assert main(["analyse", str(file), "--player", "go_7x7:4"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"{file}: a point must be two letters" in line


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
