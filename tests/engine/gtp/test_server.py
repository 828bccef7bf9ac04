"""GTP's commands."""

import math
import re

import pytest
from azjax_envs import make

from azjax.engine.clock import Clock, TimeControl
from azjax.engine.gtp import analysis
from azjax.engine.gtp.game import vertices
from azjax.engine.gtp.server import serve_gtp
from azjax.engine.stdin import TOO_LONG
from azjax.errors import UserError
from tests.oracles.clients import IdleSearch, Script, gtp_answers

GO = make("go_5x5")


def ask(lines, game=GO):
    return gtp_answers(lines, game)


def texts(lines, game=GO):
    """Returns the texts of the answers; all commands must succeed."""
    answers = ask(lines, game)
    assert all(mark.startswith("=") for mark, _ in answers), answers
    return [text.strip("\n") for _, text in answers]


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ("name, list_commands, genmove b, genmove w", "= = compiled = ="),
        ("boardsize 5, clear_board, komi 5.5, play b C3, genmove w", "= = = = compiled ="),
        ("genmove b, komi 5.5, boardsize 5, genmove b", "compiled = = = compiled ="),
        # A clock must not run during a compilation, and the answer does not wait either.
        ("komi 5.5, time_settings 10 0 0, genmove b", "= = compiled ="),
        ("time_settings 10 0 0, komi 5.5, genmove b", "= compiled = compiled ="),
    ],
)
def test_answers_do_not_wait_for_a_compilation(lines, kinds, monkeypatch):
    events, warm_up = [], IdleSearch.warm_up

    def recorded(self, state):
        events.append("compiled")
        return warm_up(self, state)

    monkeypatch.setattr(IdleSearch, "warm_up", recorded)
    serve_gtp(IdleSearch(GO), Script(lines.split(", ")), events.append)
    assert [e if e == "compiled" else e[0] for e in events] == kinds.split()


def test_the_introduction():
    name, protocol, version, known, unknown, listed, empty = texts(
        [
            *("name", "protocol_version", "version", "known_command komi"),
            *("known_command nonsense", "list_commands", "quit", "name"),
        ]
    )
    assert (name, protocol, known, unknown, empty) == ("azjax", "2", "true", "false", "")
    assert re.match(r"\d+\.\d+", version)
    required = (
        "protocol_version name version list_commands known_command boardsize clear_board komi play "
        "genmove undo showboard quit time_settings time_left final_score fixed_handicap loadsgf "
        "place_free_handicap set_free_handicap final_status_list reg_genmove "
        "kgs-time_settings kgs-genmove_cleanup printsgf cputime gogui-analyze_commands "
        "kata-analyze kata-genmove_analyze"
    )
    assert set(required.split()) <= set(listed.split("\n"))


def test_ids_comments_and_blank_lines():
    lines = ["", "  # nothing", "12 name # who", "\t7\tplay\tblack\tc3\x01\r", "3 nonsense", "00"]
    unknown = [("?3", "unknown command"), ("?00", "unknown command")]
    assert ask(lines) == [("=12", "azjax"), ("=7", ""), *unknown]


def test_moves_are_played_and_taken_back():
    answers = texts(
        [
            *("play b C3", "play white d4", "showboard", "undo", "genmove w", "undo", "undo"),
            *("showboard", "play b pass", "play w pass", "final_score", "undo", "genmove w"),
        ]
    )
    assert answers[2].split("\n")[1:3] == [" 4 . . . O .", " 3 . . X . ."]
    assert answers[2].endswith("black to move")
    assert answers[4] == "A5"  # the first action
    assert "X" not in answers[7]
    assert answers[10] == "W+7.5"
    assert answers[12] == "A5"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("boardsize 9", "unacceptable size"),
        ("boardsize five", "syntax error"),
        ("boardsize", "syntax error"),
        ("boardsize 5 9", "unacceptable size"),
        ("boardsize 9 5", "unacceptable size"),
        ("boardsize 5 5 5", "syntax error"),
        ("play b C3", "illegal move"),
        ("play b I3", "invalid color or coordinate"),
        ("play b F6", "invalid color or coordinate"),
        ("play green C4", "invalid color or coordinate"),
        ("play b", "syntax error"),
        ("genmove", "syntax error"),
        ("komi much", "syntax error"),
        ("komi nan", "syntax error"),
        ("time_left b -", "syntax error"),
        ("fixed_handicap 2", "board not empty"),
        ("loadsgf /nowhere/at/all.sgf", "cannot load file"),
        (TOO_LONG, "the line is too long"),
        ("Name", "unknown command"),
    ],
)
def test_mistakes_change_nothing(line, complaint):
    before, (mark, text), after, _ = [
        answer for answer in ask(["play b C3", "showboard", line, "showboard", "undo"])[1:]
    ]
    assert mark == "?"
    assert text.startswith(complaint)
    assert before == after


def test_undo_at_the_start_is_an_error():
    assert ask(["undo", "play b a1", "undo", "undo"]) == [
        ("?", "cannot undo"),
        ("=", ""),
        ("=", ""),
        ("?", "cannot undo"),
    ]


def test_a_resignation_loses():
    answers = ask(["play b c3", "play w resign", "final_score", "genmove b", "undo", "genmove w"])
    assert [mark for mark, _ in answers] == ["=", "=", "=", "?", "=", "="]
    assert answers[2][1] == "B+R"


def test_after_two_passes_a_pass_changes_nothing():
    """Clients that know no limit of moves may go on."""
    ended = ["play b pass", "play w pass"]
    lines = [*ended, "genmove b", "play w pass", "lz-genmove_analyze b", "showboard"]
    *_, first, second, third, board = ask(lines)
    assert (first, second) == (("=", "pass"), ("=", ""))
    assert third == ("=", "\nplay pass")
    assert "the game is over" in board[1]
    assert texts([*ended, "genmove b", "undo", "undo", "genmove w"])[-1] != "pass"


def test_after_two_passes_the_game_may_go_on():
    """Players who do not agree on dead stones resume it."""
    ended = ["play b c3", "play w pass", "play b pass", "showboard"]
    lines = [*ended, "play w d4", "showboard", "genmove b", "final_score"]
    *_, over, _, board, move, score = texts(lines)
    assert "the game is over" in over
    assert "black to move" in board
    assert board.count("O") == 1
    assert move == "A5"
    assert re.match(r"[BW]\+", score)
    assert ask([*ended, "play w resign", "genmove b"])[-1] == ("?", "the game is over")
    moves = [f"play {'bw'[i % 2]} {v}" for i, v in enumerate(["a1", "b1"] + ["c3", "pass"] * 40)]
    assert ask([*moves[:2], "genmove b"])[-1] != ("?", "the game is over")


@pytest.mark.parametrize("first", ["", "play b d4", "play w pass", "play b pass"])
@pytest.mark.parametrize("colour", ["b", "w"])
def test_a_move_out_of_turn_is_no_pass_of_the_opponent(first, colour, monkeypatch):
    """The search sees no pass in the position, so its own pass does not end the game."""
    states = []
    start = IdleSearch.start

    def recorded(self, state, **rest):
        states.append(state)
        return start(self, state, **rest)

    monkeypatch.setattr(IdleSearch, "start", recorded)
    lines = [first, *[f"genmove {colour}"] * 4]
    moves = texts([line for line in lines if line])[-4:]
    assert "pass" not in [move.lower() for move in moves]
    really = (first, colour) == ("play b pass", "w")  # in turn, by the opponent
    assert [int(state.passes) for state in states[1:]] == [really, 0, 0, 0]


def test_komi_rebuilds_the_game():
    answers = texts(["komi 5.5", "play b c3", "final_score", "komi 7.5", "final_score"])
    assert answers[2:] == ["B+19.5", "", "B+17.5"]


def test_the_other_side_passes_before_a_move_out_of_turn():
    assert texts(["play b c3", "play b d3", "showboard", "undo", "showboard"])[2].count("X") == 2
    hexed = ask(["play b a1", "play b b1"], make("hex", size=3))
    assert hexed[1][0] == "?"
    assert "turn of white" in hexed[1][1]


def test_a_colour_may_pass_twice_in_a_row():
    """Only two passes of different sides, one after the other, end a game."""
    passes = ["play b pass", "play b pass", "play b c3", "play b pass", "play b pass"]
    ends = ["play b d3", "genmove b", "play b pass", "play w pass", "play b pass", "showboard"]
    answers = texts([*passes, "showboard", *ends])[5:]
    assert answers[0].count("X") == 1
    assert answers[0].endswith("white to move")
    assert answers[2] == "A5"
    assert answers[6].endswith("the game is over")
    undone = texts([*passes, *["undo"] * 2, "showboard", *["undo"] * 3, "showboard", "genmove b"])
    assert undone[7].endswith("white to move")
    assert undone[7].count("X") == 1
    assert undone[11].endswith("black to move")
    assert "X" not in undone[11]
    assert texts(["play b pass", "genmove b", "showboard"])[2].endswith("white to move")
    assert texts(["play w pass", "genmove b", "play w pass", "showboard"])[1] == "A5"


def test_hex_and_othello():
    hex_game = make("hex", size=3)
    moves = ["play b b1", "play w a1", "play b b2", "play w a2", "final_score", "play b b3"]
    answers = ask([*moves, "final_score", "play w c3", "komi 1", "showboard"], hex_game)
    assert answers[4][0] == "?"
    assert answers[6:9] == [("=", "B+"), ("?", "the game is over"), ("?", "unknown command")]
    othello = make("othello_6x6")
    answers = texts(["play b c2", "genmove w", "showboard", "final_score", "boardsize 6"], othello)
    assert re.fullmatch("[a-f][1-6]", answers[1])
    assert re.fullmatch(r"B\+\d+|W\+\d+|0", answers[3])


def test_hex_with_hexgui():
    """HexGui asks for its own commands, sends two board sizes, and swaps by `swap-pieces`."""
    game = make("hex", size=3, swap=True)
    lines = ["boardsize 3 3", "play black c1", "play white swap-pieces", "showboard"]
    answers = texts([*lines, "genmove black"], game)
    assert answers[3].split("\n")[3].split() == ["3", "O", ".", "."]
    assert answers[4] == "a1"
    # Plain `swap` would change the players' sides and leave the stone.
    *_, swap = ask(["play black c1", "play white swap"], game)
    assert swap == ("?", "invalid color or coordinate")
    *_, twice = ask(["play b c1", "play w a1", "play b swap-pieces"], game)
    assert twice == ("?", "illegal move")
    assert ask(["play b c1", "play w swap-pieces"], make("hex", size=3))[1][0] == "?"
    assert vertices(game)[-1] == "swap-pieces"
    assert texts(["hexgui-analyze_commands"], game) == [""]


def test_games_have_quarrys_names():
    lines = ["list_games", "set_game Othello", "set_game go", "set_game"]
    (mark, name), *answers = ask(lines, make("othello_6x6"))
    assert (mark, name) == ("=", "Othello")
    marks = [mark for mark, _ in answers]
    assert (marks, answers[1][1]) == (["=", "?", "?"], "unsupported game")
    assert texts(["list_games", "set_game Go"]) == ["Go", ""]


@pytest.mark.parametrize("name", ["tic_tac_toe", "gomoku_9x9"])
def test_other_games_are_errors(name):
    with pytest.raises(UserError, match=f"GTP is for go, hex and othello, not for {name}"):
        serve_gtp(IdleSearch(make(name)), Script([]), print)


@pytest.fixture
def seconds(monkeypatch):
    """Returns a function that returns the seconds of each move that is searched."""
    calls = []

    def record_limits(progress, **limits):
        calls.append(limits)
        return iter([progress.run(1)])

    monkeypatch.setattr(analysis, "continue_search", record_limits)

    def seconds(*lines):
        calls.clear()
        texts(lines)
        assert all((x["simulations"] == 4) == (x["seconds"] == math.inf) for x in calls)
        return [limits["seconds"] for limits in calls]

    return seconds


def test_clocks(seconds):
    """The time for a move follows from the client's clock commands."""
    commands = ["genmove b", "time_settings 250 0 0", "genmove w", "clear_board", "genmove b"]
    commands += ["time_left w 5 2", "genmove w", "time_settings 0 10 5", "genmove b"]
    commands += ["time_settings 0 1 0", "clear_board", "genmove b"]
    found = seconds(*commands)
    assert found[0] == found[5] == math.inf
    assert found[1] == pytest.approx(250 / 25 - 0.05)
    assert found[2] == found[1]  # a new game, a new clock
    assert found[3:5] == pytest.approx([5 / 2 - 0.05, 10 / 5 - 0.05])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # A share of the main time, and all of the overtime for each move.
        ("time_settings 3 2 1, genmove b", 3 / 25 + 2 - 0.05),
        ("time_settings 3 2 1, time_left b 1 0, genmove b", 1 / 25 + 2 - 0.05),
        ("time_settings 3 2 1, time_left b 0 0, genmove b", 2 - 0.05),
        ("time_settings 3 2 1, time_left b 1 1, genmove b", 1 - 0.05),
        ("time_settings 100 20 10, genmove b", 100 / 25 + 20 / 10 - 0.05),
        ("time_settings 100 20 10, time_left b 15 5, genmove b", 15 / 5 - 0.05),
        ("kgs-time_settings canadian 100 20 10, genmove b", 100 / 25 + 20 / 10 - 0.05),
        ("kgs-time_settings byoyomi 100 20 5, genmove b", 100 / 25 + 20 - 0.05),
        ("kgs-time_settings byoyomi 100 20 5, time_left b 20 5, genmove b", 20 - 0.05),
        ("kgs-time_settings absolute 100, genmove b", 100 / 25 - 0.05),
        ("time_settings 9 0 0, kgs-time_settings none, genmove b", math.inf),
    ],
)
def test_overtime(lines, expected, seconds):
    assert seconds(*lines.split(", ")) == pytest.approx([expected])


@pytest.mark.parametrize(
    ("control", "clock", "took", "left"),
    [
        (TimeControl(3, 2, 1), Clock(3, each=2), 2, Clock(1, each=2)),
        (TimeControl(3, 2, 1), Clock(1, each=2), 1.5, Clock(2, moves=1)),
        (TimeControl(3, 20, 5), Clock(1, each=4), 4, Clock(17, moves=4)),
        (TimeControl(3, 20, 5), Clock(17, moves=4), 4, Clock(13, moves=3)),
        (TimeControl(3, 20, 5), Clock(9, moves=1), 4, Clock(20, moves=5)),
        (TimeControl(3), Clock(1), 4, Clock(0)),
    ],
)
def test_a_clock_after_a_move(control, clock, took, left):
    """Without `time_left`, the engine counts itself."""
    assert control.after_move(clock, took) == left


@pytest.mark.parametrize("words", ["", "none 1", "absolute", "byoyomi 1 2", "hourglass 3"])
def test_wrong_kgs_time_settings(words):
    ((mark, text),) = ask([f"kgs-time_settings {words}"])
    assert (mark, text.partition(":")[0]) == ("?", "syntax error")


def test_free_handicaps():
    game = make("go_9x9")
    placed, board, move = texts(["place_free_handicap 12", "showboard", "genmove w"], game)
    assert len(set(placed.split())) == board.count("X") == 9
    assert board.endswith("white to move")
    assert move == "A9"
    assert len(texts(["place_free_handicap 3"])[0].split()) == 2  # 5x5 has no handicap points
    board = texts(["set_free_handicap a1 C3 e5", "showboard"])[1]
    assert (board.count("X"), board.endswith("white to move")) == (3, True)
    for points in ("a1", "a1 A1", "a1 pass", "a1 z9", "a1 resign"):
        assert ask([f"set_free_handicap {points}"])[0][0] == "?"
    for line in ("set_free_handicap a1 a2", "place_free_handicap 2"):
        assert ask(["play b c3", line])[1] == ("?", "board not empty")
    assert ask(["place_free_handicap 25"])[0][0] == "?"


def test_the_status_of_stones():
    lines = [
        "play b c3",
        "play w a5",
        *(f"final_status_list {x}" for x in ("alive", "dead", "seki")),
    ]
    assert texts(lines)[2:] == ["A5 C3", "", ""]
    assert ask(["final_status_list black"])[0][0] == "?"


def test_a_clean_up_does_not_pass():
    """Eyes are left alone, and the passes before do not count."""
    stones = ["play b b5", "play b b4", "play b a4", "play w pass", "play b pass"]
    assert texts([*stones, "kgs-genmove_cleanup b"])[-1] == "C5"
    assert texts([*stones, "kgs-genmove_cleanup w"])[-1] == "C5"


def test_a_move_for_regression_tests_is_not_played():
    first, second, board = texts(["reg_genmove b", "reg_genmove b", "showboard"])
    assert first == second == "A5"
    assert "X" not in board


def test_the_processor_time_and_goguis_menu():
    time, menu = texts(["cputime", "gogui-analyze_commands"])
    assert float(time) > 0
    commands = texts(["list_commands"])[0].split("\n")
    assert all(line.split("/")[2].split()[0] in commands for line in menu.split("\n"))
