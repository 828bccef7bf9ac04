"""Games of backgammon in match files and SGF; GNU Backgammon writes and reads both."""

import functools
import shutil
import subprocess

import jax
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.backgammon import board

from azjax.errors import UserError
from azjax.files.backgammon_files import format_mat, read_mat, read_sgf, split_mat
from azjax.files.game_record import replay, start_game
from azjax.files.read import game_of_file, read_games
from azjax.files.sgf_parser import parse_sgf
from tests import absent

GAME = make("backgammon")
MATCH = """\
; [EventDate "2026.11.29"]

 3 point match

 Game 1
 Ann : 0                        Bob, of Ur : 0
  1)                             31: 24/23 13/10
  2) 44: 24/20(2) 13/9(2)        62: 13/7 24/22
  3)  Doubles => 2                Takes
  4) 65: 20/14/9                 21: 10/7*
  5) 63: 13/4                    11:
"""


def gnubg(commands, folder):
    """Runs GNU Backgammon's commands; skips the test where it is missing."""
    program = shutil.which("gnubg", path="/usr/games:/usr/bin:/usr/local/bin")
    if program is None:
        absent.skip("needs GNU Backgammon (apt install gnubg)")
    (folder / "commands").write_text("\n".join(commands) + "\n")
    subprocess.run(
        [program, "-t", "-q", "-c", "commands"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=300,
    )


@functools.cache
def one_game(text):
    return read_mat(None, next(split_mat(text)))


@pytest.fixture(scope="module")
def match(tmp_path_factory):
    """A match of GNU Backgammon against itself, in both formats."""
    folder = tmp_path_factory.mktemp("gnubg")
    players = [
        f"set player {i} {what}"
        for i in (0, 1)
        for what in ("gnubg", *(f"{x} evaluation plies 0" for x in ("chequerplay", "cubedecision")))
    ]
    play = ["set seed 11", "set automatic game on", "new match 3", "end game", "end game"]
    gnubg([*players, *play, "save match it.sgf", "export match mat it.mat"], folder)
    return folder


def turn_ends(record):
    """The checkers of both players before each roll, as the mover counts them."""
    return [
        np.asarray([board.counts(position.state.own), board.counts(position.state.other)])
        for position in record.positions
        if position.roll
    ]


def test_a_match_of_gnu_backgammon_is_read(match):
    by_mat = list(read_games(match / "it.mat"))
    by_sgf = list(read_games(match / "it.sgf"))
    assert by_mat
    assert len(by_mat) == len(by_sgf)
    for one, other in zip(by_mat, by_sgf, strict=True):
        assert one.error == other.error == one.ends_early == other.ends_early == ""
        assert one.record.num_moves > 20
        assert one.record.moves == other.record.moves
        assert one.result == other.result != 0
        assert one.title == other.title
        assert {*one.title.split(" - ")} == {"gnubg", "root"}


@pytest.mark.parametrize("seed", range(3))
def test_gnu_backgammon_reads_our_games(seed, tmp_path):
    """It imports them and writes the same game as SGF."""
    rng, record = np.random.default_rng(seed), start_game(GAME, jax.random.key(seed))
    for ply in range(60):
        action = int(rng.choice([*record.legal_moves()]))
        record = record.play(action, key=jax.random.key(1000 * seed + ply))
    (tmp_path / "ours.mat").write_text(format_mat(record, ("Ann", "Bob")))
    gnubg(["import mat ours.mat", "save match theirs.sgf"], tmp_path)
    (theirs,) = read_games(tmp_path / "theirs.sgf")
    last = max(i for i, position in enumerate(record.positions) if position.roll)
    assert theirs.record.num_moves >= last > 40
    ours = read_mat(None, next(split_mat(format_mat(record, ("Ann", "Bob")))))
    for a, b in zip(turn_ends(ours.record), turn_ends(theirs.record), strict=False):
        np.testing.assert_array_equal(a, b)


def test_turns_become_moves_of_single_checkers():
    played = one_game(MATCH)
    assert played.title == "Bob, of Ur - Ann"  # who moves first before the other
    assert played.record.game == GAME
    assert [x.roll for x in played.record.positions if x.roll][:3] == ["3-1", "4-4", "6-2"]
    assert played.record.moves == (
        *("24/23", "13/10", "24/20", "24/20", "13/9", "13/9", "13/7", "24/22"),
        *("20/14", "14/9", "10/8", "8/7", "13/7", "7/4"),
    )
    end = "move 15: 1-1 cannot be played by nothing; the 14 moves before it are read"
    assert played.ends_early == end
    assert played.result is None


def test_a_roll_that_nothing_can_be_played_by_is_a_pass():
    moves = "3-1: 8/5 6/5 6-2: 24/18 13/11 6-1: 13/7* 8/7 6-6: pass"
    record = replay(GAME, moves.split(" "))
    assert record.moves[-1] == "pass"
    (text,) = split_mat(format_mat(record))
    assert read_mat(None, text).record.moves == record.moves


def test_the_end_of_a_game_is_told_without_the_cube():
    text = MATCH.split("  4)")[0].replace("Takes", "Drops")
    for entry, column, result in (("Wins 1 point", 6, -1), ("Wins 2 points", 37, 1)):
        played = one_game(text + " " * column + entry)
        assert played.result == result
        assert played.ends_early == ""
    assert one_game(text.replace("Drops", "Takes") + " " * 37 + "Wins 4 points").result == 2
    assert one_game(MATCH.replace("11:", "Wins 9 points")).result == 3
    zero = MATCH.replace("=> 2", "=> 0").replace("11:", f"Wins {'9' * 5000} points")
    assert one_game(zero).result == 3


def test_a_file_of_empty_lines_is_read_at_once():
    with pytest.raises(UserError, match="it has no moves"):
        one_game(" Game 1" + "\n \n" * 500_000)


def test_a_file_may_end_within_a_game():
    (tree,) = parse_sgf(SGF.format("?", "").removesuffix(")").encode())
    assert read_sgf(None, tree).ends_early.startswith("the file ends within the game")


SGF = "(;GM[6]PW[Ann]PB[Bob]RE[{}];B[31ablo];W[44xtxtmimi]{})"


@pytest.mark.parametrize(
    ("end", "nodes", "result"),
    [
        ("B+1", ";B[double];W[drop]", 1),
        ("W+4", ";B[double];W[take];B[62lrac]", -2),
        ("?", "", None),
    ],
)
def test_sgf(end, nodes, result):
    (tree,) = parse_sgf(SGF.format(end, nodes).encode())
    played = read_sgf(None, tree)
    assert played.title == "Bob - Ann"
    assert played.record.moves[:4] == ("24/23", "13/10", "24/20", "24/20")
    assert played.result == result


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (MATCH.replace("31: 24", "33: 24"), "move 1: "),
        (MATCH.replace("31: 24/23", "31: 24/22"), "move 1: 3-1 cannot be played by 24/22 13/10"),
        (MATCH.replace("31: 24/23 13/10", "31: 24/23"), "3-1 cannot be played by 24/23"),
        (" Game 1\n Ann : 0      Bob : 0\n", "it has no moves"),
    ],
)
def test_one_line_says_what_is_wrong(text, error):
    with pytest.raises(UserError, match=error):
        one_game(text)


def test_files_of_backgammon_are_known_by_what_they_hold(tmp_path):
    (tmp_path / "a.mat").write_text(MATCH)
    (tmp_path / "a.sgf").write_text(SGF.format("?", ""))
    (tmp_path / "go.sgf").write_text("(;GM[1]SZ[9];B[ee])")
    assert game_of_file(tmp_path / "a.mat") == game_of_file(tmp_path / "a.sgf") == "backgammon"
    assert game_of_file(tmp_path / "go.sgf") == "go_9x9"
    (played,) = read_games(tmp_path / "a.sgf", "backgammon")
    assert played.record.num_moves == 6
    (wrong,) = read_games(tmp_path / "go.sgf", "backgammon")
    assert "it is not a game of backgammon" in wrong.error
    (wrong,) = read_games(tmp_path / "a.sgf", "go_9x9")
    assert "it is not a game of go" in wrong.error
    with pytest.raises(UserError, match=r"files \.mat are of backgammon, not go_9x9"):
        read_games(tmp_path / "a.mat", "go_9x9")
