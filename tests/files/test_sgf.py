"""Positions that GTP sets up: handicap points, compared with GNU Go, and files."""

import random
import re

import pytest
from azjax_envs import make
from sgfmill import sgf, sgf_grammar

from azjax.engine.gtp.handicap import handicap_points
from azjax.files.sgf_parser import parse_sgf
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
        ("nonsense", "it is not an SGF file"),
        ("(;GM[1]SZ[9])", "unacceptable size"),
        ("(;GM[2]SZ[5])", "it is not a game of go"),
        ("(;SZ[5];B[aa];W[aa])", "move 2: illegal move"),
        ("(;SZ[5];B[aa];AB[bb])", "stones are set up during the game"),
        ("(;SZ[5]KM[x];B[aa])", 'the komi must be a number, not "x"'),
        ("(;SZ[5]KM[99999];B[aa])", "the komi must be from -361 to 361"),
        ("(;SZ[5]AB[aa][bb", "it is not an SGF file"),
        ("(;SZ[5]AB[];B[aa])", "a stone that is set up needs a point"),
        ("(;SZ[5];B[zz])", 'a point must be two letters from a to e on this board, not "zz"'),
        ("(;SZ[5];B[e])", "a point must be two letters from a to e"),
        ("(;SZ[5:9];B[ee])", "the size of the board must be one number"),
        ("(;SZ[];B[ee])", "the size of the board must be one number"),
    ],
)
def test_bad_files_change_nothing(tmp_path, text, why):
    path = tmp_path / "game.sgf"
    path.write_text(text)
    (mark, answer), kept = gtp_answers(["play b c3", f"loadsgf {path}", "showboard"], GO)[1:]
    assert mark == "?"
    assert answer.startswith("cannot load file")
    assert why in answer
    assert not re.search(r"b'|could not|syntax|invalid literal|\[Errno", answer)
    assert "X" in kept[1]


@pytest.mark.parametrize(
    ("text", "row", "score"),
    [
        ("(;SZ[5:5]KM[];AB[aa][ee];W[cc])", " 3 . . O . .", None),
        ("(;SZ[5];B[cc];W[];B[];W[dd])", " 2 . . . O .", None),
        ("(;SZ[5]KM[6,5];B[cc])", " 3 . . X . .", "B+18.5"),
        ("(;SZ[5]KM[375];B[cc])", " 3 . . X . .", "B+17.5"),
        ("(;SZ[5]KM[3.75];B[cc])", " 3 . . X . .", "B+17.5"),
        ("(;SZ[5]KM[650];B[cc])", " 3 . . X . .", "B+18.5"),
        ("(;SZ[5]AB[ab:cc];W[tt])", " 3 X X X . .", None),
        ("(;SZ[5];AddBlack[aa]; White[cc]C[\xff\\]])", " 3 . . O . .", None),
    ],
)
def test_files_as_other_programs_write_them(tmp_path, text, row, score):
    """Fox's 375 are hundredths of Chinese stones, of two points each."""
    path = tmp_path / "game.sgf"
    path.write_text(text)
    answers = texts([f"loadsgf {path}", "showboard", "final_score"])
    assert row in answers[1].split("\n")
    assert score is None or answers[2] == score


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("Big5", b"\xa5\x5c\xa5\x5d\xa5"),
        ("GBK", b"\xba\x5d\xba\x5c\xba"),
        ("Shift_JIS", b"\x83\x5c\x83\x5d\x83"),
        ("", b"\x83\x5d\x83\x5c"),
    ],
)
def test_texts_hide_no_moves(tmp_path, charset, text):
    """Characters have bytes of brackets and backslashes, and the last one is cut off."""
    path, declared = tmp_path / "game.sgf", f"CA[{charset}]".encode() if charset else b""
    path.write_bytes(
        b"(;SZ[5]%bAB[ee][ee]PB[%b];B[aa]C[%b];W[dd];B[cc];AE[dd])" % (declared, text, text)
    )
    board = texts([f"loadsgf {path} 3", "showboard"])[1].split("\n")
    assert board[:2] == [" 5 X . . . .", " 4 . . . . ."]
    assert board[3:5] == [" 2 . . . O .", " 1 . . . . X"]


def random_tree(rng, depth=0):
    tree = sgf_grammar.Coarse_game_tree()
    for _ in range(rng.randint(1, 3)):
        text = "".join(rng.choices("a[]\\;()é B C[x]\n:", k=8)).encode()
        node = {"B": [b"aa"], "AB": [b"bb:cc", b"dd"], "C": [sgf_grammar.escape_text(text)]}
        tree.sequence.append({name: node[name] for name in node if rng.random() < 0.6})
    if depth < 3:
        tree.children = [random_tree(rng, depth + 1) for _ in range(rng.choice([0, 0, 1, 2, 3]))]
    return tree


def test_what_keeps_to_the_format_is_read_as_sgfmill_reads_it():
    def plain(tree):
        return tree.sequence, [plain(child) for child in tree.children]

    for seed in range(300):
        rng = random.Random(seed)
        data = b"\n text (a)\n".join(
            sgf_grammar.serialise_game_tree(random_tree(rng)) for _ in "ab"
        )
        ours, theirs = parse_sgf(data), sgf_grammar.parse_sgf_collection(data)
        assert [plain(tree.root) for tree in ours] == [plain(tree) for tree in theirs], data
        assert not any(tree.cut for tree in ours)


def test_a_game_is_printed_and_read_again(tmp_path):
    """The pass that nobody made, between two moves of one colour, is no move of the game."""
    moves = ["play b a1", "play b c3", "play w pass", "play b pass", "play w e4"]
    board, text = texts([*moves, "showboard", "printsgf"])[-2:]
    game = sgf.Sgf_game.from_string(text)
    assert (game.get_size(), game.get_komi()) == (5, 7.5)
    found = [node.get_move() for node in game.get_main_sequence()[1:]]
    assert found == [("b", (0, 0)), ("b", (2, 2)), ("w", None), ("b", None), ("w", (3, 4))]
    path = tmp_path / "game.sgf"
    path.write_text(text)
    assert texts([f"loadsgf {path}", "showboard"])[1] == board
