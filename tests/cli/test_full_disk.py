"""A disk without space: one line, at once. A limit of the size of files stands for it."""

import re
import subprocess
import sys

from azjax.runs.checkpoint import Checkpoints
from tests import tiny

# Limits the size of files to less than TensorBoard needs, when the first checkpoint is saved.
FULL = """
import resource, signal, sys
from azjax.running import hooks
from azjax.cli.main import main

save = hooks.save_state

def save_without_space(*arguments, **options):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
    return save(*arguments, **options)

hooks.save_state = save_without_space
sys.exit(main(sys.argv[2:]))
"""


def test_a_failed_save_ends_the_process_at_once(tmp_path):
    file = tiny.write_config(tmp_path / "tiny.toml", evaluation={"every": 0})
    run = tmp_path / "run"
    command = [sys.executable, "-c", FULL, "1000", "train", str(file), "--run-dir", str(run)]
    # Before, it ended after twenty minutes.
    done = subprocess.run(command, capture_output=True, text=True, timeout=tiny.PATIENCE_S)
    assert done.returncode == 2
    # Threads of TensorStore may print before it that the event loop of their write has closed.
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(
        rf"azjax: {re.escape(str(run))}\S*: .*File too large.*training stopped.*", last
    ), done.stderr
    assert "goes on without TensorBoard" in done.stdout
    with Checkpoints(run, read_only=True) as checkpoints:
        assert checkpoints.cycles() == []
