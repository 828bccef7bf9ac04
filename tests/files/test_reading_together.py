"""Many games of go or chess that are read at once, compared with each read alone."""

import random

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.files import read
from azjax.files.read import open_games, read_games
from azjax.files.sgf_parser import parse_sgf

LETTERS = "abcde"
GAMES = {
    "(;SZ[5]RE[B+R];B[cc];W[bb];B[];W[])": ("C3 B4 pass pass", ""),
    "(;SZ[5];B[cc];W[bb];B[cc];W[dd])": ("C3 B4", "move 3, C3, is not legal there; the 2 moves be"),
    "(;SZ[5];B[cc];W[];B[];W[dd])": ("C3 pass pass", "the game is over by its rules after 3 moves"),
    "(;SZ[5];B[cc];W[bb];B[zz];W[dd])": ("C3 B4", "must be two letters from a to e on this boar"),
    "(;SZ[5]AB[aa][ee]HA[2];W[cc];B[bb])": ("A5 pass E1 C3 B4", ""),
    "(;SZ[5]AB[ab][ba]AW[aa];W[cc])": ("B5 A5 A4 C3", ""),  # which captures
    "(;SZ[5]AB[ab][ba];W[aa])": (
        "B5 pass A4",
        "move 4, A5, is not legal there; the 3 moves",
    ),
    "(;SZ[5];B[aa];B[bb];W[cc];W[dd])": ("A5 pass B4 C3 pass D2", ""),
    "(;SZ[5];W[aa];B[bb];AW[cc];B[dd])": ("pass A5 B4 C3 D2", ""),
    "(;SZ[5];B[aa];W[bb]AE[aa];B[cc])": ("A5", "the file changes the stone on A5 after move 1"),
    "(;SZ[5]KM[0.5];B[aa](;W[bb];B[cc])(;W[dd]))": ("A5 B4 C3", ""),
    "(;SZ[5];B[aa];W[bb]C[hello ; B[ee\\]];B[cc])": ("A5 B4 C3", ""),
    "(;SZ[5];B[aa] ;\nW [bb]\r\n;B[tt];W[dd])": ("A5 B4 pass D2", ""),
    "(;SZ[5])": (None, "it has no moves"),
    "(;SZ[5];B[ff])": (None, 'must be two letters from a to e on this board, not "ff"'),
    "(;SZ[7];B[aa])": (None, "it is a game on 7x7, and the player plays go_5x5"),
}


def random_game(seed):
    """Returns a game of some moves, the last of which may not be legal."""
    rng = random.Random(seed)
    cells = [column + row for row in LETTERS for column in LETTERS]
    points = rng.sample(cells, rng.randint(1, 24))
    moves = [f";{'BW'[number % 2]}[{point}]" for number, point in enumerate(points)]
    return f"(;SZ[5]KM[{rng.choice(['0.5', '6.5'])}]{''.join(moves)})"


def told(played):
    record = played.record
    about = (played.where, played.title, played.error, played.ends_early, played.result)
    if record is None:
        return about
    positions = [(x.mover, x.over, x.returns, x.moved_by, x.action) for x in record.positions]
    nodes = {number: node.get_move() for number, node in played.source.nodes.items()}
    return (*about, record.game, record.moves, positions, nodes, played.source.game.serialise())


def test_each_game_is_as_if_it_were_read_alone(tmp_path):
    """Several files with several games, of many lengths and with all kinds of mistakes."""
    texts = [text for seed, known in enumerate(GAMES) for text in (known, random_game(seed))]
    files = [tmp_path / f"{start}.sgf" for start in range(0, len(texts), 12)]
    for number, file in enumerate(files):
        file.write_bytes("\n".join(texts[12 * number : 12 * number + 12]).encode())
    together = list(read_games(files, "go_5x5"))
    alone = [one() for file in files for one in open_games(file, make("go_5x5"))]
    for ours, theirs, text in zip(together, alone, texts, strict=True):
        assert told(ours) == told(theirs)
        if ours.record is not None:
            for mine, other in zip(ours.record.positions, theirs.record.positions, strict=True):
                jax.tree.map(np.testing.assert_array_equal, mine.state, other.state)
        if text in GAMES:
            moves, message = GAMES[text]
            assert (ours.record and " ".join(ours.record.moves)) == moves, text
            assert message in ours.error + ours.ends_early
            assert bool(message) == bool(ours.error + ours.ends_early)


def test_games_are_read_in_order_and_when_they_are_asked_for(tmp_path, monkeypatch):
    """Go and chess in groups; others, which take long, one by one."""
    begun = []
    monkeypatch.setattr(read, "_GROUP", 4)

    def counted(name, function):
        def called(*args):
            begun.append(name)
            return function(*args)

        return called

    monkeypatch.setattr(read.sgf, "read_game", counted("sgf", read.sgf.read_game))
    monkeypatch.setattr(read, "read_list", counted("txt", read.read_list))
    (tmp_path / "a.sgf").write_text("".join(f"(;SZ[5];B[a{x}])" for x in "abcdeabcde"))
    (tmp_path / "b.txt").write_text("# tic_tac_toe\na1\nb2\nc3\n")
    (tmp_path / "c.sgf").write_text("".join(f"(;SZ[5];B[b{x}])" for x in "ab"))
    games = read_games([tmp_path / name for name in ("a.sgf", "b.txt", "c.sgf")])
    assert begun == []
    first = next(games)
    assert begun == ["sgf"] * 8  # a group is played while the next one is read
    rest = [next(games) for _ in range(10)]
    assert begun == ["sgf"] * 10 + ["txt"]
    rest += games
    assert begun == ["sgf"] * 10 + ["txt"] * 3 + ["sgf"] * 2
    moves = " ".join(" ".join(game.record.moves) for game in (first, *rest))
    assert moves == "A5 A4 A3 A2 A1 A5 A4 A3 A2 A1 a1 b2 c3 B5 B4"


def test_games_of_chess_are_as_if_each_were_read_alone(tmp_path):
    """Also those whose moves are not plain, and those that end early."""
    (tmp_path / "games.pgn").write_text(
        """1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Nxe4 1-0

        [FEN "8/P6k/8/8/8/8/8/7K w - - 0 40"]

        40. a8=Q Kg6 41. Qg8+ Kf6 1-0

        [FEN "4k3/8/8/8/8/8/3p4/R3K2R w KQ - 0 1"]

        1. Kxd2 Ke7 2. O-O Kf7 *

        1. e4 e5 2. ng1f3 Nc6 3. Bb5 a6 1/2

        1. f3 e5 2. g4 Qh4# 3. Kf2 0-1

        1. Nc3 Nf6 2. Nb5 Ng8 3. Nbc3 Nf6 4. Nb5 Ng8 5. Nc3 Nf6 6. Nb5 Ng8 7. Nc3 Nf6 8. Nb5 *

        [FEN "4k3/4r3/8/4N3/8/8/8/2N1K3 w - - 0 1"]

        1. Nd3 Re6 2. Kd1 Re7 *

        1. Ke3 e5 *

        1. d4 d5 2. c4 e6 3. Nc3 Bb4 4. Nf3 Bxc3+ 5. bxc3 *

        [Variant "Atomic"]

        1. e4 *
        """
    )
    together = list(read_games(tmp_path / "games.pgn"))
    alone = [one() for one in open_games(tmp_path / "games.pgn", None)]
    assert len(together) == 10
    for ours, theirs in zip(together, alone, strict=True):
        assert (ours.error, ours.ends_early) == (theirs.error, theirs.ends_early)
        assert (ours.result, ours.where) == (theirs.result, theirs.where)
        if ours.record is None:
            continue
        assert ours.record.moves == theirs.record.moves
        for mine, other in zip(ours.record.positions, theirs.record.positions, strict=True):
            jax.tree.map(np.testing.assert_array_equal, mine.state, other.state)
            assert (mine.action, mine.mover, mine.over) == (other.action, other.mover, other.over)
    told = [game.error or game.ends_early for game in together]
    ended_early = [number for number, text in enumerate(told) if text]
    assert ended_early == [2, 4, 5, 7, 9]
    # The other knight, which reaches the same square, is pinned.
    assert " ".join(together[6].record.moves) == "c1d3 e7e6 e1d1 e6e7"


def test_a_run_of_moves_can_be_continued_after_its_variations(tmp_path):
    file = tmp_path / "a.sgf"
    file.write_text("(;SZ[5];B[aa];W[bb];B[cc](;W[dd])C[late];W[ee](;B[ab]))")
    (one,) = read_games(file)
    assert (
        " ".join(one.record.moves) == "A5 B4 C3 E1 pass D2"
    )  # a variation goes on after its others
    assert one.source.nodes[3].get("C") == "late"


def test_clocks_and_comments_belong_to_their_moves():
    """Also where a comment has marks of the format, and brackets that do not end it."""
    nodes = [
        {"B": [b"aa"], "BL": [b"12.5"], "OB": [b"3"]},
        {"W": [b"bb"], "C": [b"one; two (three) C"]},
        {"B": [b""], "C": [b"a \\] ; b"], "WL": [b"1"]},
        {"W": [b"cc"], "C": [b" \n"]},
        {"B": [b"dd"], "CR": [b"aa", b"bb"]},
        {"W": [b"ee"], "C": [b"x"], "N": [b"y"]},
    ]
    text = "".join(
        ";"
        + "".join(f"{name}[{']['.join(v.decode() for v in values)}]" for name, values in x.items())
        for x in nodes
    )
    (tree,) = parse_sgf(f"(;SZ[5]{text})".encode())
    assert tree.root.sequence == [{"SZ": [b"5"]}, *nodes]
    kinds = [type(part) for part in tree.main_line()]
    assert kinds == [dict, str, dict, str, dict, str]
    (lost,) = parse_sgf(text.replace(r"\]", "]").join(("(;SZ[5]", ")")).encode())
    assert lost.root.sequence == tree.root.sequence


@pytest.mark.parametrize(
    "moves", [";B[aa];W[bb]", ";B [aa]\n", ";B[]", ";B[aa]x", "(;B[aa]", ";B[aa]C[x"]
)
def test_hostile_files_are_read(tmp_path, moves):
    """A file of a million moves, most of which are not legal."""
    file = tmp_path / "a.sgf"
    file.write_text("(;SZ[5]" + moves * (1_000_000 // len(moves)))
    (one,) = read_games(file)
    assert 1 <= one.record.num_moves <= 50
    assert one.ends_early
