"""UCI's and USI's searches: a move within its limits, and what a client hears meanwhile."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import jax
from azjax_envs.game import legal_actions

from azjax.play.position import Position
from azjax.play.stdin import TOO_LONG
from azjax.play.uci.engine import Desk
from azjax.play.uci.go import Go, names_limits, read_go
from azjax.play.uci.info import info_line
from azjax.play.uci.position import principal_variation, revived
from azjax.search.analysis import Findings
from azjax.search.anytime import Thinking, keep_thinking

_TELL_S = 1.0

Obey = Callable[[Desk, Sequence[str]], Desk]


def go(desk: Desk, words: Sequence[str], obey: Obey) -> None:
    """Thinks, and names the best move.

    Args:
      desk: what is known.
      words: those behind `go`.
      obey: takes a command that is no search and comes while it thinks.
    """
    dialect, game, line = desk.dialect, desk.game, desk.told
    position = None if line is None else revived(game, dialect.notation, line.now)
    if words[:1] == ["mate"] and dialect.name == "usi":
        desk.say("checkmate notimplemented\n")
    elif position is None or position.over:
        why = "the position is not known" if position is None else "the game is over"
        desk.remark(f"{why}: there is no move")
        desk.say(f"bestmove {dialect.no_move}\n")
    else:
        findings = _think(desk, words, position, obey)
        moves = principal_variation(game, position, findings.line(findings.action))
        desk.say(f"bestmove {moves[0]}{f' ponder {moves[1]}' if len(moves) > 1 else ''}\n")


def _think(desk: Desk, asked: Sequence[str], position: Position, obey: Obey) -> Findings:
    """Searches until a limit is reached or a command ends it. Commands for later are given back."""
    limits = _limits(desk, asked, position)
    thinking = desk.thinker.start(position.state, among=_actions(desk, limits.moves, position))
    told = _Told(time.monotonic(), time.monotonic(), 0)
    steps, ended, later = _steps(thinking, limits), False, []
    while True:
        step = next(steps, None)
        if step is not None:
            thinking = step
            told = _tell(desk, position, thinking, told)
        if not limits.waits and (step is None or _depth(thinking, limits) >= limits.depth):
            break
        if ended or (step is not None and not desk.lines.waiting()):
            continue
        line = desk.lines.next()
        words = [] if line is None else line.split()
        if line is None:
            ended = True
        elif line is TOO_LONG or words[:1] in _LATER or words == [f"{desk.dialect.name}newgame"]:
            later.append(line)
        elif words == ["quit"]:
            later = [line]
        elif words[:1] == ["ponderhit"] and limits.ponders:
            # ShogiHome says only now how much time there is, where it was told to ponder early.
            if names_limits(words[1:]):
                limits = _limits(desk, words[1:], position)
            limits = replace(limits, ponders=False)
            steps = _steps(thinking, limits)
        elif words == ["isready"]:
            desk.say("readyok\n")
        elif words and words != ["stop"]:
            obey(desk, words)
        if words in (["stop"], ["quit"]) or (limits.waits and (ended or later)):
            break
    desk.lines.give_back(later)
    findings = thinking.findings()
    if told.simulations < max(findings.simulations, 1):
        desk.say(_info(desk, position, findings, time.monotonic() - told.began))
    return findings


_LATER = (["go"], ["position"], ["setoption"], ["gameover"])


def _actions(desk: Desk, moves: Sequence[str], position: Position) -> list[int]:
    """The actions that moves name; those that are illegal are passed over."""
    if not moves:
        return []
    state = jax.device_get(position.state)  # in numpy, for all legal moves are put into words
    legal = {desk.game.action_to_string(state, a): a for a in legal_actions(desk.game, state)}
    actions = [legal[move] for move in dict.fromkeys(moves) if move in legal]
    if not actions:
        desk.remark("searchmoves: none of them is legal here, so all moves are searched")
    return actions


def _limits(desk: Desk, words: Sequence[str], position: Position) -> Go:
    simulations = desk.thinker.config.num_simulations
    return read_go(words, desk.dialect.colours, position.mover, simulations)


def _steps(thinking: Thinking, limits: Go) -> Iterator[Thinking]:
    if limits.waits:
        return keep_thinking(thinking)
    return keep_thinking(thinking, simulations=limits.simulations, seconds=limits.seconds)


def _depth(thinking: Thinking, limits: Go) -> float:
    """The length of the principal variation, looked up only where it is a limit."""
    if math.isinf(limits.depth):
        return 0
    findings = thinking.findings()
    return len(findings.line(findings.action))


@dataclass(frozen=True)
class _Told:
    """When a search began, and when the client last heard of it."""

    began: float
    at: float
    simulations: int


def _tell(desk: Desk, position: Position, thinking: Thinking, told: _Told) -> _Told:
    """Tells of the search every second, and early on whenever it is twice as large."""
    now = time.monotonic()
    if now - told.at < _TELL_S and thinking.simulations < 2 * max(told.simulations, 1):
        return told
    desk.say(_info(desk, position, thinking.findings(), now - told.began))
    return replace(told, at=now, simulations=thinking.simulations)


def _info(desk: Desk, position: Position, findings: Findings, seconds: float) -> str:
    return info_line(desk.game, position, findings, seconds, shows_wdl=desk.shows_wdl)
