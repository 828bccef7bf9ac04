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
