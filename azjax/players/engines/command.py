"""The command of an engine as users write it: a program, and options after a `?`."""

import math
import os
import shlex
from dataclasses import dataclass, field
from typing import Literal

from azjax.errors import UserError

_TIMEOUT_S = 60.0
_MAX_TIMEOUT_S = 1_000_000


@dataclass(frozen=True)
class EngineSpec:
    """An external engine, such as "uci:stockfish?nodes=1000&Skill Level=3", taken apart."""

    text: str  # as it was written
    protocol: Literal["gtp", "uci", "usi"]
    command: tuple[str, ...]  # the program and its arguments
    options: dict[str, str] = field(hash=False)  # by name, without `timeout`
    timeout: float  # seconds to wait for an answer


def parse_engine(protocol: Literal["gtp", "uci", "usi"], text: str) -> EngineSpec:
    """Reads COMMAND or COMMAND?NAME=VALUE&NAME=VALUE; the command is quoted as in a shell.

    Raises:
      UserError: the command is missing, an option has no value, or `timeout` is not a number.
    """
    words, _, tail = text.partition("?")
    try:
        command = tuple(os.path.expanduser(word) for word in shlex.split(words))
    except ValueError as error:
        raise UserError(f"engine {text!r}: {str(error).lower()} in the command") from error
    if not command:
        raise UserError(f"engine {text!r}: the command is missing, such as gnugo or stockfish")
    options: dict[str, str] = {}
    for option in tail.split("&") if tail else ():
        name, equals, value = (part.strip() for part in option.partition("="))
        if not (name and equals and value) or name in options:
            raise UserError(
                f"engine {text!r}: {option!r} must be one option NAME=VALUE; options follow the ? "
                "and are separated by &"
            )
        options[name] = value
    timeout = _parse_seconds(options.pop("timeout", str(_TIMEOUT_S)))
    return EngineSpec(f"{protocol}:{text}", protocol, command, options, timeout)


def _parse_seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= _MAX_TIMEOUT_S:
        raise UserError(
            f"engine option timeout={value}: must be a number of seconds above 0 and at most "
            f"{_MAX_TIMEOUT_S:,}"
        )
    return seconds
