"""Random play in azjax, pgx and OpenSpiel's C++, measured in one run on one core.

    python benchmarks/side_by_side.py                         # all games in azjax, pgx, OpenSpiel
    python benchmarks/side_by_side.py hex othello --json out.json
    python benchmarks/side_by_side.py --pgx1-python PATH      # also pgx 1, in its own Python

Machines are noisy. So every repeat measures all contestants one after the other, and the result is
the median of the repeats' ratios.

**azjax and pgx** play by the same code, `azjax/bench/random_play.py`: batches of games in one
compiled loop. Each ply is a legal mask, a cheap choice, a step, and a new game where one ended.
Each library uses the batch size that is fastest for it. pgx computes an observation inside every
step. Here it is dropped from the state, so XLA leaves its computation out, which gives pgx its best
numbers. pgx 1 runs in its own process on the same core, and waits while others are measured.

**OpenSpiel** plays by `RandomRolloutEvaluator`, in C++ throughout: it copies the start, then lists
the legal actions, chooses one and applies it until the end. A search of one simulation (`MCTSBot`)
calls it once, for the number of rollouts that takes the time. OpenSpiel does not report the number
of steps. So the mean length of random games is measured separately, over games played through
Python, and each rollout counts as that number of steps. The record contains the mean's standard
error, which is also the relative error of the rate. An action of OpenSpiel's backgammon
is two moves and counts as two steps. Dice are no steps.
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
import types
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

BATCHES = (1, 4, 16, 64, 256, 1024, 4096, 16384)
FALLEN = 0.5  # of the best rate: from 256 games on, larger batches are not tried
ROOT = Path(__file__).parent.parent
RANDOM_PLAY = ROOT / "azjax" / "bench" / "random_play.py"
SAMPLING = ROOT / "envs" / "azjax_envs" / "sampling.py"


GAMES = {  # names in OpenSpiel and pgx; None if the library has no such game
    "tic_tac_toe": ("tic_tac_toe", "tic_tac_toe"),
    "connect_four": ("connect_four", "connect_four"),
    "othello": ("othello", "othello"),
    "hex": ("hex(board_size=11)", "hex"),
    "gomoku": ("gomoku(size=15)", None),
    "dots_and_boxes": ("dots_and_boxes(num_rows=5,num_cols=5)", None),
    "mancala": ("mancala", None),
    "backgammon": ("backgammon(scoring_type=full_scoring)", "backgammon"),
    "go_9x9": ("go(board_size=9,komi=7.5)", "go_9x9"),
    "go_19x19": ("go(board_size=19,komi=7.5)", "go_19x19"),
    "chess": ("chess", "chess"),
    "gardner_chess": (None, "gardner_chess"),
    "shogi": ("shogi", "shogi"),
}


@dataclasses.dataclass
class Contestant:
    """A library that plays: `run` returns the number of steps and their seconds."""

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
            sys.exit(f"side_by_side: pip install {package}, or give --peers without {package}")
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
    from azjax_envs import HasChance, make

    from azjax.bench.games import rules_of

    game, (in_open_spiel, in_pgx) = make(name), GAMES[name]
    rules, has_dice = rules_of(game), isinstance(game, HasChance)
    found = {"azjax": _best_batch(rules, game.max_steps, options.seconds, name)}
    if in_pgx and "pgx" in options.peers:
        rules = _pgx_rules(in_pgx, has_dice)
        found["pgx"] = _best_batch(rules, game.max_steps, options.seconds, f"{name} in pgx")
    if in_pgx and worker and not has_dice:
        print(f"{name} in pgx 1", file=sys.stderr, flush=True)
        facts = worker.ask({"env": in_pgx, "length": game.max_steps, "seconds": options.seconds})
        if "error" in facts:
            print(f"{name} is left out for pgx 1: {facts['error']}", file=sys.stderr)
        else:
            found["pgx 1"] = Contestant(lambda: tuple(worker.ask({"run": True})), facts)
    if in_open_spiel and "open_spiel" in options.peers:
        print(f"{name} in OpenSpiel", file=sys.stderr, flush=True)
        found["OpenSpiel"] = _open_spiel(in_open_spiel, options.seconds)
    return found


def _measure(contestants: dict[str, Contestant], repeats: int) -> dict[str, dict[str, Any]]:
    """Returns each contestant's steps per second, and how many times as fast azjax is."""
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
    """Returns a contestant that plays in batches of the fastest size."""
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


def _pgx_rules(name: str, has_dice: bool = False) -> Any:
    import jax
    import jax.numpy as jnp
    import pgx

    env = pgx.make(name)
    start = jax.tree_util.tree_map(jnp.asarray, env.init(jax.random.PRNGKey(0)))
    unseen = jnp.zeros_like(start.observation)

    def step(state: Any, *action_key: Any) -> Any:
        return env.step(state.replace(observation=unseen), *action_key).replace(observation=None)

    start, make_rules = start.replace(observation=None), _random_play().Rules
    if has_dice:  # a random word of each ply is kept next to the state, and becomes the key
        return make_rules(
            (start, jnp.uint32(0)),
            lambda pair, action: (step(pair[0], action, jnp.stack([pair[1], ~pair[1]])), pair[1]),
            lambda pair: pair[0].legal_action_mask,
            lambda pair: pair[0].terminated | pair[0].truncated,
            lambda pair, word: (pair[0], word),
        )
    return make_rules(
        start,
        step,
        lambda state: state.legal_action_mask,
        lambda state: state.terminated | state.truncated,
    )


def _open_spiel(name: str, seconds: float) -> Contestant:
    import pyspiel

    game = pyspiel.load_game(name)
    start = game.new_initial_state()
    if start.is_chance_node():
        start.apply_action(start.legal_actions()[0])
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
    """Returns the plies of at least 30 random games: moves of one checker in backgammon."""
    chance, until = random.Random(0), time.perf_counter() + seconds
    lengths: list[int] = []
    while len(lengths) < 30 or time.perf_counter() < until:
        state, plies = start.clone(), 0
        while not state.is_terminal():
            action = chance.choice(state.legal_actions())
            plies += 0 if state.is_chance_node() else _moves_of(state, action)
            state.apply_action(action)
        lengths.append(plies)
    return lengths


def _moves_of(state: Any, action: int) -> int:
    """Returns the moves of an action: one, or those of both dice."""
    if not hasattr(state, "spiel_move_to_checker_moves"):
        return 1
    moves = state.spiel_move_to_checker_moves(state.current_player(), action)
    return max(1, sum(move.pos >= 0 for move in moves))


class Worker:
    """This script in another Python. It measures on request, by one JSON line each way."""

    def __init__(self, python: str):
        if not Path(python).exists():
            sys.exit(f"side_by_side: {python} does not exist; give the Python that has pgx 1")
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
    """Runs in a Worker's process: prepares environments and measures them on request."""
    import jax

    # pgx 1 expects a jax with this name for keys, and a Python with arrays as fields' defaults.
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
    """Loads azjax's module by its path, because azjax is not installed in the peer's Python."""
    if importlib.util.find_spec("azjax_envs") is None:
        sys.modules["azjax_envs"] = types.ModuleType("azjax_envs")
        _load("azjax_envs.sampling", SAMPLING)
    return _load("random_play", RANDOM_PLAY)


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _pin() -> str:
    if not hasattr(os, "sched_setaffinity"):
        return f"not pinned, {os.cpu_count()} cores"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})  # before JAX starts: its threads and the workers inherit it
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    return f"one, number {core}, to which all processes were pinned"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", nargs="*", help=f"any of {', '.join(GAMES)}; all by default")
    parser.add_argument("--peers", nargs="*", choices=("pgx", "open_spiel"))
    parser.add_argument("--pgx1-python", help="a Python that has pgx 1 installed")
    parser.add_argument("--repeats", type=int, default=5, help="number of interleaved repeats")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of each measurement")
    parser.add_argument("--json", help="write the record to this file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(peers=["pgx", "open_spiel"])
    options = parser.parse_args()
    options.games = options.games or list(GAMES)
    unknown = [name for name in options.games if name not in GAMES]
    if unknown:
        parser.error(f"unknown game {unknown[0]!r}; choose from {', '.join(GAMES)}")
    return options


if __name__ == "__main__":
    main()
