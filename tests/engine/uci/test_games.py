"""`azjax uci` and `azjax usi` in whole games, with other clients and under their rules."""

import time

import chess
import chess.engine
import jax
import pyffish
import pytest
from azjax_envs import make

from azjax.evaluation import host_match
from azjax.evaluation.match import play_match
from azjax.players.engines.process import find_program
from azjax.players.load import load_player
from tests.oracles.clients import engine_command, untrained
from tests.players.engines.programs import needs

GARDNER = make("gardner_chess")
START = pyffish.start_fen("gardner")
KEY = jax.random.key(0)


@needs("fairy-stockfish")
def test_whole_games_of_gardner_chess_against_fairy_stockfish(tmp_path, record_moves):
    """Our client sets UCI_Variant; pyffish finds every move legal."""
    file = untrained(tmp_path / "gardner.safetensors", "gardner_chess")
    program = " ".join(engine_command("uci", file))
    player = load_player(f"uci:{program}?nodes=8&timeout=300", game=GARDNER)
    opponent = load_player("uci:fairy-stockfish?nodes=30", game=GARDNER)
    result = play_match(GARDNER, player, opponent, KEY, num_games=2, opening_plies=2)
    player.close()
    opponent.close()
    assert result.num_games == 2
    for line in record_moves:
        moves = [text for _, text in line]
        assert len(moves) > 6
        for ply, move in enumerate(moves):
            assert move in pyffish.legal_moves("gardner", START, moves[:ply])


@pytest.fixture
def record_moves(monkeypatch):
    """Records the moves of a match's games, except the last ones."""
    recorded = []
    write_down = host_match._write_down

    def writing(game, states, actions, moves):
        write_down(game, states, actions, moves)
        recorded[:] = moves

    monkeypatch.setattr(host_match, "_write_down", writing)
    return recorded


def test_a_player_without_a_network_by_python_chess():
    command = [*engine_command("uci", "random"), "--game", "chess"]
    with chess.engine.SimpleEngine.popen_uci(command, timeout=300) as engine:
        board = chess.Board()
        for _ in range(4):
            board.push(engine.play(board, chess.engine.Limit(time=0.1)).move)
        assert board.ply() == 4
        # Nobody has claimed a draw yet, and the client has counted on.
        for fen in ("8/8/4k3/8/8/2B1K3/8/b7 w - - 0 1", "r3k2r/8/8/8/8/8/8/R3K2R b - - 150 0"):
            board = chess.Board(fen)
            assert engine.play(board, chess.engine.Limit(time=0.1)).move in board.legal_moves
        mated = chess.Board("8/8/8/8/8/5k2/6q1/7K w - - 2 2")
        with engine.analysis(mated) as analysis:  # infinite, until it is stopped
            assert analysis.get()["score"].relative == chess.engine.Mate(0)
            time.sleep(1.0)
            assert analysis.would_block()  # there is no best move yet
            analysis.stop()
            assert analysis.wait().move is None


def test_several_lines_by_python_chess(tmp_path):
    """Each line begins with another move, and the best one comes first."""
    file = untrained(tmp_path / "chess.safetensors", "chess")
    command = engine_command("uci", file)
    with chess.engine.SimpleEngine.popen_uci(command, timeout=300) as engine:
        engine.configure({"UCI_ShowWDL": True, "Threads": 2})
        board = chess.Board()
        lines = engine.analyse(board, chess.engine.Limit(nodes=60), multipv=3)
        assert [line["multipv"] for line in lines] == [1, 2, 3]
        moves = [line["pv"][0] for line in lines]
        assert len(set(moves)) == 3
        assert set(moves) <= set(board.legal_moves)
        for line in lines:
            assert line["score"].relative.score() is not None
            assert sum(line["wdl"].relative) == 1000
            assert (line["nodes"], line["nps"] > 0) == (60, True)
        assert engine.play(board, chess.engine.Limit(nodes=60)).move == moves[0]


@needs("stockfish")
def test_whole_games_of_chess_against_stockfish_by_python_chess(tmp_path):
    """python-chess uses clocks, pondering and analysis."""
    file = untrained(tmp_path / "chess.safetensors", "chess")
    command = engine_command("uci", file)
    with (
        chess.engine.SimpleEngine.popen_uci(command, timeout=300) as ours,
        chess.engine.SimpleEngine.popen_uci(find_program("stockfish")) as theirs,
    ):
        ours.configure({"Hash": 64, "UCI_ShowWDL": True})
        ours.ping()
        for seat in (chess.WHITE, chess.BLACK):
            board, limits = chess.Board(), [chess.engine.Limit(nodes=8)]
            limits.append(chess.engine.Limit(white_clock=2, black_clock=2, white_inc=0.1))
            while not board.is_game_over() and board.ply() < 120:
                if board.turn == seat:
                    limit = limits[board.ply() // 2 % 2]
                    played = ours.play(board, limit, ponder=board.ply() < 8, game=seat)
                else:
                    # With 50 nodes it has given stalemate.
                    limit = chess.engine.Limit(nodes=1000)
                    played = theirs.play(board, limit, game=seat)
                assert played.move in board.legal_moves
                board.push(played.move)
            # Even with few nodes it mates an untrained network.
            assert board.is_checkmate()
            assert board.turn == seat
        with ours.analysis(chess.Board()) as analysis:
            for info in analysis:
                if info.get("nodes", 0) > 30:
                    break
        assert info["pv"][0] in chess.Board().legal_moves
        assert info["score"].relative.score() is not None
        assert sum(info["wdl"].relative) == 1000
        assert ours.play(chess.Board(), chess.engine.Limit(time=0.5)).move is not None
