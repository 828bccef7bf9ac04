"""What the benchmarks share: interleaved timing, the machine in words, and printing."""

import json
import platform
import time
from collections.abc import Callable
from typing import Any

import jax


def interleave(contestants: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each call, one round after the other; the first round compiles and is dropped."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, call in contestants.items():
            started = time.perf_counter()
            jax.block_until_ready(call())
            if turn:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def machine() -> str:
    """The devices that were measured, in words."""
    devices = jax.devices()
    return (
        f"{len(devices)} x {devices[0].device_kind} ({platform.machine()}), jax {jax.__version__}"
    )


def show(facts: dict[str, Any], *, as_json: bool) -> None:
    """Prints figures as JSON or as lines."""
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            value = "  ".join(f"{k} {v}" for k, v in value.items())
        print(f"{name:<38} {value}")
