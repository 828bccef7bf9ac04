"""`azjax bench train`: the time of a training cycle and of its parts."""

import contextlib
import dataclasses
import functools
import io
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro
from azjax_envs import Game
from jax.sharding import Mesh
from rich.console import Console

from azjax.bench.timing import at_once, interleave, matrix_share, peak_memory, show, spread
from azjax.config import Config, load_config
from azjax.devices import describe_machine, use_all_cores
from azjax.games import make_game
from azjax.learning import Batch, LearnerState, alphazero_loss, make_optimizer, update
from azjax.network import Network, Variables, told_apart
from azjax.plan.operations import count_evaluations, cycle_operations
from azjax.running.loop import run_cycles
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.loggers import Value
from azjax.sharding import EVERYWHERE, SPLIT, make_mesh, shard
from azjax.training import Trainer, TrainState, make_trainer
from azjax.types import Array, Metrics


@dataclasses.dataclass(frozen=True)
class TrainingBenchmark:
    """The benchmark of a training cycle and its parts, on all devices and on one."""

    config: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CONFIG")] = "connect_four"
    """Config of the run: a file, or the name of one that comes with azjax."""
    repeats: int = 5
    """Number of interleaved repeats."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        show(self.measure(), as_json=self.json)

    def measure(
        self,
        wait: Callable[[], None] = at_once,
        look: Callable[[Callable[[], Metrics]], None] = lambda _: None,
    ) -> dict[str, Any]:
        """Returns the times in milliseconds, by contestant, and what they were measured on.

        Args:
          wait: called when everything is compiled, before it is timed.
          look: is given a function that runs one more cycle, to profile it.
        """
        config = load_config(self.config)
        # Learning begins as soon as the first games have ended.
        replay = dataclasses.replace(config.replay, min_positions=1)
        config = dataclasses.replace(config, replay=replay)
        use_all_cores(
            splits=(config.selfplay.parallel_games, config.learning.batch_size),
            say=functools.partial(print, file=sys.stderr),
        )
        game = make_game(config)
        mesh, key = make_mesh(), jax.random.PRNGKey(config.seed)
        trainer = make_trainer(game, config, mesh)
        operations = sum(cycle_operations(config, game, trainer.network))
        learning = LearningCycle(trainer.cycle, trainer.init(key))
        parts = parts_of_cycle(game, trainer.network, config, mesh, learning.state)
        contestants: dict[str, Callable[[], Any]] = {"cycle": learning, **parts}
        if mesh.size > 1:
            alone = make_trainer(game, config, make_mesh(jax.devices()[:1]))
            contestants["cycle on one device"] = LearningCycle(alone.cycle, alone.init(key))
        seconds = interleave(contestants, self.repeats, wait)
        look(learning)
        in_the_loop = seconds_in_the_loop(trainer, learning.state, cycles=4 * self.repeats)
        seconds = {"cycle": seconds["cycle"], "cycle in azjax train": in_the_loop} | seconds
        medians = {name: median(times) for name, times in seconds.items()}
        alone = medians["network forwards alone"] + medians["gradient steps alone"]
        facts: dict[str, Any] = {
            "benchmark": f"one training cycle of {self.config}",
            "machine": describe_machine(),
            "unit": "milliseconds",
            **{name: spread(times) for name, times in seconds.items()},
            "share of forwards and gradient steps": round(alone / medians["cycle"], 3),
            "positions per second": round(
                config.selfplay.parallel_games * config.selfplay.plies_per_cycle / medians["cycle"]
            ),
            **matrix_share(operations, medians["cycle"]),
            **peak_memory(),
        }
        if "cycle on one device" in medians:
            speedup = medians["cycle on one device"] / medians["cycle"]
            facts[f"speedup of {mesh.size} devices"] = round(speedup, 2)
        return facts


class LearningCycle:
    """A cycle whose calls each continue from the state that the previous one returned.

    The constructor runs cycles until one has made updates, so that all timed calls learn.
    """

    def __init__(
        self, cycle: Callable[[TrainState], tuple[TrainState, Metrics]], state: TrainState
    ) -> None:
        self._cycle, self.state = cycle, state
        while not self()["train/updates"]:
            pass

    def __call__(self) -> Metrics:
        self.state, metrics = self._cycle(self.state)
        return metrics


def seconds_in_the_loop(trainer: Trainer, state: TrainState, cycles: int) -> list[float]:
    """Returns the seconds of cycles in the loop of `azjax train`, which writes their metrics.

    There is no gate, evaluation or checkpoint among these cycles. The state is taken over.
    """
    after = int(state.cycle) + cycles + 3
    config = trainer.config
    config = dataclasses.replace(
        config,
        cycles=after,
        selfplay=dataclasses.replace(config.selfplay, actor="latest"),
        evaluation=dataclasses.replace(config.evaluation, every=0),
        checkpoint=dataclasses.replace(config.checkpoint, every=after),
    )
    clock = _Clock(cycles)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.suppress(_EnoughError),
        Checkpoints(Path(folder)) as checkpoints,
    ):
        trainer = dataclasses.replace(trainer, config=config)
        console = Console(file=io.StringIO())
        run_cycles(trainer, state, Path(folder), checkpoints, console, [clock], None)
    return [end - start for start, end in itertools.pairwise(clock.ends)]


class _Clock:
    """A logger of the times at which cycles end; it stops the run after `cycles` of them."""

    def __init__(self, cycles: int) -> None:
        self._cycles = cycles
        self.ends: list[float] = []

    def write(self, kind: str, cycle: int, scalars: Mapping[str, Value]) -> None:
        if kind == "cycle":
            self.ends.append(time.perf_counter())
        if len(self.ends) > self._cycles:
            raise _EnoughError

    def close(self) -> None:
        """Does nothing."""


class _EnoughError(Exception):
    """The end of a run of which enough cycles were measured."""


def evaluate_repeatedly(
    network: Network, count: int, variables: Variables, observations: Array
) -> Array:
    """Returns a number that takes `count` evaluations of a batch, none of which XLA leaves out."""

    def evaluate(_: int, total: Array) -> Array:
        # Each evaluation depends on the one before.
        prediction = network.apply(variables, observations + 1e-12 * total)
        return jnp.sum(prediction.value) + jnp.sum(prediction.policy_logits)

    return jax.lax.fori_loop(0, count, evaluate, jnp.zeros((), jnp.float32))


def parts_of_cycle(
    game: Game, network: Network, config: Config, mesh: Mesh, state: TrainState
) -> dict[str, Callable[[], Any]]:
    """Returns programs of a cycle's network evaluations alone and its gradient steps alone."""
    games = config.selfplay.parallel_games
    count = count_evaluations(config)
    optimizer = make_optimizer(config.learning, config.cycles)
    loss, key = alphazero_loss, jax.random.PRNGKey(1)
    # The cycle donates its state, so the parts need copies.
    learner = jax.tree.map(jnp.copy, state.learner)

    def forwards(variables: Variables, observations: Array) -> Array:
        folded = network.for_inference(variables)
        return evaluate_repeatedly(network, count, folded, observations)[None]

    def gradient_steps(learner: LearnerState, batch: Batch) -> tuple[LearnerState, Metrics]:
        def step(learner: LearnerState, _: None) -> tuple[LearnerState, Metrics]:
            return update(network, optimizer, loss, learner, batch, key)

        return jax.lax.scan(step, learner, length=config.learning.updates_per_cycle)

    size, results = config.learning.batch_size, told_apart(game, config.network)
    batch = Batch(
        observations=jax.random.uniform(key, (size, *game.observation_shape)),
        masks=jnp.ones((size, game.num_actions), bool),
        policy=jnp.full((size, game.num_actions), 1 / game.num_actions),
        outcome=jax.nn.one_hot(jnp.arange(size) % len(results), len(results)),
        results=results,
    )
    observations = jax.random.uniform(key, (games, *game.observation_shape))
    forwards = jax.jit(shard(forwards, mesh, (EVERYWHERE, SPLIT), SPLIT))
    gradient_steps = jax.jit(shard(gradient_steps, mesh, (EVERYWHERE, SPLIT), EVERYWHERE))
    return {
        "network forwards alone": lambda: forwards(learner.variables, observations),
        "gradient steps alone": lambda: gradient_steps(learner, batch),
    }
