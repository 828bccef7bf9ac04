"""Checks of ranges. Each message names the key as the config file does.

A fractional number may be an array that jax traces: a value of a sweep, see `docs/research.md`. Its
value is not known, so it is not checked. What decides shapes or programs must be a plain number.
"""

from collections.abc import Callable
from typing import Any

import jax

from azjax.errors import UserError

_SUBSECTIONS = {"gumbel": "search.gumbel", "puct": "search.puct"}


def at_least(config: Any, low: float, *keys: str) -> None:
    """Raises a UserError for the first key whose value is below `low`, or is no int32."""
    if isinstance(low, int):
        plain(config, *keys)
    for key in keys:
        if isinstance(low, int) and getattr(config, key) >= 2**31:
            raise UserError(f"{_assignment(config, key)} must be below 2**31")
    _check(config, keys, lambda value: value >= low, f"at least {low}")


def above(config: Any, low: float, *keys: str) -> None:
    """Raises a UserError for the first key whose value is not above `low`."""
    _check(config, keys, lambda value: value > low, f"above {low}")


def between(config: Any, low: float, high: float, *keys: str) -> None:
    """Raises a UserError for the first key whose value is outside [low, high]."""
    _check(config, keys, lambda value: low <= value <= high, f"between {low} and {high}")


def _check(config: Any, keys: tuple[str, ...], fits: Callable[[Any], bool], wanted: str) -> None:
    for key in keys:
        if not _traced(config, key) and not fits(getattr(config, key)):
            raise UserError(f"{_assignment(config, key)} must be {wanted}")


def plain(config: Any, *keys: str) -> None:
    """Raises a UserError for the first key whose value is traced by jax."""
    for key in keys:
        if _traced(config, key):
            raise UserError(must_be_plain(_name(config, key)))


def must_be_plain(name: str) -> str:
    """Returns the message about a traced value where there can be none."""
    return f"{name} decides shapes or programs, so jax cannot trace it: it must be a plain value"


def _traced(config: Any, key: str) -> bool:
    return isinstance(getattr(config, key), jax.core.Tracer)


def _assignment(config: Any, key: str) -> str:
    return f"{_name(config, key)} = {getattr(config, key)}"


def _name(config: Any, key: str) -> str:
    section = type(config).__name__.removesuffix("Config").lower()
    section = _SUBSECTIONS.get(section, section)
    return f"{section}.{key}" if section else key
