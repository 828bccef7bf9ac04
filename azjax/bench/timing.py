"""Helpers of all benchmarks: interleaved timing, the machine's description, and printing."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax

Name = TypeVar("Name")


def interleave(
    contestants: Mapping[Name, Callable[[], Any]], repeats: int
) -> dict[Name, list[float]]:
    """Returns the seconds of each call, [repeats] for each contestant.

    All contestants are called in each round. The first round compiles, and its times are dropped.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, call in contestants.items():
            started = time.perf_counter()
            jax.block_until_ready(call())
            if turn:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def spread(times: list[float]) -> dict[str, float]:
    """Returns the median, minimum and maximum of seconds, in milliseconds."""
    return {
        "median": round(1e3 * statistics.median(times), 1),
        "min": round(1e3 * min(times), 1),
        "max": round(1e3 * max(times), 1),
    }


def describe_machine() -> str:
    """Returns the kind and number of JAX's devices, and JAX's version."""
    devices = jax.devices()
    return (
        f"{len(devices)} x {devices[0].device_kind} ({platform.machine()}), jax {jax.__version__}"
    )


def show(facts: dict[str, Any], *, as_json: bool) -> None:
    """Prints named figures as JSON or as lines."""
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            value = "  ".join(f"{k} {v}" for k, v in value.items())
        print(f"{name:<38} {value}")
