"""One reader of FEN and SFEN for PGN, the page and the engines; Stockfish mends alike."""

import shutil
import subprocess

import pytest
from azjax_envs import make

from azjax.engine.uci.position import read_position as read_command
from azjax.files.game_record import replay, start_game
from azjax.files.notation import next_number, numbered_moves, shown_line, shown_moves
from azjax.files.positions import read_position
from azjax.players.engines.uci_games import DIALECTS
from tests.absent import skip_without

CHESS, SHOGI, HEX = make("chess"), make("shogi"), make("hex_4x4")
ROOKS = "r3k2r/8/8/8/8/8/8/R3K2R"
PAWNS = "4k3/8/8/3pP3/8/8/8/4K3"
KINGS = "k8/9/9/9/9/9/9/9/K8"

MENDED = [
    (ROOKS, f"{ROOKS} w - - 0 1"),
    (f"{ROOKS} B", f"{ROOKS} b - - 0 1"),
    (f"{ROOKS} w HAha - 0 1", f"{ROOKS} w KQkq - 0 1"),
    (f"{ROOKS} b qkQK - 3 9", f"{ROOKS} b KQkq - 3 9"),
    (f"{PAWNS} w KQkq - 0 1", f"{PAWNS} w - - 0 1"),
    (f"{PAWNS} b - d6 0 1", f"{PAWNS} b - - 0 1"),
    (f"{PAWNS} w - d3 150 0", f"{PAWNS} w - - 0 1"),
    (f'{ROOKS} w KQkq - bm O-O; id "a";', f"{ROOKS} w KQkq - 0 1"),
]


@pytest.mark.parametrize(("text", "read"), MENDED)
@pytest.mark.parametrize("before", ["", "fen ", "position fen ", "position fen position fen "])
def test_a_fen_is_mended(text, read, before):
    state, remark = read_position(CHESS, before + text)
    assert CHESS.to_fen(state) == read
    assert remark.endswith(f"it is read as {read}")
    if not text.endswith(";"):
        words = f"fen {text} moves".split()
        assert (
            CHESS.to_fen(read_command(CHESS, DIALECTS["uci"], words, None).record.current.state)
            == read
        )


@skip_without(shutil.which("stockfish", path="/usr/games:/usr/bin"), "stockfish is not installed")
def test_stockfish_has_the_same_rights():
    given = [(text, read) for text, read in MENDED if text.startswith(f"{ROOKS} w")]
    done = subprocess.run(
        [shutil.which("stockfish", path="/usr/games:/usr/bin")],
        input="".join(f"position fen {text}\nd\n" for text, _ in given) + "quit\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    found = [line[5:] for line in done.stdout.splitlines() if line.startswith("Fen:")]
    assert found == [read for _, read in given]


@pytest.mark.parametrize(
    ("game", "text", "read"),
    [
        (CHESS, "", None),
        (CHESS, " startpos ", None),
        (CHESS, "position startpos", None),
        (SHOGI, "sfen", None),
        (SHOGI, f"sfen {KINGS}", f"{KINGS} b - 1"),
        (SHOGI, f"position sfen {KINGS} w - 9999", f"{KINGS} w - 1"),
        (SHOGI, f"{KINGS} w 2P 3", f"{KINGS} w 2P 3"),
    ],
)
def test_prefixes_and_missing_fields(game, text, read):
    state, remark = read_position(game, text)
    write = game.to_sfen if game is SHOGI else game.to_fen
    assert write(state) == (read or write(game.init()))
    assert bool(remark) == (read is not None and read not in text)


@pytest.mark.parametrize(
    ("game", "text", "says"),
    [
        (CHESS, "8/8/8", "it must have 4 to 6 fields"),
        (CHESS, "8/8/8 w - - 0 1", "8 ranks, not 3"),
        (CHESS, f"{ROOKS} x - - 0 1", "must be w or b"),
        (CHESS, f"{ROOKS} w - - 0 1 e2e4", "4 to 6 fields"),
        (SHOGI, "9/9 b - 1", "9 ranks, not 2"),
        (HEX, "7/7", "positions of hex_4x4 have no text"),
    ],
)
def test_what_cannot_be_mended_is_refused(game, text, says):
    with pytest.raises(ValueError, match=says):
        read_position(game, text)


def test_moves_are_shown_as_people_write_them():
    record = replay(CHESS, ["e4", "e5", "Nf3", "Nc6", "Bc4", "g8f6", "0-0"])
    assert record.moves[-1] == "e1g1"
    assert numbered_moves(record) == ["1. e4", "e5", "2. Nf3", "Nc6", "3. Bc4", "Nf6", "4. O-O"]
    assert next_number(record) == 4
    line = [CHESS.string_to_action(record.current.state, "Nxe4")]
    assert shown_line(record, line) == ["Nxe4"]
    hexes = replay(HEX, ["a1", "b2"])
    assert numbered_moves(hexes) == ["1. a1", "2. b2"]
    assert next_number(hexes) == 3
    assert shown_moves(HEX, hexes.current.state) == hexes.legal_moves()
    assert next_number(start_game(HEX)) == 1
