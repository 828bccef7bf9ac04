"""Engines with scripted behaviour: the commands that they receive, and the errors of bad ones."""

import gc
import os
import signal
import subprocess
import sys

import chess
import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.errors import UserError
from azjax.evaluation.match import play_match
from azjax.play.game_file import resume_game
from azjax.play.session import start_session
from azjax.players.engines import pool, process
from azjax.players.engines.gtp import GtpPlayer
from azjax.players.load import load_player
from azjax.players.random_player import RandomPlayer
from tests.oracles.players import Lowest
from tests.players.engines.programs import pids, scripted, wait_for_end

HEX = make("hex", size=3)
CHESS = make("chess")
KEY = jax.random.key(0)


def start(game):
    return jax.tree.map(lambda x: np.asarray(x)[None], game.init())


def test_gtp_plays_whole_games_as_they_are_played_inside(tmp_path, monkeypatch):
    """The engine plays the first free cell, as our player of the lowest action does."""
    monkeypatch.setattr(pool, "usable_cores", lambda: 1)
    notes = tmp_path / "notes"
    engine = load_player(scripted("gtp", "well", notes), game=HEX)
    there = play_match(HEX, engine, RandomPlayer(HEX), KEY, num_games=8, opening_plies=3)
    sent = notes.read_text().splitlines()
    engine.close()
    # Each question contains a game from its start, with alternating players.
    games = "\n".join(sent).split("clear_board\n")[2:]
    assert len(games) > 8
    for game in games:
        *plays, last = game.splitlines()[:-1] if game.endswith("quit\n") else game.splitlines()
        colours = [line.split()[1] for line in [*plays, last]]
        assert colours == ["black", "white"] * (len(colours) // 2) + ["black"] * (len(colours) % 2)
        assert last.startswith("genmove")
        assert all(line.startswith("play") for line in plays)
        assert len(plays) >= 3
    assert sent[2] == "boardsize 3"
    here = play_match(HEX, HostLowest(HEX), RandomPlayer(HEX), KEY, num_games=8, opening_plies=3)
    assert (there.as_first, there.as_second) == (here.as_first, here.as_second)
    assert there.mean_length == here.mean_length


def test_gtp_calls_the_swap_of_hex_swap_pieces():
    """HexGui and the engines that it shows use this name."""
    game, asked = make("hex", size=3, swap=True), []

    class Engines:
        def map(self, ask, questions):
            return [ask(self, question) for question in questions]

        def send(self, lines):
            asked.append(lines)
            self.answers = ["= swap-pieces", ""] * len(lines)

        def read(self):
            return self.answers.pop(0)

    engine = GtpPlayer(game, "gtp:x", Engines())
    state = game.step(game.init(), 0)
    one = jax.tree.map(lambda x: np.asarray(x)[None], state)
    assert engine(KEY, one, [[(0, "a1")]]) == [game.string_to_action(state, "swap")]
    engine(KEY, one, [[(0, "a1"), (1, "swap")]])
    assert asked[1] == ["clear_board", "play black a1", "play white swap-pieces", "genmove white"]


class HostLowest(Lowest):
    """A player on the host, as an engine is, so that the random numbers are the same."""

    jittable = False


def test_uci_receives_all_moves_and_python_chess_finds_them_legal(tmp_path):
    notes = tmp_path / "notes"
    engine = load_player(
        scripted("uci", "well", notes, "?nodes=7&skill level=3&uci_elo=1400"), game=CHESS
    )
    result = play_match(CHESS, engine, RandomPlayer(CHESS), KEY, num_games=4, opening_plies=2)
    engine.close()
    assert result.num_games == 4
    sent = notes.read_text().splitlines()
    assert "setoption name Skill Level value 3" in sent
    assert "setoption name UCI_Elo value 1400" in sent
    assert "setoption name UCI_LimitStrength value true" in sent
    assert {line for line in sent if line.startswith("go")} == {"go nodes 7"}
    positions = [line for line in sent if line.startswith("position")]
    assert len(positions) == sent.count("ucinewgame") > 40
    assert all(f"fen {chess.STARTING_FEN} moves " in line for line in positions)
    longest = max(positions, key=len).split(" moves ")[1].split()
    assert len(longest) > 20


def test_uci_is_asked_about_a_position_alone(tmp_path):
    engine = load_player(scripted("uci", "well", tmp_path / "notes"), game=CHESS)
    fens = [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "8/8/8/8/8/k7/7r/K7 b - - 0 1",
    ]
    states = [CHESS.from_fen(fen) for fen in fens]
    states = jax.tree.map(lambda *x: np.stack(x), *states)
    actions = engine(KEY, states)
    engine.close()
    assert actions.dtype == np.int32
    names = [
        CHESS.action_to_string(CHESS.from_fen(f), a) for f, a in zip(fens, actions, strict=True)
    ]
    assert names == ["a2a3", "a3a4"]


def test_gtp_is_not_asked_about_a_position_alone(tmp_path):
    engine = load_player(scripted("gtp", "well", tmp_path / "notes"), game=HEX)
    with pytest.raises(UserError, match="needs the whole game"):
        engine(KEY, start(HEX))


@pytest.mark.parametrize("cores", [1, 3])
def test_engines_side_by_side(tmp_path, monkeypatch, cores):
    """Answers come in the order of the questions for any number of engines."""
    monkeypatch.setattr(pool, "usable_cores", lambda: cores)
    notes = tmp_path / "notes"
    engine = load_player(scripted("gtp", "well", notes), game=HEX)
    states = jax.tree.map(lambda x: np.repeat(x, 5, 0), start(HEX))
    cells = ["a1", "b1", "c1", "a2", "b2"]
    actions = engine(KEY, states, [[(0, cell) for cell in cells[:n]] for n in range(5)])
    assert actions.tolist() == [0, 1, 2, 3, 4]
    assert len(pids(notes)) == cores
    engine.close()
    for pid in pids(notes):
        wait_for_end(pid)


@pytest.mark.parametrize("protocol", ["gtp", "uci"])
@pytest.mark.parametrize(
    ("behaviour", "complaint"),
    [
        ("hang", r"no answer to '(genmove black|go nodes 1000)' within 2 s"),
        ("die", "it ended when it was sent .*; its last lines: out of cheese"),
        ("illegal", "the engine played .*, which is illegal in"),
    ],
)
def test_engines_that_break_down(tmp_path, protocol, behaviour, complaint):
    game = HEX if protocol == "gtp" else CHESS
    notes = tmp_path / "notes"
    player = load_player(scripted(protocol, behaviour, notes, "?timeout=2"), game=game)
    with pytest.raises(UserError, match=complaint) as error:
        player(KEY, start(game), [[]])
    assert "\n" not in str(error.value)
    player.close()
    for pid in pids(notes):
        wait_for_end(pid)
    with pytest.raises(UserError, match="it ended when it was sent"):
        player(KEY, start(game), [[]])


@pytest.mark.parametrize(
    ("protocol", "behaviour", "complaint"),
    [
        ("gtp", "garbage", "it answered 'Good day to you!' to 'name', which is not GTP"),
        ("gtp", "refuse", "it refused 'boardsize 3': unacceptable size"),
        ("uci", "garbage", "no answer to 'uci' within 1 s"),
    ],
)
def test_engines_that_never_come_to_play(tmp_path, protocol, behaviour, complaint):
    notes = tmp_path / "notes"
    game = HEX if protocol == "gtp" else CHESS
    with pytest.raises(UserError, match=complaint) as error:
        load_player(scripted(protocol, behaviour, notes, "?timeout=1"), game=game)
    assert "\n" not in str(error.value)
    for pid in pids(notes):
        wait_for_end(pid)


def test_who_resigns_loses(tmp_path):
    engine = load_player(scripted("gtp", "resign", tmp_path / "notes"), game=HEX)
    result = play_match(HEX, engine, RandomPlayer(HEX), KEY, num_games=4)
    engine.close()
    assert result.losses == 4
    assert result.mean_length == 1.5


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [("dies later", "it ended when it was sent"), ("illegal later", "which is illegal")],
)
def test_a_lost_game_does_not_lose_the_others(tmp_path, behaviour, why, monkeypatch, capsys):
    """The engine fails at its fifth move, loses that game, and is started again."""
    monkeypatch.setattr(pool, "usable_cores", lambda: 1)
    notes = tmp_path / "notes"
    engine = load_player(scripted("gtp", behaviour, notes), game=HEX)
    result = play_match(HEX, engine, HostLowest(HEX), KEY, num_games=6, opening_plies=2)
    engine.close()
    warnings = capsys.readouterr().err.splitlines()
    assert result.num_games == 6
    assert 1 <= len(warnings) <= result.losses
    assert all(why in line and line.endswith("; it loses this game") for line in warnings)
    if behaviour == "dies later":
        assert len(pids(notes)) == 1 + len(warnings)


def test_a_declared_win_of_usi_wins(tmp_path):
    """In shogi, a king that has entered the opponent's camp may claim the game."""
    game = make("shogi")
    engine = load_player(scripted("usi", "win", tmp_path / "notes"), game=game)
    result = play_match(game, engine, RandomPlayer(game), KEY, num_games=2)
    engine.close()
    assert result.wins == 2


@pytest.mark.parametrize("behaviour", ["well", "stay"])
def test_an_engine_ends_with_its_player(tmp_path, behaviour):
    """An engine that ignores the end of its input is killed."""
    notes = tmp_path / "notes"
    player = load_player(scripted("gtp", behaviour, notes), game=HEX)
    (pid,) = pids(notes)
    del player
    gc.collect()
    wait_for_end(pid)


@pytest.mark.parametrize(("behaviour", "end"), [("stay", ""), ("well", "os.kill(os.getpid(), 9)")])
def test_an_engine_ends_with_python(tmp_path, behaviour, end):
    """Any engine ends at exit. If Python itself is killed, an engine ends with its input."""
    notes = tmp_path / "notes"
    command = [sys.executable, *scripted("gtp", behaviour, notes).split()[1:]]
    script = f"""
import os
from azjax.players.engines.process import EngineProcess
engine = EngineProcess({command}, timeout=20)
engine.send(["name"])
engine.read()
{end}
"""
    code = subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode
    assert code == (-signal.SIGKILL if end else 0)
    (pid,) = pids(notes)
    assert pid != os.getpid()
    wait_for_end(pid)


def test_programs_that_are_not_there(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(process, "_GAMES_PATH", "/nowhere")
    with pytest.raises(UserError, match=r"gnugo: not found; Debian: apt install gnugo$"):
        load_player("gtp:gnugo --level 3", game=make("go_5x5"))
    with pytest.raises(UserError, match=r"stockfish: not found; Debian: apt install stockfish$"):
        load_player("uci:stockfish", game=CHESS)
    with pytest.raises(UserError, match=r"engine nosuch: not found$"):
        load_player("uci:nosuch", game=CHESS)


def test_programs_that_are_none(tmp_path):
    file = tmp_path / "engine"
    file.write_text("\0")
    file.chmod(0o755)
    with pytest.raises(UserError, match="cannot be started"):
        load_player(f"uci:{file}", game=CHESS)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("gtp:", "the command is missing"),
        ("uci:?nodes=3", "the command is missing"),
        ("uci:'stockfish", "no closing quotation in the command"),
        ("uci:x?nodes", "'nodes' must be one option NAME=VALUE; options follow the \\?"),
        ("uci:x?nodes=", "must be one option"),
        ("uci:x?depth=3&depth=4", "'depth=4' must be one option"),
        ("uci:x?nodes=many", "nodes needs a whole number above 0"),
        ("uci:x?movetime=0", "movetime needs a whole number above 0"),
        ("uci:x?timeout=-1", "timeout=-1: must be a number of seconds above 0"),
        ("uci:x?timeout=soon", "timeout=soon: must be a number of seconds above 0"),
        ("uci:x?UCI_Variant=atomic", "the game, chess, determines the variant"),
        ("usi:x", "usi engines play shogi, not chess"),
        ("gtp:x", "GTP is for go, hex and othello, not for chess"),
    ],
)
def test_specs_that_are_wrong(spec, complaint):
    with pytest.raises(UserError, match=complaint) as error:
        load_player(spec, game=CHESS)
    assert "\n" not in str(error.value)


def test_gtp_has_one_option_only():
    with pytest.raises(UserError, match="timeout is the only option"):
        load_player("gtp:gnugo?level=3", game=make("go_5x5"))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("Skil=3", r"no option 'Skil'; its options: nodes, movetime, depth, timeout, Skill Level"),
        ("Skill Level=30", "Skill Level must be a whole number from 0 to 20, not 30"),
        ("skill level=low", "Skill Level must be a whole number from 0 to 20, not low"),
        ("UCI_LimitStrength=yes", "UCI_LimitStrength must be true or false, not yes"),
        ("Style=Mad", "Style must be Solid, Quite Risky, not Mad"),
    ],
)
def test_options_that_an_engine_has_not(tmp_path, options, complaint):
    with pytest.raises(UserError, match=complaint):
        load_player(scripted("uci", "well", tmp_path / "notes", f"?{options}"), game=CHESS)


def test_an_engine_that_plays_another_game(tmp_path):
    with pytest.raises(UserError, match="it does not play gardner; Fairy-Stockfish does"):
        load_player(scripted("uci", "well", tmp_path / "notes"), game=make("gardner_chess"))


def test_a_resumed_game_is_sent_from_its_own_start(tmp_path):
    """The engine refuses the move of Black's king from chess's own start."""
    notes, fen = tmp_path / "notes", "4k3/8/8/8/8/8/4P3/4K3 b - - 3 20"
    (tmp_path / "a.pgn").write_text(f'[FEN "{fen}"]\n\n20... Kd7 *\n')
    record = resume_game(tmp_path / "a.pgn", CHESS).record
    engine = load_player(scripted("uci", "well", notes), game=CHESS)
    session = start_session(CHESS, engine, humans=(1,), key=KEY, record=record)
    action, _ = session.choose()
    engine.close()
    assert session.play(action).record.moves == ("e8d7", "e1d1")  # the first one in order
    assert f"position fen {fen} moves e8d7" in notes.read_text().splitlines()
