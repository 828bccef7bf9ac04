"""Ablations: a game trained without single methods or with others, in equal time, several seeds.

    python benchmarks/ablations.py connect_four --folder runs/ablations --minutes 3 --seeds 0 1 2

Each variant changes the keys of the game's config that are named below. The network is small, so
that a few minutes are many cycles. A short trial measures the time of a variant's cycles, and thus
how many cycles fit into the given time without compilation. So the learning rate reaches its end
within that time. The result is the number of mistakes in the positions with exact values, by
search and by the policy alone. Existing runs are kept, so a stopped script continues where it was.
Two scripts with different seeds can share a folder.
"""

import dataclasses
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Literal

import tyro

CONFIGS = Path(__file__).parent.parent / "configs"
SMALL = {"network.blocks": 5, "network.channels": 256}
GAMES = {
    "connect_four": ("connect_four", SMALL),
    "kalah": ("mancala_4x3", {}),
    "dots_and_boxes": ("dots_and_boxes_3x3", {}),
}
PUCT = {"search.algorithm": "puct"}
VARIANTS = {
    "as it is": {},
    # Search
    "PUCT for Gumbel": PUCT,
    "PUCT, 12 plies drawn": PUCT | {"selfplay.sampled_plies": 12},
    "PUCT, root temperature 1.1": PUCT | {"search.puct.root_temperature": 1.1},
    "PUCT, forced playouts 2": PUCT | {"search.puct.forced_playouts": 2},
    "PUCT, noise of alpha 0.3": PUCT | {"search.puct.dirichlet_concentration": 2.1},
    "values scaled by 0.1": {"search.gumbel.value_scale": 0.1},
    "rising from 8 simulations": {"search.start_simulations": 8},
    "8 simulations": {"search.num_simulations": 8, "selfplay.fast_simulations": 2},
    "16 simulations": {"search.num_simulations": 16, "selfplay.fast_simulations": 4},
    "64 simulations": {"search.num_simulations": 64, "selfplay.fast_simulations": 16},
    # Self-play
    "all searches in full": {"selfplay.full_search_fraction": 1.0, "search.num_simulations": 16},
    "no random openings": {"selfplay.opening_plies": 0},
    "12 plies with noise": {"selfplay.sampled_plies": 12},
    "nobody resigns": {"selfplay.resign_false_positive_rate": 0},
    "a gate every 20 cycles": {"selfplay.actor": "gated", "gate.every": 20},
    # Replay and targets
    "results alone": {"learning.root_value_weight": 0},
    "lambda 0.95": {"learning.td_lambda": 0.95},
    "reanalysis of 2,048": {"replay.reanalyse_positions": 2048},
    "the newest 10,000 games": {"replay.max_games": 10_000},
    # Learning and network
    "moving average 0.99": {"learning.ema_decay": 0.99},
    "steps of the learning rate": {"learning.schedule": "step"},
    "Muon": {"learning.optimizer": "muon"},
    "weight decay 1e-4": {"learning.weight_decay": 1e-4},
    "L2 for decay": {"learning.weight_decay": 0, "learning.l2": 1e-4},
    "no skip connections": {"network.no-residual": True},
    "a scalar value": {"network.value_head": "tanh"},
    "two networks": {"network.towers": "separate"},
    "two convolutions": {"network.convolutions": 2},
}
_CALIBRATION_CYCLES = 10


@dataclasses.dataclass(frozen=True)
class Arguments:
    game: tyro.conf.Positional[Literal["connect_four", "kalah", "dots_and_boxes"]]
    """The game whose exact values judge."""
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
            run = _folder_of(options, name, seed)
            if not (run / "report.json").is_file():
                run.parent.mkdir(parents=True, exist_ok=True)
                _train(run, options.game, VARIANTS[name], seed, options.minutes)
                flags = "--simulations 64 --own-games 0 --baselines --against"
                _azjax("report", str(run), *flags.split())
            print(f"{name}, seed {seed}: {_mistakes(run)}", flush=True)
    table = {}
    for name in options.variants:
        found = [_mistakes(_folder_of(options, name, seed)) for seed in options.seeds]
        table[name] = {
            player: {
                "mean": statistics.mean(mistakes[player] for mistakes in found),
                "all": [mistakes[player] for mistakes in found],
            }
            for player in found[0]
        }
    print(json.dumps(table, indent=2))


def _folder_of(options: Arguments, name: str, seed: int) -> Path:
    return options.folder / options.game / f"{name.replace(' ', '_')}_{seed}"


def _train(run: Path, game: str, changes: dict, seed: int, minutes: float) -> None:
    if run.exists():
        _azjax("resume", str(run))
        return
    seconds = _cycle_seconds(run, game, changes, seed)
    _azjax("train", *_flags(run, game, changes, seed, round(60 * minutes / seconds)))


def _cycle_seconds(run: Path, game: str, changes: dict, seed: int) -> float:
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
    flags = _flags(trial, game, changes, seed, _CALIBRATION_CYCLES)
    _azjax("train", *flags, "--replay.min_positions", "1")
    return min(_learning_cycles(trial))


def _learning_cycles(trial: Path) -> list[float]:
    """Returns the seconds of the trial's cycles that made updates."""
    metrics = trial / "metrics.jsonl"
    lines = map(json.loads, metrics.read_text().splitlines()) if metrics.is_file() else []
    return [line["time/cycle_s"] for line in lines if line.get("train/policy_loss")]


def _flags(run: Path, game: str, changes: dict, seed: int, cycles: int) -> list[str]:
    config, of_game = GAMES[game]
    keys = {
        "cycles": cycles,
        "seed": seed,
        "evaluation.every": 0,
        "checkpoint.every": 100,
        **of_game,
        **changes,
    }
    pairs = [(f"--{key}", "" if value is True else str(value)) for key, value in keys.items()]
    flags = [part for pair in pairs for part in pair if part]
    return [str(CONFIGS / f"{config}.toml"), "--run-dir", str(run), *flags]


def _azjax(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "azjax.cli", *arguments], check=True, stdout=sys.stderr)


def _mistakes(run: Path) -> dict[str, int]:
    players = json.loads((run / "report.json").read_text())["players"]
    return {player["name"]: player["mistakes"] for player in players[:2]}


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
