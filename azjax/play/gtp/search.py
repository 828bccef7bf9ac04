"""GTP's searches: a move within its limits, and what a client is shown of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from azjax_envs import Game

from azjax.play.gtp.game import Table, vertices
from azjax.search.analysis import Findings
from azjax.search.anytime import keep_thinking

_LONGEST_LINE = 16  # moves of a principal variation


def decide(
    table: Table,
    seat: int,
    tell: Callable[[Callable[[], Findings]], None],
    among: Sequence[int] = (),
) -> tuple[Table, Findings]:
    """Thinks about a move within its limits, one of `among` if there are any, and plays it."""
    began = time.monotonic()
    there = table.in_turn(seat)
    clock = table.clocks[seat]
    thinking = table.thinker.start(there.now.state, among=among)
    simulations = table.thinker.config.num_simulations if clock is None else math.inf
    seconds = math.inf if clock is None else clock.for_move()
    for later in keep_thinking(thinking, simulations=simulations, seconds=seconds):
        thinking = later
        tell(thinking.findings)
    findings = thinking.findings()
    table = table.played([(seat, vertices(table.game)[findings.action])])
    return table.spent(seat, time.monotonic() - began), findings


def info_line(game: Game, findings: Findings, most: int) -> str:
    """One line of an analysis, of so many moves; shares are of 10,000, as Leela Zero has them."""
    names, parts = vertices(game), []
    for order, action in enumerate(findings.ranked()[:most]):
        value = float(findings.action_values[action]) if findings.visits[action] else findings.value
        line = findings.line(action)[:_LONGEST_LINE]
        parts.append(
            f"info move {names[action]} visits {findings.visits[action]} "
            f"winrate {round(5000 * (1 + min(max(value, -1.0), 1.0)))} "
            f"prior {round(10000 * float(findings.prior[action]))} order {order} "
            f"pv {' '.join(names[a] for a in line)}"
        )
    return " ".join(parts) + "\n"
