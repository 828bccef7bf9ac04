"""Positions that GTP sets up: handicap points, compared with GNU Go, and files."""

import pytest
from azjax_envs import make
from sgfmill import sgf

from azjax.play.gtp.sgf import handicap_points
from tests.oracles import gnugo
from tests.oracles.clients import gtp_answers
from tests.players.engines.programs import needs

GO = make("go_5x5")


def texts(lines, game=GO):
    """Returns the texts of the answers; all commands must succeed."""
    answers = gtp_answers(lines, game)
    assert all(mark.startswith("=") for mark, _ in answers), answers
    return [text.strip("\n") for _, text in answers]


@needs("gnugo")
def test_handicap_points_are_gnu_gos():
    for size in (7, 8, 9, 13, 19):
        for stones in range(1, 11):
            try:
                (theirs,) = gnugo.ask([f"boardsize {size}", f"fixed_handicap {stones}"])[1:]
            except ValueError:
                with pytest.raises(ValueError, match="there can be"):
                    handicap_points(size, stones)
                continue
            points = handicap_points(size, stones)
            ours = [gnugo.vertex(size, row * size + column) for row, column in points]
            assert sorted(ours) == sorted(theirs.split()), (size, stones)
            assert len(set(ours)) == stones


def test_after_a_handicap_white_moves():
    game = make("go_9x9")
    answers = texts(["fixed_handicap 4", "showboard", "play w e5", "undo", "undo"], game)
    assert answers[0] == "C3 G7 C7 G3"
    assert answers[1].count("X") == 4
    assert answers[1].endswith("white to move")
    assert gtp_answers(["fixed_handicap 2"], GO)[0][1].startswith("invalid number of stones")


def test_a_file_is_played_up_to_a_move(tmp_path):
    path = tmp_path / "game.sgf"
    path.write_text("(;GM[1]SZ[5]KM[2.5]AB[aa][ee];W[cc];B[bb];W[];B[ab](;W[dd])(;W[ea]))")
    whole, third = (f"loadsgf {path}", f"loadsgf {path} 3")
    answers = texts([whole, "showboard", "final_score", third, "showboard", "genmove w"])
    assert answers[1].split("\n")[:5] == [
        " 5 X . . . .",
        " 4 X X . . .",
        " 3 . . O . .",
        " 2 . . . O .",
        " 1 . . . . X",
    ]
    game = sgf.Sgf_game.from_bytes(path.read_bytes())
    assert game.get_komi() == 2.5
    assert answers[2] == "W+0.5"
    assert answers[4].count("X") == 3
    assert answers[4].endswith("white to move")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", ""),
        ("(;GM[1]SZ[9])", "unacceptable size"),
        ("(;GM[2]SZ[5])", "it is not a game of go"),
        ("(;SZ[5];B[aa];W[aa])", "move 2: illegal move"),
        ("(;SZ[5];B[aa];AB[bb])", "stones are set up during the game"),
        ("(;SZ[5]KM[x];B[aa])", ""),
        ("(;SZ[5]AB[aa][bb", ""),
        ("(;SZ[5];B[zz])", ""),
    ],
)
def test_bad_files_change_nothing(tmp_path, text, why):
    path = tmp_path / "game.sgf"
    path.write_text(text)
    (mark, answer), kept = gtp_answers(["play b c3", f"loadsgf {path}", "showboard"], GO)[1:]
    assert mark == "?"
    assert answer.startswith("cannot load file")
    assert why in answer
    assert "X" in kept[1]
