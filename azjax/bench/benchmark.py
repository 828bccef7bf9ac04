"""`azjax bench`: how fast search and training are, beside what the network alone would take.

Every figure is a median over repeats that are interleaved within one run, because machines are
noisy: ratios hold where seconds do not.
"""

import dataclasses
import functools
import statistics
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import tyro
from azjax_envs import Game
from jax.sharding import Mesh

from azjax.bench.games import EnvsBenchmark
from azjax.bench.timing import interleave, machine, show
from azjax.config import NetworkConfig, SearchConfig
from azjax.config.toml import load_config
from azjax.devices import use_all_cores
from azjax.games import game_from_name, make_game
from azjax.learning.update import Batch, make_optimizer, update
from azjax.network.network import Network
from azjax.rollouts import random_openings
from azjax.search.model import make_recurrent_fn, mask_logits, network_evaluate
from azjax.search.search import exploration_of, search
from azjax.selfplay.selfplay import full_plies
from azjax.sharding import EVERYWHERE, SPLIT, make_mesh, shard
from azjax.training.state import TrainState, state_specs
from azjax.training.trainer import make_trainer


@dataclasses.dataclass(frozen=True)
class SearchBenchmark:
    """A search beside as many evaluations of the network alone, and beside stock mctx."""

    game: str = "connect_four"
    """The game's name."""
    batch: int = 64
    """Positions searched at once, on one device."""
    simulations: int = 128
    """Simulations of a search."""
    blocks: int = 2
    """Residual blocks of the network."""
    channels: int = 32
    """Channels of the network."""
    repeats: int = 9
    """Interleaved repeats."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Measures and prints."""
        game = game_from_name(self.game)
        network = Network(
            game.observation_shape,
            game.num_actions,
            NetworkConfig(blocks=self.blocks, channels=self.channels),
        )
        key = jax.random.PRNGKey(0)
        variables = jax.jit(network.init)(key)
        states, _ = jax.jit(random_openings, static_argnums=(0, 2, 3))(game, key, self.batch, 8)
        evaluate = network_evaluate(game, network)
        contestants = {"network": functools.partial(self._evaluations, game, network)}
        for algorithm in ("gumbel", "puct"):
            config = SearchConfig(algorithm=algorithm, num_simulations=self.simulations)
            contestants[algorithm] = functools.partial(_search, game, evaluate, config)
        contestants["stock mctx, gumbel"] = functools.partial(
            _stock_gumbel, game, evaluate, self.simulations
        )
        compiled = {
            name: functools.partial(jax.jit(f), variables, key, states)
            for name, f in contestants.items()
        }
        seconds = interleave(compiled, self.repeats)
        evaluations = self.simulations + 1
        facts = {
            "benchmark": f"{self.simulations} simulations, {self.game}, batch {self.batch}, "
            f"{self.blocks} blocks x {self.channels} channels",
            "machine": machine(),
            "unit": f"milliseconds; ratio to {evaluations} evaluations of the network alone",
        }
        for name, times in seconds.items():
            facts[name] = _spread(times) | {
                "ratio": round(_median(times) / _median(seconds["network"]), 3)
            }
        show(facts, as_json=self.json)

    def _evaluations(self, game: Game, network: Network, variables: Any, key: Any, states: Any):
        del key
        observations = jax.vmap(game.observe)(states)

        def once(_: int, total: jax.Array) -> jax.Array:
            # Depends on the one before, so that none is left out.
            prediction = network.apply(variables, observations + 1e-12 * total)
            return jnp.sum(prediction.value) + jnp.sum(prediction.policy_logits)

        return jax.lax.fori_loop(0, self.simulations + 1, once, jnp.zeros(()))


@dataclasses.dataclass(frozen=True)
class TrainBenchmark:
    """Where the time of a training cycle goes, on all devices and on one."""

    config: tyro.conf.Positional[str] = "configs/connect_four.toml"
    """The run's config file."""
    repeats: int = 5
    """Interleaved repeats."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Measures and prints."""
        config = load_config(self.config)
        # Learning begins with the first games that are over.
        replay = dataclasses.replace(config.replay, min_positions=1)
        config = dataclasses.replace(config, replay=replay)
        use_all_cores(
            splits=(config.selfplay.games, config.learning.batch_size),
            say=functools.partial(print, file=sys.stderr),
        )
        game = make_game(config)
        meshes = {"": make_mesh()}
        if make_mesh().size > 1:
            meshes[" on one device"] = make_mesh(jax.devices()[:1])
        contestants: dict[str, Callable[[], Any]] = {}
        for suffix, mesh in meshes.items():
            trainer = make_trainer(game, config, mesh)
            state = trainer.init(jax.random.PRNGKey(config.seed))
            contestants[f"cycle{suffix}"] = learning = LearningCycle(trainer.cycle, state)
            if not suffix:
                contestants |= _parts(game, trainer.network, config, mesh, learning.state)
        seconds = interleave(contestants, self.repeats)
        median = {name: _median(times) for name, times in seconds.items()}
        alone = median["network forwards alone"] + median["gradient steps alone"]
        facts: dict[str, Any] = {
            "benchmark": f"one training cycle of {self.config}",
            "machine": machine(),
            "unit": "milliseconds",
            **{name: _spread(times) for name, times in seconds.items()},
            "share of forwards and gradient steps": round(alone / median["cycle"], 3),
            "positions per second": round(
                config.selfplay.games * config.selfplay.plies_per_cycle / median["cycle"]
            ),
        }
        if "cycle on one device" in median:
            speedup = median["cycle on one device"] / median["cycle"]
            facts[f"speedup of {make_mesh().size} devices"] = round(speedup, 2)
        show(facts, as_json=self.json)


BENCHMARKS = {"envs": EnvsBenchmark, "search": SearchBenchmark, "train": TrainBenchmark}


class LearningCycle:
    """Calls a cycle on the state that the call before left, from one on that has learned."""

    def __init__(self, cycle: Callable[[TrainState], Any], state: TrainState):
        self._cycle, self.state = cycle, state
        while not self()["updates"]:
            pass

    def __call__(self) -> Any:
        self.state, metrics = self._cycle(self.state)
        return metrics


def evaluations(config: Any) -> int:
    """How often a cycle evaluates all its games: each ply's root, and once a simulation."""
    plies = config.selfplay.plies_per_cycle
    drawn = full_plies(jax.random.PRNGKey(0), config)
    full = plies if drawn is None else int(jnp.sum(drawn))
    fast = plies - full
    return plies + full * config.search.num_simulations + fast * config.selfplay.fast_simulations


def _parts(
    game: Game, network: Network, config: Any, mesh: Mesh, state: TrainState
) -> dict[str, Callable[[], Any]]:
    """A cycle's network forwards and its gradient steps, alone, on the same devices."""
    games = config.selfplay.games
    count = evaluations(config)
    optimizer = make_optimizer(config.learning, config.cycles)
    specs = state_specs(config)
    # The cycle donates its state, so that these need arrays of their own.
    variables, optimizer_state = jax.tree.map(jnp.copy, (state.variables, state.optimizer_state))

    def forwards(variables: Any, observations: jax.Array) -> jax.Array:
        def once(_: int, total: jax.Array) -> jax.Array:
            prediction = network.apply(variables, observations + 1e-12 * total)
            return jnp.sum(prediction.value) + jnp.sum(prediction.policy_logits)

        return jax.lax.fori_loop(0, count, once, jnp.zeros(()))[None]

    def gradient_steps(variables: Any, optimizer_state: Any, batch: Batch) -> Any:
        def step(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], Any]:
            variables, optimizer_state, losses = update(network, optimizer, config, *carry, batch)
            return (variables, optimizer_state), losses

        carry, updates = (variables, optimizer_state), config.learning.updates_per_cycle
        (variables, optimizer_state), losses = jax.lax.scan(step, carry, length=updates)
        return variables, optimizer_state, losses

    key = jax.random.PRNGKey(1)
    size = config.learning.batch_size
    batch = Batch(
        observations=jax.random.uniform(key, (size, *game.observation_shape)),
        masks=jnp.ones((size, game.num_actions), bool),
        policy=jnp.full((size, game.num_actions), 1 / game.num_actions),
        value=jnp.sign(jax.random.normal(key, (size,))),
        auxiliary=None,
    )
    observations = jax.random.uniform(key, (games, *game.observation_shape))
    where = (specs.variables, specs.optimizer_state)
    forwards = jax.jit(shard(forwards, mesh, (EVERYWHERE, SPLIT), SPLIT))
    gradient_steps = jax.jit(shard(gradient_steps, mesh, (*where, SPLIT), (*where, EVERYWHERE)))
    return {
        "network forwards alone": lambda: forwards(variables, observations),
        "gradient steps alone": lambda: gradient_steps(variables, optimizer_state, batch),
    }


def _search(
    game: Game, evaluate: Any, config: SearchConfig, variables: Any, key: Any, states: Any
) -> Any:
    return search(
        game,
        evaluate,
        variables,
        key,
        states,
        config=config,
        exploration=exploration_of(config),
    )


def _stock_gumbel(
    game: Game, evaluate: Any, simulations: int, variables: Any, key: Any, states: Any
) -> Any:
    """The same Gumbel search with mctx's own loop."""
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


def _median(times: list[float]) -> float:
    return statistics.median(times)


def _spread(times: list[float]) -> dict[str, float]:
    """Median, least and most, in milliseconds."""
    return {
        "median": round(1e3 * _median(times), 1),
        "min": round(1e3 * min(times), 1),
        "max": round(1e3 * max(times), 1),
    }
