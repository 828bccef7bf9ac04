"""Estimates a training cycle: python -m benchmarks.kernels.cycle CONFIG --on MACHINE ...

Prints JSON: what `azjax plan` tells of memory, and the kernels and an estimate of the time. Keys of
the config can be changed, as in `azjax train`.
"""

import functools
import json
import operator
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any

import jax
import tyro

from azjax.cli.arguments import parse
from azjax.config import Config
from azjax.config.toml import load_config
from azjax.games import make_game
from azjax.plan.compile import Compiled, ahead_mesh
from azjax.plan.machines import Machine, machine
from azjax.plan.plan import make_plan
from azjax.plan.silence import quiet
from azjax.training.trainer import Trainer
from benchmarks.kernels import hlo
from benchmarks.kernels.clock import kernel_seconds
from benchmarks.kernels.counting import Runs
from benchmarks.kernels.launches import NETWORK, launches
from benchmarks.kernels.measure import assumed_runs, measure_runs


def estimate(trainer: Trainer, machine: Machine, cycle: Compiled, runs: Runs) -> dict[str, Any]:
    """Returns the launches of a compiled cycle and the estimate of its time.

    Operations are of all devices together, times in seconds. A kernel counts as often as the loops
    around it repeat it.
    """
    config, devices = trainer.config, machine.devices
    whole = launches(hlo.parse(cycle.text), runs)
    plies, updates = whole.within("plies"), whole.within("updates")
    simulations = whole.within("full_search", "simulations")
    forwards = simulations.within(NETWORK)
    searched = whole.runs("full_search", "simulations") or 1.0

    products = operator.attrgetter("matrix_flops")
    seconds = functools.partial(kernel_seconds, machine=machine)
    total, self_play = whole.total(seconds), plies.total(seconds)
    positions = config.selfplay.parallel_games * config.selfplay.plies_per_cycle
    uncertain = [x for x in whole.loops if x.source != "known" and x.repetitions]
    loops = dict.fromkeys((x.label, round(x.repetitions, 2), x.source) for x in uncertain)
    return {
        "flops": {
            "forwards": devices * (whole.total(products) - updates.total(products)),
            "gradients": devices * updates.total(products),
            "rest": devices * whole.total(operator.attrgetter("operations")),
        },
        "launches": {
            "simulation": simulations.kernels / searched,  # of a full search
            "ply": plies.kernels / (whole.runs("plies") or 1.0),  # of all games, with the search
            "update": updates.kernels / (whole.runs("updates") or 1.0),
            "cycle": whole.kernels,
            "forward": forwards.kernels / searched,  # in a simulation
            "host_reads": whole.reads,  # loops and branches whose predicate is data
        },
        "collectives": {
            kind: {"calls": calls, "bytes": sent}
            for kind, (calls, sent) in whole.collectives().items()
        },
        "estimate": {
            "cycle": total,
            "positions": positions / total,  # of self-play a second, by all chips
            "forward": forwards.total(seconds) / searched,  # of all games of a chip
            "forward_share": plies.within(NETWORK).total(seconds) / (self_play or 1.0),
            "self_play": self_play,
            "updates": updates.total(seconds),
        },
        "shares": whole.shares(seconds),  # of scopes in the time
        "loops": [
            {"place": place, "times": times, "source": source} for place, times, source in loops
        ],
    }


def main() -> None:
    """Prints the estimates as JSON."""
    name, *rest = sys.argv[1:]

    @dataclass(frozen=True)
    class Arguments:
        on: tuple[str, ...]
        """The machines, as in `azjax plan`."""
        config: Annotated[Config, tyro.conf.arg(name="")] = field(
            default_factory=lambda: load_config(name)
        )
        measure: bool = True
        """Count over real games how often loops repeat; otherwise four times is assumed."""

    options = parse(main, Arguments, rest, "kernels")
    with quiet():
        jax.config.update("jax_platforms", "cpu")
        jax.devices()
    game, machines = make_game(options.config), [machine(each) for each in options.on]
    meshes = [ahead_mesh(each) for each in machines]
    runs = measure_runs(options.config, game) if options.measure else assumed_runs(options.config)
    read = functools.partial(estimate, runs=runs)
    pairs = zip(machines, meshes, strict=True)
    plans = [make_plan(options.config, game, *pair, read).to_dict() for pair in pairs]
    searched = {"games": runs.games, "searched_by": runs.searched_by}
    facts = {"config": name, "jax": jax.__version__, "counted_over": searched}
    print(json.dumps(facts | {"plans": plans}, indent=2))


if __name__ == "__main__":
    main()
