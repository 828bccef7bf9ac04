"""Messages to users have no words of Python, whatever a parser is given."""

import re

import pytest
import safetensors.numpy
from azjax_envs import available_games, make

from azjax.cli import main as cli
from azjax.config.toml import load_config
from azjax.errors import UserError
from azjax.files.read import read_games
from azjax.games import game_from_name
from azjax.players.engines.command import parse_engine
from azjax.players.spec import parse_run, parse_spec
from azjax.players.weights_file import file_bytes, load_saved
from azjax.running import loop
from azjax.selfplay.openings import read_openings
from tests.oracles.clients import gtp_answers, uci_output

PYTHON = re.compile(
    r"""(?<![\w?])b['"]|Error\b|Traceback|object\ at|<class|NoneType|could\ not\ convert|\bliteral\b
    |values\ to\ unpack|index\ out|keyword\ argument|positional\ arg|codec|\bchar\ \d|\b__|Errno
    |JSONDecode|\bint\(|\bstr\b|\bsys\.|subscriptable|NotImplemented|datetime\.|\bint\b
    |\bbool\b|\bfloat\b|\btuple\b|\bdict\b|\bTrue\b|\bFalse\b|\bNone\b|Expecting""",
    re.VERBOSE,
)
WORDS = [
    "",
    " ",
    "\x00",
    "\x1b[2J",
    "9" * 5000,
    "-1",
    "1e999",
    "nan",
    "٣",
    "²",
    "é\ud83d",
    "[",
    "]",
]
WORDS += [
    "(",
    "{}",
    "{0}",
    "%s",
    "'",
    '"',
    "a:b:c",
    "@",
    "?",
    "x?y",
    "pass",
    "resign",
    "0x10",
    "--",
]
GO, CHESS, SHOGI = make("go_5x5"), make("chess"), make("shogi")
FEN = ["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR", "w", "KQkq", "-", "0", "1"]
SFEN = ["lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL", "b", "-", "1"]


def check(message):
    # What the user has written may be quoted; it is one of WORDS, which have no words of Python.
    assert message.strip()
    assert not PYTHON.search(message), message
    assert "\n" not in message


def complaints(read, texts, errors=ValueError):
    """Returns how many texts are refused, and checks each message."""
    refused = 0
    for text in texts:
        try:
            read(text)
        except errors as error:
            check(str(error))
            refused += 1
    return refused


def changed(fields):
    """Yields a text with each field replaced by each word, or left out."""
    for i in range(len(fields)):
        for word in [*WORDS, "x/y", "8/8", "KK", "e9"]:
            yield " ".join([*fields[:i], word, *fields[i + 1 :]])


@pytest.mark.parametrize("strict", [True, False])
def test_positions(strict):
    for game, name, fields in ((CHESS, "fen", FEN), (SHOGI, "sfen", SFEN)):
        read = getattr(game, f"from_{name}")
        assert complaints(lambda text, read=read: read(text, strict=strict), changed(fields)) > 40


@pytest.mark.parametrize("name", available_games())
def test_moves(name):
    game = make(name)
    state = game.init()
    assert complaints(lambda text: game.string_to_action(state, text), [*WORDS, "a0", "z99"]) > 20


def test_names_of_games_players_and_engines():
    texts = [*WORDS, *(f"{name}{word}" for name in ("go_", "hex_", "chess_") for word in WORDS)]
    assert complaints(game_from_name, texts) > 50
    kinds = ("uct:", "random:", "minimax:", "connect_four@", "connect_four:", "gtp:", "uci:x?")
    assert complaints(parse_spec, [*WORDS, *(k + w for k in kinds for w in WORDS)]) > 50
    assert complaints(parse_run, [f"runs/a@{word}" for word in WORDS]) > 10
    words = [f"x?{a}={b}" for a in ("timeout", "") for b in WORDS]
    assert complaints(lambda word: parse_engine("uci", word), words) > 10


CONFIGS = [
    *WORDS,
    *(f"{key} = {value}" for key in ("seed", "cycles", "network", "game", "x") for value in WORDS),
    *(
        f"{key} = {value}"
        for key in ("seed", "game", "network", "learning.learning_rate", "selfplay.openings")
        for value in ("true", "1979-05-27", "[1, 2]", "{a = 1}", "inf", "1.5", "'a'", "07:32:00")
    ),
    "[game]\nname = 'go'\nnosuch = 1",
    "[game]\nname = 'go'\nsize = 'a'",
    "[network]\nauxiliary = ['x']",
    "[network]\nauxiliary = 3",
    "a = [" * 3000,
]


def test_configs(tmp_path):
    def read(text):
        content = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
        (tmp_path / "a.toml").write_bytes(content)
        game = load_config(tmp_path / "a.toml").game
        game_from_name(game.name, **dict(game.options))

    assert complaints(read, [*CONFIGS, b"\xff", "seed = 1".encode("utf-16")]) > 60


def test_files_of_moves_and_players(tmp_path):
    path = tmp_path / "file"

    def from_file(read, suffix=""):
        def write_and_read(text):
            file = path.with_suffix(suffix)
            file.write_bytes(
                text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
            )
            read(file)

        return write_and_read

    openings = from_file(lambda file: read_openings(GO, file))
    assert complaints(openings, [*WORDS, b"\xff\xfe", "a1 a1", "pass pass"]) > 15
    games = [f"(;{name}[{w}];B[aa])" for name in ("SZ", "KM", "GM", "AB", "B", "AW") for w in WORDS]
    games += [*WORDS, b"(;B[\xff])", "(;B)", "(;SZ[5]B[aa", "(", "(;)", "(;B[a])", "(;AB[aa:])"]

    def read(file):
        for played in read_games(file, "go_5x5"):
            if played.error or played.ends_early:
                raise UserError(f"{played.error}{played.ends_early}")

    assert complaints(from_file(read, ".sgf"), games) > 60
    header = {"azjax_format": "1"}
    parts = ("game", "network", "search", "metadata")
    weights = safetensors.numpy.save({}, header | dict.fromkeys(parts, "{"))
    written = [file_bytes({}, header | dict.fromkeys(parts, word)) for word in WORDS[:6]]
    saved = [*WORDS, weights, *written]
    assert complaints(from_file(load_saved, ".safetensors"), saved) > 15


def test_commands_of_the_protocols():
    words = [word for word in WORDS if word.isprintable()]
    names = gtp_answers(["list_commands"], GO)[0][1].split("\n")
    lines = [f"{name} {word}" for name in names if name not in ("quit", "name") for word in words]
    lines += [f"{name} b {word}" for name in ("play", "time_left") for word in words]
    lines += [f"time_settings {w} {w} {w}" for w in words]
    answers = gtp_answers(["play b c3", *lines], GO)
    wrong = [text for mark, text in answers if mark.startswith("?")]
    assert len(wrong) > 100
    for message in wrong:
        check(message)
    lines = [f"position fen {text}" for text in changed(FEN)]
    lines += [f"setoption name {a} value {b}" for a in ("Hash", "MultiPV", "x") for b in words]
    lines += [f"position startpos moves {word}" for word in words]
    lines += [f"go nodes {word}" for word in words if not word.isdecimal()]
    remarks = [line for line in uci_output(lines, CHESS) if line.startswith("info string")]
    assert len(remarks) > 100
    for remark in remarks:
        check(remark)


LINES = [
    *(f"{command} {{}}" for command in ("play", "gtp", "uci", "usi", "eval", "match", "solve")),
    "eval random --game {}",
    *(f"eval connect_four --{option} {{}}" for option in ("games", "seed", "opening-plies")),
    "eval connect_four --against {}",
    "train tic_tac_toe --seed {}",
    "train tic_tac_toe --network.architecture {}",
    "train tic_tac_toe --learning.learning-rate {}",
    "train {}",
    "play connect_four --side {}",
    "play connect_four --against {}",
    "web connect_four --out site --games {}",
    "bench {}",
]


@pytest.mark.parametrize("line", LINES)
def test_commands(line, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loop, "run_cycles", lambda *arguments: pytest.fail("it trains"))
    for word in (
        "",
        "\x00",
        "9" * 50,
        "-1",
        "1e999",
        "nan",
        "é",
        "[",
        "{}",
        "'",
        "a:b:c",
        "@",
        "?",
    ):
        code = cli.main([word if part == "{}" else part for part in line.split()])
        out, err = capsys.readouterr()
        assert code == 2, (word, out, err)
        check(err.rstrip("\n"))


def test_errors_of_users_are_values():
    assert issubclass(UserError, ValueError)
