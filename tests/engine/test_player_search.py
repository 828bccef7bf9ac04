"""Players without a network as engines."""

import itertools
import time
import types

import numpy as np
import pyffish
import pytest
from azjax_envs import make

from azjax.engine.gtp.server import serve_gtp
from azjax.engine.player_search import make_engine_search
from azjax.engine.uci.server import serve_uci
from azjax.errors import UserError
from azjax.players.engines.uci_games import DIALECTS
from azjax.players.load import best_player, load_player
from tests.oracles.clients import Script, best_moves

GARDNER = make("gardner_chess")
MATE = "k4/5/1K3/5/4R w - - 0 1"  # e1e5 mates


def uci(spec, *lines):
    search, written = make_engine_search(load_player(spec, game=GARDNER)), []
    serve_uci(DIALECTS["uci"], GARDNER, lambda mb: search, Script(lines), written.append)
    return "".join(written).splitlines()


@pytest.mark.parametrize("spec", ["uct:200", "minimax:2", "mc:20"])
def test_a_mate_is_found_and_worth_a_won_game(spec, capsys):
    lines = uci(spec, "isready", f"position fen {MATE}", "go nodes 200")
    assert capsys.readouterr().err == "azjax: preparing gardner_chess; the next start is faster\n"
    assert best_moves(lines) == ["e1e5"]
    info = [line for line in lines if line.startswith("info depth")][-1].split()
    assert info[-1] == "e1e5"
    searches = spec == "uct:200"
    assert info[info.index("nodes") + 1] == ("200" if searches else "1")
    assert (int(info[info.index("cp") + 1]) > 500) == searches


def test_a_clock_is_kept():
    lines, written = ["isready", "go movetime 1000", "go movetime 20"], []
    search = make_engine_search(load_player("uct:1000000", game=GARDNER))

    def write(text):
        written.append((time.monotonic(), text))

    serve_uci(DIALECTS["uci"], GARDNER, lambda mb: search, Script(lines), write)
    times = [at for at, text in written if text.startswith(("readyok", "bestmove"))]
    first, second = (b - a for a, b in itertools.pairwise(times))
    # All of the time is used. A busy machine may be late; without a clock these take minutes.
    assert 0.5 < first < 10
    assert second < 10


@pytest.mark.parametrize("spec", ["random", "mc:2", "uct:9", "minimax:1"])
def test_any_player_answers_whatever_the_limit(spec):
    lines = ["go infinite", "stop", "go movetime 0", "go nodes 1 searchmoves b2b3 c2c3"]
    lines += ["position startpos moves b2b3", "go wtime 1000 btime 1000"]
    moves = best_moves(uci(spec, *lines))
    legal = pyffish.legal_moves("gardner", pyffish.start_fen("gardner"), [])
    assert set(moves[:2]) <= set(legal)
    assert moves[2] in ("b2b3", "c2c3")
    assert moves[3] in pyffish.legal_moves("gardner", pyffish.start_fen("gardner"), ["b2b3"])


def test_gtp_with_another_komi():
    game, written = make("go_5x5"), []
    search = make_engine_search(load_player("uct:8", game=game))
    lines = ["komi 5.5", "genmove b", "lz-analyze 1", "reg_genmove w", "final_score"]
    serve_gtp(search, Script(lines), written.append)
    answers = "".join(written).split("\n\n")
    assert [answer[0] for answer in answers[:5]] == ["="] * 5
    assert "visits" in answers[2]
    assert answers[4] == "= B+19.5"


def test_moves_of_a_random_player_vary():
    search = make_engine_search(load_player("random", game=GARDNER))
    state, decision, moves = GARDNER.init(), None, set()
    for _ in range(20):
        decision = search.start(state, after=decision)
        moves.add(decision.analysis().action)
    assert len(moves) > 3
    assert np.asarray(GARDNER.legal_action_mask(state))[list(moves)].all()


def test_an_engine_is_not_wrapped():
    engine = types.SimpleNamespace(name="gtp:gnugo", game=GARDNER, follows_history=True)
    with pytest.raises(UserError, match="gtp:gnugo is an engine itself"):
        make_engine_search(engine)


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("go", "uct:100"),
        ("connect_four_4x4", "uct:1000"),
        ("dots_and_boxes_2x2", "exact"),
        ("tic_tac_toe", None),
        ("hex_9x9", "uct:1000"),
        ("connect_four", None),  # a trained one comes with azjax
        ("chess", None),
        ("uct:3", None),
        ("nothing", None),
    ],
)
def test_the_best_player_of_a_game(name, spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = best_player(name)
    assert (found and found[0]) == spec
    if found is not None:
        assert f"No trained player of {name} comes with azjax" in found[1]
        assert spec in found[1]
        (tmp_path / name).mkdir()  # the user's run
        assert best_player(name) is None
