"""What a compiled program launches: its kernels, as often as the loops around them repeat."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.kernels.counting import Runs
from benchmarks.kernels.hlo import Instruction, Path, Program
from benchmarks.kernels.kernels import READ, Kernel, is_kernel, kernel_of

NETWORK = "network"  # the scope of evaluations, in `search/model.py`
# Parts of JAX's names that are not scopes of the source.
_STRUCTURE = {"while", "body", "cond", "closed_call", "eval_jaxpr", "shard_map", "checkpoint"}


def scopes(path: Path) -> Path:
    """Returns the names in a path that the source gives, by `jax.named_scope` and functions."""
    return tuple(x for x in path if x not in _STRUCTURE and not x.startswith("branch_"))


@dataclass(frozen=True)
class Launch:
    """A kernel, or a wait for a predicate, and how often the program launches it."""

    kernel: Kernel
    times: float
    inside: Path  # the scopes of the loops and branches around it, and `NETWORK` in evaluations


@dataclass(frozen=True)
class Loop:
    """A loop or a branch, and how often its body runs."""

    path: Path  # JAX's name
    repetitions: float  # each time; of a branch, the share of the runs that take it
    runs: float  # of the body, in the whole program
    source: str  # of the repetitions: "known", "measured" or "assumed"
    is_branch: bool = False

    @property
    def label(self) -> str:
        """The scope that it is, and those around it."""
        names = scopes(self.path)[::-1]
        if self.is_branch:
            names = (f"a branch of {names[0]}" if names else "a branch", *names[1:])
        elif self.path[-2:-1] != names[:1]:  # the loop has no scope of its own
            names = ("a loop", *names)
        return " in ".join(names[:3])


@dataclass(frozen=True)
class Launches:
    """All launches of a program, or of a part of it."""

    launches: list[Launch]
    loops: list[Loop] = field(default_factory=list)

    def within(self, *names: str) -> "Launches":
        """Returns the launches inside all of the named scopes."""
        return Launches([x for x in self.launches if set(names) <= set(x.inside)])

    def total(self, measure: Callable[[Kernel], float]) -> float:
        """Returns the sum of a number over all kernels, each as often as it is launched."""
        return sum(x.times * measure(x.kernel) for x in self.launches)

    @property
    def kernels(self) -> float:
        """Number of kernels launched."""
        return self.total(lambda kernel: kernel is not READ)

    @property
    def reads(self) -> float:
        """How often the host waits for a predicate."""
        return self.total(lambda kernel: kernel is READ)

    def runs(self, *names: str) -> float:
        """Returns how often the loops that are the last of the named scopes run, in the others."""
        loops = [x for x in self.loops if x.path[-2:] == (names[-1], "while")]
        return sum(x.runs for x in loops if set(names) <= set(x.path))

    def collectives(self) -> dict[str, tuple[float, float]]:
        """Returns the number and bytes of each kind of collective."""
        found: dict[str, tuple[float, float]] = {}
        for x in self.launches:
            if kind := x.kernel.collective:
                number, sent = found.get(kind, (0.0, 0.0))
                found[kind] = number + x.times, sent + x.times * x.kernel.sent
        return found

    def shares(self, seconds: Callable[[Kernel], float]) -> dict[str, float]:
        """Returns the share of each scope in the time, the largest first."""
        found: Counter[str] = Counter()
        for x in self.launches:
            found[x.inside[-1] if x.inside else "entry"] += x.times * seconds(x.kernel)  # type: ignore
        total = sum(found.values())
        return {label: own / total for label, own in found.most_common() if own}


def launches(program: Program, runs: Runs | None = None) -> Launches:
    """Returns all that a program launches; `runs` tells how often loops run whose end is data."""
    found = Launches([])
    _Reader(program, runs or Runs(), found).read(program.entry, 1.0, ())
    return found


@dataclass(frozen=True)
class _Reader:
    program: Program
    runs: Runs
    found: Launches

    def read(self, name: str, times: float, inside: Path) -> None:
        """Adds what a computation launches that runs `times` times inside some scopes."""
        table = self.program.computations.get(name, {})
        for instruction in table.values():
            called = instruction.attribute("to_apply") or instruction.attribute("calls")
            if instruction.opcode == "while":
                self._loop(instruction, times)
            elif instruction.opcode == "conditional":
                self._branches(instruction, times, inside)
            elif instruction.opcode in ("call", "async-start") and called:
                self.read(called, times, inside)
            elif is_kernel(instruction):
                around = (*inside, NETWORK) if NETWORK in instruction.path else inside
                kernel = kernel_of(self.program, instruction, table)
                self.found.launches.append(Launch(kernel, times, around))

    def _loop(self, instruction: Instruction, times: float) -> None:
        path, inside = instruction.path, scopes(instruction.path)
        trips: float | None = self.program.trip_count(instruction)
        source = "known"  # then the host counts, and never computes the condition
        if trips is None:
            trips, source = self.runs.trips(path)
            self.found.launches.append(Launch(READ, times * (trips + 1), inside))
            self.read(instruction.attribute("condition"), times * (trips + 1), inside)
        self.found.loops.append(Loop(path, trips, times * trips, source))
        self.read(instruction.attribute("body"), times * trips, inside)

    def _branches(self, instruction: Instruction, times: float, inside: Path) -> None:
        path = instruction.path or self._condition(instruction.branches)
        self.found.launches.append(Launch(READ, times, inside))
        sizes = [self._kernels(name) for name in instruction.branches]
        shares, source = self.runs.shares(path, sizes)
        for name, share in zip(instruction.branches, shares, strict=True):
            branch = Loop(path, share, times * share, source, is_branch=True)
            self.found.loops.append(branch)
            self.read(name, times * share, inside)

    def _condition(self, branches: list[str]) -> Path:
        """Returns the condition that most instructions of its branches name.

        On TPUs a condition may have lost its own name.
        """
        tables = [self.program.computations.get(name, {}) for name in branches]
        paths = [x.path for table in tables for x in table.values() if x.path]
        conditions = Counter(
            path[:end] for path in paths for end in range(1, len(path)) if path[end - 1] == "cond"
        )
        most = [path for path, number in conditions.items() if number > len(paths) / 2]
        return max(most, key=len, default=())

    def _kernels(self, name: str) -> float:
        part = Launches([])
        _Reader(self.program, self.runs, part).read(name, 1.0, ())
        return part.kernels
