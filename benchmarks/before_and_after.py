"""Searches of two checkouts, in turns: the time of today's next to that of an earlier commit.

    git worktree add /tmp/before 40322b9
    taskset -c 0 python benchmarks/before_and_after.py batch --before /tmp/before --json FILE
    python benchmarks/before_and_after.py position --before /tmp/before --json FILE

`batch` times the search of self-play, with its noise: the players that come with azjax, and a
tower of convolutions, on batches of positions after random openings. `position` times the search
of engines and pages. It searches one position with a fixed number of simulations, without a clock.
Each checkout has a process of its own. They take turns, so that other work on the machine slows
both alike. A ratio is that of two neighbours; its median and range are over all rounds. That of the
fastest searches depends least on other work. A ratio above 1 says that today is faster.
"""

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

ROOT = Path(__file__).resolve().parent.parent
POSITION_PLAYERS = (
    "connect_four",
    "othello",
    "hex_6x6",
    "gomoku",
    "go_9x9",
    "gardner_chess",
    "chess",
    "shogi",
)
TOWER = "6 x 128 tower of connect four"


@dataclasses.dataclass(frozen=True)
class Arguments:
    what: tyro.conf.Positional[Literal["batch", "position"]]
    """Batches as in self-play, or single positions as in engines."""
    before: Annotated[Path, tyro.conf.arg(metavar="CHECKOUT")]
    """The earlier checkout, whose dependencies are those of this Python."""
    repeats: int = 9
    """Rounds, after one that warms up."""
    players: tuple[str, ...] = ()
    """Only these."""
    games: tuple[int, ...] = (16, 128, 512)
    """Positions of a batch."""
    simulations: tuple[int, ...] = ()
    """Simulations of a search; by default 8, 32, 64 of batches and 64, 400 of a position."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there, after each case."""


def main(options: Arguments) -> None:
    table: dict[str, Any] = {}
    checkouts = {"before": options.before, "today": ROOT}
    for case in _cases(options):
        workers = {name: _Worker(checkout, case) for name, checkout in checkouts.items()}
        times: dict[str, list[float]] = {name: [] for name in workers}
        for turn in range(options.repeats + 1):
            for name, worker in workers.items():
                seconds = worker.run()
                if turn:
                    times[name].append(seconds)
        for worker in workers.values():
            worker.close()
        pairs = [a / b for a, b in zip(times["before"], times["today"], strict=True)]
        row = {f"ms, {name}": round(1e3 * statistics.median(t), 2) for name, t in times.items()}
        low, middle, high = min(pairs), statistics.median(pairs), max(pairs)
        row |= {"ratio": round(middle, 3), "from": round(low, 3), "to": round(high, 3)}
        row["ratio of the fastest"] = round(min(times["before"]) / min(times["today"]), 3)
        print(case["name"], row, flush=True)
        table[case["name"]] = row
        if options.json is not None:
            cores = len(os.sched_getaffinity(0))
            facts = {"command": " ".join(sys.argv), "cores": cores, "repeats": options.repeats}
            options.json.write_text(json.dumps(facts | {"cases": table}, indent=2) + "\n")


def _cases(options: Arguments) -> Iterator[dict[str, Any]]:
    if options.what == "position":
        for player in options.players or POSITION_PLAYERS:
            for simulations in options.simulations or (64, 400):
                name = f"{player}, {simulations} simulations"
                yield {"kind": "position", "name": name, "player": player, "n": simulations}
        return
    for player in options.players or ("connect_four", "go_9x9", TOWER):
        for batch in options.games:
            for simulations in options.simulations or (8, 32, 64):
                name = f"{player}, {batch} games, {simulations} simulations"
                case = {"kind": "batch", "name": name, "player": player, "n": simulations}
                yield case | {"batch": batch}


class _Worker:
    """A process with a checkout's azjax, which runs one search whenever it gets a line."""

    def __init__(self, checkout: Path, case: dict[str, Any]) -> None:
        paths = os.pathsep.join([str(checkout), str(checkout / "envs")])
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker", json.dumps(case)],
            env=os.environ | {"PYTHONPATH": paths},
            cwd=checkout,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self) -> float:
        """Returns the seconds of one search."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a process of the comparison ended")
        return float(line)

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def _work(case: dict[str, Any]) -> None:
    run = {"batch": _batch, "position": _position}[case["kind"]](case)
    run()  # compiles
    for _ in sys.stdin:
        began = time.perf_counter()
        run()
        print(time.perf_counter() - began, flush=True)


def _batch(case: dict[str, Any]) -> Callable[[], Any]:
    """Returns a search of a batch, in the steps that self-play makes on this machine."""
    import jax

    from azjax.config import NetworkConfig, SearchConfig
    from azjax.games import game_from_name
    from azjax.network.two_headed import make_network
    from azjax.players.load import load_player
    from azjax.rollouts import random_openings
    from azjax.search.model import network_evaluate
    from azjax.search.search import Exploration, search

    try:  # searches have had these since the rounds
        from azjax.training.trainer import selfplay_search

        search = selfplay_search(search, on_cpus=jax.default_backend() == "cpu")
    except ImportError:
        pass
    key = jax.random.PRNGKey(0)
    if case["player"] == TOWER:
        game = game_from_name("connect_four")
        network = make_network(game, NetworkConfig(blocks=6, channels=128))
        variables = jax.jit(network.init)(key)
        config = SearchConfig(num_simulations=case["n"])
    else:
        player = load_player(case["player"])
        game, network, variables = player.game, player.network, player.variables
        config = dataclasses.replace(player.config, num_simulations=case["n"])
    variables = jax.jit(network.for_inference)(variables)
    states, _ = jax.jit(random_openings, static_argnums=(0, 2, 3))(game, key, case["batch"], 8)
    evaluate = network_evaluate(game, network)
    exploration = Exploration(1.0, config.puct.dirichlet_fraction)
    compiled = jax.jit(
        lambda variables, key, states: search(
            game, evaluate, variables, key, states, config=config, exploration=exploration
        )
    )
    return lambda: jax.block_until_ready(compiled(variables, key, states))


def _position(case: dict[str, Any]) -> Callable[[], Any]:
    """Returns a search of a game's first position, as an engine makes it without a clock."""
    import jax

    from azjax.players.load import load_player

    try:
        from azjax.engine.anytime import make_anytime_search
    except ImportError:  # before the rounds
        from azjax.search.anytime import make_anytime_search
    player = load_player(case["player"])
    search = make_anytime_search(player, memory_mb=32)
    state = jax.jit(player.game.init)(jax.random.PRNGKey(0))
    progress = search.warm_up(state)

    def run() -> None:
        nonlocal progress
        progress = search.start(state, after=progress, moves=None).run(case["n"])

    return run


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        _work(json.loads(sys.argv[2]))
    else:
        main(tyro.cli(Arguments, description=__doc__))
