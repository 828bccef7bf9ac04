"""`azjax bench envs`: steps per second of random play, for each game."""

import contextlib
import dataclasses
import functools
import os
import statistics
import sys
import time
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro
from azjax_envs import Game, HasChance
from azjax_envs.sampling import choose_weighted
from rich.console import Console
from rich.table import Table

from azjax.bench.random_play import RandomPlayer, Rules, spread_out
from azjax.bench.timing import interleave, peak_memory, show
from azjax.devices import describe_machine
from azjax.devices.cgroups import usable_cores
from azjax.errors import UserError
from azjax.games import game_from_name

GAMES = (
    "tic_tac_toe",
    "connect_four",
    "dots_and_boxes",
    "othello",
    "hex",
    "gomoku",
    "mancala",
    "go_9x9",
    "go_19x19",
)
_CPU_BATCHES = (64, 256, 1024, 4096, 16384)
_ACCELERATOR_BATCHES = (1024, 4096, 16384, 65536)
_CPU_BYTES, _ACCELERATOR_BYTES = 2**27, 2**32


@dataclasses.dataclass(frozen=True)
class GamesBenchmark:
    """The benchmark of random play, in steps per second; on one core if JAX runs on the CPU.

    A step is a legal mask, a random choice and a move, and a new game where one ends. Observations
    are not computed.
    """

    games: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="GAMES")] = GAMES
    """Names of the games."""
    batches: tuple[int, ...] = ()
    """Batch sizes: numbers of games played at once. Powers of four by default."""
    seconds: float = 0.25
    """Minimum time of each measurement."""
    repeats: int = 5
    """Number of interleaved repeats."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Measures and prints the rates.

        Raises:
          UserError: there is no such game, or an option is not positive.
        """
        games = {name: game_from_name(name) for name in self.games}
        facts = self.measure(games)
        if self.json:
            show(facts, as_json=True)
        else:
            _print_table(facts, list(games))

    def measure(self, games: dict[str, Game]) -> dict[str, Any]:
        """Returns the rates of each game, by name, and what they were measured on."""
        if any(batch < 1 for batch in self.batches) or self.repeats < 1 or not self.seconds > 0:
            raise UserError("bench envs: batches, seconds and repeats must be positive")
        with pin_to_one_core() as cores:
            facts: dict[str, Any] = {
                "benchmark": "random play with legal mask and restart, without observation",
                "machine": describe_machine(),
                "cores": cores,
                "unit": f"steps per second, medians of {self.repeats} interleaved repeats; "
                "minimum and maximum of the best batch",
            }
            for name, game in games.items():
                facts[name] = self._measure_game(name, game)
        return facts | peak_memory()

    def _measure_game(self, name: str, game: Game) -> dict[str, Any]:
        rules = rules_of(game)
        state_bytes = sum(leaf.nbytes for leaf in jax.tree.leaves(rules.start))
        compile_seconds = _compile_seconds(game, rules)
        batches = self.batches or _fitting_batches(state_bytes)
        warm = spread_out(rules, game.max_steps)
        players = {}
        for batch in batches:
            print(f"{name}: {batch} games at once", file=sys.stderr, flush=True)
            players[batch] = RandomPlayer(rules, warm, batch, self.seconds)
        seconds = interleave(players, self.repeats)
        rates = {batch: [players[batch].steps / t for t in seconds[batch]] for batch in batches}
        best = max(rates, key=lambda batch: statistics.median(rates[batch]))
        return {
            "steps": round(statistics.median(rates[best])),
            "min": round(min(rates[best])),
            "max": round(max(rates[best])),
            "batch": best,
            "ns a step": round(1e9 / statistics.median(rates[best]), 2),
            "state bytes": state_bytes,
            "compile seconds": round(compile_seconds, 2),
            "by batch": {batch: round(statistics.median(rates[batch])) for batch in batches},
        }


def rules_of(game: Game) -> Rules:
    """Returns the functions of a game that random play needs."""
    start = jax.device_get(jax.jit(game.init)())
    chance = functools.partial(_roll, game) if isinstance(game, HasChance) else None
    return Rules(start, game.step, game.legal_action_mask, game.is_terminal, chance)


def _roll(game: HasChance, state: Any, bits: jax.Array) -> Any:
    return game.chance_step(state, choose_weighted(bits, game.chance_probabilities(state)))


@contextlib.contextmanager
def pin_to_one_core() -> Iterator[str]:
    """Pins this process to one core while JAX starts and runs, if JAX runs on the CPU.

    JAX's threads can only be pinned before it starts. Where a plugin for an accelerator is
    installed, they are not pinned. The context yields a description of what was done.
    """
    if entry_points(group="jax_plugins") or not hasattr(os, "sched_setaffinity"):
        yield f"not pinned, {usable_cores()} cores"
        return
    try:
        jax.config.update("jax_num_cpu_devices", 1)
    except RuntimeError:
        yield f"not pinned, as JAX had started before: {usable_cores()} cores"
        return
    before = os.sched_getaffinity(0)
    core = max(before)
    os.sched_setaffinity(0, {core})
    try:
        yield f"one, number {core}, to which the process was pinned before JAX started"
    finally:
        os.sched_setaffinity(0, before)


def _compile_seconds(game: Game, rules: Rules) -> float:
    """Returns the seconds that tracing and compiling a batched step take."""
    states = jax.tree.map(lambda x: jax.ShapeDtypeStruct((1024, *x.shape), x.dtype), rules.start)
    actions = jax.ShapeDtypeStruct((1024,), jnp.int32)
    started = time.perf_counter()
    jax.jit(jax.vmap(game.step)).lower(states, actions).compile()
    return time.perf_counter() - started


def _fitting_batches(state_bytes: int) -> tuple[int, ...]:
    """Returns the batch sizes whose states fit into the memory that the benchmark may use."""
    on_cpu = jax.default_backend() == "cpu"
    batches = _CPU_BATCHES if on_cpu else _ACCELERATOR_BATCHES
    largest = _CPU_BYTES if on_cpu else _ACCELERATOR_BYTES
    return tuple(batch for batch in batches if batch * state_bytes <= largest) or batches[:1]


def _print_table(facts: dict[str, Any], games: list[str]) -> None:
    show({name: value for name, value in facts.items() if name not in games}, as_json=False)
    batches = list(dict.fromkeys(batch for name in games for batch in facts[name]["by batch"]))
    table = Table(
        title="million steps per second, by number of games at once",
        caption="ns: nanoseconds per step at the best number of games at once",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
    )
    table.add_column("game", no_wrap=True)
    for heading in (*map(str, batches), "spread", "ns", "bytes", "compile s"):
        table.add_column(heading, justify="right")
    for name in games:
        found = facts[name]
        rates = [found["by batch"].get(batch) for batch in batches]
        table.add_row(
            name,
            *(f"{rate / 1e6:.3g}" if rate else "" for rate in rates),
            f"{(found['max'] - found['min']) / found['steps']:.0%}",
            f"{found['ns a step']:,.4g}",
            f"{found['state bytes']:,}",
            str(found["compile seconds"]),
        )
    Console().print(table)
