"""`azjax play --save` and `--resume`; other programs' libraries read the files too."""

import io
import random

import chess.pgn
import chex
import jax
import pytest
from azjax_envs import make
from sgfmill import sgf

from azjax.cli.main import main
from azjax.files.read import game_of_file
from azjax.play.game_file import GameFile, resume_game
from azjax.play.session import start_session
from azjax.players.load import load_player
from tests import absent

SAVED = [("go_5x5", ".sgf"), ("chess", ".pgn"), ("shogi", ".csa"), ("hex_5x5", ".txt")]


def session_of(game):
    player = load_player("random", game=game)
    return start_session(game, player, humans=(0, 1), key=jax.random.key(0))


def play_on(session, file, plies, chance):
    """Plays random moves, saved one by one, with some taken back."""
    for _ in range(plies):
        if session.over:
            break
        session = session.play(chance.choice(list(session.record.legal_moves())))
        file.save(session)
        if chance.random() < 0.1:
            session = session.undo()
            file.save(session)
    return session


@pytest.mark.parametrize(("name", "suffix"), SAVED)
def test_games_come_back(name, suffix, tmp_path):
    game, path, chance = make(name), tmp_path / f"a{suffix}", random.Random(1)
    file = GameFile(path, game)
    file.save(session_of(game))
    assert not path.exists()  # nothing has been played
    first = play_on(session_of(game), file, 8, chance).resign(0)
    file.save(first)
    record = resume_game(path, game).record
    assert record.moves == first.record.moves
    second = play_on(first.new_game(), file, 12, chance)
    record = resume_game(path, game).record
    assert record.moves == second.record.moves
    chex.assert_trees_all_equal(record.current.state, second.current.state)
    assert game_of_file(path) == name
    _read_elsewhere(path, [first.record, second.record])
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def _read_elsewhere(path, records):
    moves = [list(record.moves) for record in records]
    if path.suffix == ".pgn":
        with path.open() as file:
            games = [chess.pgn.read_game(file) for _ in moves]
        assert [[m.uci() for m in game.mainline_moves()] for game in games] == moves
        assert [game.headers["Result"] for game in games] == ["0-1", "*"]
        assert not any(game.errors for game in games)
    elif path.suffix == ".sgf":
        games = path.read_text().splitlines()
        games = [sgf.Sgf_game.from_string(text) for text in games]
        assert games[0].get_winner() == "w"
        for game, record in zip(games, records, strict=True):
            assert game.get_komi() == record.game.komi
            nodes = [node.get_move() for node in game.get_main_sequence()[1:]]
            assert [c for c, _ in nodes] == ["bw"[p.moved_by] for p in record.positions[1:]]
    elif path.suffix == ".csa":
        cshogi = absent.package("cshogi", unreleased=(3, 12), reason="cshogi")
        from cshogi import CSA

        games = CSA.Parser.parse_file(str(path))
        assert [[cshogi.move_to_usi(m) for m in game.moves] for game in games] == moves
        assert [game.endgame for game in games] == ["%TORYO", "%CHUDAN"]


def test_a_game_from_another_position_keeps_it(tmp_path):
    game, fen = make("chess"), "4k3/8/8/8/8/8/4P3/4K3 b - - 3 20"
    (tmp_path / "a.pgn").write_text(f'[FEN "{fen}"]\n\n20... Kd7 *\n')
    record = resume_game(tmp_path / "a.pgn", game).record
    session = start_session(
        game, load_player("random", game=game), humans=(0, 1), key=jax.random.key(0), record=record
    )
    GameFile(tmp_path / "b.pgn", game).save(session)
    with (tmp_path / "b.pgn").open() as file:
        again = chess.pgn.read_game(file)
    assert (again.headers["FEN"], str(again.mainline_moves())) == (fen, "20... Kd7")


PLAY = ["play", "random", "--game", "tic_tac_toe", "--side", "0"]


class Interrupted(io.StringIO):
    """Typed lines, then Ctrl-C."""

    def readline(self, *size):
        line = super().readline(*size)
        if not line:
            raise KeyboardInterrupt
        return line


@pytest.mark.parametrize("end", [io.StringIO, Interrupted])
def test_nothing_is_lost_and_the_game_goes_on(end, tmp_path, capsys, monkeypatch):
    one, two = str(tmp_path / "one.txt"), str(tmp_path / "two.txt")
    monkeypatch.setattr("sys.stdin", end("b2\n"))
    assert main([*PLAY, "--save", one]) == 0
    record = resume_game(tmp_path / "one.txt", make("tic_tac_toe")).record
    assert (record.num_moves, record.moves[0]) == (2, "b2")
    monkeypatch.setattr("sys.stdin", end("resign\n"))
    assert main([*PLAY[:-2], "--resume", one, "--save", two]) == 0
    assert "The game goes on after 2 moves." in capsys.readouterr().out
    assert resume_game(tmp_path / "two.txt", make("tic_tac_toe")).record.moves == record.moves


def test_a_game_goes_on_before_its_illegal_move(tmp_path, capsys, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("a1 b1 b1 a2")
    monkeypatch.setattr("sys.stdin", io.StringIO("resign\n"))
    assert main([*PLAY, "--resume", str(path)]) == 0
    out, err = capsys.readouterr()
    illegal = f"{path}: move 3: 'b1' is not legal here; "
    assert err.startswith(illegal)
    assert err.endswith("; the 2 moves before it are read\n")
    assert "The game goes on after 2 moves." in out


def test_a_full_disk_ends_no_game(tmp_path, capsys, monkeypatch):
    path = tmp_path / "folder" / "a.txt"
    path.parent.mkdir()
    file = GameFile(path, make("tic_tac_toe"))
    path.parent.rmdir()
    monkeypatch.setattr("azjax.play.game_file.GameFile", lambda *_: file)
    monkeypatch.setattr("sys.stdin", io.StringIO("b2\n"))
    assert main([*PLAY, "--save", str(path)]) == 0
    assert "The game is not saved: No such file or directory." in capsys.readouterr().out
