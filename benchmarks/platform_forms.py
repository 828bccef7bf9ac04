"""Both forms of what a CPU and an accelerator compute differently: which of them gains what.

    taskset -c 0 python benchmarks/platform_forms.py cpu --json FILE
    python -m benchmarks.platform_forms gpu --json FILE        # needs ".[plan-gpu]", and no GPU

`cpu` runs searches, training cycles and random play in turns, with the form of CPUs and with that
of GPUs (of TPUs where these differ). Each form has a process of its own, which first compiles. So
other work slows both alike, and times are those of the processor. A ratio is that of two
neighbours; above 1 the form of CPUs is faster. Searches are by a small untrained network.

`gpu` compiles searches, updates and rules for a machine that is not here: with its own forms, and
with one form of another platform at a time. It counts kernels and waits of the host, and estimates
the time. Loops whose end depends on data are assumed to repeat four times.
"""

import dataclasses
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

ROOT = Path(__file__).resolve().parent.parent

# The function that chooses, by module and name. A choice inside `on_gpu` is its caller's.
PAIRS = {
    "descent": ("azjax.search.descent", "descend"),
    "backup": ("azjax.search.backup", "backup"),
    "lanes": ("azjax.search.loop", "_play_all"),
    "rows": ("azjax.search.tree", "edges_at"),
    "collectives": ("azjax.learning.update", "mean_over_devices"),
    "fusion_barrier": ("azjax_envs.xla_cpu", "fusion_barrier"),
    "reshape_barrier": ("azjax_envs.xla_cpu", "reshape_barrier"),
    "short_scan": ("azjax_envs.xla_cpu", "short_scan"),
    "flood": ("azjax_envs.row_bitboard", "fill"),
    "flood's sweep": ("azjax_envs.row_bitboard", "sweep"),
    "chains": ("azjax_envs.go.rules", "_chains_on"),
    "superko": ("azjax_envs.go.superko", "repetitions"),
}
_SWEEP = "flood's sweep"  # GPUs have none

# Of each pair: (kind, game or config, games at once, simulations).
CPU_CASES: dict[str, list[tuple[str, str, int, int]]] = {
    _SWEEP: [("play", "go_9x9", 512, 0)],
    "flood": [("play", "go_9x9", 512, 0)],
    "chains": [("play", "go_9x9", 512, 0)],
    "superko": [("play", "go_9x9", 512, 0)],
    "backup": [("single", "connect_four", 512, 32), ("single", "connect_four", 128, 256)],
    "rows": [("single", "gomoku_9x9", 128, 32), ("single", "gomoku", 128, 32)],
    "lanes": [("anytime", "connect_four", 512, 32), ("rounds", "connect_four", 512, 32)],
    "descent": [("single", "connect_four", 512, 32), ("single", "gomoku_9x9", 128, 32)],
    "short_scan": [("play", "othello", 1024, 0), ("play", "gardner_chess", 1024, 0)],
    "fusion_barrier": [("play", "gomoku", 1024, 0), ("play", "gardner_chess", 1024, 0)],
    "reshape_barrier": [("play", "gardner_chess", 1024, 0)],
    "collectives": [("cycle", "tic_tac_toe", 128, 8)],
}

# Of each program for a machine that is not here.
GPU_CASES = {
    "update of connect_four": ("collectives",),
    "search of connect_four": ("backup", "descent", "lanes"),
    "search of hex": ("rows",),
    "rules of go_9x9": ("flood", "chains", "superko"),
    "rules of othello": ("short_scan",),
    "rules of gomoku": ("fusion_barrier",),
    "rules of gardner_chess": ("fusion_barrier", "reshape_barrier", "short_scan"),
}
_GAMES_AT_ONCE = 4096  # of rules on a GPU


@dataclasses.dataclass(frozen=True)
class Arguments:
    what: tyro.conf.Positional[Literal["cpu", "gpu"]]
    """Times on this CPU, or estimates for a GPU."""
    pairs: tuple[str, ...] = ()
    """Only these."""
    network: tuple[int, int] = (1, 32)
    """Dense layers and their width, of the network of searches on a CPU."""
    repeats: int = 7
    """Rounds on a CPU, after one that warms up."""
    on: str = "h100"
    """The machine that is not here, as in `azjax plan`."""
    form: str = "cpu"
    """The other form there is that of this platform."""
    only: tuple[str, ...] = ()
    """Only these programs there, by the names in the output."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there, after each case."""


def main(options: Arguments) -> None:
    facts = {"command": " ".join(sys.argv), "cores": len(os.sched_getaffinity(0))}
    rows: dict[str, Any] = {}
    for name, row in (_on_cpu if options.what == "cpu" else _on_gpu)(options):
        print(name, row, flush=True)
        rows[name] = row
        if options.json is not None:
            options.json.write_text(json.dumps(facts | {"cases": rows}, indent=2) + "\n")


@contextmanager
def forced(pair: str | None, platform: str) -> Iterator[None]:
    """Lets one pair take a platform's form everywhere, at a trace within the context."""
    import jax

    choose = jax.lax.platform_dependent

    def chosen(*arguments: Any, default: Callable[..., Any], **forms: Any) -> Any:
        frame = sys._getframe(1)
        if frame.f_code.co_name == "either":
            frame = sys._getframe(2)
        at = frame.f_globals["__name__"], frame.f_code.co_name
        if pair is None or at != PAIRS[pair]:
            return choose(*arguments, default=default, **forms)
        return forms.get(platform, default)(*arguments)

    jax.lax.platform_dependent = chosen
    try:
        yield
    finally:
        jax.lax.platform_dependent = choose


def _on_cpu(options: Arguments) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the time of each case by both forms."""
    for pair in options.pairs or CPU_CASES:
        for kind, name, games, simulations in CPU_CASES[pair]:
            case = {"pair": pair, "kind": kind, "name": name, "games": games, "n": simulations}
            case |= {"network": options.network}
            other = "tpu" if pair == _SWEEP else "cuda"
            workers = [_Worker(case | {"platform": platform}) for platform in ("cpu", other)]
            compiling = [worker.read() for worker in workers]
            times = [[worker.run() for worker in workers] for _ in range(options.repeats + 1)][1:]
            for worker in workers:
                worker.close()
            ratios = [there / here for here, there in times]
            here, there = (round(1e3 * statistics.median(x), 2) for x in zip(*times, strict=True))
            row = {"ms, of CPUs": here, f"ms, of {other}": there}
            row |= {"ratio": round(statistics.median(ratios), 3)}
            row |= {"from": round(min(ratios), 3), "to": round(max(ratios), 3)}
            row |= {"first call, s": [round(x, 1) for x in compiling]}
            size = f"{games} games" + (f", {simulations} simulations" if simulations else "")
            yield f"{pair}: {kind}, {name}, {size}", row


class _Worker:
    """A process with one form, which compiles, and then runs whenever it gets a line."""

    def __init__(self, case: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker", json.dumps(case)],
            env=os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def read(self) -> float:
        """Returns the seconds that the process reports next."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a process of the comparison ended")
        return float(line)

    def run(self) -> float:
        """Returns the seconds of one run."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.read()

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def _work(case: dict[str, Any]) -> None:
    make = {"cycle": _cycle, "play": _play}.get(case["kind"], _search)
    with forced(case["pair"], case["platform"]):
        run = make(case)
        began = time.process_time()
        run()  # compiles
        print(time.process_time() - began, flush=True)
        for _ in sys.stdin:
            began = time.process_time()
            run()
            print(time.process_time() - began, flush=True)


def _search(case: dict[str, Any]) -> Callable[[], Any]:
    """Returns a search of positions after random openings, by a small network."""
    import jax

    from azjax.config import NetworkConfig, SearchConfig
    from azjax.games import game_from_name
    from azjax.network.two_headed import make_network
    from azjax.rollouts import random_openings
    from azjax.search.model import network_evaluate
    from azjax.search.search import Exploration, search

    game, key = game_from_name(case["name"]), jax.random.PRNGKey(0)
    blocks, channels = case["network"]
    settings = NetworkConfig(architecture="mlp", residual=True, blocks=blocks, channels=channels)
    network = make_network(game, settings)
    config = SearchConfig(num_simulations=case["n"])
    variables = jax.jit(lambda key: network.for_inference(network.init(key)))(key)
    states, _ = jax.jit(random_openings, static_argnums=(0, 2, 3))(game, key, case["games"], 8)
    evaluate = network_evaluate(game, network)
    compiled = jax.jit(
        lambda variables, key, states: search(
            *(game, evaluate, variables, key, states),
            config=config,
            exploration=Exploration(1.0),
            steps=case["kind"],
        )
    )
    return lambda: jax.block_until_ready(compiled(variables, key, states))


def _cycle(case: dict[str, Any]) -> Callable[[], Any]:
    """Returns a training cycle, with updates, of a config with few games and simulations."""
    import jax

    from azjax.config.toml import load_config
    from azjax.games import make_game
    from azjax.training.trainer import make_trainer

    config = load_config(case["name"])
    config = dataclasses.replace(
        config,
        search=dataclasses.replace(config.search, num_simulations=case["n"]),
        selfplay=dataclasses.replace(config.selfplay, parallel_games=case["games"]),
        replay=dataclasses.replace(config.replay, min_positions=1),
    )
    trainer = make_trainer(make_game(config), config)
    state = trainer.init(jax.random.PRNGKey(0))

    def run() -> None:
        nonlocal state
        state, _ = trainer.cycle(state)
        jax.block_until_ready(state)

    return run


def _play(case: dict[str, Any]) -> Callable[[], Any]:
    """Returns random play, with observations of the last states."""
    import jax

    from azjax.bench.games import rules_of
    from azjax.bench.random_play import RandomPlayer, spread_out
    from azjax.games import game_from_name

    rules = rules_of(game := game_from_name(case["name"]))
    warm = spread_out(rules, game.max_steps)
    player: RandomPlayer | None = None

    def run() -> Any:
        nonlocal player
        if player is None:  # the first run compiles
            player = RandomPlayer(rules, warm, case["games"], 0.2)
            player._programs, player._plies = 1, 100
        return jax.block_until_ready(player())

    return run


def _on_gpu(options: Arguments) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the kernels and the estimated time of each program, by form."""
    import jax

    from azjax.plan.compile import ahead_mesh, compile_ahead
    from azjax.plan.machines import machine
    from azjax.plan.silence import quiet
    from benchmarks.kernels import hlo
    from benchmarks.kernels.clock import kernel_seconds
    from benchmarks.kernels.launches import launches

    with quiet():
        jax.config.update("jax_platforms", "cpu")
        jax.devices()
    there = machine(options.on)
    mesh = ahead_mesh(there)
    programs = {"search": _search_program, "update": _update_program, "rules": _rules_program}
    for name, pairs in GPU_CASES.items():
        if options.only and name not in options.only:
            continue
        kind, _, config = name.partition(" of ")
        for pair in (None, *(options.pairs or pairs)):
            jax.clear_caches()
            with forced(pair, options.form):
                compiled = compile_ahead(*programs[kind](config, mesh))
            found = launches(hlo.parse(compiled.text))
            seconds = found.total(functools.partial(kernel_seconds, machine=there))
            row = {"kernels": round(found.kernels), "waits of the host": round(found.reads)}
            row |= {"us": round(1e6 * seconds, 1)}
            row |= {"collectives": {kind: n for kind, (n, _) in found.collectives().items()}}
            row |= {"compiling, s": round(compiled.lower_seconds + compiled.compile_seconds, 1)}
            yield f"{name}, " + (f"{pair} of the other form" if pair else "its own forms"), row


def _search_program(name: str, mesh: Any) -> tuple[Any, Any]:
    """Returns a search of a config's self-play, and the shapes of its arguments."""
    import jax
    import jax.numpy as jnp

    from azjax.config.toml import load_config
    from azjax.games import make_game
    from azjax.network.two_headed import make_network
    from azjax.plan.compile import placed
    from azjax.search.model import network_evaluate
    from azjax.search.search import Exploration, search

    config = load_config(name)
    game = make_game(config)
    network = make_network(game, config.network)

    def run(variables: Any, key: jax.Array, states: Any) -> Any:
        return search(
            *(game, network_evaluate(game, network), variables, key, states),
            config=config.search,
            exploration=Exploration(1.0),
            steps="fixed",
        )

    games = jnp.arange(config.selfplay.parallel_games)
    key = jax.ShapeDtypeStruct((2,), jnp.uint32)
    variables = jax.eval_shape(lambda key: network.for_inference(network.init(key)), key)
    states = jax.eval_shape(jax.vmap(lambda _: game.init()), games)
    return jax.jit(run), placed((variables, key, states), mesh)


def _update_program(name: str, mesh: Any) -> tuple[Any, Any]:
    """Returns one update of a config, and the shapes of its arguments."""
    import jax
    import jax.numpy as jnp

    from azjax.config.toml import load_config
    from azjax.games import make_game
    from azjax.learning.batch import Batch
    from azjax.plan.compile import placed
    from azjax.training.trainer import make_trainer

    config = load_config(name)
    config = dataclasses.replace(config, network=dataclasses.replace(config.network, auxiliary=()))
    game, rows = make_game(config), config.learning.batch_size

    def batch(_: jax.Array) -> Batch:
        state = game.init()
        mask = game.legal_action_mask(state)
        return Batch(game.observe(state), mask, mask.astype(jnp.float32), jnp.zeros(3))

    trainer = make_trainer(game, config, mesh)
    batches = placed(jax.eval_shape(jax.vmap(batch), jnp.arange(rows)), mesh)
    return trainer.learn, (trainer.abstract_state(), batches)


def _rules_program(name: str, mesh: Any) -> tuple[Any, Any]:
    """Returns a step with what a search asks of the next position, and its arguments."""
    import jax
    import jax.numpy as jnp

    from azjax.games import game_from_name
    from azjax.plan.compile import placed

    game = game_from_name(name)

    def everything(state: Any, action: jax.Array) -> tuple[Any, ...]:
        after = game.step(state, action)
        ends = game.is_terminal(after), game.returns(after)
        return after, *ends, game.legal_action_mask(after), game.observe(after)

    states = jax.eval_shape(jax.vmap(lambda _: game.init()), jnp.arange(_GAMES_AT_ONCE))
    actions = jax.ShapeDtypeStruct((_GAMES_AT_ONCE,), jnp.int32)
    return jax.jit(jax.vmap(everything)), placed((states, actions), mesh)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        _work(json.loads(sys.argv[2]))
    else:
        main(tyro.cli(Arguments, description=__doc__))
