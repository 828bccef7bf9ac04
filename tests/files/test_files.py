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
from azjax.analysis.annotated_files import write_analysis, write_pgn
from azjax.analysis.game_analysis import AnalysedMove, GameAnalysis
from azjax.errors import UserError
from azjax.files.game_record import replay
from azjax.files.notation import shown_move, shown_moves
from azjax.files.pgn import read_game, split_games
from azjax.files.read import game_of_file, read_games
from tests.web.sites import untrained

CHESS = make("chess")


def games_of(path, game):
    return [read() for read in read_games(path, game)]


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
    played = [read_game(pgn) for pgn in split_games(text)]
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
    assert read_game(pgn).record.moves == ("e1c1", "e8g8", "b7a8q", "f8a8", "h1f1", "g8g7", "f1e1")


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
        read_game(pgn)


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
        [one] = games_of(written(tmp_path, name, data), make("shogi"))
        assert list(one.record.moves) == usi
        assert one.title == "A - B"
    [one] = games_of(tmp_path / "a.csa", make("shogi"))
    assert list(one.record.moves) == usi
    assert game_of_file(tmp_path / "a.csa") == game_of_file(tmp_path / "a.kif") == "shogi"


def test_shogi_files_that_are_refused(tmp_path):
    shogi = make("shogi")
    for name, text, message in (
        ("a.csa", "PI82HI22KA\n+7776FU\n", "start of an even game"),
        ("b.csa", "+7776FU\n-7776FU\n", "move 2: '-7776FU' is not legal there"),
        ("c.csa", "+77xx\n", "'\\+77xx' is not a move of CSA"),
        ("d.kif", "手合割：香落ち\n", "its handicap is 香落ち"),
        ("e.kif", "   1 ５五歩(77)\n", "move 1: '５五歩\\(77\\)' is not legal there"),
        ("f.kif", "   1 同　歩(77)\n", "同 has no move before it"),
    ):
        [read] = read_games(written(tmp_path, name, text), shogi)
        with pytest.raises(UserError, match=message):
            read()


SGF = """(;GM[1]SZ[9:9]KM[6.5]PB[Ann]PW[Bob];B[ee];W[ec];B[gc];W[];B[cc]
(;W[dd]C[mine];B[tt])(;W[aa]))"""


def test_sgf_keeps_what_is_there_and_gets_comments_and_variations(tmp_path):
    path = written(tmp_path, "a.sgf", SGF)
    assert game_of_file(path) == "go_9x9"
    [one] = games_of(path, make("go_9x9"))
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


def test_stones_that_are_set_up_are_played(tmp_path):
    text = "(;SZ[9]KM[]AB[cc][gg];W[ee];W[ge];B[zz])(;SZ[9];AB[ee][dd];W[cc])"
    broken, fine = read_games(written(tmp_path, "a.sgf", text), make("go_9x9"))
    with pytest.raises(UserError, match="a point must be two letters from a to i"):
        broken()
    assert fine().record.moves == ("D6", "pass", "E5", "C7")


def test_sgf_that_is_refused(tmp_path):
    go = make("go_9x9")
    for number, (text, message) in enumerate(
        (
            ("(;GM[2]SZ[9];B[aa])", "not a game of go"),
            ("(;SZ[19];B[aa])", "on 19x19, and the player plays go_9x9"),
            ("(;SZ[9:7];B[aa])", 'must be one number, such as 9 or 9:9, not "9:7"'),
            ("(;SZ[x];B[aa])", 'must be one number, such as 9 or 9:9, not "x"'),
            ("(;SZ[9];B[aa];W[aa])", "move 2, A9, is not legal there"),
            ("(;SZ[9])", "it has no moves"),
        )
    ):
        [read] = read_games(written(tmp_path, f"{number}.sgf", text), go)
        with pytest.raises(UserError, match=message):
            read()
    with pytest.raises(UserError, match="is not an SGF file"):
        list(read_games(written(tmp_path, "a.sgf", "hello"), go))


def test_lists_of_moves_and_files_that_cannot_be_read(tmp_path):
    game = make("tic_tac_toe")
    path = written(tmp_path, "a.txt", "\ufeffa1 b2 # two moves\n\nb1 b1\n")
    good, bad = read_games(path, game)
    assert good().record.moves == ("a1", "b2")
    with pytest.raises(UserError, match="move 2: 'b1' is not legal here"):
        bad()
    for where, message in (
        (tmp_path / "none.txt", "there is no such file"),
        (tmp_path, "there is no such file"),
        (written(tmp_path, "c.pgn", ""), "files .pgn are of chess, not tic_tac_toe"),
    ):
        with pytest.raises(UserError, match=message):
            list(read_games(where, game))


def test_a_games_page_needs_nothing_else(tmp_path):
    player = untrained("tic_tac_toe")
    analysis = analyse(player.game, ["a1", "b2"], player)
    assert replay(player.game, ["a1", "b2"]).moves == analysis.record.moves
    page = analysis._repr_html_()
    assert "http://" not in page.replace("http://www.w3.org", "")
