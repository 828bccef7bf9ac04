"""Trains with several learning rates side by side, in one program, and draws what came of it.

    python examples/sweep.py

`jax.vmap` maps whole trainings: over keys for several seeds, and over fractional numbers of the
config, such as the learning rate here. Each lane has its own games, replay buffer and network.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from azjax_envs import make

import azjax

GAME = make("tic_tac_toe")
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


def make_trainer(cycles: int, rate: float | jax.Array) -> azjax.Trainer:
    """Returns the functions of a run, with a number or with an array that `vmap` traces."""
    changes = {"cycles": cycles, "learning": {"learning_rate": rate}}
    return azjax.make_trainer(GAME, azjax.load_config("tic_tac_toe", changes))


def train(cycles: int, rates: jax.Array) -> tuple[azjax.TrainState, dict[str, np.ndarray]]:
    """Trains with all learning rates at once.

    Args:
      cycles: of each training.
      rates: float32 [N].

    Returns:
      The last states, whose arrays are [N, ...], and the metrics, [cycles, N].
    """
    # The same key for all, so that only the learning rate differs.
    init = jax.vmap(lambda rate: make_trainer(cycles, rate).init(jax.random.PRNGKey(0)))
    cycle = jax.vmap(lambda rate, state: make_trainer(cycles, rate).cycle(state))
    state, step = jax.jit(init)(rates), jax.jit(cycle, donate_argnums=1)
    log = []
    for _ in range(cycles):
        state, metrics = step(rates, state)
        log.append(jax.device_get(metrics))
    return state, {name: np.stack([metrics[name] for metrics in log]) for name in log[0]}


def mistakes(cycles: int, states: azjax.TrainState) -> list[float]:
    """Returns the share of positions in which each lane's player plays a wrong move."""
    trainer = make_trainer(cycles, 1e-3)  # its players do not depend on the learning rate
    players = {}
    for lane in range(len(states.cycle)):
        state = jax.tree.map(lambda x, lane=lane: x[lane], states)
        players[f"lane {lane}"] = azjax.trained_player(trainer, state, simulations=8)
    figures = azjax.report(GAME, players).players
    return [each.mistakes / each.positions for each in figures]


def draw(path: Path, log: dict[str, np.ndarray], wrong: list[float]) -> None:
    """Draws the policy's loss by cycle, and the mistakes by learning rate."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for rate, losses in zip(RATES, log["train/policy_loss"].T, strict=True):
        left.plot(losses, label=f"{rate:g}")
    left.set(xlabel="cycle", ylabel="policy loss")
    left.legend(title="learning rate")
    right.plot(RATES, wrong, "o-")
    right.set(xlabel="learning rate", ylabel="share of wrong moves", xscale="log", ylim=(0, None))
    figure.savefig(path)
    plt.close(figure)


def main(folder: str | Path = "runs", cycles: int = 200) -> list[float]:
    """Trains, prints and draws; returns each learning rate's share of wrong moves."""
    states, log = train(cycles, jnp.asarray(RATES))
    wrong = mistakes(cycles, states)
    for rate, share in zip(RATES, wrong, strict=True):
        print(f"learning rate {rate:g}: {share:.2%} wrong moves")
    Path(folder).mkdir(parents=True, exist_ok=True)
    draw(Path(folder) / "sweep.png", log, wrong)
    return wrong


if __name__ == "__main__":
    main(*sys.argv[1:])
