"""One contestant in a process of its own, which works on request by one JSON line each way."""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from typing import Any

from setting import Contestant, Setting, Work

from azjax.devices import use_all_cores

CONTESTANTS = {
    "azjax": ("azjax_loop", "EqualLoop"),
    "azjax's config": ("azjax_loop", "ShippedConfig"),
    "pgx loop": ("pgx_loop", "PgxLoop"),
    "alpha-zero-general, JAX": ("alpha_zero_general", "AlphaZeroGeneral"),
    "alpha-zero-general, Keras": ("alpha_zero_general", "AlphaZeroGeneralWithKeras"),
}
SIMULATIONS = 64  # of the players whose mistakes are counted


def main() -> None:
    """Makes the contestant, then answers each line of standard input."""
    name, setting = sys.argv[1], Setting(**json.loads(sys.argv[2]))
    if not name.startswith("alpha-zero-general"):  # which has a process for each core
        # Before the contestant's imports: pgx makes arrays in its modules, which starts JAX.
        use_all_cores(splits=(setting.games, setting.batch), say=lambda line: None)
    module, contestant_class = CONTESTANTS[name]
    contestant = getattr(importlib.import_module(module), contestant_class)(setting)
    for line in sys.stdin:
        print(json.dumps(_answer(contestant, json.loads(line))), flush=True)


def _answer(contestant: Contestant, question: dict[str, Any]) -> dict[str, Any]:
    if "seconds" in question:
        return _work(contestant, question["seconds"])
    if "mistakes" in question:
        return _mistakes(contestant)
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"peak memory in MB": round(kib * 1024 / 1e6)}


def _work(contestant: Contestant, seconds: float) -> dict[str, Any]:
    """Iterates until the seconds have passed, once at least."""
    total, started = Work(0, 0), time.perf_counter()
    while True:
        work = contestant.iterate()
        taken = time.perf_counter() - started
        if work is None:
            return {**total._asdict(), "seconds": taken, "complete": True}
        total = Work(total.positions + work.positions, total.simulations + work.simulations)
        if taken >= seconds:
            return {**total._asdict(), "seconds": taken, "complete": False}


def _mistakes(contestant: Contestant) -> dict[str, Any]:
    """Counts mistakes in azjax's scored positions of connect four, by search and without."""
    from azjax_envs import make

    import azjax
    from azjax.config import GumbelConfig, SearchConfig
    from azjax.players.network_players import PolicyPlayer, SearchPlayer

    network, variables = contestant.trained()
    game = make("connect_four")
    players: dict[str, azjax.Player] = {"policy": PolicyPlayer(game, network, variables)}
    # azjax's config takes values as they are, mctx stretches those of a position to [0, 1].
    for rescale, how in ((False, "values as they are"), (True, "values rescaled")):
        search = SearchConfig(
            num_simulations=SIMULATIONS, gumbel=GumbelConfig(rescale_values=rescale)
        )
        name = f"{SIMULATIONS} simulations, {how}"
        players[name] = SearchPlayer(game, network, variables, search)
    found = azjax.report(game, players)
    return {
        player.name: {score.suite: [score.mistakes, score.positions] for score in player.scores}
        for player in found.players
    }


if __name__ == "__main__":
    main()
