"""Checks of ranges. Each message names the key as the config file does."""

from __future__ import annotations

from typing import Any

from azjax.errors import UserError

_SUBSECTIONS = {"gumbel": "search.gumbel", "puct": "search.puct"}


def at_least(config: Any, low: float, *keys: str) -> None:
    """Raises a UserError for the first key whose value is below `low`."""
    for key in keys:
        if not getattr(config, key) >= low:
            raise UserError(f"{_assignment(config, key)} must be at least {low}")


def above(config: Any, low: float, *keys: str) -> None:
    """Raises a UserError for the first key whose value is not above `low`."""
    for key in keys:
        if not getattr(config, key) > low:
            raise UserError(f"{_assignment(config, key)} must be above {low}")


def between(config: Any, low: float, high: float, *keys: str) -> None:
    """Raises a UserError for the first key whose value is outside [low, high]."""
    for key in keys:
        if not low <= getattr(config, key) <= high:
            raise UserError(f"{_assignment(config, key)} must be between {low} and {high}")


def _assignment(config: Any, key: str) -> str:
    section = type(config).__name__.removesuffix("Config").lower()
    section = _SUBSECTIONS.get(section, section)
    name = f"{section}.{key}" if section else key
    return f"{name} = {getattr(config, key)}"
