"""PGN as other programs and people write it, read beside python-chess."""

import io
import itertools
import math
import random

import chess
import chess.pgn
import numpy as np
import pytest

from azjax.analysis.annotated_files import write_pgn
from azjax.errors import UserError
from azjax.files.pgn import read_game, split_games
from azjax.files.read import read_games
from tests.files.test_files import CHESS, judged, random_game

ITALIAN = "1. e4 e5 2. Nf3 Nc6 3. Bc4 Nf6 4. d3 Be7"


def games(text):
    return [read_game(pgn).play() for pgn in split_games(text)]


def moves_of(text):
    """Returns the moves of the only game of a text, and what was told about it."""
    [one] = games(text)
    return " ".join(one.record.moves), one.source.result, one.remark or one.ends_early


def python_chess(text):
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    assert not game.errors
    return game


# Movetext in which python-chess finds the same moves.
SAME = [
    f"{ITALIAN} 5.0-0 0-0 6. c3",
    f"{ITALIAN} 5.O-O O-O 6.c3 1/2",
    f"{ITALIAN} 5. 0-0 ½-½",
    f"{ITALIAN} 5. O-O 1:0",
    f"{ITALIAN} 5. Nc3 +/- d6 = 6. a3 ∞ a6 ⩲ 7. h3 +- h6 -+ 1-0",
    f"{ITALIAN} 5. Nc3 N d6 … 6. a3 a6 7. Bxf7 ch Kxf7 resigns",
    "1. e4 a6 2. e5 d5 3. exd6 e.p. cxd6 4. h4",
    "1. e4 a6 2. e5 d5 3. exd6e.p. cxd6 4. h4",
    '[FEN "7k/P7/8/8/8/8/8/7K w - - 0 1"]\n\n1. a8=q+ Kh7 2. Qa7 ch',
    '[FEN "7k/P7/8/8/8/8/8/7K w - - 0 1"]\n\n1. a8Q Kh7',
    "1.e4 e5 2.Nf3!! Nc6?! 3.Bb5 $14 a6 (3... Nf6 4. O-O (4. d3) 4... Nxe4) 4. Ba4",
    "1 e4 e5 2 Nf3 Nc6",
    "1.e4,e5 2.Nf3,Nc6",
    "e4 e5 Nf3 Nc6",
    "1. e2-e4 e7-e5 2. Ng1-f3 Nb8-c6 3. e4e5?",
    "1. e4 {a ( b ; c} e5 ; d ) e\n2. Nf3 Nc6 {f\n\ng} 3. Bb5",
    "% a line of a program\n1. e4 e5\n% another\n2. Nf3",
    "1. e4 e5 2. Nf3 (2. f4 exf4 {(} 3. Nf3 (3. Bc4)) 2... Nc6",
    "1. e4 e5 {White resigns} 1-0 {0-1}",
    "1. f3 e5 2. g4 Qh4 mate 0-1",
    "1. e4 @ e5 $1 2. Nf3 <x> Nc6",
]


@pytest.mark.parametrize("text", SAME)
def test_marks_that_are_no_moves_are_passed_over(text):
    text = text.replace(" 3. e4e5?", "")
    expected = [move.uci() for move in python_chess(text).mainline_moves()]
    moves, _, told = moves_of(text)
    assert moves.split() == expected
    assert not told


@pytest.mark.parametrize(
    ("end", "result"),
    [
        ("1-0", "1-0"),
        ("1:0", "1-0"),
        ("1 - 0", "1-0"),
        ("0–1", "0-1"),
        ("0:1", "0-1"),
        ("1/2", "1/2-1/2"),
        ("½", "1/2-1/2"),
        ("½-½", "1/2-1/2"),
        ("1/2:1/2", "1/2-1/2"),
        ("0.5-0.5", "1/2-1/2"),
        ("*", "*"),
        ("", ""),
        ("resigns", ""),
    ],
)
def test_results_are_written_in_many_ways(end, result):
    assert moves_of(f"1. e4 e5 2. Nf3 {end}\n") == ("e2e4 e7e5 g1f3", result, "")
    assert moves_of(f'[Result "{end}"]\n\n1. e4 e5') == ("e2e4 e7e5", result, "")


@pytest.mark.parametrize(
    ("text", "moves", "told"),
    [
        ("1. e4 e5 2. o-o", "e2e4 e7e5", "move 3: 'o-o' is not legal here"),
        ("1. e4 e5 2. ♘f3 ♞c6 3. ♗b5", "e2e4 e7e5 g1f3 b8c6 f1b5", ""),
        ("1. e4 e5 2. ♘f3 ♞c6 3. ♗c4 ♝c5 4. o-o", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1", ""),
        ("1. e4 -- 2. d4", "e2e4", "move 2: '--' is a null move"),
        ("1. e4 Z0", "e2e4", "move 2: 'Z0' is a null move"),
        ("1. e4 e5 2. Ke3 Nf6", "e2e4 e7e5", "move 3: 'Ke3' is not legal here"),
        ("1. d4 d5 2. Nf3 Nf6 3. Nd2", "d2d4 d7d5 g1f3 g8f6", "'Nd2' is not clear: it can be N"),
        ("1. e4 e5 2. Sf3 Sc6", "e2e4 e7e5", "move 3: 'Sf3' is not legal here"),
        ("1. e4 e5 2. Ke9", "e2e4 e7e5", "move 3: 'Ke9' is not legal here"),
        ("1. e4 e5 2. Nf", "e2e4 e7e5", "move 3: 'Nf' is not legal here"),
        ("1. e4 d5 2. ed Qxd5", "e2e4 d7d5 e4d5 d8d5", ""),
        ("1. f3 e5 2. g4 Qh4# 3. e4", "f2f3 e7e5 g2g4 d8h4", "is over by its rules after 4 moves"),
        ("1. e4 e5 (1... c5 2. Nf3", "e2e4 e7e5", "the variation after move 2 is not closed"),
        ("1. e4 e5 {oops 2. Nf3", "e2e4 e7e5", "the comment after move 2 is not closed"),
        ("1. e4 e5) 2. Nf3", "e2e4 e7e5 g1f3", ""),
        ('[FEN ""]\n\n1. e4', "e2e4", ""),
        ('[FEN "position fen 4k3/8/8/8/8/8/4P3/4K3"]\n\n1. e4', "e2e4", "is read as 4k3/8/8/8/"),
        ('[FEN "4k3/8/8/8/8/8/4P3/4K3 w HAha - 200 0"]\n\n1. e4', "e2e4", "is read as 4k3/8/8/8/"),
        ('[FEN "fen 4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"]\n\n1... Kd7', "e8d7", ""),
    ],
)
def test_what_is_not_right_is_told_and_the_rest_is_read(text, moves, told):
    found, _, said = moves_of(text)
    assert found == moves
    assert told in said
    assert bool(told) == bool(said)


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ('[Event "The "Big" one"]', "Event", 'The "Big" one'),
        ('[Event "He said "hi"]"]', "Event", 'He said "hi"]'),
        ('[Event "C:\\"]', "Event", "C:\\"),
        ('[Event "C:\\games"]', "Event", "C:\\games"),
        ('[Event "a \\"b\\" \\\\ c"]', "Event", 'a "b" \\ c'),
        ('[White-Elo "2000"]', "White-Elo", "2000"),
        ("[Event Spring Open]", "Event", "Spring Open"),
        ('[ Event  "x" ]', "Event", "x"),
        ('[Event"x"]', "Event", "x"),
        ('[Event "x', "Event", "x"),
        ('[Event "[x] {y} (z) ; 1. d4"]', "Event", "[x] {y} (z) ; 1. d4"),
    ],
)
def test_tags_that_are_not_quite_right(line, name, value):
    for before, after in itertools.product(('[Site "s"]\n', ""), ('[White "A"]\n', "")):
        text = f"{before}{line}\n{after}\n1. e4 e5 1-0\n\n"
        first, second = split_games(text + text)
        assert first == second
        assert first.tags[name] == value
        assert first.moves == ["e4", "e5"]


def test_games_of_one_file_are_told_apart():
    one = "1. e4 e5 *"
    for text, count in (
        (f"{one}\n\n{one}", 2),
        ("1. e4 e5\n\n1. d4 d5", 2),
        ("1. e4 e5 1-0 {he resigned} 1. d4 d5 0-1 ; end\n", 2),
        (f'[Event "a"]\n\n1. e4 (1. d4\n\n[Event "b"]\n\n{one}', 2),
        (f'[Event "a"]\n\n1. e4 {{oops\n\n[Event "b"]\n\n{one}', 2),
        (
            '[Event "a"]\n\n1. e4 1... e5 {a\n[b c]} 2. d4\n[a remark] exd4\n\n'
            f'[Event "b"]\n{one}',
            2,
        ),
        ("\n\n", 0),
        ("no game at all\n", 0),
    ):
        found = [[move for move in pgn.moves if move != "?"] for pgn in split_games(text)]
        assert len(found) == count, text
        assert all(found)


def test_text_of_old_files(tmp_path):
    path = tmp_path / "a.pgn"
    for text, title in (
        (
            b'[White "M\xfcller"]\n[Black "B"]\n\n'
            b"1. e4 e5 {\x93good\x94} 2. Nf3 Nc6 {ok\xe9} 3. Bb5 *",
            "Müller - B",
        ),
        (
            '[White "Müller"]\r\r\n[Black "B"]\r\n1. e4 e5 {é} 2. Nf3 Nc6\u00a03. Bb5 *'.encode(),
            "Müller - B",
        ),
        (b"1. e4 ;caf\xe9\r1... e5 (1... c5 \xb1) 2. Nf3 \xb1 Nc6 \xab 3. Bb5\r", ""),
        ('[White "A"]\n[Black "é"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5'.encode("utf-16"), "A - é"),
    ):
        path.write_bytes(text)
        [one] = read_games(path, CHESS)
        assert " ".join(one.record.moves) == "e2e4 e7e5 g1f3 b8c6 f1b5", text
        assert one.title == title


KEPT = """[Event "x"]
[Site "?"]
[Result "1-0"]
[WhiteElo "2000"]
[Annotator "Ann"]

{before the game} 1. e4 {[%clk 0:05:00]  two  spaces} 1... e5 $6 {[%eval 0.3]
a second line} 2. Nf3! (2. f4 exf4 3. Nf3 {King's ( gambit} (3. Bc4 Qh4+) 3... g5) 2... Nc6 ; good
{and another} 3. Bb5 {he resigned}"""


def test_what_was_in_the_file_stays():
    [pgn] = split_games(KEPT)
    one = read_game(pgn).play()
    given = python_chess(KEPT)
    text = write_pgn(judged(one.record, {3}), pgn)
    written = python_chess(text)
    assert written.headers == {**given.headers, "Annotator": "Ann, azjax (search:3)"}
    assert written.comment == given.comment
    for old, new in zip(given.mainline(), written.mainline(), strict=True):
        assert new.move == old.move
        assert new.nags >= old.nags
        assert new.comment.endswith(old.comment)
        assert new.clock() == old.clock()
        assert [str(v) for v in new.variations[1:]][: len(old.variations) - 1] == [
            str(v) for v in old.variations[1:]
        ]
    assert written.next().next().parent.variations[0].nags >= {6}
    [again] = split_games(text)
    assert again.result == "1-0"
    assert "2. Nf3 $1 $4 { white" in " ".join(text.split())


def test_moves_that_cannot_be_played_stay_as_a_comment():
    [pgn] = split_games("1. e4 e5 2. Ke3 Nf6 1-0")
    text = write_pgn(judged(read_game(pgn).play().record, set()), pgn)
    assert text.endswith("{the file goes on: Ke3 Nf6} 1-0\n\n")
    assert len([*python_chess(text).mainline_moves()]) == 2


def test_generated_games_come_back_whole():
    chance = random.Random(5)
    for seed in range(3):
        game = random_game(seed, 40)
        for node in game.mainline():
            node.comment = chance.choice(["", "[%clk 0:01:02]", "é ( ; x", "a " * 60])
            node.nags = set(chance.sample(range(1, 20), 2))
        [pgn] = split_games(str(game))
        one = read_game(pgn).play()
        again = python_chess(write_pgn(judged(one.record, set()), pgn))
        for old, new in zip(game.mainline(), again.mainline(), strict=True):
            assert (new.move, new.nags) == (old.move, old.nags)
            assert new.comment.endswith(old.comment.strip())
            assert [x.move for x in new.variations] == [x.move for x in old.variations]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1. Ke3", "move 1: 'Ke3'"),
        ('[Variant "Atomic"]\n1. e4', "its variant"),
        ('[A "b"]', "no moves"),
    ],
)
def test_games_without_a_legal_move_are_refused(text, says):
    with pytest.raises(UserError, match=says):
        games(text)


SCORED = """[Result "1-0"]

{[%eval 0.31]} 1. e4 {[%eval +0.25] [%clk 0:03:00]} e5 {a plan [%eval -1.5,18]} 2. Bc4 Nc6
{[%eval x]} 3. Qh5 { [%eval #-3] } Nf6?? {[%eval 0] first, then [%eval #2]} 4. Qxf7# {[%eval 9]} 1-0
"""


def test_scores_of_engines_are_values_of_positions():
    """The scores are python-chess's; lichess tells the share of points that they stand for."""
    (read,) = games(SCORED)
    expected = []
    for node in [python_chess(SCORED), *python_chess(SCORED).mainline()][:-1]:
        score = node.eval() and node.eval().white().score(mate_score=100_000)
        points = 50 + 50 * (2 / (1 + math.exp(-0.00368208 * (score or 0))) - 1)
        expected.append(math.nan if score is None else points / 50 - 1)
    assert np.isnan(expected).tolist() == [False, False, False, True, True, False, False]
    np.testing.assert_allclose(read.values, expected, atol=1e-6)
    assert games(SCORED.replace("%eval", "eval"))[0].values == ()
    assert games(f"1. e4 {{[%eval #{'9' * 5000}] [%eval {'9' * 5000}]}} e5 *")[0].values[1] == 1
