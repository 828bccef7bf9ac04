"""Files with games, read and written; other programs' libraries write and read them too."""

import io
import random

import chess
import chess.pgn
import pytest
from azjax_envs import make
from azjax_envs.go import Go
from sgfmill import sgf as sgfmill

from azjax.analysis.analyse import analyse
from azjax.analysis.annotated_files import write_analysis, write_pgn, write_sgf
from azjax.analysis.game_analysis import AnalysedMove, GameAnalysis
from azjax.errors import UserError
from azjax.files.game_record import replay
from azjax.files.notation import shown_move, shown_moves
from azjax.files.pgn import read_game, split_games
from azjax.files.read import game_of_file, read_games
from tests.web.sites import untrained

CHESS = make("chess")


def written(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def judged(record, mistakes):
    """Returns an analysis with these moves as mistakes, and the last legal one as better."""
    moves = []
    for i in range(record.num_moves):
        state = record.positions[i].state
        best, name = list(shown_moves(record.game, state).items())[-1]
        moves.append(
            AnalysedMove(
                number=i + 1,
                mover=record.positions[i].mover,
                move=shown_move(record, i + 1),
                best=best,
                line=(name,),
                loss=0.5 * (i + 1 in mistakes),
                exact=False,
                visits=((best, 3),),
            )
        )
    return GameAnalysis(record, "search:3", (0.0,) * (record.num_moves + 1), tuple(moves))


def random_game(seed, plies):
    """Returns a random game of chess, by python-chess, which no one here wrote."""
    game, board, chance = chess.pgn.Game(), chess.Board(), random.Random(seed)
    node = game
    for _ in range(plies):
        moves = list(board.legal_moves)
        if not moves or board.is_game_over(claim_draw=True):
            break
        move = chance.choice(moves)
        node = node.add_variation(move, comment="a comment (1-0) {")
        if chance.random() < 0.3:
            node.parent.add_variation(chance.choice(moves))
        board.push(move)
    return game


def test_pgn_of_another_program_is_read_and_written_back():
    text = "\n\n".join(str(random_game(seed, 60)) for seed in range(2))
    played = [read_game(pgn).play() for pgn in split_games(text)]
    assert len(played) == 2
    for seed, one in enumerate(played):
        game = random_game(seed, 60)
        assert list(one.record.moves) == [move.uci() for move in game.mainline_moves()]
        board = chess.Board()
        for i, move in enumerate(game.mainline_moves()):
            assert shown_move(one.record, i + 1) == board.san(move)
            board.push(move)
        again = chess.pgn.read_game(io.StringIO(write_pgn(judged(one.record, {3}), one.source)))
        assert again is not None
        assert not again.errors
        assert [*again.mainline_moves()] == [*game.mainline_moves()]
        third = again.next().next()
        assert len(third.variations) == 2
        assert third.variations[0].nags == {4}
        assert "white 50% -> 50%" in " ".join(third.variations[0].comment.split())


def test_ambiguous_moves_castling_and_promotions():
    text = """[FEN "r3k2r/1P6/8/8/8/8/8/R3K2R w KQkq - 0 1"]
    1. O-O-O 0-0 2. bxa8=Q (2. b8=N Rxb8) 2... Rfxa8 $1 3.Rhf1 ; a comment
    3... Kg7 4 Rfe1 *"""
    [pgn] = split_games(text)
    moves = read_game(pgn).play().record.moves
    assert moves == ("e1c1", "e8g8", "b7a8q", "f8a8", "h1f1", "g8g7", "f1e1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1. Ke3", "move 1: 'Ke3' is not legal here"),
        ('[Variant "Atomic"]\n1. e4', "its variant is 'Atomic'"),
        ('[FEN "8/8/8 w - - 0 1"]\n1. e4', "FEN .* the board must have 8 ranks"),
        ('[Event "x"]\n\n*', "it has no moves"),
    ],
)
def test_pgn_that_is_refused(text, message):
    [pgn] = split_games(text)
    with pytest.raises(UserError, match=message):
        read_game(pgn).play()


def random_shogi(seed):
    cshogi = pytest.importorskip("cshogi")
    board, chance, moves = cshogi.Board(), random.Random(seed), []
    for _ in range(80):
        move = chance.choice(list(board.legal_moves))
        moves.append(move)
        board.push(move)
    return moves, [cshogi.move_to_usi(move) for move in moves]


def test_csa_and_kif_of_another_program_are_read(tmp_path):
    moves, usi = random_shogi(seed=4)
    import cshogi
    import cshogi.CSA
    import cshogi.KIF

    csa = cshogi.CSA.Exporter(str(tmp_path / "a.csa"))
    csa.info(cshogi.Board(), names=["A", "B"])
    kif = cshogi.KIF.Exporter(str(tmp_path / "a.kif"))
    kif.header(["A", "B"])
    for move in moves:
        csa.move(move)
        kif.move(move)
    csa.endgame("%TORYO")
    kif.end("resign")
    csa.close()
    kif.close()
    assert any("*" in move for move in usi)
    assert any(move.endswith("+") for move in usi)
    text = (tmp_path / "a.kif").read_bytes().decode("cp932")
    for name, data in (("b.kif", text.encode()), ("c.kif", text.encode("cp932"))):
        [one] = read_games(written(tmp_path, name, data), "shogi")
        assert list(one.record.moves) == usi
        assert one.title == "A - B"
    [one] = read_games(tmp_path / "a.csa", make("shogi"))
    assert list(one.record.moves) == usi
    assert game_of_file(tmp_path / "a.csa") == game_of_file(tmp_path / "a.kif") == "shogi"


EVEN = """\
後手の持駒：なし
  ９ ８ ７ ６ ５ ４ ３ ２ １
+---------------------------+
|v香v桂v銀v金v玉v金v銀v桂v香|一
| ・v飛 ・ ・ ・ ・ ・v角 ・|二
|v歩v歩v歩v歩v歩v歩v歩v歩v歩|三
| ・ ・ ・ ・ ・ ・ ・ ・ ・|四
| ・ ・ ・ ・ ・ ・ ・ ・ ・|五
| ・ ・ ・ ・ ・ ・ ・ ・ ・|六
| 歩 歩 歩 歩 歩 歩 歩 歩 歩|七
| ・ 角 ・ ・ ・ ・ ・ 飛 ・|八
| 香 桂 銀 金 玉 金 銀 桂 香|九
+---------------------------+
先手の持駒：
"""
KIF = "手合割：平手　　\n先手：A\n手数----指手---------消費時間--\n"
KIF += "   1 ７六歩(77)   ( 0:01/00:00:01)\n*7 comment\n   2 ３四歩（33）\n   3 投了\n"
MOVES = "7g7f 3c3d"
CSA = "+7776FU\nT1\n-3334FU\n%TORYO\n"
BLACK = "99KY89KE79GI69KI59OU49KI39GI29KE19KY88KA28HI97FU87FU77FU67FU57FU47FU37FU27FU17FU"
WHITE = "91KY81KE71GI61KI51OU41KI31GI21KE11KY82HI22KA93FU83FU73FU63FU53FU43FU33FU23FU13FU"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csa", "V2.2\r\nN+A\r\nPI\r\n+\r\n" + CSA.replace("\n", "\r\n")),
        ("a.csa", CSA.replace("\n", "\r")),
        *(
            ("a.csa", f"{start}\n{CSA}")
            for start in ("PI ", "PI\nP+\nP-\n+", f"P+{BLACK}\nP-{WHITE}")
        ),
        ("a.csa", "'*hmm,+2726FU,-8384FU\n+7776FU,T1,'-8384FU,+2726FU\n-3334FU\n"),
        ("a.csa", "$EVENT:a,+2726FU\nN+A,-8384FU\n+7776FU,-3334FU,%TORYO\n/\n'the end, +1\n"),
        ("a.kif", EVEN + KIF),
        ("a.kif", "手合割：その他\n" + EVEN.replace("玉", "王") + KIF.partition("\n")[2]),
        ("a.kif", "1 ７六歩(77)\r2 ３四歩(33)\r"),
        ("a.kif", "# KIF\n1 ▲76歩(77)\n2 △３四歩(33)+\n変化：1手\n   1 ２六歩(27)\n"),
    ],
)
def test_shogi_as_programs_write_it(tmp_path, name, text):
    for encoding in ("utf-8-sig", "cp932", "utf-16"):
        [one] = read_games(written(tmp_path, name, text.encode(encoding)))
        assert (one.error, one.ends_early, " ".join(one.record.moves)) == ("", "", MOVES)


@pytest.mark.parametrize(
    ("name", "text", "moves", "message"),
    [
        ("a.csa", "PI82HI22KA\n+7776FU\n", "", "start of an even game"),
        ("a.csa", f"P+{BLACK}\nP-{WHITE}\nP+00AL\n+7776FU", "", "start of an even game"),
        ("a.csa", "PI\n-\n-3334FU", "", "start of an even game"),
        ("b.csa", "+7776FU\n-7776FU\n", "7g7f", "move 2: '-7776FU' is not legal there; the move"),
        ("b.csa", "+7776FU\n+2726FU\n", "7g7f", "move 2: '+2726FU' is not legal there"),
        ("b.csa", "+7776KI\n", "", "move 1: '+7776KI' is not legal there"),
        ("b.csa", "+8822UM\n", "", "move 1: '+8822UM' is not legal there"),
        ("b.csa", "+0055FU\n", "", "move 1: '+0055FU' is not legal there"),
        ("b.csa", CSA + "+2726FU\n", MOVES, "moves come after %TORYO; the 2 moves before it"),
        ("c.csa", "+77xx\n", "", "'+77xx' is not a move of CSA"),
        ("d.kif", "手合割：香落ち\n", "", "its handicap is 香落ち"),
        ("d.kif", EVEN.replace("v飛", " ・") + KIF, "", "start of an even game"),
        ("d.kif", EVEN + "後手番\n" + KIF, "", "start of an even game"),
        ("e.kif", "   1 ５五歩(77)\n", "", "move 1: '5五歩(77)' is not legal there"),
        ("e.kif", "   1 ７六金(77)\n", "", "move 1: '7六金(77)' is not legal there"),
        ("e.kif", KIF + "   4 ２六歩(27)\n", MOVES, "moves come after 投了"),
        (
            "e.kif",
            "1 ７六歩(77)\n2 パス\n3 ２六歩(27)",
            "7g7f",
            "move 2: 'パス' is not a move of KIF",
        ),
        ("f.kif", "   1 同　歩(77)\n", "", "同 has no move before it"),
    ],
)
def test_shogi_files_with_mistakes_keep_the_moves_before(tmp_path, name, text, moves, message):
    [one] = read_games(written(tmp_path, name, text))
    assert message in one.error + one.ends_early
    assert (one.record is None) == bool(one.error) == (not moves)
    assert not moves or " ".join(one.record.moves) == moves


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.kif", KIF + KIF),
        ("a.kif", KIF + "まで2手で後手の勝ち\n\n変化：2手\n   2 ８四歩(83)\n\n" + KIF),
        ("a.kif", "1 ７六歩(77)\n2 ３四歩(33)\n" * 2),
        ("a.csa", CSA + "/\n" + CSA),
        ("a.csa", f"V2.2\n{CSA}'a comment\nV2.2\nPI\n{CSA}"),
    ],
)
def test_a_file_of_shogi_may_have_several_games(tmp_path, name, text):
    games = list(read_games(written(tmp_path, name, text)))
    assert [" ".join(one.record.moves) for one in games] == [MOVES, MOVES]
    assert [one.where for one in games] == [f"{tmp_path / name}, game {i}" for i in (1, 2)]


SGF = """(;GM[1]SZ[9:9]KM[6.5]PB[Ann]PW[Bob];B[ee];W[ec];B[gc];W[];B[cc]
(;W[dd]C[mine];B[tt])(;W[aa]))"""


def test_sgf_keeps_what_is_there_and_gets_comments_and_variations(tmp_path):
    path = written(tmp_path, "a.sgf", SGF)
    assert game_of_file(path) == "go_9x9"
    [one] = read_games(path, make("go_9x9"))
    assert one.record.game == Go(size=9, komi=6.5)
    assert one.record.moves == ("E5", "E7", "G7", "pass", "C7", "D6", "pass")
    assert one.title == "Ann - Bob"
    new = write_analysis(judged(one.record, {4, 6}), one, tmp_path / "a.analysed", ".sgf")
    assert [file.name for file in new] == ["a.analysed.html", "a.analysed.sgf"]
    game = sgfmill.Sgf_game.from_bytes(new[1].read_bytes())
    nodes = game.get_main_sequence()
    assert [node.get_move() for node in nodes[1:3]] == [("b", (4, 4)), ("w", (6, 4))]
    assert nodes[6].get("C").startswith("mine\n\nsearch:3: white 50% -> 50%")
    assert len(nodes[3]) == 2
    assert len(nodes[5]) == 3
    with pytest.raises(UserError, match="exists already: move it away"):
        write_analysis(judged(one.record, {4}), one, tmp_path / "a.analysed", ".sgf")


@pytest.mark.parametrize(
    ("text", "moves", "message"),
    [
        (
            "(;SZ[9]KM[]AB[cc][gg];W[ee];W[ge];B[zz])",
            "C7 pass G3 E5 pass G5",
            "must be two letters",
        ),
        ("(;SZ[9];AB[ee][dd];W[cc])", "D6 pass E5 C7", ""),
        ("(;SZ[9]AB[ee][ee]AW[cc];B[aa])", "E5 C7 A9", ""),
        ("(;SZ[9]AB[aa:ca]AW[cc];AE[ba]AB[cc];AE[ca];W[ee])", "A9 pass C7 E5", ""),
        ("(;SZ[9];B[aa];AB[aa]AE[bb]AW[cc];B[dd])", "A9 C7 D6", ""),
        (
            "(;SZ[9];B[aa];W[bb]AE[aa];B[cc])",
            "A9",
            "changes the stone on A9 after move 1; the move",
        ),
        ("(;SZ[9];B[aa];W[bb];AB[bb];B[cc])", "A9 B8", "changes the stone on B8 after move 2"),
        (
            "(;SZ[9];B[aa];W[aa];B[bb])",
            "A9",
            "move 2, A9, is not legal there; the move before it is",
        ),
        ("(;SZ[9];B[aa];W[bb];B[b", "A9 B8", "the file ends within the game; the 2 moves before"),
        ("(;SZ[9];B[aa]C[cut off", "A9", "the file ends within the game"),
        ("(;SZ[9]LB B[aa];W[bb]LB)", "A9 B8", ""),
        ("((;SZ[9];B[aa];W[bb]))", "A9 B8", ""),
        ("(SZ[9];B[aa];W[bb])", "A9 B8", ""),
        ("(;SZ[9]PB[x [3d]]PW[y];B[aa];W[bb])", "A9 B8", ""),
        ("(;SZ[9]C[a [1], b [2] (c); d];B[aa];W[bb]C[[\\]]])", "A9 B8", ""),
        ("(;SZ[9];B[aa]\r;W[bb])", "A9 B8", ""),
    ],
)
def test_sgf_as_programs_write_it(tmp_path, text, moves, message):
    for encoding in ("utf-8", "utf-16"):
        [one] = read_games(written(tmp_path, "a.sgf", text.encode(encoding)), make("go_9x9"))
        assert " ".join(one.record.moves) == moves
        assert message in one.ends_early
        assert bool(message) == bool(one.ends_early)
        every = judged(one.record, set(range(1, one.record.num_moves + 1)))
        game = sgfmill.Sgf_game.from_bytes(write_sgf(every, one.source))
        assert [node.get("BM") for node in game.get_main_sequence() if node.has_property("BM")]


@pytest.mark.parametrize(
    ("charset", "text", "name"),
    [
        ("Big5", b"\xa5\x5c", "功"),
        ("Big5", b"\xa5\x5d", "包"),
        ("Big5", b"\xa5\x5d\x5b\x5c\x5d", "包[]"),
        ("GBK", b"\xba\x5d\xba\x5c", "篯篭"),
        ("Shift_JIS", b"\x83\x5d\x83\x5c", "ゾソ"),
        ("gb2312", b"\xfd\xfd", "\ufffd"),
        ("gb2312", b"\xc4\xe3\xba", "你\ufffd"),
        ("Big5", b"\xa4", "\ufffd"),
        ("UTF-8", b"\xe5\xe5", "\ufffd\ufffd"),
        ("UTF-8", b"\xe5\x8f\xa4", "古"),
        ("", b"M\xfcller", "Müller"),
        ("", b"\x83\x5d\x83\x5c", "ƒ]ƒ\\"),
        ("no such", "Müller".encode(), "Müller"),
    ],
)
def test_sgf_in_all_encodings_is_read_and_written_back(tmp_path, charset, text, name):
    """Their characters have bytes of brackets and backslashes; and some files are damaged."""
    declared = f"CA[{charset}]".encode() if charset else b""
    data = b"(;GM[1]SZ[9]%bPB[%b]PW[y]C[%b];B[ee]C[%b];W[cc])\n"
    games = [data % (declared, text, text, text), data % (b"CA[UTF-8]", *["Ö".encode()] * 3)]
    read = list(read_games(written(tmp_path, "a.sgf", b"".join(games)), make("go_9x9")))
    assert [one.title for one in read] == [f"{name} - y", "Ö - y"]
    for number, (one, title) in enumerate(zip(read, (name, "Ö"), strict=True)):
        assert one.record.moves == ("E5", "C7")
        new = write_analysis(judged(one.record, {2}), one, tmp_path / f"{number}", ".sgf")
        game = sgfmill.Sgf_game.from_bytes(new[1].read_bytes())
        assert game.get_player_name("b") == game.get_root().get("C") == title
        assert game.get_root()[0].get("C").startswith(f"{title}\n\nsearch:3: ")
        assert len(game.get_root()[0]) == 2


def test_a_game_that_cannot_be_read_does_not_hide_the_others(tmp_path):
    games = {
        "(;GM[2]SZ[9];B[aa])": "not a game of go",
        "(;SZ[19];B[aa])": "on 19x19, and the player plays go_9x9",
        "(;SZ[9:7];B[aa])": 'must be one number, such as 9 or 9:9, not "9:7"',
        "(;SZ[x];B[aa])": 'must be one number, such as 9 or 9:9, not "x"',
        "(;SZ[9];B[zz])": 'a point must be two letters from a to i on this board, not "zz"',
        "(;SZ[9])": "it has no moves",
        "(;SZ[9];B[aa](;W[bb]": "the file ends within the game",  # and the next one begins
        "(;SZ[9];B[aa])": "",
    }
    path = written(tmp_path, "a.sgf", "\n".join(games))
    read = list(read_games([path], "go_9x9"))
    for one, (text, message) in zip(read, games.items(), strict=True):
        assert message in one.error + one.ends_early, text
        assert bool(message) == bool(one.error + one.ends_early)
    assert (read[-1].number, read[-1].count) == (8, 8)
    assert [one.record and one.record.game.name for one in read_games(path)][-2:] == ["go_9x9"] * 2
    with pytest.raises(UserError, match="is not an SGF file"):
        read_games(written(tmp_path, "a.sgf", "hello"))


@pytest.mark.parametrize(
    ("game", "text", "moves", "message"),
    [
        ("tic_tac_toe", "a1 b2 # two moves\n\n", "a1 b2", ""),
        ("tic_tac_toe", "b1 b1", "b1", "move 2: 'b1' is not legal here"),
        ("tic_tac_toe", "a1b1a2b2a3c3", "a1 b1 a2 b2 a3", "move 6, c3, comes after the end"),
        ("tic_tac_toe", "", "", "it has no moves"),
        ("connect_four", "44444423", "4 4 4 4 4 4 2 3", ""),
        ("connect_four", "44444423 1", "4 4 4 4 4 4 2 3", ""),
        ("connect_four", "444444 -12", "4 4 4 4 4 4", ""),
        ("connect_four", "4444444", "4 4 4 4 4 4", "move 7: '4' is not legal there; the 6 moves"),
        ("othello", "f5d6c3", "f5 d6 c3", ""),
        ("othello", "F5D6 c3", "f5 d6 c3", ""),
        ("othello", "1. f5 d6 2. c3", "f5 d6 c3", ""),
        ("othello", "1.f5, 1...d6, 2.c3", "f5 d6 c3", ""),
        ("othello", "f5 e22", "f5", "move 2: 'e22' is not legal here"),
        ("chess", "position startpos moves e2e4 e7e5 1/2-1/2", "e2e4 e7e5", ""),
        ("chess", "fen 4k3/8/8/8/8/8/4P3/4K3 b - - 3 20 moves e8e7", "e8e7", ""),
        ("chess", "1. e4 e5 2.Nf3 1-0", "e2e4 e7e5 g1f3", ""),
        ("chess", "position sfen 9/9/9 moves e2e4", "", "it must have 4 to 6 fields"),
        ("shogi", "7g7f3c3d8h2b+", "7g7f 3c3d 8h2b+", ""),
    ],
)
def test_lists_of_moves(tmp_path, game, text, moves, message):
    for encoding in ("utf-8-sig", "utf-16"):
        line = (text or "1.").encode(encoding)
        [one] = read_games(written(tmp_path, "a.txt", line), game)
        assert message in one.error + one.ends_early
        assert bool(message) == bool(one.error + one.ends_early)
        assert " ".join(one.record.moves if one.record else ()) == moves


def test_files_that_cannot_be_read(tmp_path):
    for where, message in (
        (tmp_path / "none.txt", "there is no such file"),
        (tmp_path, "there is no such file"),
        (written(tmp_path, "c.pgn", ""), "files .pgn are of chess, not tic_tac_toe"),
    ):
        with pytest.raises(UserError, match=message):
            read_games(where, "tic_tac_toe")
    [one] = read_games(written(tmp_path, "a.txt", "a1"))
    assert 'needs the name of its game, or a line such as "# hex_7x7"' in one.error
    path = written(tmp_path, "b.txt", "# tic_tac_toe\na1\n# hex_5x5\na1\n# chess\n")
    assert [one.record.game.name for one in read_games(path)] == ["tic_tac_toe", "hex_5x5"]
    _, other = read_games(path, "tic_tac_toe")
    assert "it has moves of hex_5x5, and the player plays tic_tac_toe" in other.error


def test_a_games_page_needs_nothing_else(tmp_path):
    player = untrained("tic_tac_toe")
    analysis = analyse(player.game, ["a1", "b2"], player)
    assert replay(player.game, ["a1", "b2"]).moves == analysis.record.moves
    page = analysis._repr_html_()
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize(("megabytes", "read"), [(17, True), (257, False)])
def test_large_files(tmp_path, megabytes, read):
    path = written(tmp_path, "a.pgn", "1. e4 e5 *\n" if read else "")
    with path.open("ab") as file:
        if read:
            file.write(b" " * megabytes * 2**20)
        else:
            file.truncate(megabytes * 2**20)  # takes no place on the disk
    [game] = read_games(path, CHESS, strict=False)
    if read:
        assert game.record.moves == ("e2e4", "e7e5")
    else:
        assert game.error == "it is larger than 256 megabytes; split it into several files"
