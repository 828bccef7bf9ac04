"""What a run's training cycle needs and costs on machines that are not here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
from azjax_envs import Game
from jax.sharding import Mesh, NamedSharding

from azjax.config import Config
from azjax.errors import UserError
from azjax.games import make_game
from azjax.plan.compile import Compiled, DoesNotCompile, ahead_mesh, compile_ahead
from azjax.plan.estimate import seconds, shares
from azjax.plan.kernels import Kernel
from azjax.plan.machines import Machine
from azjax.plan.measure import (
    PLY_LOOP,
    SIMULATION_LOOP,
    UPDATE_LOOP,
    MeasuredRuns,
    evaluations,
    measure_runs,
)
from azjax.plan.regions import Region, collectives, regions
from azjax.sharding import EVERYWHERE, SPLIT, shard
from azjax.training.memory import replay_bytes, search_bytes
from azjax.training.trainer import Trainer, make_trainer


@dataclass(frozen=True)
class Launches:
    """Kernels of a compiled program, repetitions of loops included."""

    simulation: float  # of a full search
    ply: float  # of all games, its search included; the mean of full and fast searches
    update: float
    cycle: float
    forward: float  # of the network alone
    host_reads: float  # in a cycle: loops and branches whose predicate is data


@dataclass(frozen=True)
class Flops:
    """Operations of one cycle on all chips together."""

    forwards: float  # convolutions and matrix products of self-play
    gradients: float  # of updates
    rest: float  # all else: one for each element of an arithmetic result


@dataclass(frozen=True)
class Memory:
    """Bytes of one device."""

    arguments: int
    temporaries: int
    code: int  # 0 for GPUs, for which XLA does not tell
    usable: float  # what JAX gives to programs by default
    left: float  # the margin; negative if the program does not fit


@dataclass(frozen=True)
class Estimate:
    """Estimated times in seconds; see `azjax.plan.estimate`."""

    cycle: float
    positions: float  # positions of self-play per second, by all chips
    forward: float  # one evaluation of all games of a chip
    forward_share: float  # of forwards in the time of self-play
    self_play: float
    updates: float


@dataclass(frozen=True)
class Loop:
    """A loop or branch whose runs the program does not tell."""

    place: str  # the function that it stands in
    times: float
    source: str  # "measured" or "assumed"


@dataclass(frozen=True)
class Plan:
    """What a training cycle needs and costs on one machine, or why it does not run there."""

    machine: Machine
    problem: str = ""  # why it does not compile or fit, and what would
    lower_seconds: float = 0.0
    compile_seconds: float = 0.0
    flags: tuple[str, ...] = ()  # of XLA, without which it does not compile
    memory: Memory | None = None
    flops: Flops | None = None
    launches: Launches | None = None
    collectives: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    estimate: Estimate | None = None
    shares: dict[str, float] = dataclasses.field(default_factory=dict)  # of functions in the time
    loops: tuple[Loop, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures, for JSON."""
        facts = {**dataclasses.asdict(self), "machine": self.machine.name}
        facts["chips"] = self.machine.chips
        facts["collectives"] = {
            name: {"calls": calls, "bytes": sent}
            for name, (calls, sent) in self.collectives.items()
        }
        return facts


def make_plans(
    config: Config,
    machines: list[Machine],
    *,
    measure: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[list[Plan], MeasuredRuns]:
    """Compiles the training cycle of a config for each machine.

    Args:
      config: the run.
      machines: the machines.
      measure: whether to play on this machine first, to count repetitions that depend on data;
        otherwise they are assumed.
      progress: called with a line about what is being done.

    Raises:
      UserError: the config's game does not exist, or what compiles for a machine is not installed.
    """
    game = make_game(config)
    meshes = [ahead_mesh(machine) for machine in machines]
    runs = MeasuredRuns(config, {})
    if measure:
        progress("counting repetitions over games on this machine")
        runs = measure_runs(config, game)
    plans = []
    for machine, mesh in zip(machines, meshes, strict=True):
        progress(f"compiling for {machine.name}")
        plans.append(make_plan(config, game, machine, mesh, runs))
    return plans, runs


def make_plan(config: Config, game: Game, machine: Machine, mesh: Mesh, runs: MeasuredRuns) -> Plan:
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
            problem = f"needs {gib(error.needs)} of memory; {what_fits(trainer, left)}"
        return Plan(machine, problem=problem)
    forward = _compile_forward(trainer)
    return _read(trainer, machine, cycle, forward, runs)


def _compile_forward(trainer: Trainer) -> Compiled:
    """Compiles the network alone, for the positions of each chip's games."""
    state, mesh = trainer.abstract_state(), trainer.mesh
    shape = (trainer.config.selfplay.parallel_games, *trainer.game.observation_shape)
    observations = jax.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, SPLIT))
    apply = shard(trainer.network.apply, mesh, (EVERYWHERE, SPLIT), SPLIT)
    variables = jax.eval_shape(trainer.network.for_inference, state.learner.variables)
    variables = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, EVERYWHERE)),
        variables,
    )
    return compile_ahead(jax.jit(apply), (variables, observations))


def _read(
    trainer: Trainer, machine: Machine, cycle: Compiled, forward: Compiled, runs: MeasuredRuns
) -> Plan:
    config, devices = trainer.config, machine.devices
    whole, network = regions(cycle.program, runs), regions(forward.program, runs)
    plies = whole.loops(PLY_LOOP) or [whole]
    updates = whole.loops(UPDATE_LOOP)
    simulations = [loop for ply in plies for loop in ply.loops(SIMULATION_LOOP)]
    full = max(simulations, key=lambda loop: loop.times, default=None)

    def products(kernel: Kernel) -> float:
        return kernel.matrix_flops

    learning = sum(times * part.total(products) for part, times in _runs_of(whole, updates))
    self_play = sum(times * seconds(part, machine) for part, times in _runs_of(whole, plies))
    evaluate = seconds(network, machine)
    total = seconds(whole, machine)
    positions = config.selfplay.parallel_games * config.selfplay.plies_per_cycle
    usable = machine.chip.memory * machine.chip.usable
    left = usable - cycle.memory
    return Plan(
        machine,
        problem="" if left >= 0 else f"does not fit; {what_fits(trainer, left)}",
        lower_seconds=cycle.lower_seconds,
        compile_seconds=cycle.compile_seconds,
        flags=cycle.flags,
        memory=Memory(cycle.arguments + cycle.outputs, cycle.temporaries, cycle.code, usable, left),
        flops=Flops(
            forwards=devices * (whole.total(products) - learning),
            gradients=devices * learning,
            rest=devices * whole.total(lambda kernel: kernel.operations),
        ),
        launches=Launches(
            simulation=full.launches if full else 0.0,
            ply=sum(ply.launches for ply in plies[:1]),
            update=sum(update.launches for update in updates[:1]),
            cycle=whole.launches,
            forward=network.launches,
            host_reads=whole.host_reads,
        ),
        collectives=collectives(whole),
        estimate=Estimate(
            cycle=total,
            positions=positions / total,
            forward=evaluate,
            forward_share=evaluate * evaluations(config) / self_play if self_play else 0.0,
            self_play=self_play,
            updates=sum(times * seconds(part, machine) for part, times in _runs_of(whole, updates)),
        ),
        shares=shares(whole, machine),
        loops=tuple(dict.fromkeys(_uncertain(whole))),
    )


def _runs_of(whole: Region, loops: list[Region]) -> list[tuple[Region, float]]:
    """Returns the loops with how often their bodies run in a cycle."""
    return [(part, times) for part, times in whole.walk() if any(part is loop for loop in loops)]


def _uncertain(region: Region, inside: str = "") -> Iterator[Loop]:
    """Yields the loops and branches in a region whose runs are not known, with what is around."""
    for child in region.children:
        here = inside
        if child.source != "known" and child.times:
            branch = "a branch of " if child.kind == "branch" else ""
            yield Loop(f"{branch}{child.label}{inside}", round(child.times, 2), child.source)
        elif child.kind == "loop":
            here = f", in {child.times:g} times {child.label}"
        yield from _uncertain(child, here)


def what_fits(trainer: Trainer, left: float) -> str:
    """Returns a change of the config that would make a program fit.

    Args:
      trainer: the run, on the machine's mesh.
      left: bytes that are left on a chip; negative, since the program does not fit.
    """
    config, chips = trainer.config, trainer.mesh.size
    stored, plies = replay_bytes(trainer) / 2, config.replay.capacity_plies  # without the copy
    if stored + left > 0:
        fitting = int(plies * (stored + left) / stored)
        fitting -= fitting % config.selfplay.plies_per_cycle
        if fitting > 0:
            return f"replay.capacity_plies = {fitting} would fit (now {plies})"
    games = config.selfplay.parallel_games
    share = max(0.1, 1 + left / (stored + search_bytes(trainer)))
    fitting = max(int(games * share) // chips * chips, chips)
    return f"about selfplay.parallel_games = {fitting} would fit (now {games}), or more chips"


def gib(size: float) -> str:
    """Returns a number of bytes as text."""
    return f"{size / 2**30:.2f} GiB" if size >= 2**28 else f"{size / 2**20:.1f} MiB"
