"""`azjax bench search`: the time of a search, compared with the network alone and stock mctx."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

import jax
import mctx
from azjax_envs import Game

from azjax.bench.timing import at_once, interleave, matrix_share, peak_memory, show, spread
from azjax.bench.training import evaluate_repeatedly
from azjax.chance import require_no_chance
from azjax.config import NetworkConfig, SearchConfig
from azjax.devices import describe_machine
from azjax.games import game_from_name
from azjax.network import Network, Variables, make_network
from azjax.plan.operations import forward_operations
from azjax.rollouts import random_openings
from azjax.search import (
    Evaluate,
    Exploration,
    SearchResult,
    Steps,
    make_recurrent_fn,
    mask_logits,
    network_evaluate,
    search,
)
from azjax.types import Array, State


@dataclass(frozen=True)
class SearchBenchmark:
    """The comparison of a search with as many network evaluations, and with stock mctx."""

    game: str = "connect_four"
    """Name of the game."""
    batch: int = 64
    """Positions searched at once, on one device."""
    simulations: int = 128
    """Simulations of each search."""
    blocks: int = 2
    """Residual blocks of the network."""
    channels: int = 32
    """Channels of the network."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Dtype of the network's arithmetic; bfloat16 on accelerators."""
    repeats: int = 9
    """Number of interleaved repeats."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        show(self.measure(), as_json=self.json)

    def measure(self, wait: Callable[[], None] = at_once) -> dict[str, Any]:
        """Returns the times in milliseconds, by contestant, and what they were measured on.

        Args:
          wait: called when everything is compiled, before it is timed.
        """
        game = game_from_name(self.game)
        require_no_chance(game)  # stock mctx's contestant has none
        settings = NetworkConfig(blocks=self.blocks, channels=self.channels, dtype=self.dtype)
        network = make_network(game, settings)
        operations = (self.simulations + 1) * self.batch * forward_operations(game, network)
        key = jax.random.PRNGKey(0)
        # Folded and cast once, as a training cycle does, and not in every contestant.
        variables = jax.jit(lambda key: network.for_inference(network.init(key)))(key)
        states, _ = jax.jit(random_openings, static_argnums=(0, 2, 3))(game, key, self.batch, 8)
        contestants: dict[str, Callable[..., Any]] = {
            "network": lambda variables, _, states: evaluate_repeatedly(
                network, self.simulations + 1, variables, jax.vmap(game.observe)(states)
            )
        }
        for algorithm in ("gumbel", "puct"):
            config = SearchConfig(algorithm=algorithm, num_simulations=self.simulations)
            contestants[algorithm] = functools.partial(search_by, game, network, config)
        contestants["stock mctx, gumbel"] = functools.partial(
            _search_by_stock_gumbel, game, network_evaluate(game, network), self.simulations
        )
        compiled = {
            name: functools.partial(jax.jit(f), variables, key, states)
            for name, f in contestants.items()
        }
        seconds = interleave(compiled, self.repeats, wait)
        facts: dict[str, Any] = {
            "benchmark": f"{self.simulations} simulations, {self.game}, batch {self.batch}, "
            f"{self.blocks} blocks x {self.channels} channels in {self.dtype}",
            "machine": describe_machine(),
            "unit": f"milliseconds; ratio to {self.simulations + 1} evaluations of the network "
            "alone",
        }
        for name, times in seconds.items():
            ratio = median(times) / median(seconds["network"])
            facts[name] = spread(times) | {"ratio": round(ratio, 3)}
            facts[name] |= matrix_share(operations, median(times))
        return facts | peak_memory()


def search_by(
    game: Game,
    network: Network,
    config: SearchConfig,
    variables: Variables,
    key: Array,
    states: Any,
    *,
    steps: Steps | None = None,
) -> SearchResult:
    """Searches with all of the config's noise, in the steps of self-play if none are given."""
    exploration = Exploration(1.0, config.puct.dirichlet_fraction)
    evaluate = network_evaluate(game, network)
    if steps is None:
        steps = "single" if jax.default_backend() == "cpu" else "fixed"
    return search(
        game,
        evaluate,
        variables,
        key,
        states,
        config=config,
        exploration=exploration,
        steps=steps,
    )


def _search_by_stock_gumbel(
    game: Game,
    evaluate: Evaluate,
    simulations: int,
    variables: Variables,
    key: Array,
    states: State,
) -> tuple[Array, Array]:
    """Runs the same Gumbel search with mctx's own loop."""
    mask = jax.vmap(game.legal_action_mask)(states)
    logits, value = evaluate(variables, key, states)
    root = mctx.RootFnOutput(prior_logits=mask_logits(logits, mask), value=value, embedding=states)
    output = mctx.gumbel_muzero_policy(
        variables,
        key,
        root,
        make_recurrent_fn(game, evaluate),
        simulations,
        invalid_actions=~mask,
        max_num_considered_actions=min(16, game.num_actions),
    )
    return output.action, output.action_weights
