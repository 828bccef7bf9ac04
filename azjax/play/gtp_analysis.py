"""GTP's searches that a client looks on at, as Sabaki does.

Source: Sabaki's guide "Engine Analysis Integration".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from azjax.play.findings import Findings
from azjax.play.gtp_search import decide, info_line
from azjax.play.gtp_table import Refusal, Table, vertices
from azjax.play.gtp_words import SEATS, Talk, read_number, read_seat
from azjax.play.thinking import keep_thinking

_INTERVAL_S = 0.5


def genmove_analyze(table: Table, talk: Talk, *arguments: str) -> Table:
    seat, interval = _arguments(table, arguments)
    if table.passes_only():
        talk.say(f"={talk.number}\nplay pass\n\n")
        return table.played([(seat, "pass")])
    table.in_turn(seat)  # what is wrong is said before the answer begins
    talk.say(f"={talk.number}\n")
    told = time.monotonic()

    def tell(findings: Callable[[], Findings]) -> None:
        nonlocal told
        if time.monotonic() - told >= interval:
            told = time.monotonic()
            talk.say(info_line(table.game, findings()))

    table, findings = decide(table, seat, tell)
    talk.say(f"{info_line(table.game, findings)}play {vertices(table.game)[findings.action]}\n\n")
    return table


def analyze(table: Table, talk: Talk, *arguments: str) -> Table:
    """Thinks until the next line comes."""
    seat, interval = _arguments(table, arguments)
    there = table.in_turn(seat)
    talk.say(f"={talk.number}\n")
    told = time.monotonic()
    thinking = table.thinker.start(there.now.state)
    for later in keep_thinking(thinking):
        thinking = later
        if talk.lines.waiting():
            break
        if time.monotonic() - told >= interval:
            told = time.monotonic()
            talk.say(info_line(table.game, thinking.findings()))
    talk.say(info_line(table.game, thinking.findings()))
    talk.lines.wait()
    talk.say("\n")
    return table


def _arguments(table: Table, arguments: Sequence[str]) -> tuple[int, float]:
    """[COLOUR] [[interval] CENTISECONDS]: (seat, seconds)."""
    words = list(arguments)
    seat = read_seat(words.pop(0)) if words and words[0].lower() in SEATS else table.now.mover
    if words[:1] == ["interval"]:
        words.pop(0)
    if len(words) > 1:
        raise Refusal("syntax error: a color and an interval in centiseconds are wanted")
    return seat, read_number(words[0]) / 100 if words else _INTERVAL_S
