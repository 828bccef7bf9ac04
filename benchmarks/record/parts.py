"""The parts of a record. Each runs in a process of its own and writes figures as it finds them."""

import dataclasses
import functools
import json
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from azjax.bench.games import rules_of
from azjax.bench.random_play import RandomPlayer, Rules, play, spread_out
from azjax.bench.search import SearchBenchmark
from azjax.bench.timing import interleave, spread
from azjax.bench.training import TrainingBenchmark
from azjax.config import Config, SearchConfig
from azjax.config.toml import load_config, save_config
from azjax.devices import describe_machine
from azjax.devices.cgroups import usable_cores
from azjax.errors import UserError
from azjax.games import game_from_name
from azjax.network.two_headed import make_network
from azjax.players.load import export_player
from azjax.rollouts import random_openings
from azjax.running.loop import resume, train
from azjax.runs.loggers import Value
from azjax.search.model import network_evaluate
from azjax.search.search import Exploration, search
from benchmarks.record.trace import profile

_PACKAGES = ("azjax", "jax", "jaxlib", "flax", "optax", "chex", "mctx", "orbax-checkpoint", "numpy")
_IN_PGX = {"tic_tac_toe", "connect_four", "othello", "hex", "go_9x9", "go_19x19", "chess", "shogi"}
_IN_PGX |= {"gardner_chess"}
CHECKOUT = Path(__file__).parents[2]
READY = ".ready"  # ends the name of the file by which a part says that it waits for its turn
# What XLA may put into a GPU's command buffers; the last two are loops and branches.
_IN_GRAPHS = "FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"


@dataclasses.dataclass(frozen=True)
class Settings:
    """What every part knows."""

    folder: str  # of the record
    quick: bool = False
    peers: bool = False  # whether pgx's recipe is measured
    seconds: float = 60.0  # that the part has
    turn: str = ""  # the file that exists when the part may be timed; "" for at once

    @property
    def repeats(self) -> int:
        """Repeats of a measurement."""
        return 1 if self.quick else 5

    def wait(self) -> None:
        """Says that everything is compiled, and waits until the part may be timed."""
        if self.turn:
            Path(f"{self.turn}{READY}").touch()
            while not os.path.exists(self.turn):
                time.sleep(0.02)


class Say(Protocol):
    """Adds figures to those of the part; `summary` is its line of the table."""

    def __call__(self, **figures: Any) -> None:
        """Writes the figures at once, so that nothing is lost."""


def machine(settings: Settings, say: Say) -> None:
    """Tells the machine and the versions of the libraries."""
    say(platform=jax.default_backend(), devices=describe_machine(), summary=describe_machine())
    say(cores=usable_cores(), python=platform.python_version(), system=platform.platform())
    say(versions={name: _version(name) for name in (*_PACKAGES, "pgx")})
    say(memory=(jax.devices()[0].memory_stats() or {}).get("bytes_limit"))
    if shutil.which("nvidia-smi"):
        query = "--query-gpu=name,memory.total,driver_version"
        words = ["nvidia-smi", query, "--format=csv,noheader"]
        found = subprocess.run(words, capture_output=True, text=True, timeout=20)
        say(nvidia=found.stdout.strip())


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def rules(settings: Settings, say: Say, name: str) -> None:
    """Compares a game's rules on the CPU and the accelerator, and measures them next to pgx."""
    game = game_from_name(name)
    ours = rules_of(game)
    if jax.default_backend() == "cpu":
        say(equal=None, summary="only a CPU")
    else:
        equal = _equal_everywhere(ours, min(120, game.max_steps))
        say(equal=equal, summary="equal" if equal else "NOT EQUAL to the CPU's")
        if not equal:
            raise UserError("the states after random play differ from those of the CPU")
    contestants = {"azjax": ours}
    if name in _IN_PGX and find_spec("pgx") is None:
        say(pgx=None, note="pgx is not installed, so there is no comparison")
    elif name in _IN_PGX:
        contestants["pgx"] = _pgx_rules(name)
    rates = _rates(settings, contestants, game.max_steps)
    best = {library: max(found.values()) for library, found in rates.items()}
    say(**rates, summary=f"{best['azjax']:,} steps/s")
    if "pgx" in best:
        times = best["azjax"] / best["pgx"]
        say(times=round(times, 2), summary=f"{best['azjax']:,} steps/s, {times:.3g} times pgx's")


def _equal_everywhere(found: Rules, plies: int) -> bool:
    """Returns whether 512 random games end in the same states on the CPU and the accelerator."""
    ends = []
    for device in (jax.devices("cpu")[0], jax.devices()[0]):
        with jax.default_device(device):
            starts = jax.tree.map(
                lambda x: jnp.broadcast_to(jnp.asarray(x), (512, *np.shape(x))), found.start
            )
            ends.append(jax.device_get(play(found, starts, jnp.uint32(0), plies)))
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, *ends)))


def _rates(
    settings: Settings, contestants: dict[str, Rules], length: int
) -> dict[str, dict[int, int]]:
    """Returns steps a second of each library, by the number of games at once."""
    batches, seconds = ((64,), 0.02) if settings.quick else ((4096, 65536), 0.1)
    players = {}
    for library, found in contestants.items():
        warm = spread_out(found, jnp.int32(length))
        for batch in batches:
            players[library, batch] = RandomPlayer(found, warm, batch, seconds)
    times = interleave(players, settings.repeats, settings.wait)
    rates: dict[str, dict[int, int]] = {library: {} for library in contestants}
    for (library, batch), player in players.items():
        rates[library][batch] = round(player.steps / median(times[library, batch]))
    return rates


def _pgx_rules(name: str) -> Rules:
    import pgx

    env = pgx.make(name)  # type: ignore[arg-type]
    start = jax.tree.map(jnp.asarray, env.init(jax.random.PRNGKey(0)))
    # Without observations, which a step of pgx computes; XLA leaves them out if nobody reads them.
    blank = jnp.zeros_like(start.observation)
    return Rules(
        start.replace(observation=None),
        lambda state, action: env.step(state.replace(observation=blank), action).replace(
            observation=None
        ),
        lambda state: state.legal_action_mask,
        lambda state: state.terminated | state.truncated,
    )


def searches(settings: Settings, say: Say, name: str) -> None:
    """Measures a search next to the network alone and stock mctx."""
    size: dict[str, Any] = {"batch": 8, "simulations": 4, "blocks": 1, "channels": 8}
    if not settings.quick:
        size = {"batch": 1024, "simulations": 32, "blocks": 6, "channels": 128, "dtype": "bfloat16"}
    facts = SearchBenchmark(game=name, **size, repeats=settings.repeats).measure(settings.wait)
    ratios = ", ".join(
        f"{key} {facts[key]['ratio']:.3g}" for key in ("gumbel", "puct", "stock mctx, gumbel")
    )
    say(**facts, summary=f"times the network alone: {ratios}")


def cycles(settings: Settings, say: Say, name: str) -> None:
    """Measures a training cycle, alone and in `azjax train`, and profiles one."""
    name = _config_of(settings, name)

    def look(cycle: Callable[[], Any]) -> None:
        try:
            say(profile=profile(cycle))
        except UserError as error:  # the times are worth having without it
            say(note=one_line(error))

    facts = TrainingBenchmark(name, repeats=settings.repeats).measure(settings.wait, look)
    say(**facts)
    bare, looped = (facts[key]["median"] for key in ("cycle", "cycle in azjax train"))
    rate = facts["positions per second"]
    line = f"{bare} ms, in azjax train {looped} ms, {rate:,} positions/s"
    say(summary=line)


def _config_of(settings: Settings, name: str) -> str:
    """Returns the config's name, or the file of a small one for a quick record."""
    if not settings.quick:
        return name
    file = Path(settings.folder) / "quick.toml"
    if not file.exists():
        sizes: dict[str, dict[str, int]] = {
            "search": {"num_simulations": 4},
            "network": {"channels": 16, "value_hidden": 8},
            "selfplay": {"parallel_games": 16, "plies_per_cycle": 8},
            "replay": {"capacity_plies": 64, "min_positions": 1},
            "learning": {"batch_size": 16, "updates_per_cycle": 2},
        }
        save_config(load_config(name, sizes), file)
    return str(file)


def _learning_soon(config: Config) -> Config:
    return dataclasses.replace(config, replay=dataclasses.replace(config.replay, min_positions=1))


def graphs(settings: Settings, say: Say, name: str) -> None:
    """Measures a PUCT search, which has loops that depend on data, with and without CUDA graphs."""
    if jax.default_backend() != "gpu":
        raise UserError("there are no CUDA graphs without an NVIDIA GPU")
    game, key = game_from_name(name), jax.random.PRNGKey(0)
    shipped = load_config("gpu/connect_four")
    network = make_network(game, shipped.network)
    variables = jax.jit(lambda key: network.for_inference(network.init(key)))(key)
    states, _ = jax.jit(random_openings, static_argnums=(0, 2, 3))(game, key, 1024, 8)
    find = functools.partial(
        search,
        game,
        network_evaluate(game, network),
        config=SearchConfig(algorithm="puct", num_simulations=32),
        exploration=Exploration(1.0, 0.25),
    )
    programs: dict[str, Callable[[], Any]] = {}
    options: dict[str, dict[str, str | bool]] = {
        "by default": {},
        "loops in graphs": {"xla_gpu_enable_command_buffer": _IN_GRAPHS},
        "no graphs": {"xla_gpu_enable_command_buffer": ""},
    }
    lowered = jax.jit(find).lower(variables, key, states)
    for what, chosen in options.items():
        try:
            compiled = lowered.compile(compiler_options=chosen)
        except (RuntimeError, ValueError) as error:
            say(**{what: None}, note=f"this jaxlib refuses the option: {one_line(error)}")
            continue
        programs[what] = functools.partial(compiled, variables, key, states)
    times = interleave(programs, settings.repeats, settings.wait)
    found = {what: spread(seconds) for what, seconds in times.items()}
    line = ", ".join(f"{what} {spent['median']} ms" for what, spent in found.items())
    say(**found, summary=f"a search by PUCT: {line}")


def peers(settings: Settings, say: Say, name: str) -> None:
    """Measures azjax or pgx's recipe with equal networks and sizes."""
    if not settings.peers:
        raise UserError("not asked for by --peers")
    if name == "pgx" and find_spec("pgx") is None:
        raise UserError("pgx is not installed, so its recipe is not measured")
    sys.path.insert(0, str(CHECKOUT / "benchmarks" / "peers"))
    import azjax_loop  # type: ignore[import-not-found]
    import setting  # type: ignore[import-not-found]

    tower: dict[str, Any] = {"architecture": "resnet", "blocks": 6, "channels": 128}
    size: dict[str, Any] = {"games": 1024, "batch": 4096}
    if settings.quick:
        tower, size = tower | {"blocks": 1, "channels": 8}, {"games": 32, "batch": 64, "plies": 4}
    dtype = "float32" if settings.quick else "bfloat16"
    tower |= {"value_hidden": 64, "value_head": "tanh", "dtype": dtype}
    chosen = setting.Setting(tower, **size)
    if name == "pgx":
        import pgx_loop  # type: ignore[import-not-found]

        loop = pgx_loop.PgxLoop(chosen)
    else:
        loop = azjax_loop.EqualLoop(chosen)
    loop.iterate()
    settings.wait()
    rates = []
    for _ in range(settings.repeats):
        started = time.perf_counter()
        work = loop.iterate()
        rates.append(round(work.positions / (time.perf_counter() - started)))
    say(rates=rates, summary=f"{round(median(rates)):,} positions/s")


def resumed(settings: Settings, say: Say, name: str) -> None:
    """Compares a run that stops after half of its cycles and resumes with one that never stops."""
    config, half = load_config(_config_of(settings, name)), 3
    config = _without_evaluations(_learning_soon(config))
    config = dataclasses.replace(config, cycles=2 * half)
    folder, quiet = Path(settings.folder) / "runs", Console(file=open(os.devnull, "w"))  # noqa: SIM115
    ways = [folder / way for way in ("straight", "resumed")]
    straight = jax.device_get(train(config, ways[0], console=quiet).learner)
    train(config, ways[1], console=quiet, on_cycle=lambda progress: progress.cycle == half)
    again = jax.device_get(resume(ways[1], console=quiet).learner)
    pairs = zip(jax.tree.leaves(straight), jax.tree.leaves(again), strict=True)
    equal = all(np.array_equal(x, y, equal_nan=True) for x, y in pairs)
    shutil.rmtree(folder)
    say(equal=equal, flags=os.environ.get("XLA_FLAGS", ""))
    say(summary="equal bit by bit" if equal else "NOT EQUAL to the run that never stopped")


def _without_evaluations(config: Config) -> Config:
    return dataclasses.replace(
        config,
        evaluation=dataclasses.replace(config.evaluation, every=0),
        selfplay=dataclasses.replace(config.selfplay, actor="latest"),
    )


class _Ending:
    """A logger that stops the run at a time, as a user would.

    A function `on_cycle` could stop it as well, but the next cycle would wait for that.
    """

    def __init__(self, end: float) -> None:
        self._end = end

    def write(self, kind: str, cycle: int, scalars: Mapping[str, Value]) -> None:
        if time.monotonic() > self._end:
            self._end = math.inf
            signal.raise_signal(signal.SIGINT)

    def close(self) -> None:
        """Does nothing."""


def training(settings: Settings, say: Say, name: str) -> None:
    """Trains for the time that is left, and exports the player."""
    end, folder = time.monotonic() + settings.seconds, Path(settings.folder)
    config = _without_evaluations(load_config(_config_of(settings, name)))
    measured = folder / "parts" / f"{file_name('train', name)}.json"
    if measured.exists():
        # The learning rate falls by the end of the run, so the run should end in time.
        one = json.loads(measured.read_text()).get("cycle in azjax train", {}).get("median", 0)
        if one:
            fitting = int(0.8 * settings.seconds / (1e-3 * one))
            config = dataclasses.replace(config, cycles=max(1, min(config.cycles, fitting)))
    run = folder / "run"
    with open(folder / "logs" / "training.txt", "w") as log:
        state = train(config, run, console=Console(file=log, width=120), loggers=[_Ending(end)])
    cycle = int(state.cycle)
    say(config=name, cycles=cycle, planned=config.cycles, summary=f"{cycle} cycles")
    shutil.copy(run / "metrics.jsonl", folder / "metrics.jsonl")
    player = folder / f"{name.replace('/', '_')}.safetensors"
    export_player(run, player)
    positions = cycle * config.selfplay.parallel_games * config.selfplay.plies_per_cycle
    say(positions=positions, player=player.name)
    say(summary=f"{cycle} of {config.cycles} cycles, {positions:,} positions; {player.name}")
    shutil.rmtree(run)


def file_name(*words: str) -> str:
    """Returns the name of a part's file."""
    return "_".join(words).replace("/", "_")


def one_line(error: BaseException | str) -> str:
    """Returns the reason of a failure in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    if "RESOURCE_EXHAUSTED" in text or "Out of memory" in text:
        text = f"the device has not enough memory: {text}"
    return text if len(text) <= 300 else f"{text[:297]}..."


KINDS: dict[str, Callable[..., None]] = {
    "machine": machine,
    "rules": rules,
    "search": searches,
    "train": cycles,
    "graphs": graphs,
    "peers": peers,
    "resume": resumed,
    "training": training,
}
