"""Help texts, and messages about wrong arguments: one line that says what would be right."""

import contextlib
import importlib.metadata
import re
import subprocess
import sys

import pytest

from azjax.cli import main as cli
from azjax.cli.main import COMMANDS
from azjax.config.toml import load_config, shipped_configs
from azjax.running import loop as train_module
from tests import tiny


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "trian",
            "unknown command trian; did you mean train? the commands are train, pretrain, resume, ",
        ),
        ("xyz", "unknown command xyz; the commands are train, pretrain, resume, "),
        ("train", "train needs a config file, or the name of a config such as tic_tac_toe"),
        *(
            (
                f"{command} {name}",
                f"{name}: there is no such file or config; did you mean {meant}?",
            )
            for command in ("train", "plan")
            for name, meant in (
                ("conect_four", "connect_four"),
                ("connect4", "connect_four"),
                ("tic-tac-toe", "tic_tac_toe"),
                ("TicTacToe", "tic_tac_toe"),
                ("go-9x9", "go_9x9"),
                ("kalah", "mancala"),
                ("reversi6x6", "othello_6x6"),
                ("hex_8x8", "hex"),
            )
        ),
        ("train nothing", "nothing: there is no such file or config; configs that come with az"),
        (
            "train tic_tac_toe --selfplay.games 3",
            "unknown option --selfplay.games; did you mean --selfplay.parallel-games?",
        ),
        (
            "train tic_tac_toe --learning-rate 3",
            "unknown option --learning-rate; did you mean --learning.learning-rate?",
        ),
        (
            "train tic_tac_toe --selfplay.parallel-games many",
            "--selfplay.parallel-games must be a whole number, not 'many'",
        ),
        (
            "train tic_tac_toe --learning.learning-rate fast",
            "--learning.learning-rate must be a number, not 'fast'",
        ),
        (
            "train tic_tac_toe --selfplay.parallel-games",
            "--selfplay.parallel-games needs a value",
        ),
        (
            "train tic_tac_toe --network.architecture cnn",
            "--network.architecture must be one of resnet, mlp, not 'cnn'",
        ),
        ("eval", "eval needs PLAYER: The player: a run directory"),
        ("eval runs/a --nosuch", "unknown option --nosuch; azjax eval --help lists the options"),
        ("eval runs/a extra", "unexpected argument 'extra'; azjax eval --help lists the options"),
        ("match runs/a", "match needs PLAYER: Its opponent"),
        ("play connect_four --sids 1", "unknown option --sids; did you mean --side?"),
        ("web connect_four", "web needs --out PATH: The folder to write"),
        ("bench", "bench needs the name of a benchmark: envs, search, train"),
        ("bench serach", "bench needs the name of a benchmark: envs, search, train"),
    ],
)
def test_a_mistake_is_one_sentence(line, said, refused, monkeypatch):
    monkeypatch.setattr(train_module, "train", lambda *arguments: pytest.fail("it trains"))
    assert refused(*line.split()).startswith(f"azjax: {said}")


HUGE = "99999999999999999999"


@pytest.mark.parametrize(
    "line",
    [
        "train tic_tac_toe --seed 9223372036854775808",
        "train tic_tac_toe --seed 4294967296",  # the same as 0 for JAX
        "train tic_tac_toe --seed -1",
        f"train tic_tac_toe --selfplay.opening-plies {HUGE}",
        f"train tic_tac_toe --num-processes {HUGE}",
        "eval connect_four --seed 9223372036854775808",
        "play connect_four --seed 4294967296",
        "web connect_four --out site --seed -1",
        f"eval connect_four --opening-plies {HUGE}",
        f"eval connect_four --games {HUGE}",
        f"match random random --game hex --games {HUGE}",
        f"rate runs/a --simulations {HUGE}",
        f"report runs/a --simulations 64 {HUGE}",
        f"report runs/a --own-games {HUGE}",
        f"gtp go_9x9 --memory {HUGE}",
        f"web connect_four --out site --games {HUGE}",
        "play connect_four --web --port 65536",
        f"play connect_four --web --port {HUGE}",
        f"bench search --batch {HUGE}",
    ],
)
def test_numbers_beyond_all_use(line, refused, tmp_path, monkeypatch):
    """None is taken for another one, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    words = line.split()
    option = next(word for word in reversed(words) if word.startswith("--"))
    message = refused(*words)
    assert option.lstrip("-").replace("-", "_") in message.replace("-", "_"), message
    assert "must be" in message
    assert not list(tmp_path.iterdir())


def test_help_begins_with_play(capsys):
    assert cli.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("  azjax play connect_four ")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command, capsys):
    with contextlib.suppress(SystemExit):
        assert cli.main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"usage: azjax {command}" in out
    # A positional argument is called by what it is, not by its type.
    assert not re.search(r"^usage: .* (STR|PATH|\{[^}]*STR)( |$)", out, flags=re.MULTILINE)


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag, capsys):
    assert cli.main([flag]) == 0
    assert capsys.readouterr().out == f"azjax {importlib.metadata.version('azjax')}\n"


def test_python_dash_m_is_the_command():
    command = [sys.executable, "-m", "azjax.cli", "trian"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=tiny.PATIENCE_S)
    assert done.returncode == 2
    assert done.stderr.startswith("azjax: unknown command trian; did you mean train?")


def test_a_shipped_config_is_found_by_name_from_any_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained = []
    monkeypatch.setattr(
        train_module, "train", lambda config, run, **_: trained.append((config, run))
    )
    assert cli.main(["train", "papers/tic_tac_toe_small", "--seed", "7"]) == 0
    ((config, run),) = trained
    assert config.seed == 7
    assert config.search.algorithm == "puct"
    assert str(run) == "runs/tic_tac_toe_small"


def test_a_folder_in_the_way_hides_no_config(tmp_path, monkeypatch):
    expected = load_config("tic_tac_toe")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tic_tac_toe").mkdir()
    assert load_config("tic_tac_toe") == expected


def test_every_shipped_config_loads():
    configs = shipped_configs()
    assert {"tic_tac_toe", "connect_four", "gpu/connect_four", "papers/go"} <= configs.keys()
    for name, path in configs.items():
        assert load_config(name) == load_config(path)
