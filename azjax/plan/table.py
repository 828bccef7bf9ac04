"""Plans as a table, one column for each machine."""

from collections.abc import Iterator

from rich.console import Group
from rich.table import Table
from rich.text import Text

from azjax.plan.counting import Runs
from azjax.plan.machines import assumptions
from azjax.plan.plan import Plan, gib


def plan_table(name: str, plans: list[Plan], runs: Runs) -> Group:
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
    if not (figures := plan.figures):
        yield "compiles", "no"
        return
    memory, flops, launches = figures["memory"], figures["flops"], figures["launches"]
    estimate = figures["estimate"]
    yield "compiles", "yes" if memory["left"] >= 0 else "does not fit"
    yield (
        "  lowering and compiling",
        f"{figures['lower_seconds']:.0f} + {figures['compile_seconds']:.0f} s",
    )
    yield "memory a device: arguments", gib(memory["arguments"])
    yield "  temporaries", gib(memory["temporaries"])
    yield "  code", gib(memory["code"]) if memory["code"] else "not reported"
    yield "  left", gib(memory["left"]) if memory["left"] > 0 else "none"
    yield "TFLOP a cycle: forwards", f"{flops['forwards'] / 1e12:.4g}"
    yield "  gradients", f"{flops['gradients'] / 1e12:.4g}"
    yield "  rest, not products", f"{flops['rest'] / 1e12:.4g}"
    yield "kernels: a simulation", f"{launches['simulation']:,.0f}"
    yield "  of these, network alone", f"{launches['forward']:,.0f}"
    yield "  a ply of all games", f"{launches['ply']:,.0f}"
    yield "  an update", f"{launches['update']:,.0f}"
    yield "  a cycle", f"{launches['cycle']:,.0f}"
    on_gpu = plan.machine.chip.platform == "cuda"  # a TPU reads its predicates itself
    yield "  waits of the host", f"{launches['host_reads']:,.0f}" if on_gpu else "none"
    for name in dict.fromkeys(x for p in plans for x in p.figures.get("collectives", ())):
        sent = figures["collectives"].get(name)
        yield f"{name} a cycle", f"{sent['calls']:,.0f}, {gib(sent['bytes'])}" if sent else "none"
    yield "ESTIMATE: seconds a cycle", f"{estimate['cycle']:.3g}"
    yield "  self-play", f"{estimate['self_play']:.3g}"
    yield "  updates", f"{estimate['updates']:.3g}"
    rest = estimate["cycle"] - estimate["self_play"] - estimate["updates"]
    yield "  rest", f"{rest:.3g}"
    yield "  share of forwards in self-play", f"{estimate['forward_share']:.0%}"
    yield "  positions/s", f"{estimate['positions']:,.0f}"
    # Positions per second and chip, relative to the first machine of these chips.
    alike = [p for p in plans if p.machine.chip == plan.machine.chip and p.figures]
    rates = [p.figures["estimate"]["positions"] / p.machine.chips for p in alike]
    if len(alike) > 1:
        mine = estimate["positions"] / plan.machine.chips
        yield "  scaling efficiency", f"{mine / rates[0]:.0%}"


def _notes(plans: list[Plan], runs: Runs) -> Iterator[str]:
    for plan in plans:
        if plan.problem:
            yield f"{plan.machine.name}: {plan.problem}"
        if shares := plan.figures.get("shares"):
            largest = [f"{name} {share:.0%}" for name, share in shares.items()][:5]
            yield f"{plan.machine.name}: estimated time by scopes: {', '.join(largest)}"
        if flags := plan.figures.get("flags"):
            yield f"{plan.machine.name}: compiles only with XLA_FLAGS={' '.join(flags)}"
    yield "The rates are estimates, not measurements. They assume:"
    for chip in dict.fromkeys(plan.machine.chip for plan in plans):
        yield f"  {assumptions(chip)}"
    if runs.games:
        yield f"  loops whose end depends on data as often as over {runs.games} games on this "
        yield f"  machine, searched by {runs.searched_by}:"
    else:
        yield "  loops whose end depends on data (not measured):"
    loops = (tuple(x.values()) for plan in plans for x in plan.figures.get("loops", ()))
    for place, times, source in dict.fromkeys(loops):
        yield f"    {place}: {times:g} times ({source})"
