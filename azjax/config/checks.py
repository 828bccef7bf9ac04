"""Ranges of values, each complaint naming the key as the config file has it."""

from __future__ import annotations

from typing import Any

from azjax.errors import UserError


def at_least(config: Any, low: float, *keys: str) -> None:
    for key in keys:
        if not getattr(config, key) >= low:
            raise UserError(f"{_name(config, key)} = {getattr(config, key)}: at least {low} wanted")


def above(config: Any, low: float, *keys: str) -> None:
    for key in keys:
        if not getattr(config, key) > low:
            raise UserError(f"{_name(config, key)} = {getattr(config, key)}: above {low} wanted")


def between(config: Any, low: float, high: float, *keys: str) -> None:
    for key in keys:
        if not low <= getattr(config, key) <= high:
            raise UserError(
                f"{_name(config, key)} = {getattr(config, key)}: from {low} to {high} wanted"
            )


def _name(config: Any, key: str) -> str:
    section = type(config).__name__.removesuffix("Config").lower()
    return f"{section}.{key}" if section else key
