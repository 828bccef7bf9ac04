"""Ablations: connect four trained without single methods, in equal time, with several seeds.

    python benchmarks/ablations.py --folder runs/ablations --minutes 10 --seeds 0 1 2

Each variant changes the keys of `configs/connect_four.toml` that are named below. A short trial
measures the time of its cycles, and thus how many cycles fit into the given time without
compilation. So the learning rate reaches its end within that time. The result is the number of
mistakes in the scored positions, by search and by the policy alone. Existing runs are kept, so a
stopped script continues where it was. Two scripts with different seeds can share a folder.
"""

import dataclasses
import json
import statistics
import subprocess
import sys
from pathlib import Path

import tyro

CONFIG = Path(__file__).parent.parent / "configs" / "connect_four.toml"
VARIANTS = {
    "as it is": {},
    "PUCT for Gumbel": {"search.algorithm": "puct"},
    "PUCT, 12 plies drawn": {"search.algorithm": "puct", "selfplay.sampled_plies": 12},
    "all searches in full": {"selfplay.full_search_fraction": 1.0, "search.num_simulations": 16},
    "no random openings": {"selfplay.opening_plies": 0},
    "results alone": {"learning.root_value_weight": 0},
}
_CALIBRATION_CYCLES = 10


@dataclasses.dataclass(frozen=True)
class Arguments:
    folder: Path
    """Folder of the runs and results."""
    minutes: float = 10.0
    """Training time of each run."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds; every variant is trained with each."""
    variants: tuple[str, ...] = tuple(VARIANTS)
    """Names of the variants."""


def main(options: Arguments) -> None:
    unknown = sorted(set(options.variants) - set(VARIANTS))
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; choose from {', '.join(VARIANTS)}")
    for seed in options.seeds:
        for name in options.variants:
            run = options.folder / f"{name.replace(' ', '_')}_{seed}"
            if not (run / "report.json").is_file():
                run.parent.mkdir(parents=True, exist_ok=True)
                _train(run, VARIANTS[name], seed, options.minutes)
                _azjax("report", str(run), "--simulations", "64", "--baselines", "--against")
            print(f"{name}, seed {seed}: {_mistakes(run)}", flush=True)
    table = {}
    for name in options.variants:
        runs = [options.folder / f"{name.replace(' ', '_')}_{seed}" for seed in options.seeds]
        found = [_mistakes(run) for run in runs]
        table[name] = {
            player: {
                "mean": statistics.mean(mistakes[player] for mistakes in found),
                "all": [mistakes[player] for mistakes in found],
            }
            for player in found[0]
        }
    print(json.dumps(table, indent=2))


def _train(run: Path, changes: dict, seed: int, minutes: float) -> None:
    if run.exists():
        _azjax("resume", str(run))
        return
    seconds = _cycle_seconds(run, changes, seed)
    _azjax("train", *_flags(run, changes, seed, round(60 * minutes / seconds)))


def _cycle_seconds(run: Path, changes: dict, seed: int) -> float:
    """Returns the time of the fastest cycle, measured with the first seed of a variant.

    The fastest one is used because other work on the machine would cost the variant cycles.
    """
    variant = run.name.rpartition("_")[0]
    for trial in run.parent.glob(f"{variant}_*_trial"):
        seconds = _learning_cycles(trial)
        if len(seconds) >= _CALIBRATION_CYCLES // 2:
            return min(seconds)
    trial = run.with_name(run.name + "_trial")
    # Updates begin as early as possible, so that a few cycles are enough.
    flags = _flags(trial, changes, seed, _CALIBRATION_CYCLES)
    _azjax("train", *flags, "--replay.min_positions", "1")
    return min(_learning_cycles(trial))


def _learning_cycles(trial: Path) -> list[float]:
    """Returns the seconds of the trial's cycles that made updates."""
    metrics = trial / "metrics.jsonl"
    lines = map(json.loads, metrics.read_text().splitlines()) if metrics.is_file() else []
    return [line["time/cycle_s"] for line in lines if line.get("train/policy_loss")]


def _flags(run: Path, changes: dict, seed: int, cycles: int) -> list[str]:
    keys = {
        "cycles": cycles,
        "seed": seed,
        "evaluation.every": 0,
        "checkpoint.every": 100,
        **changes,
    }
    flags = [str(part) for key, value in keys.items() for part in (f"--{key}", value) if part != ""]
    return [str(CONFIG), "--run-dir", str(run), *flags]


def _azjax(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "azjax.cli", *arguments], check=True, stdout=sys.stderr)


def _mistakes(run: Path) -> dict[str, int]:
    players = json.loads((run / "report.json").read_text())["players"]
    return {player["name"]: player["mistakes"] for player in players[:2]}


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
