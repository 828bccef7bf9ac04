"""Helpers of all benchmarks: interleaved timing, the machine's description, and printing."""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax

from azjax.plan.machines import chip_of

Name = TypeVar("Name")


def at_once() -> None:
    """Waits for nothing."""


def interleave(
    contestants: Mapping[Name, Callable[[], Any]], repeats: int, wait: Callable[[], None] = at_once
) -> dict[Name, list[float]]:
    """Returns the seconds of each call, [repeats] for each contestant.

    All contestants are called in each round. The first round compiles, and its times are dropped.
    After it `wait` is called: it may wait until the machine is free.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        if turn == 1:
            wait()
        for name, call in contestants.items():
            started = time.perf_counter()
            jax.block_until_ready(call())
            if turn:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def spread(times: list[float]) -> dict[str, float]:
    """Returns the median, minimum and maximum of seconds, in milliseconds."""
    measures = {"median": statistics.median, "min": min, "max": max}
    return {name: round(1e3 * measure(times), 1) for name, measure in measures.items()}


def peak_memory() -> dict[str, float]:
    """Returns the most memory in use so far, in MiB: of one accelerator, or of this process."""
    stats = jax.devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        return {"peak memory of a device in MiB": round(stats["peak_bytes_in_use"] / 2**20)}
    unit = 1 if sys.platform == "darwin" else 2**10  # of `ru_maxrss`, in bytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {"peak memory of the process in MiB": round(peak / 2**20)}


def matrix_share(operations: float, seconds: float) -> dict[str, float]:
    """Returns the rate of a network's operations in `seconds`, and its share of the chips' rate."""
    rate = operations / seconds
    facts = {"TFLOP/s of the network": round(rate / 1e12, 3)}
    chip = chip_of(jax.devices()[0].device_kind)
    if chip is not None:
        share = rate / (chip.matrix_rate * jax.device_count())
        facts[f"share of {chip.name}'s matrix rate in bfloat16"] = round(share, 4)
    return facts


def show(facts: dict[str, Any], *, as_json: bool) -> None:
    """Prints named figures as JSON or as lines."""
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            value = "  ".join(f"{k} {v}" for k, v in value.items())
        print(f"{name:<38} {value}")
