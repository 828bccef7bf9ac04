"""The model of the time of kernels."""

import pytest

from azjax.plan.machines import machine
from benchmarks.kernels.clock import kernel_seconds, rates
from benchmarks.kernels.kernels import READ, Kernel


def test_a_kernel_takes_the_longest_of_its_parts():
    here = machine("h100")
    found = rates(here.chip)
    assert kernel_seconds(Kernel("copy"), here) == found.kernel
    assert kernel_seconds(READ, here) == found.read
    flops = Kernel("dot", matrix_flops=989e12, matrix_dtype="bf16", bytes=1e9)
    assert kernel_seconds(flops, here) == pytest.approx(found.product + 1 / found.matrix_share)
    copy = Kernel("copy", bytes=3.35e12)
    assert kernel_seconds(copy, here) == pytest.approx(found.kernel + 1 / found.bandwidth_share)


def test_a_collective_takes_longer_on_more_chips():
    reduce = Kernel("all-reduce", collective="all-reduce", sent=1e9)
    times = [kernel_seconds(reduce, machine(name)) for name in ("h100x2", "h100x4", "h100x8")]
    assert times == sorted(times)
