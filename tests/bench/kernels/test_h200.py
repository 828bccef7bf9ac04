"""The estimates next to what was measured on an H200."""

import json
from pathlib import Path

import pytest

from azjax.plan.machines import machine
from benchmarks.kernels.clock import kernel_seconds
from benchmarks.kernels.kernels import READ, Kernel

RECORD = json.loads((Path(__file__).parent / "h200.json").read_text())["programs"]
# Its ten kernels took 118 us. By their bytes and operations they would take 62.
MISSED = "gomoku, 65536 games"


def estimate(name):
    """Returns the estimated time of a program relative to the measured one."""
    here, total = machine("h200"), 0.0
    for times, *work in RECORD[name]["rows"]:
        if work:
            moved, operations, flops, dtype = work
            kernel = Kernel("", flops, dtype, operations, moved)
        else:
            kernel = READ
        total += times * kernel_seconds(kernel, here)
    return 1e6 * total / RECORD[name]["measured us"]


@pytest.mark.parametrize("name", [x for x in RECORD if x.startswith("cycle")])
def test_cycles(name):
    assert estimate(name) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("name", [x for x in RECORD if not x.startswith("cycle") and x != MISSED])
def test_plies_of_random_play(name):
    assert estimate(name) == pytest.approx(1, abs=0.3)


def test_what_is_missed():
    assert 0.5 < estimate(MISSED) < 0.7


def test_the_record_is_complete():
    assert len(RECORD) == 12 * 2 + 3
    # The host waited in each program at that time, for the number of plies or updates at least.
    assert all(any(len(row) == 1 for row in found["rows"]) for found in RECORD.values())


@pytest.mark.parametrize(
    ("name", "kernels"), [("cycle of connect_four", 9901), ("cycle of gpu/connect_four", 20422)]
)
def test_kernels_are_those_of_the_profile(name, kernels):
    """3,928 launches of the larger cycle were memsets of cuDNN's convolutions."""
    counted = sum(row[0] for row in RECORD[name]["rows"] if len(row) > 1)
    assert counted == pytest.approx(kernels, rel=0.05)
