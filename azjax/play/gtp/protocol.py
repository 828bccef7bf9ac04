"""GTP's words: what arguments say, and how answers are written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from azjax.play.gtp.game import Refusal
from azjax.play.stdin import Lines

_DIGITS = 10

Say = Callable[[str], None]


@dataclass(frozen=True)
class Talk:
    """Where the answer to one command goes."""

    number: str  # the command's id, or nothing
    lines: Lines
    say: Say

    def answer(self, text: str) -> None:
        first, *rest = text.split("\n")
        # An empty line would end the answer.
        self.say("\n".join([f"={self.number} {first}", *filter(str.strip, rest)]) + "\n\n")


SEATS = {"b": 0, "black": 0, "w": 1, "white": 1}


def read_seat(colour: str) -> int:
    if colour.lower() not in SEATS:
        raise Refusal("invalid color or coordinate")
    return SEATS[colour.lower()]


def read_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < _DIGITS):
        raise Refusal("syntax error: a whole number is wanted")
    return int(text)


def read_seconds(text: str) -> float:
    """Whole numbers by the protocol, but clients tell of fractions, and of less than nothing."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not abs(seconds) < math.inf:
        raise Refusal("syntax error: a number of seconds is wanted")
    return max(seconds, 0.0)
