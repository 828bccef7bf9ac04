"""Counts the kernels of programs that were measured on an H200, and writes them with their times.

The programs are those of commit 7319b3b: loops of random play, and training cycles. Today's
`benchmarks/kernels` counts them, in a checkout of that commit:

    git worktree add ../measured 7319b3b
    cp -r azjax/plan azjax/jaxprs ../measured/azjax/
    cp -r benchmarks/kernels ../measured/benchmarks/
    cd ../measured && PYTHONPATH=.:envs:COMPILERS python ../azjax/benchmarks/plan_h200.py FILE

COMPILERS is the folder of `make plan`. Repetitions of loops are counted over as many games as were
measured, after random openings as long as the games there. Takes half an hour on two cores. The
result is `tests/bench/kernels/h200.json`, whose test compares it with the estimates.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from azjax.bench import random_play
from azjax.bench.games import rules_of
from azjax.config.toml import load_config
from azjax.games import game_from_name, make_game
from azjax.plan.compile import ahead_mesh, compile_ahead, placed
from azjax.plan.machines import machine
from azjax.players.load import load_player
from azjax.search.model import network_evaluate
from azjax.selfplay import selfplay
from azjax.selfplay.openings import start_games
from azjax.training.trainer import make_trainer
from benchmarks.kernels import hlo
from benchmarks.kernels.counting import Runs, count
from benchmarks.kernels.hlo import Path as Names
from benchmarks.kernels.kernels import READ
from benchmarks.kernels.launches import launches

# Steps a second of random play, by the number of games at once.
RATES = {
    "tic_tac_toe": {4096: 133515233, 65536: 2885038796},
    "connect_four": {4096: 156588163, 65536: 2177349531},
    "dots_and_boxes": {4096: 179611950, 65536: 2114039865},
    "othello": {4096: 173573087, 65536: 2054904679},
    "hex": {4096: 133757540, 65536: 1011197608},
    "gomoku": {4096: 141190879, 65536: 552999986},
    "mancala": {4096: 152304548, 65536: 1867553508},
    "go_9x9": {4096: 5656409, 65536: 44666255},
    "go_19x19": {4096: 5007748, 65536: 17258550},
    "gardner_chess": {4096: 55288525, 65536: 211155370},
    "chess": {4096: 41057874, 65536: 117969331},
    "shogi": {4096: 28783061, 65536: 78007630},
}
# Seconds of a bare cycle. That of go was 125 ms in `azjax train`, whose host took 8 to 10 ms.
CYCLES = {"connect_four": 21.7e-3, "gpu/connect_four": 384e-3, "go_9x9": 116e-3}
WITH_WAITS = ("go_9x9", "go_19x19")  # loops of a ply that ask the host
COUNTED_PLIES = {4096: 12, 65536: 4}
GO_LENGTH = 113  # plies of the games of go during the measured run
PLIES = 1000.0  # that a loop of random play is taken to repeat


@dataclasses.dataclass(frozen=True)
class MeasuredRuns(Runs):
    """The repetitions of one program."""

    updates: int | None = None  # of a cycle; None for random play
    full: float = 1.0  # share of full searches

    def trips(self, path: Names) -> tuple[float, str]:
        if path.count("while") == 1:  # not in another loop
            return (PLIES if self.updates is None else self.updates), "known"
        return super().trips(path)

    def shares(self, path: Names, kernels: list[float]) -> tuple[list[float], str]:
        if self.updates is not None and path.count("while") == 1:
            return [1 - self.full, self.full], "known"
        return super().shares(path, kernels)


def rows(text: str, runs: MeasuredRuns, parts: float) -> list[list[Any]]:
    """Returns [times, bytes, operations, products, dtype of these] of kernels, alike ones merged.

    A wait of the host has no other entry than its times.
    """
    found: Counter[tuple[Any, ...]] = Counter()
    for x in launches(hlo.parse(text), runs).launches:
        work = (x.kernel.bytes, x.kernel.operations, x.kernel.matrix_flops)
        rounded = *(float(f"{number:.3g}") for number in work), x.kernel.matrix_dtype
        found[() if x.kernel is READ else rounded] += x.times / parts
    return [[float(f"{times:.4g}"), *work] for work, times in found.items() if times > 1e-3 / parts]


def random_play_rows(name: str, batch: int, mesh: Any) -> list[list[Any]]:
    """Returns the kernels of a ply of random play."""
    game = game_from_name(name)
    rules = rules_of(game)

    def play(states: Any, now: jax.Array, plies: jax.Array) -> Any:
        return random_play.play.__wrapped__(rules, states, now, plies)

    counts = Runs()
    if name in WITH_WAITS:
        lanes = jnp.arange(batch) % random_play.WARM_LANES
        warm = jax.tree.map(lambda x: x[lanes], random_play.spread_out(rules, game.max_steps))
        states = random_play.play(rules, warm, jnp.uint32(5), jnp.int32(60))
        counts = count(play, states, jnp.uint32(1000), jnp.int32(COUNTED_PLIES[batch]))
    states = jax.tree.map(lambda x: jax.ShapeDtypeStruct((batch, *x.shape), x.dtype), rules.start)
    numbers = (jax.ShapeDtypeStruct((), jnp.uint32), jax.ShapeDtypeStruct((), jnp.int32))
    text = compile_ahead(jax.jit(play), placed((states, *numbers), mesh)).text
    return rows(text, MeasuredRuns(counts.loops, counts.branches), PLIES)


def cycle_rows(name: str, mesh: Any) -> list[list[Any]]:
    """Returns the kernels of a training cycle."""
    config = load_config(name)
    game = make_game(config)
    counts = Runs()
    if game.name in WITH_WAITS:
        player = load_player(game.name, game=game)
        evaluate, variables = network_evaluate(game, player.network), player.variables
        played = dataclasses.replace(
            config,
            replay=dataclasses.replace(config.replay, min_positions=1, capacity_plies=2),
            selfplay=dataclasses.replace(
                config.selfplay,
                plies_per_cycle=2,
                opening_plies=GO_LENGTH,
                full_search_fraction=0.5,
            ),
        )

        def play(variables: Any, key: jax.Array) -> Any:
            key, start_key, mask_key = jax.random.split(key, 3)
            lanes = config.selfplay.parallel_games
            started = start_games(game, start_key, lanes, played.selfplay, None)
            # As that commit names and calls them.
            mask = selfplay.draw_full_search_mask(mask_key, played)
            play = selfplay.self_play
            return play(game, evaluate, variables, key, started, played, full_search_mask=mask)

        counts = count(play, variables, jax.random.PRNGKey(0))
    trainer = make_trainer(game, config, mesh)
    text = compile_ahead(trainer.cycle, (trainer.abstract_state(),)).text
    full = config.selfplay.full_search_fraction
    updates = config.learning.updates_per_cycle
    runs = MeasuredRuns(counts.loops, counts.branches, updates=updates, full=full)
    return rows(text, runs, 1.0)


def main() -> None:
    """Writes the file after each program."""
    jax.config.update("jax_platforms", "cpu")
    file, mesh = Path(sys.argv[1]), ahead_mesh(machine("h200"))
    record: dict[str, Any] = {
        "source": "one NVIDIA H200, jax 0.11.2, azjax at commit 7319b3b; one run",
        "counts": f"python benchmarks/plan_h200.py, jax {jax.__version__}, without a GPU",
        "columns": "times, bytes, operations, products, their dtype; times alone: waits",
        "programs": {},
    }

    def add(name: str, seconds: float, counted: list[list[Any]]) -> None:
        record["programs"][name] = {"measured us": round(1e6 * seconds, 1), "rows": counted}
        file.write_text(json.dumps(record, separators=(",", ":")) + "\n")

    for name, rates in RATES.items():
        for batch, rate in rates.items():
            add(f"{name}, {batch} games", batch / rate, random_play_rows(name, batch, mesh))
    for name, seconds in CYCLES.items():
        add(f"cycle of {name}", seconds, cycle_rows(name, mesh))


if __name__ == "__main__":
    main()
