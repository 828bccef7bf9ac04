"""The commands `azjax web` and `azjax play --web`."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from azjax.cli.main import main
from azjax.players.load import describe
from azjax.web.runtime import SCRIPT, WASM

pytest.importorskip("onnxruntime")
pytest.importorskip("uvicorn")

TIMEOUT_S = 120


def test_the_page_of_a_pretrained_player(runtime, tmp_path, capsys):
    out = tmp_path / "site"
    arguments = ["web", "dots_and_boxes_3x3:16", "--out", str(out), "--games", "2"]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "the model agrees with JAX" in output
    assert f"python3 -m http.server -d {out}" in output
    names = {file.name for file in out.iterdir()}
    assert names == {"index.html", "game.json", "model.onnx", "worker.js", SCRIPT, WASM}
    assert json.loads((out / "game.json").read_text())["simulations"] == 16
    before = {file: file.read_bytes() for file in out.iterdir()}
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"azjax: {out} exists already; choose another name\n"
    assert before == {file: file.read_bytes() for file in out.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["web", "connect_four", "--out", "x", "--games", "0"], "--games 0: must be at least 1"),
        (
            ["web", "connect_four:policy", "--out", "x"],
            "a page needs a network with a search: RUN or RUN:SIMULATIONS",
        ),
        (["web", "no/such/run", "--out", "x"], "no/such/run"),
        (["web", "connect_four", "--out", "x", "--single-file"], "the name must end in .html"),
        (["web", "connect_four", "--out", "no/such/x"], "no such directory"),
        (
            ["web", "connect_four", "--out", "x", "--runtime", "no"],
            f"no: no {SCRIPT} and {WASM} there",
        ),
        (["play", "connect_four:policy", "--web"], "a page needs a network with a search"),
        (["play", "connect_four", "--web", "--port", "0"], "--port 0: must be from 1 to 65535"),
        (["play", "connect_four", "--web", "--side", "1"], "choose the sides on the page"),
        (["play", "connect_four", "--port", "80"], "need --web"),
    ],
)
def test_errors_are_one_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("azjax: ")
    assert error.count("\n") == 1
    assert words in error
    assert list(tmp_path.iterdir()) == []


def test_a_server_until_ctrl_c():
    command = [sys.executable, "-m", "azjax.cli", "play", "dots_and_boxes_3x3", "--web"]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    with subprocess.Popen(
        [*command, "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            preparing, ready = process.stdout.readline(), process.stdout.readline()
            assert preparing.startswith("dots_and_boxes_3x3: preparing"), process.stderr.read()
            address = ready.split()[2]
            assert ready == f"play at {address} (Ctrl-C to stop)\n"
            assert address.startswith("http://127.0.0.1:")
            for line in describe("dots_and_boxes_3x3").splitlines():
                assert process.stdout.readline() == f"{line}\n"
            with urllib.request.urlopen(address, timeout=TIMEOUT_S) as page:
                html = page.read().decode()
            assert "<title>Dots and boxes 3x3</title>" in html
            assert f"<p>{describe('dots_and_boxes_3x3', in_short=True)}</p>" in html
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()
    assert process.returncode in (0, 130)
    assert (out, err) == ("", "")
