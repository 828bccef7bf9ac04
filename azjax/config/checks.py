"""Ranges of numbers, which a field's type names, and their check.

A fractional number may be an array that jax traces: a value of a sweep, see `docs/research.md`. Its
value is not known, so it is not checked. What decides shapes or programs must be a plain number.
"""

import functools
import typing
from dataclasses import dataclass
from typing import Any

import jax

from azjax.errors import UserError

MOST_FLOAT = 1e38  # float32 has hardly larger numbers
_SUBSECTIONS = {"gumbel": "search.gumbel", "puct": "search.puct"}


@dataclass(frozen=True)
class Range:
    """The numbers that a field may have: `Annotated[int, Range(1)]`."""

    low: float = 0
    high: float = float("inf")
    above: bool = False  # whether `low` itself is too low
    plain: bool = False  # whether jax must not trace a fractional number

    @property
    def wanted(self) -> str:
        """What a number must be, as text."""
        low = f"above {self.low}" if self.above else f"at least {self.low}"
        if self.high == float("inf"):
            return low
        return (
            f"{low} and at most {self.high}"
            if self.above
            else f"between {self.low} and {self.high}"
        )

    def holds(self, value: float) -> bool:
        """Returns whether a number is in the range."""
        return self.low <= value <= self.high and not (self.above and value == self.low)


@functools.cache
def ranges(section: type) -> dict[str, tuple[type, Range]]:
    """Returns the type and the range of each number of a section, a dataclass."""
    hints = typing.get_type_hints(section, include_extras=True)
    return {
        name: (hint.__origin__, extra)
        for name, hint in hints.items()
        for extra in getattr(hint, "__metadata__", ())
        if isinstance(extra, Range)
    }


def check_ranges(config: Any) -> None:
    """Raises a UserError for the first number of a section that is out of its range."""
    for name, (kind, allowed) in ranges(type(config)).items():
        value = getattr(config, name)
        if isinstance(value, jax.core.Tracer):
            if kind is int or allowed.plain:
                raise UserError(must_be_plain(_name(config, name)))
        elif kind is int and value >= 2**31 and allowed.high == float("inf"):
            raise UserError(f"{_name(config, name)} = {value} must be below 2**31")
        elif kind is float and value > MOST_FLOAT and allowed.high == float("inf"):
            raise UserError(f"{_name(config, name)} = {value} must be at most 1e38")
        elif not allowed.holds(value):
            raise UserError(f"{_name(config, name)} = {value} must be {allowed.wanted}")


def must_be_plain(name: str) -> str:
    """Returns the message about a traced value where there can be none."""
    return f"{name} decides shapes or programs, so jax cannot trace it: it must be a plain value"


def _name(config: Any, key: str) -> str:
    section = type(config).__name__.removesuffix("Config").lower()
    section = _SUBSECTIONS.get(section, section)
    return f"{section}.{key}" if section else key
