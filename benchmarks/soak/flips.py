"""Flipped bits in a checkpoint: each is detected, or harmless.

    python benchmarks/soak/flips.py --json benchmarks/results/checkpoint_flips_2_cores.json

A run has two checkpoints. One bit of the newer one is flipped: half of the time in a file chosen
uniformly, otherwise in a file chosen by its size. The run must then load either exactly the values
that were saved, or say in one line that this checkpoint is broken and load the older one.
"""

import collections
import dataclasses
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import tyro

sys.path.insert(0, str(Path(__file__).parent))
import jax
import small_run

from azjax.errors import UserError
from azjax.running.saved_state import save_state
from azjax.runs.checkpoint import Checkpoints


@dataclasses.dataclass(frozen=True)
class Arguments:
    flips: int = 600
    """Bits to flip, one at a time."""
    seed: int = 0
    """Of the choice of the bits."""
    json: Path | None = None
    """File of the record."""


def save_two(run_dir: Path, maker: small_run.Trainer) -> dict[int, small_run.TrainState]:
    """Saves cycles 3 and 6 of a run, and returns their states."""
    state, states = maker.init(jax.random.PRNGKey(0)), {}
    with Checkpoints(run_dir, keep=2) as checkpoints:
        for cycle in range(1, 7):
            state, _ = maker.cycle(state)
            if cycle % 3 == 0:
                states[cycle] = small_run.on_host(state)
                save_state(checkpoints, state, selection_metric=cycle / 10)
    return states


def flip(checkpoint: Path, draw: random.Random) -> Path:
    """Flips one bit of a checkpoint, and returns the file."""
    files = sorted(p for p in checkpoint.rglob("*") if p.is_file() and p.stat().st_size)
    sizes = [p.stat().st_size for p in files]
    file = draw.choice(files) if draw.random() < 0.5 else draw.choices(files, sizes)[0]
    data = bytearray(file.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    file.write_bytes(data)
    return file


def outcome(
    run_dir: Path, maker: small_run.Trainer, states: dict[int, small_run.TrainState]
) -> str:
    said: list[str] = []
    try:
        state = small_run.newest_state(run_dir, maker, said.append)
    except UserError as error:
        return "wrong: " + str(error)
    broken = any("is broken" in line for line in said)
    if any("\n" in line for line in said):
        return "wrong: more than one line"
    if small_run.differing(state, states[3 if broken else 6]):
        return "wrong: other values"
    if broken:
        return "detected, the older checkpoint is loaded"
    return "detected in the evaluation, equal values" if said else "harmless, equal values"


def main(options: Arguments) -> None:
    draw = random.Random(options.seed)
    counts: collections.Counter[str] = collections.Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        whole, run = Path(name) / "whole", Path(name) / "run"
        maker = small_run.trainer(small_run.values(6, 3))
        states = save_two(whole, maker)
        for number in range(options.flips):
            shutil.copytree(whole, run)
            file = flip(run / "checkpoints" / "6", draw).relative_to(run)
            result = outcome(run, maker, states)
            counts[result.partition(":")[0]] += 1
            if result.startswith("wrong"):
                wrong.append(f"{file}: {result}")
                print(wrong[-1], flush=True)
            shutil.rmtree(run)
            if (number + 1) % 100 == 0:
                print(number + 1, dict(counts), flush=True)
    record = {
        "command": "python benchmarks/soak/flips.py",
        "machine": f"{os.cpu_count()} cores",
        "options": {"flips": options.flips, "seed": options.seed},
        "results": {**counts, "wrong": len(wrong), "which": wrong},
    }
    print(record["results"])
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    if wrong:
        raise SystemExit(f"{len(wrong)} flipped bits were not detected")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
