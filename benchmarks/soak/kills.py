"""A run that is killed again and again, and resumed, ends like one that was never stopped.

    python benchmarks/soak/kills.py --json benchmarks/results/training_kills_2_cores.json

The processes are those of `azjax train` and `azjax resume`, ended by SIGKILL. Most kills come at a
random time after the first new cycle, so some come while a checkpoint is written; the others come
while the process starts.
"""

import dataclasses
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tyro

sys.path.insert(0, str(Path(__file__).parent))
import small_run

from azjax.runs.checkpoint import Checkpoints


@dataclasses.dataclass(frozen=True)
class Arguments:
    kills: int = 24
    """Kills of the run."""
    cycles: int = 400
    """Cycles of the run."""
    checkpoint_every: int = 2
    """Cycles between checkpoints."""
    seconds: float = 3.0
    """The longest time between the first new cycle and the kill."""
    seed: int = 0
    """Of the times of the kills."""
    json: Path | None = None
    """File of the record."""


def start(*arguments: str | Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "azjax.cli", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def newest_cycle(run_dir: Path) -> int:
    if not (run_dir / "checkpoints").is_dir():
        return 0
    with Checkpoints(run_dir, read_only=True) as checkpoints:
        return max(checkpoints.cycles(), default=0)


def kill_once(run_dir: Path, config: Path, draw: random.Random, seconds: float) -> str:
    """Starts or resumes the run and kills it; returns when."""
    metrics = run_dir / "metrics.jsonl"
    before = size(metrics)
    new = not (run_dir / "config.toml").is_file()
    process = start("train", config, "--run-dir", run_dir) if new else start("resume", run_dir)
    moment = "while it started"
    if draw.random() < 0.8:
        while size(metrics) <= before and process.poll() is None:
            time.sleep(0.005)
        moment = "while it trained"
        time.sleep(draw.uniform(0, seconds))
    else:
        time.sleep(draw.uniform(0, 4))
    if process.poll() is not None:
        raise SystemExit(
            f"the run ended before its kill; raise --cycles\n{process.communicate()[1]}"
        )
    process.kill()
    process.communicate()
    return moment


def finish(process: subprocess.Popen) -> None:
    _, errors = process.communicate()
    if process.returncode or errors:
        raise SystemExit(f"exit code {process.returncode}: {errors}")


def main(options: Arguments) -> None:
    draw = random.Random(options.seed)
    settings = small_run.values(options.cycles, options.checkpoint_every)
    moments, newest = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = small_run.write_config(folder / "small.toml", settings)
        killed, straight = folder / "killed", folder / "straight"
        for _ in range(options.kills):
            moments.append(kill_once(killed, config, draw, options.seconds))
            newest.append(newest_cycle(killed))
            print(
                f"killed {moments[-1]}; the newest checkpoint is of cycle {newest[-1]}", flush=True
            )
        finish(start("resume", killed))
        finish(start("train", config, "--run-dir", straight))
        maker = small_run.trainer(settings)
        warnings: list[str] = []
        states = [
            small_run.newest_state(run_dir, maker, warnings.append)
            for run_dir in (killed, straight)
        ]
        arrays = len(small_run.jax.tree.leaves(states[0]))
        cycles = [int(state.cycle) for state in states]
        differing = small_run.differing(*states)
    record = {
        "command": "python benchmarks/soak/kills.py",
        "machine": f"{os.cpu_count()} cores",
        "options": {k: v for k, v in dataclasses.asdict(options).items() if k != "json"},
        "results": {
            "kills": {moment: moments.count(moment) for moment in sorted(set(moments))},
            "newest_checkpoint_after_each": newest,
            "last_cycles": cycles,
            "arrays": arrays,
            "arrays_that_differ": differing,
            "warnings": warnings,
        },
    }
    print(record["results"])
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    if differing or warnings or cycles != [options.cycles] * 2:
        raise SystemExit("the killed run is not like the one that was never stopped")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
