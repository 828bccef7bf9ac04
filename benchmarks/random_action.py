"""Random play through `azjax_envs.random_action`, next to that of `azjax bench envs`.

    python benchmarks/random_action.py --json FILE

The loop is the one in `envs/README.md`: a legal mask, `random_action` with one key for the batch, a
step, and a new game where one has ended. `azjax bench envs` draws its actions from a hash of a
counter instead. Both play the same number of games at once, from positions of all ages, and take
turns in one run on one core.
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro
from azjax_envs import Game, auto_reset, random_action

from azjax.bench.games import GAMES, pin_to_one_core, rules_of
from azjax.bench.random_play import WARM_LANES, RandomPlayer, Rules, spread_out
from azjax.bench.timing import interleave
from azjax.devices import describe_machine
from azjax.games import game_from_name

LARGE = ("chess", "gardner_chess", "shogi")


@dataclasses.dataclass(frozen=True)
class Arguments:
    games: Annotated[tuple[str, ...], tyro.conf.Positional] = (*GAMES, *LARGE)
    """Names of the games."""
    batch: int = 256
    """Games at once."""
    seconds: float = 0.25
    """Minimum time of each measurement."""
    repeats: int = 9
    """Number of interleaved repeats."""
    json: Path | None = None
    """File to write the result to."""


def public_play(game: Game, rules: Rules, batch: int, plies: int) -> Any:
    """Returns a function that continues random games by `plies` plies, as the README plays them."""
    step = auto_reset(game)

    @jax.jit
    def play(states: Any, key: jax.Array) -> Any:
        def ply(states: Any, key: jax.Array) -> Any:
            actions = random_action(key, jax.vmap(game.legal_action_mask)(states))
            return jax.vmap(step)(states, actions)[0], None

        return jax.lax.scan(ply, states, jax.random.split(key, plies))[0]

    warm = spread_out(rules, game.max_steps)
    states = jax.tree.map(lambda x: x[jnp.arange(batch) % WARM_LANES], warm)
    turn = 0

    def call() -> Any:
        nonlocal states, turn
        turn += 1
        states = play(states, jax.random.key(turn))
        return states

    return call


def main(options: Arguments) -> None:
    with pin_to_one_core() as cores:
        facts: dict[str, Any] = {
            "benchmark": "random play by random_action, next to that of azjax bench envs; "
            f"{options.batch} games at once",
            "machine": describe_machine(),
            "cores": cores,
            "unit": "steps per second; the median share of interleaved rounds, with its range",
        }
        for name in options.games:
            facts[name] = _measure(game_from_name(name), options)
            print(name, facts[name], file=sys.stderr, flush=True)
    text = json.dumps(facts, indent=2)
    if options.json is None:
        print(text)
    else:
        options.json.write_text(text + "\n")


def _measure(game: Game, options: Arguments) -> dict[str, Any]:
    rules = rules_of(game)
    warm = spread_out(rules, game.max_steps)
    fast = RandomPlayer(rules, warm, options.batch, options.seconds)
    plies = fast.steps // options.batch
    public = public_play(game, rules, options.batch, plies)
    seconds = interleave({"fast": fast, "public": public}, options.repeats)
    shares = sorted(a / b for a, b in zip(seconds["fast"], seconds["public"], strict=True))
    middle = len(shares) // 2
    return {
        "bench envs": round(fast.steps / sorted(seconds["fast"])[middle]),
        "random_action": round(fast.steps / sorted(seconds["public"])[middle]),
        "share": round(shares[middle], 3),
        "min": round(shares[0], 3),
        "max": round(shares[-1], 3),
    }


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
