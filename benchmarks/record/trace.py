"""The kernels of a profile: which take the time, and how long the device waits between them."""

import gzip
import json
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

from azjax.errors import UserError

_LANES = re.compile(r"Stream|XLA Ops")  # of a GPU, of a TPU; a CPU runs kernels on many threads
_LONG_GAP = 5.0  # us


def profile(call: Callable[[], Any], *, top: int = 20) -> dict[str, Any]:
    """Runs a call under `jax.profiler` and returns its table of kernels; see `kernel_table`.

    Raises:
      UserError: the profiler yields no trace, or one without kernels.
    """
    with tempfile.TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder)
        try:
            jax.block_until_ready(call())
        finally:
            jax.profiler.stop_trace()
        files = sorted(Path(folder).rglob("*.trace.json.gz"))
        if not files:
            raise UserError("the profiler has written no trace")
        events = json.loads(gzip.decompress(files[-1].read_bytes()))["traceEvents"]
    return kernel_table(events, top=top)


def kernel_table(events: list[dict[str, Any]], *, top: int = 20) -> dict[str, Any]:
    """Returns the kernels of a trace in Chrome's format.

    Args:
      events: its `traceEvents`.
      top: the number of kernels to list, those that take the most time.

    Returns:
      The span in ms from the first to the last kernel, the share in which the device is busy, the
      number of kernels and their mean in us, the median gap in us, long gaps, and for the top
      kernels [name, launches, ms].

    Raises:
      UserError: there is no kernel in the trace.
    """
    kernels = sorted(_kernels(events))
    if not kernels:
        raise UserError("the profiler's trace has no kernels")
    busy, gaps, end = 0.0, [], kernels[0][0]
    for start, length, _ in kernels:
        if start > end:
            gaps.append(start - end)
        busy += max(0.0, start + length - max(start, end))
        end = max(end, start + length)
    span = (end - kernels[0][0]) or 1.0
    times, launches = Counter[str](), Counter[str]()
    for _, length, name in kernels:
        kind = re.sub(r"[._]\d+$", "", name)[:60]
        times[kind] += length  # type: ignore[assignment]
        launches[kind] += 1
    return {
        "span in ms": round(span / 1e3, 2),
        "busy": round(busy / span, 3),
        "kernels": len(kernels),
        "mean kernel in us": round(statistics.mean(x[1] for x in kernels), 2),
        "median gap in us": round(statistics.median(gaps), 2) if gaps else 0.0,
        "gaps over 5 us": sum(gap > _LONG_GAP for gap in gaps),
        "these in ms": round(sum(gap for gap in gaps if gap > _LONG_GAP) / 1e3, 2),
        "top": [[name, launches[name], round(t / 1e3, 2)] for name, t in times.most_common(top)],
    }


def _kernels(events: list[dict[str, Any]]) -> Iterator[tuple[float, float, str]]:
    """Yields the start, length and name of each kernel, in us."""
    named = (x for x in events if x.get("name") == "thread_name")
    lanes = {(x["pid"], x["tid"]) for x in named if _LANES.match(x["args"]["name"])}
    for event in events:
        is_kernel = (
            (event.get("pid"), event.get("tid")) in lanes
            if lanes
            else "hlo_op" in event.get("args", {})
        )
        if event.get("ph") == "X" and is_kernel:
            yield event["ts"], event.get("dur", 0.0), event["name"]
