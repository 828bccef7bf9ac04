"""Compiles the training cycle of every config for machines that are not here, and records it.

    python benchmarks/plan_configs.py --json benchmarks/results/plan_configs.json

Configs are those of `configs/` and of its folders. The largest ones are also compiled for a slice
of 256 chips and for eight GPUs. Needs `make plan`, with its folder on PYTHONPATH, and two hours on
two cores. A second call adds what the file lacks. `--again` compiles the named configs again.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tyro

CONFIGS = Path(__file__).parents[1] / "configs"
MACHINES = ("v5e:2x2", "h100")
LARGE = ("chess", "shogi", "go", "gpu/connect_four")
LARGE_MACHINES = ("v5e:16x16", "h100x8")
# A gate's games are split over the chips, so these articles' 100 games do not fit.
CHANGES = {
    ("papers/connect_four", "v5e:2x2"): ["--gate.games", "104"],
    ("papers/connect_four_small", "v5e:2x2"): ["--gate.games", "104"],
    ("papers/go_small", "v5e:2x2"): ["--gate.games", "104"],
}
NOT_MEASURED = "papers/go"  # whose searches of 1,600 simulations take too long on a CPU


@dataclass(frozen=True)
class Arguments:
    """Where the record is, and what to compile again."""

    json: Path
    again: tuple[str, ...] = ()


def main(arguments: Arguments) -> None:
    """Compiles, and writes the record after each config and machine."""
    record: dict[str, Any] = {
        "command": "python benchmarks/plan_configs.py",
        "machine": f"compiled on {os.cpu_count()} cores ({platform.machine()}), "
        f"jax {version('jax')}",
        "plans": {},
    }
    if arguments.json.exists():
        record = json.loads(arguments.json.read_text())
    plans = record["plans"]
    for name in arguments.again:
        plans.pop(name, None)
    for name, machine in jobs():
        if machine in plans.setdefault(name, {}):
            continue
        changes = CHANGES.get((name, machine), [])
        if name == NOT_MEASURED:
            changes = [*changes, "--no-measure"]
        command = [sys.executable, "-m", "benchmarks.kernels.cycle", name, "--on", machine]
        found = subprocess.run([*command, *changes], capture_output=True, text=True)
        if found.returncode:
            raise SystemExit(f"{name} on {machine}: {found.stderr}")
        (plan,) = json.loads(found.stdout)["plans"]
        plan = {key: plan[key] for key in plan if key not in ("loops", "shares")}
        plans[name][machine] = plan | ({"changes": " ".join(changes)} if changes else {})
        seconds = plan["compile_seconds"]
        print(f"{name} on {machine}: {plan['problem'] or seconds}", file=sys.stderr, flush=True)
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")


def jobs() -> list[tuple[str, str]]:
    """Returns each config with each machine, the large machines last."""
    folders = (CONFIGS / "gpu", CONFIGS, CONFIGS / "papers")
    paths = [path for folder in folders for path in sorted(folder.glob("*.toml"))]
    names = [str(path.relative_to(CONFIGS).with_suffix("")) for path in paths]
    common = [(name, machine) for name in names for machine in MACHINES]
    return common + [(name, machine) for name in LARGE for machine in LARGE_MACHINES]


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__.splitlines()[0]))
