"""Games that engines play against themselves, as examples to learn from."""

import random
import shutil
from pathlib import Path

import chess.pgn
import numpy as np
import pytest
from azjax_envs import make

import azjax
from benchmarks import engine_games
from tests.absent import skip_without
from tests.oracles.gnugo import program

PLACES = "/usr/games:/usr/bin:/usr/local/bin"


def games_of(name, path, **options):
    engine_games.main(engine_games.Arguments(name, out=path, **options))
    return list(azjax.read_games(path, make(name)))


@skip_without(shutil.which("stockfish", path=PLACES), "stockfish is not installed")
def test_games_of_chess_have_results_and_no_wrong_moves(tmp_path):
    path = tmp_path / "a.pgn"
    games = games_of("chess", path, games=8, nodes=20)
    assert len(games) == 8
    with path.open() as file:
        for game in games:
            expected = chess.pgn.read_game(file)
            assert not expected.errors
            assert game.record.moves == tuple(x.uci() for x in expected.mainline_moves())
            assert game.result == {"1-0": 1, "0-1": -1}.get(expected.headers["Result"], 0)
            assert not game.ends_early
            assert len(game.values) == game.record.num_moves
            assert not np.isnan(game.values).any()
            if game.result:
                assert game.values[-1] * game.result > 0.5
            if game.record.current.over:
                assert game.record.current.returns[0] == game.result
    assert len({game.source.tags["FEN"] for game in games}) == 8


class FoolsMate(random.Random):
    """Draws 1. f3 e5 2. g4 Qh4, which is mate."""

    def __init__(self):
        self.moves = ["f2f3", "e7e5", "g2g4", "d8h4"]

    def randint(self, a, b):
        return 4

    def choice(self, legal):
        move = chess.Move.from_uci(self.moves.pop(0))
        assert move in legal
        return move


def test_a_game_of_chess_that_random_moves_end_is_left_out():
    options = engine_games.Arguments("chess", games=1, out=Path("unused"))
    assert engine_games.play_chess(None, FoolsMate(), options, set()) is None


@skip_without(shutil.which("stockfish", path=PLACES), "stockfish is not installed")
def test_games_of_chess_that_begin_alike_are_played_once(tmp_path):
    path, options = tmp_path / "a.pgn", {"nodes": 1, "random_moves": 1}
    with pytest.raises(SystemExit, match="all starts were played; give more --random-moves"):
        games_of("chess", path, games=22, **options)
    games = list(azjax.read_games(path, make("chess")))
    assert len(games) == len({game.source.tags["FEN"] for game in games}) == 21


@skip_without(program(), "gnugo is not installed")
def test_games_of_go_are_over_by_their_rules(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_games, "GNU_GO", (*engine_games.GNU_GO, "--level", "1"))
    [game] = games_of("go_9x9", tmp_path / "a.sgf", games=1, random_moves=6)
    assert game.record.current.over
    assert game.record.current.returns[0] == game.result
    assert game.record.game.komi == engine_games.KOMI
