"""Ablations: a game trained without single methods or with others, several seeds.

    python benchmarks/ablations.py connect_four --folder runs/ablations --minutes 3 --seeds 0 1 2
    python benchmarks/ablations.py kalah --folder runs/simulations --forwards 1e8 \\
        --variants "2 simulations" "4 simulations" "8 simulations" "16 simulations"

Each variant changes the keys of the game's config that are named below. The network is small, so
that a few minutes are many cycles. All variants get equal time or equal numbers of forwards:

- With `--minutes`, a short trial measures the time of a variant's cycles, and thus how many cycles
  fit into the given time without compilation. So the learning rate reaches its end within it.
  Leave the core to the trial. Variants whose cycles take equal time share one (`SAME_TIME`).
- With `--forwards`, the number of cycles follows from the config, and no trial is needed. A forward
  is one evaluation of one position. Self-play counts one for each root and each simulation, and
  learning counts three for each example. Gates are not counted. Cycles of small searches have
  fewer forwards, so such variants get more cycles, games and updates.
- With `--cycles-of`, each variant gets as many cycles as in an earlier record. So more seeds can be
  trained on another machine, or next to other work.

The result is the number of mistakes in the positions with exact values, by search and by the policy
alone. For hex and othello these are endgames. For Ur it is what a choice gives up, in % of the
points. With `--against` it is also the score in matches after six random plies:

    python benchmarks/ablations.py othello --folder runs/league --minutes 8 \\
        --variants "as it is" "a league" --against uct:1000 othello_6x6

Existing runs are kept, so a stopped script continues where it was. Two scripts with different seeds
can share a folder. Another budget needs another folder.
"""

import dataclasses
import functools
import json
import multiprocessing
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import tyro
from azjax_envs import HasChance

import azjax
from azjax.config import Config
from azjax.config.toml import load_config, save_config
from azjax.errors import UserError
from azjax.games import make_game
from azjax.plan.operations import count_evaluations
from azjax.replay.auxiliary import check_auxiliary
from azjax.search.policies import Steps
from azjax.search.search import search

CONFIGS = Path(__file__).parent.parent / "configs"
SMALL = {"network.blocks": 5, "network.channels": 256}
GAMES = {
    "connect_four": ("connect_four", SMALL),
    "kalah": ("mancala_4x3", {}),
    "dots_and_boxes": ("dots_and_boxes_3x3", {}),
    "hex": ("hex_5x5", {}),
    "othello": ("othello_6x6", {}),
    "ur": ("ur_3", {}),
}
PUCT = {"search.algorithm": "puct"}
# Global pooling belongs to residual towers of convolutions.
TOWER = {
    "network.architecture": "resnet",
    "network.blocks": 4,
    "network.channels": 32,
    "network.dtype": "float32",
}


def _at_once(games: int, plies: int, updates: int, batch: int, rate: float) -> dict[str, Any]:
    """Returns the keys of a cycle with more games; the replay buffer holds as many positions."""
    return {
        "selfplay.parallel_games": games,
        "selfplay.plies_per_cycle": plies,
        "replay.capacity_plies": max(84, 1024 * 512 // games),
        "learning.updates_per_cycle": updates,
        "learning.batch_size": batch,
        "learning.learning_rate": rate,
        "learning.warmup_updates": round(200 * 512 / batch),
    }


VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    # Games at once, updates x batch, learning rate. A position is learned from as often as in "as
    # it is": 512 games, 8 plies a cycle, 16 x 512 at 2e-3.
    "4,096 games, 64 x 512 at 2e-3": _at_once(4096, 4, 64, 512, 2e-3),
    "4,096 games, 16 x 2,048 at 2e-3": _at_once(4096, 4, 16, 2048, 2e-3),
    "4,096 games, 16 x 2,048 at 4e-3": _at_once(4096, 4, 16, 2048, 4e-3),
    "4,096 games, 16 x 2,048 at 8e-3": _at_once(4096, 4, 16, 2048, 8e-3),
    "4,096 games, 16 x 4,096 at 6e-3": _at_once(4096, 8, 16, 4096, 6e-3),
    "16,384 games, 256 x 512 at 2e-3": _at_once(16384, 4, 256, 512, 2e-3),
    "16,384 games, 64 x 2,048 at 4e-3": _at_once(16384, 4, 64, 2048, 4e-3),
    "16,384 games, 16 x 8,192 at 8e-3": _at_once(16384, 4, 16, 8192, 8e-3),
    # Search
    "PUCT for Gumbel": PUCT,
    "PUCT, 12 plies drawn": PUCT | {"selfplay.sampled_plies": 12},
    "PUCT, noise of alpha 0.3": PUCT | {"search.puct.dirichlet_concentration": 2.1},
    "values scaled by 0.1": {"search.gumbel.value_scale": 0.1},
    "2 simulations": {"search.num_simulations": 2, "selfplay.fast_simulations": 1},
    "4 simulations": {"search.num_simulations": 4, "selfplay.fast_simulations": 2},
    "8 simulations": {"search.num_simulations": 8, "selfplay.fast_simulations": 2},
    "16 simulations": {"search.num_simulations": 16, "selfplay.fast_simulations": 4},
    "32 simulations": {"search.num_simulations": 32, "selfplay.fast_simulations": 8},
    "64 simulations": {"search.num_simulations": 64, "selfplay.fast_simulations": 16},
    "rounds in a fixed number of steps": {},
    "one outcome for each move": {"search.module": "benchmarks.searches.one_outcome:search"},
    # Self-play
    "all searches in full": {"selfplay.full_search_fraction": 1.0, "search.num_simulations": 16},
    "no random openings": {"selfplay.opening_plies": 0},
    "12 plies with noise": {"selfplay.sampled_plies": 12},
    "nobody resigns": {"selfplay.resign_false_positive_rate": 0},
    "a league": {"league.every": 50},
    "a league in half of the games": {"league.every": 50, "league.fraction": 0.5},
    "a gate every 20 cycles": {"selfplay.actor": "gated", "gate.every": 20},
    # Replay and targets
    "results alone": {"learning.root_value_weight": 0},
    "the newest 10,000 games": {"replay.max_games": 10_000},
    # Learning and network
    "constant rate": {"learning.schedule": "constant"},
    "steps of the learning rate": {"learning.schedule": "step"},
    "weight decay 1e-4": {"learning.weight_decay": 1e-4},
    "L2 for decay": {"learning.weight_decay": 0, "learning.l2": 1e-4},
    "no skip connections": {"network.residual": False},
    "a scalar value": {"network.value_head": "tanh"},
    "512 channels": {"network.channels": 512},
    "1,024 channels": {"network.channels": 1024},
    "two convolutions": {"network.convolutions": 2},
    "residual tower": TOWER,
    "residual tower, global pooling": TOWER | {"network.pooling_every": 2},
    "no auxiliary targets": {"network.auxiliary": []},
    "the score as a target": {"network.auxiliary": ["score"]},
    "score and owners as targets": {"network.auxiliary": ["score", "ownership"]},
}
# Variants whose self-play searches in other steps than a CPU's own (`azjax.search.policies.Steps`).
STEPS: dict[str, Steps] = {"rounds in a fixed number of steps": "fixed"}
# Cycles of these take as long as those of the variant named first, so one trial serves them all.
SAME_TIME = {
    "as it is": (
        "values scaled by 0.1",
        "12 plies with noise",
        "results alone",
        "the newest 10,000 games",
        "constant rate",
        "steps of the learning rate",
        "weight decay 1e-4",
        "L2 for decay",
        "no skip connections",
        "a scalar value",
    ),
    "PUCT for Gumbel": (
        "PUCT, 12 plies drawn",
        "PUCT, noise of alpha 0.3",
    ),
}
_CALIBRATION_CYCLES = 10


@dataclasses.dataclass(frozen=True)
class Arguments:
    game: tyro.conf.Positional[
        Literal["connect_four", "kalah", "dots_and_boxes", "hex", "othello", "ur"]
    ]
    """The game whose exact values judge."""
    folder: Path
    """Folder of the runs and results."""
    minutes: float = 10.0
    """Training time of each run."""
    forwards: Annotated[float | None, tyro.conf.arg(metavar="N")] = None
    """Instead of a time, the network forwards of each run, such as 1e8."""
    cycles_of: Annotated[Path | None, tyro.conf.arg(metavar="RECORD")] = None
    """Instead of a time, a record under `benchmarks/results` whose numbers of cycles count."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds; every variant is trained with each."""
    variants: tuple[str, ...] = ()
    """Names of the variants; by default all that the game can have and that change its config."""
    against: tuple[str, ...] = ()
    """Opponents of matches, such as uct:1000."""
    games: int = 200
    """Of each match."""


def main(options: Arguments) -> None:
    unknown = sorted(set(options.variants) - set(VARIANTS))
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; choose from {', '.join(VARIANTS)}")
    # This process only counts. It leaves accelerators to the trainings.
    jax.config.update("jax_platforms", "cpu")
    options = dataclasses.replace(options, variants=options.variants or _variants(options.game))
    configs = {name: _config(options.game, VARIANTS[name]) for name in options.variants}
    for name, config in configs.items():
        if not _is_possible(config):
            raise SystemExit(f"{name}: {options.game} lacks such targets, or has no dice")
    for seed in options.seeds:
        for name in options.variants:
            run = _folder_of(options, name, seed)
            if not (run / "report.json").is_file():
                run.parent.mkdir(parents=True, exist_ok=True)
                _train(run, name, dataclasses.replace(configs[name], seed=seed), options)
                flags = f"--games {options.games} --opening-plies 6 --baselines --against"
                measured = *flags.split(), *options.against
                _azjax("report", str(run), "--simulations", "64", "--own-games", "0", *measured)
            print(f"{name}, seed {seed}: {_result(run)}", flush=True)
    table = {}
    for name in options.variants:
        found = [_result(_folder_of(options, name, seed)) for seed in options.seeds]
        table[name] = {
            number: {
                "mean": statistics.mean(result[number] for result in found),
                "all": [result[number] for result in found],
            }
            for number in found[0]
        }
    print(json.dumps(table, indent=2))


def _variants(game: str) -> tuple[str, ...]:
    """Returns the variants that the game can have and that change its config, and the base."""
    configs = {name: _config(game, changes) for name, changes in VARIANTS.items()}
    base = _config(game, {})
    return tuple(
        name
        for name, config in configs.items()
        if _is_possible(config) and (config != base or name in ("as it is", *STEPS))
    )


def _is_possible(config: Config) -> bool:
    """Returns whether the game has the auxiliary targets of the config, and dice for its search."""
    if config.search.module and not isinstance(make_game(config), HasChance):
        return False
    try:
        check_auxiliary(make_game(config), config.network.auxiliary)
    except UserError:
        return False
    return True


def _config(game: str, changes: Mapping[str, Any]) -> Config:
    """Returns the config of a variant, apart from its seed and its number of cycles."""
    name, of_game = GAMES[game]
    keys = {"evaluation.every": 0, "checkpoint.every": 100, **of_game, **changes}
    nested: dict[str, Any] = {}
    for key, value in keys.items():
        *tables, last = key.split(".")
        table = nested
        for part in tables:
            table = table.setdefault(part, {})
        table[last] = value
    return load_config(CONFIGS / f"{name}.toml", nested)


def _folder_of(options: Arguments, name: str, seed: int) -> Path:
    return options.folder / options.game / f"{_folder_name(name)}_{seed}"


def _folder_name(name: str) -> str:
    return name.replace(" ", "_")


def _train(run: Path, name: str, config: Config, options: Arguments) -> None:
    if run.exists():
        if name in STEPS:
            _in_another_process(_resume_with_steps, run, STEPS[name])
        else:
            _azjax("resume", str(run))
        return
    if options.cycles_of is not None:
        cycles = _recorded_cycles(options.cycles_of, name)
    elif options.forwards is None:
        cycles = 60 * options.minutes / _cycle_seconds(name, config, options)
    else:
        cycles = options.forwards / _cycle_forwards(config)
    _start(run, dataclasses.replace(config, cycles=max(1, round(cycles))), STEPS.get(name))


def _start(run: Path, config: Config, steps: Steps | None = None) -> None:
    file = run.with_name(f"{run.name}.toml")
    save_config(config, file)
    if steps is None:
        _azjax("train", str(file), "--run-dir", str(run))
    else:
        _in_another_process(_train_with_steps, file, run, steps)


def _train_with_steps(file: Path, run: Path, steps: Steps) -> None:
    azjax.train(load_config(file), run_dir=run, search=functools.partial(search, steps=steps))


def _resume_with_steps(run: Path, steps: Steps) -> None:
    azjax.resume(run, search=functools.partial(search, steps=steps))


def _in_another_process(function: Callable[..., None], *arguments: Any) -> None:
    process = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{function.__name__} failed")


def _recorded_cycles(record: Path, name: str) -> int:
    """Returns the cycles of a variant in a record, whose seeds all have the same number."""
    variants = json.loads(record.read_text())["variants"]
    if name not in variants:
        name = next((timed for timed, others in SAME_TIME.items() if name in others), name)
    if name not in variants:
        raise SystemExit(f"{record}: {name} is missing; it has {', '.join(variants)}")
    (cycles,) = {seed["cycles"] for seed in variants[name].values()}
    return cycles


def _cycle_forwards(config: Config) -> float:
    """Returns the evaluations of one position in a cycle.

    A gradient step is three forwards, as `azjax bench train` counts it.
    """
    return (
        config.selfplay.parallel_games * count_evaluations(config)
        + 3 * config.learning.updates_per_cycle * config.learning.batch_size
    )


def _cycle_seconds(name: str, config: Config, options: Arguments) -> float:
    """Returns the time of the fastest cycle of a variant, measured once for all seeds.

    The fastest one is used because other work on the machine would cost the variant cycles.
    """
    for timed, others in SAME_TIME.items():
        if name in others:
            base = dataclasses.replace(_config(options.game, VARIANTS[timed]), seed=config.seed)
            return _cycle_seconds(timed, base, options)
    run = _folder_of(options, name, config.seed)
    for trial in run.parent.glob(f"{_folder_name(name)}_*_trial"):
        seconds = _learning_cycles(trial)
        if len(seconds) >= _CALIBRATION_CYCLES // 2:
            return min(seconds)
    trial = run.with_name(run.name + "_trial")
    # Updates begin as early as possible, so that a few cycles are enough.
    replay = dataclasses.replace(config.replay, min_positions=1)
    trial_config = dataclasses.replace(config, replay=replay, cycles=_CALIBRATION_CYCLES)
    _start(trial, trial_config, STEPS.get(name))
    return min(_learning_cycles(trial))


def _learning_cycles(trial: Path) -> list[float]:
    """Returns the seconds of the trial's cycles that made updates."""
    metrics = trial / "metrics.jsonl"
    lines = map(json.loads, metrics.read_text().splitlines()) if metrics.is_file() else []
    return [line["time/cycle_s"] for line in lines if line.get("train/policy_loss")]


def _azjax(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "azjax.cli", *arguments], check=True, stdout=sys.stderr)


def _result(run: Path) -> dict[str, float]:
    """Returns a run's cycles, what its player and its policy lose, and their scores in matches."""
    report = json.loads((run / "report.json").read_text())
    found: dict[str, float] = {"cycles": report["cycle"]}
    for player in report["players"][:2]:
        score = player["scores"][0]
        loss = round(100 * score["loss"], 4)
        found[player["name"]] = loss if score["expected"] else player["mistakes"]
        for match in player["matches"]:
            found[f"{player['name']} against {match['player_b']}"] = match["score"]
    return found


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
