"""What a run's training cycle needs on machines that are not here."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
from azjax_envs import Game
from jax.sharding import Mesh
from rich.console import Group
from rich.table import Table
from rich.text import Text

from azjax.config import Config
from azjax.errors import UserError
from azjax.games import make_game
from azjax.network import TwoHeadedNetwork
from azjax.plan.compile import Compiled, DoesNotCompile, ahead_mesh, compile_ahead
from azjax.plan.machines import Machine
from azjax.plan.operations import cycle_operations
from azjax.running.memory import replay_bytes, what_fits
from azjax.training import Trainer, make_trainer

_FIGURES = ("lower_seconds", "compile_seconds", "flags", "memory", "flops", "collectives", "bound")
_COLLECTIVE = re.compile(
    r"= (.*?) (all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute)(?:-start)?\("
)
# The bits of a number and the dimensions of an array, as in f32[8,9].
_SHAPE = re.compile(r"\b[a-z]+(\d+)\w*\[([\d,]*)\]")


@dataclass(frozen=True)
class Plan:
    """What a training cycle needs on one machine, or why it does not run there.

    The figures are those of `azjax plan --json`; they are null where it does not compile. Bytes
    are of one device, operations of all together, times in seconds.
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
    progress: Callable[[str], None] = lambda line: None,
) -> list[Plan]:
    """Compiles the training cycle of a config for each machine.

    Args:
      progress: called with a line about what is being done.

    Raises:
      UserError: the config's game does not exist, or what compiles for a machine is not installed.
    """
    game = make_game(config)
    plans = []
    for machine, mesh in [(machine, ahead_mesh(machine)) for machine in machines]:
        progress(f"compiling for {machine.name}")
        plans.append(make_plan(config, game, machine, mesh))
    return plans


Read = Callable[[Trainer, Machine, Compiled], dict[str, Any]]


def make_plan(
    config: Config, game: Game, machine: Machine, mesh: Mesh, read: Read | None = None
) -> Plan:
    """Compiles the training cycle for one machine.

    Args:
      read: returns figures of the compiled cycle; by default `needed`.
    """
    try:
        trainer = make_trainer(game, config, mesh)
    except UserError as error:
        return Plan(machine, str(error))
    try:
        cycle = compile_ahead(trainer.cycle, (trainer.abstract_state(),))
    except DoesNotCompile as error:
        if error.needs is None:
            return Plan(machine, str(error))
        left = machine.usable - error.needs
        return Plan(machine, f"needs {gib(error.needs)} of memory; {_what_fits(trainer, left)}")
    left = machine.usable - cycle.memory
    problem = "" if left >= 0 else f"does not fit; {_what_fits(trainer, left)}"
    figures = {
        "lower_seconds": cycle.lower_seconds,
        "compile_seconds": cycle.compile_seconds,
        "flags": cycle.flags,  # of XLA, without which it does not compile
        "memory": {
            "arguments": cycle.arguments,
            "temporaries": cycle.temporaries,
            "code": cycle.code,  # 0 for GPUs, for which XLA does not tell
            "usable": machine.usable,  # what JAX gives to programs by default
            "left": left,  # negative if the program does not fit
        },
    }
    return Plan(machine, problem, figures | (read or needed)(trainer, machine, cycle))


def needed(trainer: Trainer, machine: Machine, cycle: Compiled) -> dict[str, Any]:
    """Returns a cycle's operations, its collectives, and the least time that they take."""
    config = trainer.config
    forwards, gradients = cycle_operations(config, trainer.game, trainer.network)
    seconds = least_seconds(trainer, machine, forwards + gradients)
    positions = config.selfplay.parallel_games * config.selfplay.plies_per_cycle
    return {
        "flops": {"forwards": forwards, "gradients": gradients},
        "collectives": collectives(cycle.text, config.learning.updates_per_cycle),
        "bound": {"cycle": seconds, "positions": positions / seconds},
    }


def least_seconds(trainer: Trainer, machine: Machine, operations: float) -> float:
    """Returns a lower bound of a cycle's time, by the published figures of the chip.

    It makes all products at its matrix rate. It reads the weights for the roots of each ply and at
    least once for their simulations, and each update reads and writes the learner's state.
    """
    chip, network, config = machine.chip, trainer.network, trainer.config
    exact = isinstance(network, TwoHeadedNetwork) and network.config.dtype == "float32"
    rate = chip.float32_rate if exact else chip.matrix_rate
    learner = trainer.abstract_state().learner
    weights = jax.eval_shape(network.for_inference, learner.variables)
    moved = 2 * config.selfplay.plies_per_cycle * _bytes(weights)
    moved += 2 * config.learning.updates_per_cycle * _bytes(learner)
    return max(operations / (machine.devices * rate), moved / chip.bandwidth)


def collectives(text: str, updates: int) -> dict[str, dict[str, int]]:
    """Returns the calls of each kind of collective in a cycle, and the bytes of their results.

    Args:
      text: the compiled program. What it names by the scope `updates` runs in each update.
    """
    found: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        if call := _COLLECTIVE.search(line):
            times = updates if "/updates/" in line else 1
            kind = found.setdefault(call[2], {"calls": 0, "bytes": 0})
            kind["calls"] += times
            for bits, sizes in _SHAPE.findall(call[1]):
                elements = math.prod(int(size) for size in sizes.split(",") if size)
                kind["bytes"] += times * elements * int(bits) // 8
    return found


def _bytes(arrays: Any) -> int:
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(arrays))


def _what_fits(trainer: Trainer, left: float) -> str:
    return what_fits(trainer, left, replay_bytes(trainer) // 2)  # without the copy


def plan_table(name: str, plans: list[Plan]) -> Group:
    """Returns the table of plans, one column for each machine, with remarks below it."""
    title = Text(f"one training cycle of {name}, compiled ahead of time", style="italic")
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("")
    for plan in plans:
        table.add_column(plan.machine.name, justify="right")
    columns = [dict(_column(plan)) for plan in plans]
    for heading in dict.fromkeys(heading for column in columns for heading in column):
        table.add_row(heading, *(column.get(heading, "") for column in columns))
    return Group(title, table, *(Text(line) for line in _notes(plans)))


def _column(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yields the headings and cells of one machine."""
    chip = plan.machine.chip
    several = f" of {chip.devices} devices" if chip.devices > 1 else ""
    yield "chips", f"{plan.machine.chips}{several}"
    if not (figures := plan.figures):
        yield "compiles", "no"
        return
    memory, flops, bound = figures["memory"], figures["flops"], figures["bound"]
    yield "compiles", "yes" if memory["left"] >= 0 else "does not fit"
    seconds = f"{figures['lower_seconds']:.0f} + {figures['compile_seconds']:.0f} s"
    yield "  lowering and compiling", seconds
    yield "memory a device: arguments", gib(memory["arguments"])
    yield "  temporaries", gib(memory["temporaries"])
    yield "  code", gib(memory["code"]) if memory["code"] else "not reported"
    yield "  left", gib(memory["left"]) if memory["left"] > 0 else "none"
    yield "TFLOP a cycle: forwards", f"{flops['forwards'] / 1e12:.4g}"
    yield "  gradients", f"{flops['gradients'] / 1e12:.4g}"
    for kind, sent in figures["collectives"].items():
        yield f"{kind} a cycle", f"{sent['calls']:,}, {gib(sent['bytes'])}"
    yield "AT LEAST: seconds a cycle", f"{bound['cycle']:.3g}"
    yield "AT MOST: positions/s", f"{bound['positions']:,.0f}"


def _notes(plans: list[Plan]) -> Iterator[str]:
    for plan in plans:
        if plan.problem:
            yield f"{plan.machine.name}: {plan.problem}"
        if flags := plan.figures.get("flags"):
            yield f"{plan.machine.name}: compiles only with XLA_FLAGS={' '.join(flags)}"
    yield "The bound is of products at the chip's published rate, or of weights at its bandwidth:"
    for chip in dict.fromkeys(plan.machine.chip for plan in plans):
        yield (
            f"  {chip.name}: {chip.matrix_rate / 1e12:.0f} TFLOP/s in bfloat16 and "
            f"{chip.float32_rate / 1e12:.0f} in float32, {chip.bandwidth / 1e9:,.0f} GB/s"
        )
    yield "Cycles take longer, those of small networks many times as long."


def gib(size: float) -> str:
    """Returns a number of bytes as text."""
    return f"{size / 2**30:.2f} GiB" if size >= 2**28 else f"{size / 2**20:.1f} MiB"
