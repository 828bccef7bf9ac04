"""The operations of a training cycle, counted from its config and its network."""

import os
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import Config
from azjax.errors import UserError
from azjax.network import Network, variable_shapes


def full_plies(config: Config) -> int:
    """Returns how many plies of a cycle get a full search."""
    return round(config.selfplay.full_search_fraction * config.selfplay.plies_per_cycle)


def count_evaluations(config: Config) -> int:
    """Returns how often self-play of a cycle evaluates a position of each game."""
    plies, full = config.selfplay.plies_per_cycle, full_plies(config)
    fast = (plies - full) * config.selfplay.fast_simulations
    return plies + full * config.search.num_simulations + fast


def cycle_operations(config: Config, game: Game, network: Network) -> tuple[float, float]:
    """Returns the network's operations in a cycle's self-play and updates, on all devices together.

    A gradient step is three forwards: one, and one for each of the gradients of inputs and weights.
    """
    evaluated = count_evaluations(config) * config.selfplay.parallel_games
    learned = config.learning.updates_per_cycle * config.learning.batch_size
    one = forward_operations(game, network)
    return evaluated * one, 3 * learned * one


def forward_operations(game: Game, network: Network) -> float:
    """Returns the operations of one evaluation, as XLA counts them in programs for a CPU.

    Raises:
      UserError: JAX may not use the CPU.
    """
    observations = jax.ShapeDtypeStruct((1, *game.observation_shape), jnp.float32)
    variables = jax.eval_shape(network.for_inference, variable_shapes(network))
    try:
        cpu = jax.devices("cpu")[0]
    except RuntimeError as error:
        raise UserError(
            "operations are counted by JAX's CPU backend, which JAX_PLATFORMS "
            f"leaves out; add it: JAX_PLATFORMS={os.environ.get('JAX_PLATFORMS', '')},cpu"
        ) from error
    with jax.default_device(cpu):
        lowered = jax.jit(network.apply).lower(variables, observations)
        analysis: Any = lowered.cost_analysis()
    return float(analysis["flops"])
