"""Scaling laws of hex, small: Elo by compute, and training exchanged for search.

    python examples/scaling_hex.py runs/scaling

It follows Jones, "Scaling Scaling Laws with Board Games" (2021, arXiv 2104.03113): networks of
several sizes learn on several boards, many checkpoints of each meet, and all players of a board get
Elo ratings on one scale. Compute counts the networks' operations. What exists in the folder is not
computed again, so a run can be stopped at any time.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from azjax_envs import Game, make
from scipy.optimize import least_squares

import azjax
from azjax.evaluation.bradley_terry import fit_ratings
from azjax.network import make_network
from azjax.plan.operations import cycle_operations, forward_operations

CYCLES = {3: 512, 4: 1024, 5: 2048, 6: 4096}  # of training, by size of the board
WIDTHS = (8, 16, 32, 64, 128, 256, 512)  # of the networks' two layers
SEEDS = 2  # trainings of each network
PERFECT = {3: "exact", 5: "hex_5x5", 6: "hex_6x6"}  # the last two nearly so
SEARCHED = (5, 64)  # board and width of the second figure
SIMULATIONS = (1, 4, 16, 64)
GAMES = 64  # of a match


def config_of(size: int, width: int) -> azjax.Config:
    """Returns the run of a board and a network."""
    values = {
        "game": {"name": f"hex_{size}x{size}"},
        "network": {"blocks": 2, "channels": width, "value_hidden": width},
        "selfplay": {"parallel_games": 64, "opening_plies": size - 1, "full_search_fraction": 1.0},
        "replay": {"capacity_plies": 128, "min_positions": 256},
        "learning": {"batch_size": 256, "updates_per_cycle": 4, "warmup_updates": 20},
        "search": {"num_simulations": 16},
    }
    values["learning"] |= {"schedule": "constant", "learning_rate": 2e-3}
    return azjax.load_config("hex_5x5", values)


def files(folder: Path, size: int, width: int, seed: int) -> list[Path]:
    """Returns the players of a run: after 0, 2, 4, 8 cycles and so on."""
    cycles = [0, *(2**n for n in range(1, CYCLES[size].bit_length()))]
    return [folder / f"{size}_{width}_{seed}_{cycle}.safetensors" for cycle in cycles]


def train(folder: Path, size: int, width: int, seed: int) -> None:
    """Trains one network and writes its players, unless they are there."""
    config, wanted = config_of(size, width), files(folder, size, width, seed)
    if all(file.exists() for file in wanted):
        return
    trainer = azjax.make_trainer(make(config.game.name), config)
    state = trainer.init(jax.random.PRNGKey(seed))
    for cycle in range(CYCLES[size] + 1):
        file = folder / f"{size}_{width}_{seed}_{cycle}.safetensors"
        if file in wanted:
            file.unlink(missing_ok=True)
            azjax.save_player(file, config, azjax.trained_player(trainer, state).variables)
            print(file, flush=True)
        state = trainer.cycle(state)[0] if cycle < CYCLES[size] else state


@functools.cache
def load(spec: str, game: Game, widest: Path) -> azjax.Player:
    """Loads a player. Zeros make each network a part of the widest: one program plays them all."""
    player, wide = (azjax.load_player(each, game=game) for each in (spec, widest))
    if ".safetensors" not in spec:
        return player
    variables = jax.tree.map(
        lambda x, y: jnp.pad(x, [(0, b - a) for a, b in zip(x.shape, y.shape, strict=True)]),
        player.variables,
        wide.variables,
    )
    return dataclasses.replace(player, network=wide.network, variables=variables)


@functools.cache
def operations(size: int, width: int) -> tuple[float, float]:
    """Returns the operations of a cycle of training, and of one evaluation."""
    game, config = make(f"hex_{size}x{size}"), config_of(size, width)
    network = make_network(game, config.network)
    return sum(cycle_operations(config, game, network)), forward_operations(game, network)


def rate(folder: Path, rows: list[list[str]], size: int, perfect: str | None = None) -> tuple:
    """Plays the matches that are missing, each row against the next, and all against perfect play.

    Returns:
      For each player: Elo below the best, log10 of the operations of its training and of a search.
    """
    game, file = make(f"hex_{size}x{size}"), folder / "matches.json"
    done = json.loads(file.read_text()) if file.exists() else {}
    pairs = [p for x, y in itertools.pairwise(rows) for p in [*zip(x, y), *zip(x[1:], y)]]  # noqa: B905
    pairs += [(name, perfect) for row in rows for name in row if perfect]
    names = sorted({name for pair in pairs for name in pair})
    points, independent = np.zeros((2, len(names), len(names)))
    for number, pair in enumerate(pairs):
        key = " ".join([str(size), *(Path(name).name for name in pair)])
        if key not in done:
            widest = files(folder, size, max(WIDTHS), seed=0)[0]
            players = [load(name, game, widest) for name in pair]
            seed = jax.random.PRNGKey(number)
            match = azjax.play_match(game, *players, seed, num_games=GAMES, opening_plies=2)
            done[key] = [match.score, match.effective_games / GAMES]
            file.write_text(json.dumps(done, indent=1))
        a, b = map(names.index, pair)
        points[a, b], points[b, a] = GAMES * done[key][0], GAMES * (1 - done[key][0])
        independent[[a, b], [b, a]] = done[key][1]
    elo = fit_ratings(points, anchor=0, independent=independent).elo
    found = []
    for name in itertools.chain(*rows):
        width, _, cycle, simulations = map(int, re.findall(r"\d+", Path(name).name)[1:])
        costs = np.multiply([cycle, 1 + simulations], operations(size, width))
        found.append([elo[names.index(name)] - elo.max(), *np.log10(np.maximum(costs, 1))])
    return tuple(np.array(found).T)


def fit(elo: np.ndarray, *columns: np.ndarray) -> np.ndarray:
    """Fits Jones's curve: a floor, a plane that rises with the columns, and the best's Elo, 0.

    Returns:
      The plane's coefficients of the columns and of 1, then those of 500 bootstraps, [501, n].
    """
    data, n = np.stack([*columns, np.ones(len(elo)), elo]), len(columns) + 1

    def misses(p: np.ndarray, data: np.ndarray) -> np.ndarray:
        # The floor may depend on all columns but the first, the training's compute.
        return np.clip(p[:n] @ data[:-1], p[n:] @ data[1:-1], 0) - data[-1]

    rising = data[:, (elo > 0.8 * elo.min()) & (elo < 0.1 * elo.min())]
    plane = np.linalg.lstsq(rising[:-1].T, rising[-1], rcond=None)[0]
    start = [*plane, *np.zeros(n - 2), elo.min()]
    draws = np.random.default_rng(0).integers(len(elo), size=(501, len(elo)))
    draws[0] = np.arange(len(elo))
    return np.array([least_squares(misses, start, args=(data[:, d],)).x[:n] for d in draws])


def tell(name: str, values: np.ndarray) -> None:
    """Prints a figure, the first value, with its 95% interval."""
    low, high = np.percentile(values[1:], [2.5, 97.5])
    print(f"{name} {values[0]:.3g} [{low:.3g}, {high:.3g}]")


def main(folder: str | Path = "runs/scaling_hex") -> None:
    """Trains and rates what is missing, prints the slopes and draws two figures."""
    folder, frontier = Path(folder), []
    folder.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    runs = list(itertools.product(WIDTHS, range(SEEDS)))
    for size in CYCLES:
        for width, seed in runs:
            train(folder, size, width, seed)
        rows = [[f"{file}:16" for file in files(folder, size, *run)] for run in runs]
        elo, cost, _ = rate(folder, rows, size, PERFECT.get(size))
        (dots,) = left.plot(cost, elo, ".", label=f"{size}x{size}")
        board = []
        for seed in range(SEEDS):
            x, y = (v.reshape(len(WIDTHS), SEEDS, -1)[:, seed].ravel() for v in (cost, elo))
            order = np.argsort(x, kind="stable")
            best = [i for n, i in enumerate(order) if y[i] >= y[order[: n + 1]].max()]
            left.plot(x[best], y[best], color=dots.get_color())
            board += [(y[i], x[i], size) for i in best if x[i] > 0]
        tell(f"Elo for 10 times the compute, {size}x{size}:", fit(*np.array(board).T[:2])[:, 0])
        frontier += board
    slopes = fit(*np.array(frontier).T)
    tell("Elo for 10 times the compute, all boards:", slopes[:, 0])
    tell("compute for a larger board, times", 10 ** (-slopes[:, 1] / slopes[:, 0]))
    pairs = itertools.product(SIMULATIONS, range(SEEDS))
    rows = [[f"{f}:{n}" for f in files(folder, *SEARCHED, seed)] for n, seed in pairs]
    elo, cost, search = rate(folder, rows, SEARCHED[0])
    means = (v.reshape(len(SIMULATIONS), SEEDS, -1).mean(1) for v in (cost, elo))
    for n, x, y in zip(SIMULATIONS, *means, strict=True):
        right.plot(x, y, "o-", label=f"simulations: {n}")
    slopes = fit(*(x[cost > 0] for x in (elo, cost, search)))
    tell("Elo for 10 times the training:", slopes[:, 0])
    tell("Elo for 10 times the search:", slopes[:, 1])
    tell("search that 10 times the training is worth, log10:", slopes[:, 0] / slopes[:, 1])
    for axes in (left, right):
        axes.set(xlabel="log10 of the operations of training", ylabel="Elo below the best")
        axes.legend().axes.set_xlim(left=7)
    figure.savefig(folder / "scaling.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
