"""GTP's text: arguments of commands, and how answers are written."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from azjax.engine.stdin import Lines

_MAX_DIGITS = 10
PLAYERS = {"b": 0, "black": 0, "w": 1, "white": 1}

Write = Callable[[str], None]


class GtpError(Exception):
    """A command that failed. The message uses GTP's own words where the protocol has some."""


@dataclass(frozen=True)
class Reply:
    """The answer to one command, written once it is known."""

    number: str  # the command's id; "" if it has none
    lines: Lines
    write: Write

    def answer(self, text: str) -> None:
        """Writes the whole answer of a command that succeeded."""
        first, *rest = text.split("\n")
        # An empty line would end the answer.
        self.write("\n".join([f"={self.number} {first}", *filter(str.strip, rest)]) + "\n\n")


def read_player(colour: str) -> int:
    """Returns the player with the stones of a colour: 0 for black, 1 for white."""
    if colour.lower() not in PLAYERS:
        raise GtpError("invalid color or coordinate")
    return PLAYERS[colour.lower()]


def read_number(text: str) -> int:
    """Returns a whole number that is not negative."""
    if not (text.isascii() and text.isdecimal() and len(text) < _MAX_DIGITS):
        raise GtpError("syntax error: the argument must be a whole number")
    return int(text)


def read_seconds(text: str) -> float:
    """Returns seconds; the protocol has whole ones, but clients send fractions and negatives."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not abs(seconds) < math.inf:
        raise GtpError("syntax error: the argument must be a number of seconds")
    return max(seconds, 0.0)
