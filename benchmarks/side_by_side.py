"""Random play in azjax beside its peers, in one run on one core: pgx and OpenSpiel's C++.

    python benchmarks/side_by_side.py                         # all games, azjax, pgx, OpenSpiel
    python benchmarks/side_by_side.py hex othello --json out.json
    python benchmarks/side_by_side.py --pgx1-python PATH      # and pgx 1 in a Python of its own

Machines are noisy, so that every repeat measures all contestants one after the other, and what
counts is the median of the repeats' ratios.

**azjax and pgx** play by the same code, `azjax/random_play.py`: batches of games in one compiled
loop, each ply a legal mask, a cheap choice, a step, and a new game where one ended; each with the
batch size that is fastest for it. pgx computes an observation inside every step; here it is dropped
from the state, so that XLA leaves its computation out, and the numbers are pgx's best. pgx 1 runs
in a process of its own, on the same core, and waits while others are measured.

**OpenSpiel** plays by `RandomRolloutEvaluator`, C++ throughout: copy the start, then list the legal
actions, choose and apply one until the end. A search of one simulation (`MCTSBot`) calls it once,
for as many rollouts as take the time. It does not say how many steps those were: the mean length of
random games is measured apart, over games played through Python, and each rollout counts as so many
steps. The mean's standard error is kept in the record; it is an error of the rate.
"""

import argparse
import dataclasses
import functools
import importlib.util
import json
import operator
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

BATCHES = (1, 4, 16, 64, 256, 1024, 4096, 16384)
FALLEN = 0.5  # of the best rate: from 256 games on, larger batches are not tried
RANDOM_PLAY = Path(__file__).parent.parent / "azjax" / "bench" / "random_play.py"


GAMES = {  # what OpenSpiel and pgx call them; None where one has no such game
    "tic_tac_toe": ("tic_tac_toe", "tic_tac_toe"),
    "connect_four": ("connect_four", "connect_four"),
    "othello": ("othello", "othello"),
    "hex": ("hex(board_size=11)", "hex"),
    "gomoku": ("gomoku(size=15)", None),
    "dots_and_boxes": ("dots_and_boxes(num_rows=5,num_cols=5)", None),
    "mancala": ("mancala", None),
    "go_9x9": ("go(board_size=9,komi=7.5)", "go_9x9"),
    "go_19x19": ("go(board_size=19,komi=7.5)", "go_19x19"),
    "chess": ("chess", "chess"),
    "gardner_chess": (None, "gardner_chess"),
    "shogi": ("shogi", "shogi"),
}


@dataclasses.dataclass
class Contestant:
    """Something that plays: `run` returns steps and the seconds they took."""

    run: Callable[[], tuple[float, float]]
    facts: dict[str, Any]


def main() -> None:
    options = _options()
    if options.worker:
        return _serve()
    record: dict[str, Any] = {"benchmark": "random play side by side", "cores": _pin()}
    record |= {"machine": platform.machine(), "python": platform.python_version()}
    for module, package in (("pgx", "pgx"), ("pyspiel", "open_spiel")):
        if package in options.peers and importlib.util.find_spec(module) is None:
            sys.exit(f"side_by_side: pip install {package}, or say --peers without {package}")
    record |= {p: metadata.version(p) for p in ("jax", *options.peers)}
    worker = Worker(options.pgx1_python) if options.pgx1_python else None
    for name in options.games:
        contestants = _contestants(name, options, worker)
        record[name] = _measure(contestants, options.repeats)
        for contestant, facts in record[name].items():
            rate, times = f"{facts['steps a second']:,}", facts["azjax is times"]
            spread = f"[{facts['min']:,} - {facts['max']:,}]"
            print(f"{name:<15}{contestant:<10}{rate:>12} steps a second {spread:<29}", end="")
            print(f"azjax is {times} times as fast", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(record, indent=2) + "\n")


def _contestants(name: str, options: Any, worker: "Worker | None") -> dict[str, Contestant]:
    from azjax_envs import make

    game, (in_open_spiel, in_pgx) = make(name), GAMES[name]
    rules = _random_play().Rules(game.init(), game.step, game.legal_action_mask, game.is_terminal)
    found = {"azjax": _best_batch(rules, game.max_steps, options.seconds, name)}
    if in_pgx and "pgx" in options.peers:
        rules = _pgx_rules(in_pgx)
        found["pgx"] = _best_batch(rules, game.max_steps, options.seconds, f"{name} in pgx")
    if in_pgx and worker:
        print(f"{name} in pgx 1", file=sys.stderr, flush=True)
        facts = worker.ask({"env": in_pgx, "length": game.max_steps, "seconds": options.seconds})
        if "error" in facts:
            print(f"{name} is left out of pgx 1: {facts['error']}", file=sys.stderr)
        else:
            found["pgx 1"] = Contestant(lambda: tuple(worker.ask({"run": True})), facts)
    if in_open_spiel and "open_spiel" in options.peers:
        print(f"{name} in OpenSpiel", file=sys.stderr, flush=True)
        found["OpenSpiel"] = _open_spiel(in_open_spiel, options.seconds)
    return found


def _measure(contestants: dict[str, Contestant], repeats: int) -> dict[str, dict[str, Any]]:
    """Steps a second of each, and how often as fast azjax is."""
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, contestant in contestants.items():
            steps, seconds = contestant.run()
            if turn:  # the first round warms up
                rates[name].append(steps / seconds)
    measured = {}
    for name, found in rates.items():
        ratio = statistics.median(map(operator.truediv, rates["azjax"], found))
        measured[name] = {"steps a second": round(statistics.median(found))}
        measured[name] |= {"min": round(min(found)), "max": round(max(found))}
        measured[name] |= {"azjax is times": round(ratio, 3)} | contestants[name].facts
    return measured


def _best_batch(rules: Any, length: int, seconds: float, title: str) -> Contestant:
    """The rules in batches of the size at which they are fastest."""
    import jax

    random_play = _random_play()
    warm = random_play.spread_out(rules, length)
    tried: dict[int, float] = {}
    for batch in BATCHES:
        print(f"{title}: {batch} games at once", file=sys.stderr, flush=True)
        player = random_play.RandomPlayer(rules, warm, batch, seconds)
        steps, taken = _timed(player)
        tried[batch] = round(steps / taken)
        if tried[batch] == max(tried.values()):
            best = batch, player
        if batch >= 256 and tried[batch] < FALLEN * max(tried.values()):
            break
    batch, player = best
    size = sum(leaf.nbytes for leaf in jax.tree_util.tree_leaves(rules.start))
    facts = {"batch": batch, "by batch": tried, "state bytes": size}
    return Contestant(lambda: _timed(player), facts)


def _timed(player: Any) -> tuple[float, float]:
    import jax

    started = time.perf_counter()
    jax.block_until_ready(player())
    return player.steps, time.perf_counter() - started


def _pgx_rules(name: str) -> Any:
    import jax
    import jax.numpy as jnp
    import pgx

    env = pgx.make(name)
    start = jax.tree_util.tree_map(jnp.asarray, env.init(jax.random.PRNGKey(0)))
    unseen = jnp.zeros_like(start.observation)

    def step(state: Any, action: Any) -> Any:
        return env.step(state.replace(observation=unseen), action).replace(observation=None)

    return _random_play().Rules(
        start.replace(observation=None),
        step,
        lambda state: state.legal_action_mask,
        lambda state: state.terminated | state.truncated,
    )


def _open_spiel(name: str, seconds: float) -> Contestant:
    import pyspiel

    game = pyspiel.load_game(name)
    start = game.new_initial_state()
    seed = functools.partial(random.Random(0).randrange, 2**31)
    lengths = _random_lengths(start, seconds=2.0)
    mean, error = statistics.fmean(lengths), statistics.pstdev(lengths) / len(lengths) ** 0.5

    def roll_out(rollouts: int) -> float:
        evaluator = pyspiel.RandomRolloutEvaluator(rollouts, seed())
        # A search of one simulation: it evaluates its root, and does nothing else.
        bot = pyspiel.MCTSBot(game, evaluator, 1.0, 1, 100, False, seed(), False)
        started = time.perf_counter()
        bot.mcts_search(start)
        return time.perf_counter() - started

    rollouts, taken = 1, 0.0
    while taken < seconds / 4:
        rollouts *= 4
        taken = roll_out(rollouts)
    rollouts = round(rollouts * seconds / taken)

    def run() -> tuple[float, float]:
        return rollouts * mean, roll_out(rollouts)

    facts = {"rollouts": rollouts, "mean length": round(mean, 3), "its error": round(error, 3)}
    return Contestant(run, facts | {"games for the mean": len(lengths)})


def _random_lengths(start: Any, seconds: float) -> list[int]:
    """Plies of random games, at least 30 of them."""
    chance, until = random.Random(0), time.perf_counter() + seconds
    lengths: list[int] = []
    while len(lengths) < 30 or time.perf_counter() < until:
        state, plies = start.clone(), 0
        while not state.is_terminal():
            state.apply_action(chance.choice(state.legal_actions()))
            plies += 1
        lengths.append(plies)
    return lengths


class Worker:
    """This script in another Python, which measures when asked to: one JSON line each way."""

    def __init__(self, python: str):
        if not Path(python).exists():
            sys.exit(f"side_by_side: {python} is not there: no Python with pgx 1")
        self._process = subprocess.Popen(
            [python, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, question: dict[str, Any]) -> Any:
        try:
            print(json.dumps(question), file=self._process.stdin, flush=True)
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            sys.exit("side_by_side: the Python with pgx 1 has ended; is pgx installed there?")


def _serve() -> None:
    """What a Worker runs: prepares an environment, then measures it as often as asked."""
    import jax

    # pgx 1 knows a jax that called keys so, and a Python that took arrays for defaults of fields.
    jax.random.KeyArray = jax.Array
    type(jax.numpy.zeros(())).__hash__ = object.__hash__
    import pgx

    for line in sys.stdin:
        question = json.loads(line)
        if "env" in question:
            try:
                rules = _pgx_rules(question["env"])
                name = f"{question['env']} in pgx {pgx.__version__}"
                contestant = _best_batch(rules, question["length"], question["seconds"], name)
                answer: Any = contestant.facts | {"pgx": pgx.__version__, "jax": jax.__version__}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        else:
            answer = contestant.run()
        print(json.dumps(answer), flush=True)


@functools.cache
def _random_play() -> Any:
    """azjax's module, by its path: a peer's Python does not have azjax installed."""
    spec = importlib.util.spec_from_file_location("random_play", RANDOM_PLAY)
    sys.modules["random_play"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _pin() -> str:
    if not hasattr(os, "sched_setaffinity"):
        return f"not pinned, {os.cpu_count()} cores"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})  # before JAX starts: its threads inherit it, and workers, too
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    return f"one, number {core}, to which all was pinned"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", nargs="*", help=f"among {', '.join(GAMES)}; all if left out")
    parser.add_argument("--peers", nargs="*", choices=("pgx", "open_spiel"))
    parser.add_argument("--pgx1-python", help="a Python that has pgx 1 installed")
    parser.add_argument("--repeats", type=int, default=5, help="interleaved repeats")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of each measurement")
    parser.add_argument("--json", help="the file to write")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(peers=["pgx", "open_spiel"])
    options = parser.parse_args()
    options.games = options.games or list(GAMES)
    unknown = [name for name in options.games if name not in GAMES]
    if unknown:
        parser.error(f"no game {unknown[0]!r} here: it is one of {', '.join(GAMES)}")
    return options


if __name__ == "__main__":
    main()
