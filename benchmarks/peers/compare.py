"""azjax next to its peers, in one run: speed, memory, compilation, and what they learn.

    python benchmarks/peers/compare.py --alpha-zero-general CHECKOUT --json FILE
    python benchmarks/peers/compare.py --minutes 0                    # speed alone

All use the same network, simulations, number of games and batch. Each contestant runs in a process
of its own, with all cores. They take turns, one at a time, so that a noisy machine is equally noisy
for all. A result is the median of the rounds' ratios.

- **pgx loop**: the recipe of pgx's AlphaZero example on pgx's games and stock mctx, see
  `pgx_loop.py`.
- **alpha-zero-general**: its own self-play, without its learning, see `alpha_zero_general.py`. Its
  checkout is not part of azjax: `git clone` it, and give the folder. With Keras it runs in another
  Python, which has azjax and tensorflow-cpu.
- **stock mctx**: its Gumbel search on azjax's games, by `azjax bench search`.

Then connect four is learned for equal minutes, compilation not counted, by azjax's shipped config
and by pgx's recipe with the network `TRAINED`. Both had the same layers in the record. The result
is the number of mistakes in azjax's scored positions, with 64 simulations and by the policy alone.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import tyro
from setting import Setting

HERE = Path(__file__).parent
NETWORKS = {
    "2 dense x 64": {"architecture": "mlp", "blocks": 2, "channels": 64},
    "1 block x 16": {"architecture": "resnet", "blocks": 1, "channels": 16},
    "2 blocks x 32": {"architecture": "resnet", "blocks": 2, "channels": 32},
}
OTHERS = {"convolutions": 0, "value_hidden": 64, "value_head": "tanh", "dtype": "float32"}
# The network of pgx's recipe in training, with a scalar value. Its layers are those that
# configs/connect_four.toml had at commit ac60f98, before its residual dense layers.
TRAINED = {
    "architecture": "mlp",
    "convolutions": 2,
    "filters": 32,
    "blocks": 3,
    "channels": 512,
    "value_hidden": 64,
    "value_head": "tanh",
    "dtype": "bfloat16",
}


@dataclasses.dataclass(frozen=True)
class Arguments:
    alpha_zero_general: str = ""
    """Folder of a checkout of alpha-zero-general; "" leaves it out."""
    keras_python: str = ""
    """A Python that has azjax and tensorflow-cpu; "" leaves alpha-zero-general with Keras out."""
    networks: tuple[str, ...] = tuple(NETWORKS)
    """Networks for which the speed is measured."""
    rounds: int = 5
    """Interleaved rounds."""
    seconds: float = 8.0
    """Length of a round of each contestant, at least."""
    minutes: float = 10.0
    """Minutes of training for each; 0 trains nothing."""
    seed: int = 0
    """Seed of the training."""
    json: Path | None = None
    """The record is written to this file."""


def main(options: Arguments) -> None:
    """Measures, prints each result at once, and writes the record."""
    unknown = sorted(set(options.networks) - set(NETWORKS))
    if unknown:
        raise SystemExit(f"peers: unknown network {unknown[0]!r}; choose from {list(NETWORKS)}")
    record: dict[str, Any] = {
        "command": "python benchmarks/peers/compare.py",
        "options": {k: v for k, v in vars(options).items() if k not in ("json",)}
        | {key: bool(getattr(options, key)) for key in ("alpha_zero_general", "keras_python")},
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "load before": os.getloadavg()[0],
    }
    for name in options.networks:
        network = OTHERS | NETWORKS[name]
        record[name] = {"loops": speeds(Setting(network), options)}
        if network["architecture"] == "resnet":  # what `azjax bench search` has
            record[name]["search"] = searches(NETWORKS[name])
        _say(f"{name}: {json.dumps(record[name])}")
        _write(record, options.json)
    if options.minutes:
        record["training"] = trainings(options)
        _say(json.dumps(record["training"], indent=2))
        _write(record, options.json)


def speeds(setting: Setting, options: Arguments) -> dict[str, Any]:
    """Returns positions and simulations a second of each loop at equal settings."""
    names = ["azjax", "pgx loop"]
    workers: dict[str, list[Worker]] = {name: [Worker(name, setting)] for name in names}
    if options.alpha_zero_general:
        cores = os.cpu_count() or 1
        alone = [
            dataclasses.replace(setting, checkout=options.alpha_zero_general, seed=seed)
            for seed in range(cores)
        ]
        name = "alpha-zero-general, JAX"
        workers[name] = [Worker(name, each) for each in alone]
        if options.keras_python:
            name = "alpha-zero-general, Keras"
            workers[name] = [Worker(name, each, options.keras_python) for each in alone]
    first = {name: ask_all(group, {"seconds": 0}) for name, group in workers.items()}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in workers}
    for _ in range(options.rounds):
        for name, group in workers.items():
            answers = ask_all(group, {"seconds": options.seconds})
            rates = {
                unit: sum(answer[unit] / answer["seconds"] for answer in answers)
                for unit in ("positions", "simulations")
            }
            rounds[name].append(rates)
    results = {}
    for name, rates in rounds.items():
        positions = [rate["positions"] for rate in rates]
        ratios = [
            a["positions"] / b["positions"] for a, b in zip(rounds["azjax"], rates, strict=True)
        ]
        usual = statistics.median(positions)
        work = first[name][0]["positions"] / usual
        results[name] = {
            "positions a second": round(usual, 1),
            "min": round(min(positions), 1),
            "max": round(max(positions), 1),
            "simulations a second": round(statistics.median(r["simulations"] for r in rates)),
            "azjax is times": round(statistics.median(ratios), 2),
            "azjax is times, min": round(min(ratios), 2),
            "azjax is times, max": round(max(ratios), 2),
            "seconds to compile": round(max(first[name][0]["seconds"] - work, 0.0), 1),
        } | {"peak memory in MB": sum(a["peak memory in MB"] for a in ask_all(workers[name], {}))}
    for group in workers.values():
        for worker in group:
            worker.end()
    return results


def searches(network: dict[str, Any]) -> dict[str, Any]:
    """Returns what `azjax bench search` measures, with stock mctx on azjax's games."""
    flags = ["--batch", "256", "--simulations", "32", "--json"]
    flags += [f"--{key}={network[key]}" for key in ("blocks", "channels")]
    found = subprocess.run(
        [sys.executable, "-m", "azjax.cli", "bench", "search", *flags],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    facts = json.loads(found.stdout)
    facts["stock mctx takes times"] = round(
        facts["stock mctx, gumbel"]["median"] / facts["gumbel"]["median"], 3
    )
    return facts


def trainings(options: Arguments) -> dict[str, Any]:
    """Trains for equal minutes, in turns of half a minute, and counts mistakes."""
    seconds = 60 * options.minutes
    workers = {
        "azjax's config": Worker(
            "azjax's config", Setting({}, minutes=options.minutes, seed=options.seed)
        ),
        "pgx loop": Worker(
            "pgx loop", Setting(TRAINED, games=512, plies=64, batch=1024, seed=options.seed)
        ),
    }
    spent = dict.fromkeys(workers, 0.0)
    compilation, positions = {}, dict.fromkeys(workers, 0)
    for name, worker in workers.items():  # the first iteration compiles, and is not counted
        started = time.perf_counter()
        worker.ask({"seconds": 0})
        compilation[name] = round(time.perf_counter() - started, 1)
    open_ones = list(workers)
    while open_ones:
        for name in list(open_ones):
            answer = workers[name].ask({"seconds": min(30.0, seconds - spent[name])})
            spent[name] += answer["seconds"]
            positions[name] += answer["positions"]
            if answer["complete"] or spent[name] >= seconds:
                open_ones.remove(name)
            _say(f"{name}: {spent[name]:.0f} of {seconds:.0f} s")
    results = {}
    for name, worker in workers.items():
        results[name] = {
            "minutes": round(spent[name] / 60, 2),
            "seconds to start": compilation[name],
            "positions": positions[name],
            "mistakes": worker.ask({"mistakes": True}),
        } | worker.ask({})
        worker.end()
    return results


class Worker:
    """A contestant's process. It works on request, and waits otherwise."""

    def __init__(self, name: str, setting: Setting, python: Path | None = None) -> None:
        _say(f"starting {name}")
        command = [
            python or sys.executable,
            HERE / "worker.py",
            name,
            json.dumps(dataclasses.asdict(setting)),
        ]
        self._name = name
        # Programs of earlier runs would hide the time that compilation takes.
        environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "0"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def send(self, question: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)

    def receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"peers: the process of {self._name} has ended, see above")
        return json.loads(line)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        self.send(question)
        return self.receive()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def ask_all(workers: list[Worker], question: dict[str, Any]) -> list[dict[str, Any]]:
    """Asks all at once, and returns their answers."""
    for worker in workers:
        worker.send(question)
    return [worker.receive() for worker in workers]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _write(record: dict[str, Any], path: Path | None) -> None:
    text = json.dumps(record, indent=2)
    if path is not None:
        path.write_text(text + "\n")
    else:
        print(text, flush=True)


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__.splitlines()[0]))
