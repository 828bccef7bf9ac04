"""What a run's training cycle needs and costs on machines that are not here."""

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from azjax_envs import Game
from jax.sharding import Mesh

from azjax.config import Config
from azjax.errors import UserError
from azjax.games import make_game
from azjax.plan.compile import Compiled, DoesNotCompile, ahead_mesh, compile_ahead
from azjax.plan.counting import Runs
from azjax.plan.launches import NETWORK, launches
from azjax.plan.machines import Machine, kernel_seconds
from azjax.plan.measure import assumed_runs, measure_runs
from azjax.training.memory import replay_bytes, what_fits
from azjax.training.trainer import Trainer, make_trainer

_FIGURES = ("lower_seconds", "compile_seconds", "flags", "memory", "flops", "launches")
_FIGURES += ("collectives", "estimate", "shares", "loops")


@dataclass(frozen=True)
class Plan:
    """What a training cycle needs and costs on one machine, or why it does not run there.

    The figures are those of `azjax plan --json`; they are null where it does not compile. Bytes
    are of one device, operations of all together, times in seconds. A kernel counts as often as
    the loops around it repeat it.
    """

    machine: Machine
    problem: str = ""  # why it does not compile or fit, and what would
    figures: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures, for JSON."""
        here = {"machine": self.machine.name, "chips": self.machine.chips}
        return {**here, "problem": self.problem, **dict.fromkeys(_FIGURES), **self.figures}


def make_plans(
    config: Config,
    machines: list[Machine],
    *,
    measure: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[list[Plan], Runs]:
    """Compiles the training cycle of a config for each machine.

    Args:
      measure: whether to play on this machine first, to count repetitions that depend on data;
        otherwise they are assumed.
      progress: called with a line about what is being done.

    Raises:
      UserError: the config's game does not exist, or what compiles for a machine is not installed.
    """
    game = make_game(config)
    meshes = [ahead_mesh(machine) for machine in machines]
    if measure:
        progress("counting repetitions over games on this machine")
    runs = measure_runs(config, game) if measure else assumed_runs(config)
    plans = []
    for machine, mesh in zip(machines, meshes, strict=True):
        progress(f"compiling for {machine.name}")
        plans.append(make_plan(config, game, machine, mesh, runs))
    return plans, runs


def make_plan(config: Config, game: Game, machine: Machine, mesh: Mesh, runs: Runs) -> Plan:
    """Compiles the training cycle for one machine and reads the compiled program."""
    try:
        trainer = make_trainer(game, config, mesh)
    except UserError as error:
        return Plan(machine, problem=str(error))
    try:
        cycle = compile_ahead(trainer.cycle, (trainer.abstract_state(),))
    except DoesNotCompile as error:
        problem = str(error)
        if error.needs is not None:
            left = machine.chip.memory * machine.chip.usable - error.needs
            problem = f"needs {gib(error.needs)} of memory; {_what_fits(trainer, left)}"
        return Plan(machine, problem=problem)
    return _read(trainer, machine, cycle, runs)


def _read(trainer: Trainer, machine: Machine, cycle: Compiled, runs: Runs) -> Plan:
    config, devices = trainer.config, machine.devices
    whole = launches(cycle.program, runs)
    plies, updates = whole.within("plies"), whole.within("updates")
    simulations = whole.within("full_search", "simulations")
    forwards = simulations.within(NETWORK)
    searched = whole.runs("full_search", "simulations") or 1.0

    products = operator.attrgetter("matrix_flops")
    seconds = functools.partial(kernel_seconds, machine=machine)
    total, self_play = whole.total(seconds), plies.total(seconds)
    positions = config.selfplay.parallel_games * config.selfplay.plies_per_cycle
    usable = machine.chip.memory * machine.chip.usable
    left = usable - cycle.memory
    uncertain = [x for x in whole.loops if x.source != "known" and x.repetitions]
    loops = dict.fromkeys((x.label, round(x.repetitions, 2), x.source) for x in uncertain)
    figures = {
        "lower_seconds": cycle.lower_seconds,
        "compile_seconds": cycle.compile_seconds,
        "flags": cycle.flags,  # of XLA, without which it does not compile
        "memory": {
            "arguments": cycle.arguments,
            "temporaries": cycle.temporaries,
            "code": cycle.code,  # 0 for GPUs, for which XLA does not tell
            "usable": usable,  # what JAX gives to programs by default
            "left": left,  # negative if the program does not fit
        },
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
    return Plan(machine, "" if left >= 0 else f"does not fit; {_what_fits(trainer, left)}", figures)


def _what_fits(trainer: Trainer, left: float) -> str:
    return what_fits(trainer, left, replay_bytes(trainer) // 2)  # without the copy


def gib(size: float) -> str:
    """Returns a number of bytes as text."""
    return f"{size / 2**30:.2f} GiB" if size >= 2**28 else f"{size / 2**20:.1f} MiB"
