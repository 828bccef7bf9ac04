"""The errors of a run's value targets against exact results, for several ways to compute them.

    python benchmarks/value_targets.py runs/connect_four --plies 11 --json targets.json

The run's self-play, with its current network, continues from positions whose results are known.
Each position gets the targets of several values of `learning.root_value_weight`. The squared error
has two parts. The variance from game to game can be averaged out by a network. The squared bias,
the error of the mean, is learned.
"""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from azjax.config import Config
from azjax.evaluation.position_suites import GameSuites
from azjax.players.load import load_network, load_run_config
from azjax.replay.buffer import Replay, Transition
from azjax.replay.targets import value_targets
from azjax.search.model import network_evaluate
from azjax.selfplay.openings import Games
from azjax.selfplay.selfplay import draw_full_search_mask, play_plies

ROOT_WEIGHTS = (0.0, 0.25, 0.5, 1.0)


@dataclasses.dataclass(frozen=True)
class Arguments:
    run: tyro.conf.Positional[Path]
    """A run directory of a game with known results."""
    plies: int = 1000
    """Only positions after at most this number of plies."""
    repeats: int = 4
    """Games from each position."""
    seed: int = 0
    """Seed of the games."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the table to this file."""


def main(options: Arguments) -> None:
    config = load_run_config(options.run)
    game, network, variables = load_network(options.run)
    suite = GameSuites(game, max_states=100_000, seed=options.seed).fixed[0]
    chosen = np.flatnonzero(suite.plies <= options.plies)
    states = jax.tree.map(lambda x: jnp.asarray(x)[chosen], suite.states)
    plies, exact = jnp.asarray(suite.plies[chosen], jnp.int32), suite.results[chosen]
    config = _to_the_end(config, game.max_steps)
    evaluate = network_evaluate(game, network)
    run_on = jax.jit(
        lambda key, mask: play_plies(
            game,
            evaluate,
            variables,
            key,
            Games(states, plies, None),
            config,
            full_search_mask=mask,
        )[1]
    )
    keys = jax.random.split(jax.random.key(options.seed), options.repeats)
    windows = [run_on(key, draw_full_search_mask(key, config.selfplay)) for key in keys]
    table = [
        {"root_value_weight": own}
        | _errors(np.stack([_targets(rows, own) for rows in windows]), exact)
        for own in ROOT_WEIGHTS
    ]
    _, value = jax.jit(functools.partial(evaluate, variables))(jax.random.key(0), states)
    network_error = float(np.mean((np.asarray(value) - exact) ** 2))
    print(f"{len(chosen)} positions, {options.repeats} games each")
    print(f"the network itself: squared error {network_error:.3f}")
    for row in table:
        print("  ".join(f"{key} {value:.3f}" for key, value in row.items()))
    if options.json:
        facts = {"positions": len(chosen), "repeats": options.repeats, "network": network_error}
        options.json.write_text(json.dumps({**facts, "targets": table}, indent=2) + "\n")


def _to_the_end(config: Config, plies: int) -> Config:
    """Returns the same config with self-play until every game has ended, without resignation."""
    selfplay = dataclasses.replace(
        config.selfplay, plies_per_cycle=plies, resign_false_positive_rate=0.0
    )
    replay = dataclasses.replace(config.replay, capacity_plies=plies, max_games=0)
    return dataclasses.replace(config, selfplay=selfplay, replay=replay)


def _targets(transitions: Transition, own: float) -> np.ndarray:
    """Returns the targets of the first ply, float32 [B]."""
    count = jnp.int32(len(transitions.reward))
    window = Replay(transitions=transitions, position=jnp.int32(0), filled=count)
    return np.asarray(value_targets(window, root_value_weight=own).value[0])


def _errors(targets: np.ndarray, exact: np.ndarray) -> dict[str, float]:
    """Returns the squared error of targets [repeats, B] for results [B], and its two parts."""
    error = float(np.mean((targets - exact) ** 2))
    variance = float(np.mean(np.var(targets, axis=0, ddof=1)))
    return {"error": error, "variance": variance, "bias": error - variance}


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
