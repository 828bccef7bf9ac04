"""How an engine is written on the command line: its command, and options behind a question mark."""

from __future__ import annotations

import dataclasses
import math
import shlex

from azjax.errors import UserError

_TIMEOUT_S = 60.0


@dataclasses.dataclass(frozen=True)
class EngineSpec:
    """What a text such as "stockfish?nodes=1000&Skill Level=3&timeout=20" says."""

    command: tuple[str, ...]  # the program and its arguments
    options: dict[str, str]  # by name, without `timeout`
    timeout: float  # seconds to wait for an answer


def parse_spec(text: str) -> EngineSpec:
    """Reads COMMAND or COMMAND?NAME=VALUE&NAME=VALUE; the command is quoted as in a shell.

    Raises:
      UserError: there is no command, or an option has no value or is no number where it must be.
    """
    words, _, tail = text.partition("?")
    try:
        command = tuple(shlex.split(words))
    except ValueError as error:
        raise UserError(f"engine {text!r}: {str(error).lower()} in the command") from error
    if not command:
        raise UserError(f"engine {text!r}: a command is wanted, such as gnugo or stockfish")
    options: dict[str, str] = {}
    for option in tail.split("&") if tail else ():
        name, equals, value = (part.strip() for part in option.partition("="))
        if not (name and equals and value) or name in options:
            raise UserError(
                f"engine {text!r}: {option!r} is not one option; behind ? comes NAME=VALUE, and & "
                "between two of them"
            )
        options[name] = value
    return EngineSpec(command, options, _seconds(options.pop("timeout", str(_TIMEOUT_S))))


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise UserError(f"engine option timeout={value}: seconds above 0 are wanted")
    return seconds
