"""What an engine tells of its search in UCI and USI."""

from __future__ import annotations

import math

from azjax_envs import Game

from azjax.play.position import Position
from azjax.play.uci.position import principal_variation
from azjax.search.analysis import Findings


def info_line(
    game: Game, position: Position, findings: Findings, seconds: float, *, shows_wdl: bool
) -> str:
    """An `info` of what a search of `position` has found after so many seconds."""
    line = findings.line(findings.action)
    names = principal_variation(game, position, line)
    wdl = f" wdl {' '.join(map(str, wdl_of(findings)))}" if shows_wdl else ""
    return (
        f"info depth {len(line)} time {round(1000 * seconds)} nodes {findings.simulations} "
        f"nps {round(findings.simulations / max(seconds, 1e-3))} "
        f"score cp {centipawns(findings.value)}{wdl} pv {' '.join(names)}\n"
    )


def centipawns(value: float) -> int:
    """A value in [-1, 1] as Leela Chess Zero writes it in centipawns, at most some 12,800:
    90 * tan(1.5637541897 * value)."""
    return round(90 * math.tan(1.5637541897 * min(max(value, -1.0), 1.0)))


def wdl_of(findings: Findings) -> tuple[int, int, int]:
    """Wins, draws and losses in a thousand: the search's value, and the network's draws."""
    value = min(max(findings.value, -1.0), 1.0)
    draw = round(1000 * min(findings.draw, 1 - abs(value)))
    win = min(round(500 * (1 + value - draw / 1000)), 1000 - draw)
    return win, draw, 1000 - win - draw
