"""GTP's searches that a client looks on at, as Sabaki does.

Sources: Sabaki's guide "Engine Analysis Integration"; KataGo's "GTP Extensions".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from azjax_envs import Game
from azjax_envs.game import legal_actions

from azjax.play.gtp.game import Refusal, Table, read_vertex, vertices
from azjax.play.gtp.protocol import SEATS, Talk, read_number, read_seat
from azjax.play.gtp.search import decide, info_line
from azjax.search.analysis import Findings
from azjax.search.anytime import keep_thinking


def genmove_analyze(table: Table, talk: Talk, *arguments: str) -> Table:
    wanted = _arguments(table, arguments)
    seat = wanted.seat
    if table.passes_only():
        talk.say(f"={talk.number}\nplay pass\n\n")
        return table.played([(seat, "pass")])
    among = wanted.among(table.in_turn(seat))  # what is wrong is said before the answer begins
    talk.say(f"={talk.number}\n")
    told = time.monotonic()

    def tell(findings: Callable[[], Findings]) -> None:
        nonlocal told
        if time.monotonic() - told >= wanted.interval:
            told = time.monotonic()
            talk.say(info_line(table.game, findings(), wanted.most))

    table, findings = decide(table, seat, tell, among)
    line = info_line(table.game, findings, wanted.most)
    talk.say(f"{line}play {vertices(table.game)[findings.action]}\n\n")
    return table


def analyze(table: Table, talk: Talk, *arguments: str) -> Table:
    """Thinks until the next line comes."""
    wanted = _arguments(table, arguments)
    there = table.in_turn(wanted.seat)
    among = wanted.among(there)
    talk.say(f"={talk.number}\n")
    told = time.monotonic()
    thinking = table.thinker.start(there.now.state, among=among)
    for later in keep_thinking(thinking):
        thinking = later
        if talk.lines.waiting():
            break
        if time.monotonic() - told >= wanted.interval:
            told = time.monotonic()
            talk.say(info_line(table.game, thinking.findings(), wanted.most))
    talk.say(info_line(table.game, thinking.findings(), wanted.most))
    talk.lines.wait()
    talk.say("\n")
    return table


@dataclass(frozen=True)
class _Wanted:
    """What an analysis is to be of."""

    seat: int
    interval: float = 0.5  # seconds between two lines
    most: int = 20  # moves of a line
    allowed: frozenset[int] | None = None  # actions; None: all
    avoided: frozenset[int] = frozenset()

    def among(self, there: Table) -> list[int]:
        """The legal actions to choose from."""
        legal = set(legal_actions(there.game, there.now.state)) - self.avoided
        chosen = legal if self.allowed is None else legal & self.allowed
        if not chosen:
            raise Refusal("illegal move: none is left to think about")
        return sorted(chosen)


# How many words stand behind each. What is not in `_arguments` is read and not obeyed.
_KEYWORDS = {
    **dict.fromkeys(("interval", "minmoves", "maxmoves"), 1),
    **dict.fromkeys(("avoid", "allow"), 3),  # COLOUR MOVE,MOVE,... DEPTH
    **dict.fromkeys(("ownership", "ownershipstdev", "movesownership", "movesownershipstdev"), 1),
    **dict.fromkeys(("rootinfo", "pvvisits", "pvedgevisits", "noresultvalue"), 1),
}


def _arguments(table: Table, arguments: Sequence[str]) -> _Wanted:
    """[COLOUR] [CENTISECONDS] [KEYWORD VALUE]..."""
    words = [word.lower() for word in arguments]
    wanted = _Wanted(read_seat(words.pop(0)) if words and words[0] in SEATS else table.now.mover)
    if words and words[0] not in _KEYWORDS:
        words.insert(0, "interval")
    while words:
        keyword = words.pop(0)
        if keyword not in _KEYWORDS or len(words) < _KEYWORDS[keyword]:
            known = ", ".join(_KEYWORDS)
            raise Refusal(f"syntax error: wanted are a color, centiseconds, and any of {known}")
        values = [words.pop(0) for _ in range(_KEYWORDS[keyword])]
        if keyword == "interval":
            wanted = replace(wanted, interval=read_number(*values) / 100)
        elif keyword == "maxmoves":
            wanted = replace(wanted, most=max(read_number(*values), 1))
        elif keyword in ("avoid", "allow"):
            wanted = _restricted(wanted, table.game, keyword, *values)
    return wanted


def _restricted(
    wanted: _Wanted, game: Game, keyword: str, colour: str, moves: str, depth: str
) -> _Wanted:
    """Obeyed in the position at hand alone, whatever the depth: answers are free."""
    actions = frozenset(read_vertex(game, move)[0] for move in moves.split(","))
    if read_number(depth) == 0 or read_seat(colour) != wanted.seat:
        return wanted
    if keyword == "avoid":
        return replace(wanted, avoided=wanted.avoided | actions)
    return replace(wanted, allowed=actions | (wanted.allowed or frozenset()))
