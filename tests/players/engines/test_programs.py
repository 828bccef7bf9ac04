"""Real engines in whole games, checked by independent referees."""

import chess
import jax
import numpy as np
import pyffish
import pytest
from azjax_envs import make

from azjax.errors import UserError
from azjax.evaluation import host_match
from azjax.evaluation.match import play_match
from azjax.players.engines import pool
from azjax.players.load import load_player
from azjax.players.random_player import RandomPlayer
from tests.oracles import gnugo
from tests.players.engines.programs import needs

KEY = jax.random.key(1)


@pytest.fixture
def record(monkeypatch):
    """Records the moves of a match on the host, except the last ones, and its final states."""
    seen = {}
    write_down, returns = host_match._write_down, host_match._returns

    def writing(game, states, actions, moves):
        write_down(game, states, actions, moves)
        if len(moves) == seen["games"]:
            seen["moves"] = moves

    def final(game, states):
        seen["states"], seen["returns"] = jax.device_get((states, returns(game, states)))
        return returns(game, states)

    monkeypatch.setattr(host_match, "_write_down", writing)
    monkeypatch.setattr(host_match, "_returns", final)

    def play(game, player_a, player_b, games, opening_plies=2):
        seen["games"] = games
        seen["result"] = play_match(
            game, player_a, player_b, KEY, num_games=games, opening_plies=opening_plies
        )
        return seen

    return play


@needs("gnugo")
@pytest.mark.parametrize(
    ("size", "level", "games"),
    [(5, 5, 4), (5, 10, 4), pytest.param(9, 1, 6, marks=pytest.mark.slow)],
)
def test_gnu_go_plays_out_what_our_score_counts(record, size, level, games):
    """It never breaks superko, and agrees on the winner of games in which it passed last."""
    game = make("go", size=size)
    engine = load_player(f"gtp:gnugo --level {level} --seed 1", game=game)
    seen = record(game, engine, RandomPlayer(game), games)
    engine.close()
    assert seen["result"].score > 0.8
    scored = 0
    for lane, line in enumerate(seen["moves"]):
        assert not seen["states"].lost[lane]
        if seen["states"].passes[lane] < 2:
            continue
        commands = [f"boardsize {size}", "clear_board", f"komi {game.komi}"]
        commands += [f"play {('black', 'white')[seat]} {text}" for seat, text in line]
        last = ("black", "white")[len(line) % 2]
        answers = gnugo.ask([*commands, f"play {last} pass", "final_score"])
        black, white = game.score(jax.tree.map(lambda x, lane=lane: x[lane], seen["states"]))
        ours = f"B+{black - white:.1f}" if black > white else f"W+{white - black:.1f}"
        scored += answers[-1] == ours
        assert answers[-1][0] == ours[0]
    assert scored > 0


@needs("gtp-rhino", "grhino")
@pytest.mark.parametrize("level", [1, 2])
def test_rhino_plays_othello(record, level):
    """It accepts all moves of whole games but forced passes, which it finds itself."""
    game = make("othello")
    engine = load_player(f"gtp:gtp-rhino --level {level}", game=game)
    seen = record(game, engine, RandomPlayer(game), 8, opening_plies=6)
    engine.close()
    assert seen["result"].score > 0.8
    assert any(text == "pass" for line in seen["moves"] for _, text in line)
    assert not seen["states"].forfeited.any()  # no move was illegal


def test_rhino_plays_othello_and_nothing_else():
    with pytest.raises(UserError, match="gtp-rhino plays othello on 8x8, not othello_6x6"):
        load_player("gtp:gtp-rhino", game=make("othello_6x6"))


def test_gnu_go_plays_go_and_nothing_else():
    with pytest.raises(UserError, match="gnugo plays go, not hex_5x5"):
        load_player("gtp:gnugo", game=make("hex", size=5))


@needs("gnugo")
def test_unknown_arguments_of_gnu_go():
    with pytest.raises(UserError, match=r"engine gnugo: it ended .*; its last lines: .*--levle"):
        load_player("gtp:gnugo --levle 3", game=make("go_5x5"))


@pytest.mark.slow
@needs("stockfish")
def test_stockfish_plays_chess(record):
    game = make("chess")
    engine = load_player("uci:stockfish?nodes=100&Threads=1", game=game)
    seen = record(game, engine, RandomPlayer(game), 4)
    engine.close()
    assert seen["result"].wins == 4
    for lane, line in enumerate(seen["moves"]):
        board = chess.Board()
        for seat, text in line:
            assert seat == (board.turn == chess.BLACK)
            board.push_uci(text)
        # The last move, which mates, is not recorded; python-chess finds it.
        mates = []
        for move in board.legal_moves:
            board.push(move)
            mates.append(board.is_checkmate())
            board.pop()
        assert any(mates)
        assert seen["returns"][lane, int(board.turn == chess.BLACK)] == 1


@needs("stockfish")
def test_stockfish_plays_no_gardner_chess():
    with pytest.raises(UserError, match=r"engine stockfish: it does not play gardner; Fairy-Sto"):
        load_player("uci:stockfish", game=make("gardner_chess"))


@needs("fairy-stockfish")
@pytest.mark.parametrize("limit", ["nodes=60", "depth=2"])
def test_fairy_stockfish_plays_gardner_chess(record, monkeypatch, limit):
    """Games repeat, whatever was searched before and for any number of engines."""
    game = make("gardner_chess")
    lines = []
    for cores, matches in ((1, 2), (3, 1)):
        monkeypatch.setattr(pool, "usable_cores", lambda cores=cores: cores)
        engine = load_player(f"uci:fairy-stockfish?{limit}", game=game)
        for _ in range(matches):
            seen = record(game, engine, RandomPlayer(game), 4)
            assert seen["result"].wins == 4
            lines.append(seen["moves"])
        engine.close()
    assert lines[0] == lines[1] == lines[2]
    start = pyffish.start_fen("gardner")
    for line in lines[0]:
        moves = [text for _, text in line]
        for ply, move in enumerate(moves):
            assert move in pyffish.legal_moves("gardner", start, moves[:ply])


@pytest.mark.slow
@needs("fairy-stockfish")
def test_fairy_stockfish_plays_shogi(record):
    game = make("shogi")
    engine = load_player("usi:fairy-stockfish?nodes=60", game=game)
    seen = record(game, engine, RandomPlayer(game), 2)
    engine.close()
    assert seen["result"].wins == 2
    assert min(len(line) for line in seen["moves"]) > 10


@needs("stockfish")
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("UCI_Elo=100", "UCI_Elo must be a whole number from"),
        ("Skil Level=3", "no option 'Skil Level'; its options: nodes"),
    ],
)
def test_options_that_stockfish_has_not(options, complaint):
    with pytest.raises(UserError, match=complaint):
        load_player(f"uci:stockfish?{options}", game=make("chess"))


@needs("stockfish")
def test_stockfish_sees_a_mate_in_a_position_alone():
    game = make("chess")
    engine = load_player("uci:stockfish?depth=5", game=game)
    state = game.from_fen("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1")
    action = engine(KEY, jax.tree.map(lambda x: np.asarray(x)[None], state))
    engine.close()
    assert game.action_to_string(state, action[0]) == "a1a8"
