"""Counts the kernels of games and searches on a GPU: python -m benchmarks.kernels.games chess"""

import dataclasses
import functools
import sys
from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro
from azjax_envs import Game
from jax.sharding import Mesh
from rich.console import Console
from rich.table import Table

from azjax.bench.search import search_by
from azjax.bench.timing import show
from azjax.config import Config, NetworkConfig, ReplayConfig, SearchConfig, SelfPlayConfig
from azjax.config.schema import GameConfig
from azjax.games import game_from_name
from azjax.network.two_headed import make_network
from azjax.plan.compile import DoesNotCompile, ahead_mesh, compile_ahead, placed
from azjax.plan.machines import Machine, machine
from azjax.plan.silence import quiet
from azjax.types import Array, State
from benchmarks.kernels import hlo
from benchmarks.kernels.clock import kernel_seconds
from benchmarks.kernels.counting import Runs
from benchmarks.kernels.launches import NETWORK, Launches, launches, scopes
from benchmarks.kernels.measure import measure_runs

GAMES = (
    "connect_four",
    "othello",
    "hex",
    "gomoku",
    "dots_and_boxes",
    "mancala",
    "go_9x9",
    "go_19x19",
    "gardner_chess",
    "chess",
    "shogi",
)


@dataclasses.dataclass(frozen=True)
class LaunchesBenchmark:
    """The count of kernels that games and searches launch on a GPU that is not here.

    A program's launches are the kernels of its compiled text times the repetitions of its loops.
    Repetitions that depend on data are counted on this machine, over plies of real games that a
    player searches: one that comes with azjax, or a small untrained network.
    """

    games: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="GAMES")] = GAMES
    """Names of the games."""
    on: str = "h100"
    """The machine, as in `azjax plan`."""
    batch: int = 1024
    """Positions at once."""
    simulations: int = 32
    """Simulations of the search."""
    blocks: int = 6
    """Residual blocks of the network."""
    channels: int = 128
    """Channels of the network."""
    measured_games: int = 64
    """Games over which repetitions are counted."""
    opening_plies: int = 60
    """These games open with up to this many random plies, where they are long."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Counts and prints the launches.

        Raises:
          UserError: there is no such game or machine, or what compiles for it is not installed.
        """
        with quiet():
            jax.config.update("jax_platforms", "cpu")
            jax.devices()
        games = {name: game_from_name(name) for name in self.games}
        facts = self.measure(games)
        if self.json:
            show(facts, as_json=True)
        else:
            _print_table(facts, list(games))

    def measure(self, games: dict[str, Game]) -> dict[str, Any]:
        """Returns the launches of each game, by name, and what they were counted on."""
        here = machine(self.on)
        facts: dict[str, Any] = {
            "benchmark": f"kernels in programs compiled for {here.name}, batch {self.batch}, "
            f"{self.simulations} simulations, {self.blocks} blocks x {self.channels} channels in "
            "bfloat16",
            "machine": f"compiled without a GPU, jax {jax.__version__}",
            "unit": "kernels launched, repetitions of loops included; us are estimates",
        }
        mesh = ahead_mesh(here)
        for name, game in games.items():
            print(f"{name}: counting repetitions", file=sys.stderr, flush=True)
            config = Config(
                game=GameConfig(name),
                search=SearchConfig(num_simulations=self.simulations),
                selfplay=SelfPlayConfig(parallel_games=self.measured_games),
                replay=ReplayConfig(min_positions=1),
            )
            runs = measure_runs(
                config, game, games=self.measured_games, opening_plies=self.opening_plies
            )
            facts[name] = self._count(name, game, config, mesh, runs)
        return facts

    def _count(
        self, name: str, game: Game, config: Config, mesh: Mesh, runs: Runs
    ) -> dict[str, Any]:
        here = machine(self.on)
        settings = NetworkConfig(
            blocks=self.blocks, channels=self.channels, value_head="wdl", dtype="bfloat16"
        )
        network = make_network(game, settings)

        def everything(state: State, action: Array) -> tuple[State, Array, Array]:
            after = game.step(state, action)
            return after, game.legal_action_mask(after), game.observe(after)

        states = jax.eval_shape(jax.vmap(lambda _: game.init()), jnp.arange(self.batch))
        actions = jax.ShapeDtypeStruct((self.batch,), jnp.int32)
        key = jax.ShapeDtypeStruct((2,), jnp.uint32)
        variables = jax.eval_shape(lambda key: network.for_inference(network.init(key)), key)
        programs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
            "step": (jax.vmap(game.step), (states, actions)),
            "legal mask": (jax.vmap(game.legal_action_mask), (states,)),
            "observation": (jax.vmap(game.observe), (states,)),
            "all three": (jax.vmap(everything), (states, actions)),
            "search": (
                functools.partial(search_by, game, network, config.search, steps="single"),
                (variables, key, states),
            ),
        }
        found: dict[str, Launches] = {}
        flags: set[str] = set()
        problems: dict[str, str] = {}
        for part, (function, arguments) in programs.items():
            print(f"{name}: compiling {part} for {here.name}", file=sys.stderr, flush=True)
            try:
                compiled = compile_ahead(jax.jit(function), placed(arguments, mesh))
            except DoesNotCompile as error:
                problems[part] = str(error)
                continue
            flags |= set(compiled.flags)
            found[part] = launches(hlo.parse(compiled.text), runs)
        facts: dict[str, Any] = {
            part: round(program.kernels, 1) for part, program in found.items() if part != "search"
        }
        if "search" in found:
            facts |= self._simulation(found["search"], machine(self.on))
        facts["searched by"] = runs.searched_by
        return (
            facts
            | ({"flags": sorted(flags)} if flags else {})
            | ({"does not compile": problems} if problems else {})
        )

    def _simulation(self, whole: Launches, here: Machine) -> dict[str, Any]:
        """Returns the figures of one simulation."""
        simulations, count = whole.within("simulations"), whole.runs("simulations")
        network = simulations.within(NETWORK)

        seconds = functools.partial(kernel_seconds, machine=here)
        forward, kernels = network.kernels / count, simulations.kernels / count
        return {
            "forward": round(forward, 1),
            "simulation": round(kernels, 1),
            "besides the forward": round(kernels - forward, 1),
            "waits for predicates": round(simulations.reads / count, 1),
            "estimated share of the forward": round(
                network.total(seconds) / simulations.total(seconds), 3
            ),
            "estimated us": round(1e6 * simulations.total(seconds) / count, 1),
            "loops": [
                {"in": loop.label, "times": round(loop.repetitions, 2)}
                for loop in whole.loops
                if "simulations" in scopes(loop.path)[:-1] and not loop.is_branch
            ],
        }


def _print_table(facts: dict[str, Any], games: list[str]) -> None:
    show({name: value for name, value in facts.items() if name not in games}, as_json=False)
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("game", no_wrap=True)
    columns = ("step", "legal mask", "observation", "all three", "forward", "simulation")
    columns += ("besides the forward", "waits for predicates", "estimated share of the forward")
    for heading in columns:
        table.add_column(heading, justify="right")
    for name in games:
        cells = [facts[name].get(column) for column in columns]
        shown = [f"{x:.0%}" if 0 < (x or 0) < 1 else f"{x or 0:.0f}" for x in cells]
        table.add_row(name, *shown)
    Console().print(table)


if __name__ == "__main__":
    tyro.cli(LaunchesBenchmark).run()
