"""`azjax gtp` in whole games: against GNU Go under a referee, and in our own matches."""

import re
import time

import jax
import pytest
from azjax_envs import make

from azjax.engine.stdin import MAX_BYTES
from azjax.evaluation.match import play_match
from azjax.players.engines.process import EngineProcess
from azjax.players.load import load_player
from azjax.players.random_player import RandomPlayer
from tests.oracles import gnugo
from tests.oracles.clients import engine_command, untrained
from tests.players.engines.programs import needs

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    file = untrained(tmp_path_factory.mktemp("gtp") / "go.safetensors", "go_5x5")
    process = EngineProcess(engine_command("gtp", file), timeout=200)
    yield process
    process.close()


def command(process, line):
    """Returns the answer to one line; None after an error."""
    process.send([line])
    lines = [process.read()]
    while lines[-1]:
        lines.append(process.read())
    text = "\n".join(lines).strip()
    return text[1:].strip() if text[0] == "=" else None


def stones(board):
    return [line.split()[1:6] for line in board.split("\n") if re.match(r" *[1-5] ", line)]


@needs("gnugo")
@pytest.mark.parametrize("seat", [0, 1])
def test_whole_games_against_gnu_go_under_a_referee(engine, seat):
    """A referee checks that every move is legal and that the boards stay equal."""
    rules = [gnugo.program(), "--mode", "gtp", "--chinese-rules", "--positional-superko"]
    rules += ["--forbid-suicide"]
    other = EngineProcess([*rules, "--level", "1", "--never-resign"], timeout=60)
    referee = EngineProcess(rules, timeout=60)
    players = [other, other]
    players[seat] = engine
    for process in (*players, referee):
        for line in ("boardsize 5", "clear_board", "komi 7.5"):
            assert command(process, line) is not None
    passes, moves = 0, 0
    while passes < 2 and moves < 50:
        colour = ("black", "white")[moves % 2]
        move = command(players[moves % 2], f"genmove {colour}")
        assert move is not None
        assert command(referee, f"is_legal {colour} {move}") == "1"
        for process in (players[1 - moves % 2], referee):
            assert command(process, f"play {colour} {move}") is not None
        moves, passes = moves + 1, passes + 1 if move.lower() == "pass" else 0
        expected = stones(command(referee, "showboard").replace("+", "."))
        assert stones(command(engine, "showboard")) == expected
    assert passes == 2 or moves == 50
    assert "the game is over" in command(engine, "showboard")
    assert command(engine, f"genmove {('black', 'white')[moves % 2]}") == "pass"
    assert re.match(r"[BW]\+", command(engine, "final_score"))
    other.close()
    referee.close()


@needs("gnugo")
def test_gnu_go_understands_our_handicaps_and_files_and_we_its(engine, tmp_path):
    # Black is ahead by its handicap; were GNU Go to resign, the game would be over.
    other = EngineProcess([gnugo.program(), "--mode", "gtp", "--never-resign"], timeout=60)
    for process in (engine, other):
        for line in ("boardsize 5", "clear_board", "komi 0.5"):
            assert command(process, line) is not None
    stones_placed = command(engine, "place_free_handicap 2")
    assert command(other, f"set_free_handicap {stones_placed}") == ""
    # A second for each move, and none of main time.
    assert command(engine, "time_settings 0 1 1") == ""
    for colour, mover, watcher in (("white", other, engine), ("black", engine, other)) * 2:
        started = time.monotonic()
        move = command(mover, f"genmove {colour}")
        took = time.monotonic() - started
        assert command(watcher, f"play {colour} {move}") == ""
        assert mover is other or 0.5 < took < 1.0
    board = stones(command(engine, "showboard"))
    path = tmp_path / "game.sgf"
    for writer, reader in ((engine, other), (other, engine)):
        path.write_text(command(writer, "printsgf"))
        assert command(reader, f"loadsgf {path}") is not None
        assert stones(command(reader, "showboard").replace("+", ".")) == board
    alive = command(engine, "final_status_list alive").split()
    assert len(alive) == sum(row.count("X") + row.count("O") for row in board)
    other.close()


def test_a_player_without_a_network():
    process = EngineProcess([*engine_command("gtp", "uct:4"), "--game", "go_5x5"], timeout=200)
    assert re.fullmatch("[A-E][1-5]|PASS", command(process, "genmove b").upper())
    process.close()


def test_an_engine_in_our_own_match(tmp_path):
    """Our client rejects illegal moves; here it plays a whole match."""
    file = untrained(tmp_path / "hex.safetensors", "hex_3x3")
    program = " ".join(map(str, engine_command("gtp", file)))
    game = make("hex", size=3)
    player = load_player(f"gtp:{program}?timeout=200", game=game)
    result = play_match(game, player, RandomPlayer(game), KEY, num_games=4, opening_plies=1)
    player.close()
    assert result.wins + result.losses == 4


def test_the_program_survives_bytes_of_any_kind(engine):
    assert command(engine, "clear_board") == ""
    engine.send(["name", "\x00\x7f", "play b \N{BULLET}", "x" * (2 * MAX_BYTES), "99 name"])
    answers = [line for line in (engine.read() for _ in range(8)) if line]
    wrong = ["? invalid color or coordinate", "? the line is too long"]
    assert answers == ["= azjax", *wrong, "=99 azjax"]
