"""Estimates how long a program runs, from a chip's published figures.

Each kernel takes the longest of four times: its products at half the published matrix rate, its
other operations at the published vector rate, its bytes at 80% of the published bandwidth, and the
least time from one launch to the next. Kernels do not overlap. This says which part of a program
dominates, and how two programs or machines compare; a real chip may be twice as fast or slow.
"""

from __future__ import annotations

from azjax.plan.kernels import Kernel
from azjax.plan.machines import Chip, Machine
from azjax.plan.regions import Region

MATRIX_SHARE = 0.5
BANDWIDTH_SHARE = 0.8
COLLECTIVE_LATENCY = 10e-6


def seconds(region: Region, machine: Machine) -> float:
    """Returns the estimated time of one run of a region."""
    kernels = region.total(lambda kernel: kernel_seconds(kernel, machine))
    return kernels + region.host_reads * machine.chip.read


def shares(region: Region, machine: Machine) -> dict[str, float]:
    """Returns the share of each function in the estimated time of a region, the largest first.

    A kernel belongs to the function of the innermost loop or branch around it.
    """
    found: dict[str, float] = {}
    for part, times in region.walk():
        own = sum(kernel_seconds(kernel, machine) for kernel in part.kernels)
        own += part.reads * machine.chip.read
        found[part.label] = found.get(part.label, 0.0) + times * own
    total = sum(found.values())
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return {label: own / total for label, own in ordered if own}


def kernel_seconds(kernel: Kernel, machine: Machine) -> float:
    """Returns the estimated time of one kernel, or of one collective of all chips."""
    chip, devices = machine.chip, machine.devices
    if kernel.collective:
        # A ring sends everything almost twice.
        return COLLECTIVE_LATENCY + kernel.sent * 2 * (devices - 1) / devices / chip.link
    rate = chip.float32_rate if kernel.matrix_dtype == "f32" else chip.matrix_rate
    return max(
        chip.launch,
        kernel.matrix_flops / (MATRIX_SHARE * rate),
        kernel.operations / chip.vector_rate,
        kernel.bytes / (BANDWIDTH_SHARE * chip.bandwidth),
    )


def assumptions(chip: Chip) -> str:
    """Returns the figures of a chip that its estimates use, in one line."""
    return (
        f"{chip.name}: {chip.matrix_rate / 1e12:.0f} TFLOP/s in bfloat16 and "
        f"{chip.float32_rate / 1e12:.0f} in float32, of which {MATRIX_SHARE:.0%} is reached; "
        f"{chip.bandwidth / 1e9:,.0f} GB/s, of which {BANDWIDTH_SHARE:.0%}; at least "
        f"{chip.launch * 1e6:g} us a kernel; {chip.read * 1e6:g} us for each loop or branch whose "
        f"predicate is data; {chip.link / 1e9:.0f} GB/s between chips, "
        f"{COLLECTIVE_LATENCY * 1e6:.0f} us a collective"
    )
