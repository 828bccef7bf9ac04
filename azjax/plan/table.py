"""Plans as a table, one column for each machine."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.table import Table
from rich.text import Text

from azjax.plan.machines import assumptions
from azjax.plan.measure import MeasuredRuns
from azjax.plan.plan import Plan, gib


def plan_table(name: str, plans: list[Plan], runs: MeasuredRuns) -> Group:
    """Returns the table of plans, with the assumptions of the estimates below it."""
    title = Text(f"one training cycle of {name}, compiled ahead of time", style="italic")
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("")
    for plan in plans:
        table.add_column(plan.machine.name, justify="right")
    columns = [dict(_column(plan, plans)) for plan in plans]
    for heading in dict.fromkeys(heading for column in columns for heading in column):
        table.add_row(heading, *(column.get(heading, "") for column in columns))
    return Group(title, table, *(Text(line) for line in _notes(plans, runs)))


def _column(plan: Plan, plans: list[Plan]) -> Iterator[tuple[str, str]]:
    """Yields the headings and cells of one machine."""
    several = f" of {plan.machine.chip.devices} devices" if plan.machine.chip.devices > 1 else ""
    yield "chips", f"{plan.machine.chips}{several}"
    if not (plan.memory and plan.flops and plan.launches and plan.estimate):
        yield "compiles", "no"
        return
    yield "compiles", "yes" if plan.memory.left >= 0 else "does not fit"
    yield "  lowering and compiling", f"{plan.lower_seconds:.0f} + {plan.compile_seconds:.0f} s"
    yield "memory a device: arguments", gib(plan.memory.arguments)
    yield "  temporaries", gib(plan.memory.temporaries)
    yield "  code", gib(plan.memory.code) if plan.memory.code else "not reported"
    yield "  left", gib(plan.memory.left) if plan.memory.left > 0 else "none"
    yield "TFLOP a cycle: forwards", f"{plan.flops.forwards / 1e12:.4g}"
    yield "  gradients", f"{plan.flops.gradients / 1e12:.4g}"
    yield "  rest, not products", f"{plan.flops.rest / 1e12:.4g}"
    yield "kernels: a simulation", f"{plan.launches.simulation:,.0f}"
    yield "  of these, network alone", f"{plan.launches.forward:,.0f}"
    yield "  a ply of all games", f"{plan.launches.ply:,.0f}"
    yield "  an update", f"{plan.launches.update:,.0f}"
    yield "  a cycle", f"{plan.launches.cycle:,.0f}"
    on_gpu = plan.machine.chip.platform == "cuda"  # a TPU reads its predicates itself
    yield "  waits of the host", f"{plan.launches.host_reads:,.0f}" if on_gpu else "none"
    for name in dict.fromkeys(name for p in plans for name in p.collectives):
        calls, sent = plan.collectives.get(name, (0, 0))
        yield f"{name} a cycle", f"{calls:,.0f}, {gib(sent)}" if calls else "none"
    yield "ESTIMATE: seconds a cycle", f"{plan.estimate.cycle:.3g}"
    yield "  self-play", f"{plan.estimate.self_play:.3g}"
    yield "  updates", f"{plan.estimate.updates:.3g}"
    rest = plan.estimate.cycle - plan.estimate.self_play - plan.estimate.updates
    yield "  rest", f"{rest:.3g}"
    yield "  share of forwards in self-play", f"{plan.estimate.forward_share:.0%}"
    yield "  positions/s", f"{plan.estimate.positions:,.0f}"
    # Positions per second and chip, relative to the first machine of these chips.
    alike = [p for p in plans if p.machine.chip == plan.machine.chip]
    rates = [p.estimate.positions / p.machine.chips for p in alike if p.estimate]
    if len(alike) > 1:
        mine = plan.estimate.positions / plan.machine.chips
        yield "  scaling efficiency", f"{mine / rates[0]:.0%}"


def _notes(plans: list[Plan], runs: MeasuredRuns) -> Iterator[str]:
    for plan in plans:
        if plan.problem:
            yield f"{plan.machine.name}: {plan.problem}"
        if plan.shares:
            largest = [f"{name} {share:.0%}" for name, share in plan.shares.items()][:5]
            yield f"{plan.machine.name}: estimated time by scopes: {', '.join(largest)}"
        if plan.flags:
            yield f"{plan.machine.name}: compiles only with XLA_FLAGS={' '.join(plan.flags)}"
    yield "The rates are estimates, not measurements. They assume:"
    for chip in dict.fromkeys(plan.machine.chip for plan in plans):
        yield f"  {assumptions(chip)}"
    if runs.counts:
        yield f"  loops whose end depends on data as often as over {runs.games} games on this "
        yield f"  machine, searched by {runs.searched_by}:"
    else:
        yield "  loops whose end depends on data (not measured):"
    for loop in dict.fromkeys(loop for plan in plans for loop in plan.loops):
        yield f"    {loop.place}: {loop.times:g} times ({loop.source})"
