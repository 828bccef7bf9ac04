"""The command line: its output, and mistakes that need a damaged run or machine."""

import errno
import functools
import io
import json
import os
import re
import shutil
import sys

import pytest

from azjax.cli import evaluate as evaluate_commands
from azjax.cli import play as play_commands
from azjax.cli.main import COMMANDS, main
from azjax.devices import use_all_cores
from azjax.exact import solver
from azjax.players.load import load_run_config
from azjax.running import loop as train_module
from azjax.running import memory
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.lock import LOCK_FILES
from tests import tiny
from tests.cli.conftest import CHANGES


@pytest.fixture(autouse=True)
def compile_once(monkeypatch):
    monkeypatch.setattr(train_module, "make_trainer", tiny.shared_make_trainer)


@pytest.fixture
def run(trained, tmp_path):
    """A copy to be damaged; one cycle is still to be done."""
    copy = tmp_path / "run"
    shutil.copytree(trained, copy)
    edit(copy, f"cycles = {CHANGES['cycles']}", "cycles = 3")
    return copy


def edit(run, old, new):
    file = run / "config.toml"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def files(folder):
    kept = (p for p in folder.rglob("*") if p.is_file() and p.name not in LOCK_FILES)
    return {p: p.read_bytes() for p in kept}


def test_usage_and_help(capsys):
    for arguments in ([], ["--help"], ["-h"]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        for command in COMMANDS:
            assert re.search(rf"^  {command} ", out, re.MULTILINE)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_of(command, capsys):
    arguments = [command, "search", "--help"] if command == "bench" else [command, "--help"]
    try:
        code = main(arguments)
    except SystemExit as stopped:
        code = stopped.code
    out, err = capsys.readouterr()
    assert not code
    assert err == ""
    assert f"azjax {command}" in out
    if command == "train":
        assert "--search.num-simulations" in out
        assert "--heartbeat-timeout" in out


def test_what_the_system_refuses_is_one_line(refused, monkeypatch, tmp_path):
    assert "there is no player" in refused("play", "a" * 300)
    assert "File name too long" in refused("web", "connect_four", "--out", tmp_path / ("a" * 300))

    def full(arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setitem(COMMANDS, "export", full)
    assert refused("export") == "azjax: No space left on device\n"


def test_no_standard_input_is_one_that_has_ended(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert play_commands._standard_input().next() is None


def truncate(run, cycle):
    """Cuts every file of a checkpoint in half."""
    for path in (run / "checkpoints" / str(cycle)).rglob("*"):
        if path.is_file():
            with path.open("r+b") as opened:
                opened.truncate(path.stat().st_size // 2)


def test_a_truncated_checkpoint_is_named_and_the_older_one_used(run, trained):
    """Runs in its own process, so that everything that libraries print is captured."""
    truncate(run, 2)
    code, out, err = tiny.run_azjax("resume", run, devices=4)
    assert (code, err) == (0, "")
    named = [line for line in out.splitlines() if "broken" in line]
    assert len(named) == 1
    assert f"checkpoint {run / 'checkpoints' / '2'} is broken" in named[0]
    with Checkpoints(run, read_only=True) as checkpoints:
        assert checkpoints.cycles()[-1] == 3


def test_resume_takes_settings(run, refused):
    message = refused("resume", run, "--seed", "5", "--cycles", "4")
    assert "cannot change these: seed" in message
    assert load_run_config(run).cycles == 3
    code, _, err = tiny.run_azjax("resume", run, "--cycles", "4", devices=4)
    assert (code, err) == (0, "")
    assert load_run_config(run).cycles == 4
    with Checkpoints(run, read_only=True) as checkpoints:
        assert checkpoints.cycles()[-1] == 4
    assert "resume needs a run directory" in refused("resume", "--cycles", "4")


def test_only_broken_checkpoints(run):
    truncate(run, 1)
    truncate(run, 2)
    before = files(run)
    code, out, err = tiny.run_azjax("resume", run, devices=4)
    assert code == 2
    assert re.fullmatch(r"azjax: .*no intact checkpoint.*\n", err)
    assert len([line for line in out.splitlines() if "is broken" in line]) == 2
    assert files(run) == before


def test_a_config_that_does_not_match_the_checkpoint(run, refused):
    edit(run, "channels = 16", "channels = 24")
    before = files(run)
    message = refused("resume", run)
    assert str(run / "checkpoints" / "2") in message
    assert "another config" in message
    assert re.search(
        r"params\.\S+ is float32\[.*16.*\] in the checkpoint, float32\[.*24.*\]", message
    )
    assert files(run) == before
    assert "another config" in refused("eval", run, "--games", "8")


def test_a_loss_that_is_no_number(refused, tmp_path):
    rates = {"optimizer": "sgd", "learning_rate": 1e30, "clip_norm": 1e30, "warmup_updates": 1}
    file = tiny.write_config(
        tmp_path / "tiny.toml",
        **{**CHANGES, "cycles": 12},
        learning={**rates, "schedule": "constant"},
        replay={"min_positions": 32},
    )
    message = refused("train", file, "--run-dir", tmp_path / "run")
    cycle = int(re.search(r" in cycle (\d+): training stopped", message)[1])
    assert f"the last good checkpoint is of cycle {cycle - 1}" in message
    assert (tmp_path / "run" / "checkpoints" / str(cycle - 1)).is_dir()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("play minimax:2 --game tic_tac_toe --side 0", "against the minimax player, 2 plies"),
        ("play dots_and_boxes_2x2", "No trained player of dots_and_boxes_2x2 comes with azjax"),
        ("play tic_tac_toe --side 1", "tic_tac_toe makes no mistake in any of the 4,520 reachable"),
        ("play tic_tac_toe --side 1", "against the network, 64 simulations"),
        ("play random --game hex_3x3 --against human", "hex_3x3: two people at one board"),
        ("eval uct:4 --against random --game hex_3x3 --games 2", "hex_3x3: matches"),
        ("match uct:4 random --game hex_3x3 --games 2", "hex_3x3: matches"),
    ],
)
def test_any_player_plays_a_game_that_is_named(line, said, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("quit\n"))
    assert main(line.split()) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_too_large_for_the_memory(refused, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "device_memory", lambda device: 2**20)
    file = tiny.write_config(tmp_path / "tiny.toml", **CHANGES, replay={"capacity_plies": 80_000})
    message = refused("train", file, "--run-dir", tmp_path / "run")
    assert re.search(r"replay\.capacity_plies = \d+ would fit", message)
    assert not (tmp_path / "run").exists()


def test_games_too_large_to_solve(refused, monkeypatch):
    monkeypatch.setattr(solver, "solve", functools.partial(solver.solve, max_states=3000))
    monkeypatch.setattr(evaluate_commands, "_FIRST_LINE_S", 1e9)  # no progress on a busy machine
    message = refused("solve", "tic_tac_toe")
    assert re.search(r"\d[\d,]* states", message)
    assert "connect_four_4x4, dots_and_boxes_2x2 and ur_3 are small enough" in message


def test_json(trained, capsys):
    def printed(*arguments):
        capsys.readouterr()
        assert main([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    facts = printed("solve", "tic_tac_toe")
    assert (facts["states"], facts["value"]) == (5478, 0.0)
    result = printed("eval", trained, "--against", "random", "--games", "8")
    assert result["games"] == 8
    assert result["wins"] + result["draws"] + result["losses"] == 8
    assert result["player_a"] == str(trained)
    broken = trained.parent / "broken"
    shutil.copytree(trained, broken)
    truncate(broken, 2)
    result = printed("eval", f"{broken}:policy", "--games", "8")
    assert result["games"] == 8
    result = printed("match", f"{trained}:policy", f"{trained}@1:policy", "--games", "8")
    assert result["games"] == 8
    result = printed("match", "random", "minimax:1", "--game", "tic_tac_toe", "--games", "8")
    assert (result["player_a"], result["player_b"], result["games"]) == ("random", "minimax:1", 8)
    card = printed("report", trained, "--games", "8", "--baselines", "random")
    assert card == json.loads((trained / "report.json").read_text())
    assert len(card["players"]) == 4


def test_text(trained, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["eval", str(trained), "--games", "8"]) == 0
    out = capsys.readouterr().out
    assert "random" in out
    assert "Elo" in out


def test_piped_tables_are_as_wide_as_they_need(trained, tmp_path, capsys, monkeypatch):
    """Both players are named in full but for their folders."""
    monkeypatch.delenv("COLUMNS", raising=False)
    names = ("a_run_with_a_rather_long_name_of_its_own", "another_run_with_a_rather_long_name")
    for name in names:
        shutil.copytree(trained, tmp_path / name)
    first, second = (f"{tmp_path / name}:policy" for name in names)
    assert main(["match", first, second, "--games", "8"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if names[0] in line)
    assert f" {names[0]}:policy " in row
    assert f" {names[1]}:policy " in row
    assert re.search(r"[<>] [+-]\d+|\[[+-]\d+, [+-]\d+\]", row)


def test_a_pipe_gets_progress_after_a_second(capsys, monkeypatch):
    monkeypatch.setattr(evaluate_commands, "_FIRST_LINE_S", 0.0)
    assert main(["match", "random", "random", "--game", "tic_tac_toe", "--games", "8"]) == 0
    assert "0 of 8 games\n" in capsys.readouterr().err


def test_all_cores_of_a_started_jax_are_left_as_they_are(monkeypatch, devices):
    import jax

    monkeypatch.delenv("XLA_FLAGS", raising=False)
    said = []
    use_all_cores(say=said.append)  # chosen by the user: left alone
    assert not said

    class Unset:
        jax_num_cpu_devices = -1
        update = staticmethod(jax.config.update)

    monkeypatch.setattr("azjax.devices.jax.config", Unset)
    use_all_cores(say=said.append)
    assert not said
    assert jax.device_count() == 4
