"""Positions in text on pages without a server: their reader, and the exported `set_up`."""

import functools
import json
import random
import shutil
import subprocess

import jax
import numpy as np
import pyffish
import pytest
from azjax_envs import available_games, make
from azjax_envs.chess.notation import parse_fen, to_board
from azjax_envs.chess.san import read_san
from azjax_envs.shogi.notation import parse_sfen

from azjax.files.positions import notation_of
from azjax.web.onnx_model import export_set_up
from azjax.web.page import join_scripts
from azjax.web.verify import open_session
from tests.absent import skip_without
from tests.oracles.chess_positions import positions

VARIANTS = {"chess": "chess", "gardner_chess": "gardner", "shogi": "shogi"}  # Fairy-Stockfish's
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
OTHERS = {
    # Positions of perft; pawns that a capture en passant may and may not take; the last moves.
    "chess": [
        KIWIPETE,
        KIWIPETE.replace(" w ", " b "),
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 9",
        "4k3/8/8/8/3pP3/8/8/4K3 b - e3",
        "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3",
        "7k/8/8/8/8/8/8/K6R b - - 100 9999",
        *positions(60, 7),
    ],
    "gardner_chess": ["4k/5/5/P4/4K w - - 100 1", "k4/1Q3/5/5/4K b - -", "4k/5/5/5/4K b - - 3 128"],
    "shogi": [
        "k8/9/9/9/9/9/9/9/K8 w 2Pbp 3",
        "8k/9/8P/9/9/9/9/9/K8 b G 512",
        "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w GR5pnsg 1",
        "+p+l+n+s1gk2/9/9/9/4+B+R3/9/9/9/2K4+P+L b 16Prbgs 513",
    ],
}


@functools.cache
def texts(name, games=3, seed=0):
    """Returns positions of random games by Fairy-Stockfish, and those of OTHERS."""
    chance, variant, found = random.Random(seed), VARIANTS[name], list(OTHERS[name])
    start = pyffish.start_fen(variant)
    for _ in range(games):
        moves = []
        while len(moves) < 120:
            legal = pyffish.legal_moves(variant, start, moves)
            if not legal:
                break
            moves.append(chance.choice(legal))
            if len(moves) % 8 < 2:
                found.append(pyffish.get_fen(variant, start, moves, False, name == "shogi"))
    return found


def reader(game):
    """Returns Python's lenient reader, text -> the arguments of `set_up` as arrays."""
    parse, number = (parse_sfen, 512) if game.name == "shogi" else (parse_fen, game._size)

    def read(text):
        try:
            fields = parse(text, number)
        except ValueError as error:
            try:
                fields = parse(text, number, strict=False)
            except ValueError:
                raise error from None
        return {key: np.asarray(x) for key, x in fields.items()}

    return read


@pytest.mark.parametrize("name", VARIANTS)
def test_exported_positions_equal_those_of_python(name):
    pytest.importorskip("onnxruntime")
    game, model = make(name), export_set_up(make(name))
    session, read = open_session(model), reader(game)
    from_text = getattr(game, f"from_{notation_of(game).lower()}")
    ends = 0
    for text in texts(name):
        *leaves, possible = session.run(list(model.outputs), read(text))
        assert possible
        state = jax.device_get(from_text(text))
        for found, expected in zip(leaves, jax.tree.leaves(state), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected, err_msg=text)
        ends += bool(state.over)
    assert 1 <= ends < len(texts(name)) / 2
    for text in IMPOSSIBLE[name]:
        assert not session.run(["possible"], read(text))[0]
        with pytest.raises(ValueError, match="is in check"):
            from_text(text)


IMPOSSIBLE = {
    "chess": ["4k3/8/8/8/8/8/8/4RK2 w - - 0 1", "8/8/8/3kK3/8/8/8/8 b - - 0 1"],
    "gardner_chess": ["4k/3P1/5/5/4K w - - 0 1", "4k/5/5/1p3/K4 b - - 0 1"],
    "shogi": ["k8/9/9/9/9/9/9/9/R3K4 b - 1", "k8/9/9/9/9/9/9/9/K+p7 w - 1"],
}


def test_no_game_with_a_text_is_missing():
    games = [make(name) for name in available_games() if name != "mnk"]
    assert {game.name for game in games if notation_of(game)} == VARIANTS.keys()


MENDED = {  # rights, squares and numbers that cannot be, and fields that are missing
    "chess": [
        "r3k2r/8/8/8/8/8/8/R3K2R w HAha - 0 1",
        "r3k2r/8/8/8/8/8/8/R3K1R1 b qkQK e3 3 9",
        "r3k2r/8/8/8/8/8/8/R3K2R W  - 150 0",
        "r3k2r/8/8/8/8/8/8/R3K2R",
        "4k3/8/8/3pP3/8/8/8/4K3 w KQ d3 0 99999",
        "4k3/8/8/3pP3/8/8/8/4K3 b d6 100 x",
        'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - bm O-O; id "a b";',
    ],
    "gardner_chess": ["4k/5/5/P4/4K", "4k/5/5/P4/4K w KQ a3 7"],
    "shogi": ["k8/9/9/9/9/9/9/9/K8", "k8/9/9/9/9/9/9/9/K8 w", "k8/9/9/9/9/9/9/9/K8 w - 600"],
}


def damaged(name, seed=1):
    """Returns texts with small mistakes, and some that are right again."""
    chance, letters = random.Random(seed), "/12345678pnbrqkPNBRQKlsgLSG+wb -abefh36"
    found = []
    for text in [*texts(name), *MENDED[name]]:
        for _ in range(4):
            at = chance.randrange(len(text))
            keep = chance.choice((at, at, at + 1))
            found.append(text[:at] + chance.choice(letters) + text[keep:])
        fields = text.split()
        at = chance.randrange(len(fields))
        found.append(" ".join([*fields[:at], chance.choice(letters), *fields[at + 1 :]]))
    return [text for text in found if text.strip()]


def run_script(file, script):
    """Returns what a script prints as JSON, which uses a file of the page."""
    done = subprocess.run(
        ["node", "--input-type=module", "-"],
        input=join_scripts((file,)) + script,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@skip_without(shutil.which("node"), "node is not installed (Debian: apt-get install nodejs)")
@pytest.mark.parametrize("name", VARIANTS)
def test_the_page_reads_what_python_reads(name):
    """The page reads and mends the same numbers, and refuses the same texts with the same words."""
    game = make(name)
    given = [*texts(name), *MENDED[name], *damaged(name)]
    given = [text for text in given if len(text) <= 100]
    cells = jax.eval_shape(lambda: game.view(game.init())).size
    script = f"""const read = (text) => {{
      try {{ return readPosition(text, {json.dumps(notation_of(game))}, {cells}); }}
      catch (error) {{ return error.message; }}
    }};
    console.log(JSON.stringify({json.dumps(given)}.map(read)));"""
    answers = run_script("notation.js", script)
    refused = set()
    for text, found in zip(given, answers, strict=True):
        try:
            expected = {key: x.tolist() for key, x in reader(game)(text).items()}
        except ValueError as error:
            reason = str(error).partition(f"{text!r}: ")[2]
            refused.add(reason[:20])
            expected = f"{notation_of(game)}: {reason}"
        assert found == expected, text
    assert len(refused) >= 5
    assert all(isinstance(answers[given.index(text)], dict) for text in MENDED[name])


SPELLINGS = "{} {}! {}?! {}+ x{} 0-0 o-o-o O-O e1h1 e8a8 exd ♘f3 nf3 bxc4 a8q axb8=q a8=(N) Kg1 x"


@skip_without(shutil.which("node"), "node is not installed (Debian: apt-get install nodejs)")
@pytest.mark.parametrize("name", ["chess", "gardner_chess"])
def test_the_page_writes_and_reads_moves_as_python_does(name):
    game, given = make(name), []
    for fen in [fen for fen in texts(name) if len(fen) <= 100][:: 3 if name == "chess" else 9]:
        state = jax.device_get(game.from_fen(fen, strict=False))
        names = game.shown_moves(state)
        uci = [game.action_to_string(state, action) for action in names]
        board = to_board(game._size, state)
        tried = [text.format(san) for san in [*names.values()][:2] for text in SPELLINGS.split(" ")]
        tried += [move.replace("-", "") for move in names.values()]
        expected = [read_san(text, board, uci) for text in tried]
        view = np.asarray(game.view(state)).tolist()
        given.append([fen, view, uci, list(names.values()), tried, expected])
    script = f"""console.log(JSON.stringify({json.dumps([each[1:] for each in given])}.map(
      ([view, uci, names, tried]) => [
        uci.map((move) => writeSan(move, boardOf(view), uci, Math.sqrt(view.length))),
        tried.map((text) => readSan(text, boardOf(view), uci)),
      ])));"""
    for each, (names, read) in zip(given, run_script("san.js", script), strict=True):
        assert names == each[3], each[0]
        assert read == each[5], (each[0], each[4])
