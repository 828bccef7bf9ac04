"""How long kernels take on the chips of `azjax plan`: a model, fitted on an H200."""

from dataclasses import dataclass

from azjax.plan.machines import Chip, Machine
from benchmarks.kernels.kernels import READ, Kernel


@dataclass(frozen=True)
class Rates:
    """What kernels reach of a chip's published figures, and what they take besides."""

    matrix_share: float = 0.5  # of the rate that products reach
    bandwidth_share: float = 0.8
    kernel: float = 0.5e-6  # seconds of a kernel besides its work
    product: float = 0.5e-6  # the same of a convolution or matrix product
    read: float = 1e-6  # seconds until a predicate is read: by a GPU's host, by a TPU itself


# The reciprocal rates fit the times of 24 loops of random play and of three training cycles on an
# H200 (`tests/bench/kernels/h200.json`). Those of TPUs have not been compared with a chip.
_RATES = {"tpu": Rates(), "cuda": Rates(0.64, 0.55, 1.35e-6, 3.5e-6, 17.5e-6)}
_VECTOR_RATES = {"v4": 2.1e12, "v5e": 3.1e12, "v5p": 7.2e12, "v6e": 7.2e12}  # outside matrix units
_GPU_VECTOR_RATE = 20e12
_LINKS = {"v4": 150e9, "v5e": 200e9, "v5p": 600e9, "v6e": 448e9}  # bytes/s, in one direction
_NVLINK = 450e9
_COLLECTIVE_LATENCY = 10e-6  # seconds


def rates(chip: Chip) -> Rates:
    """Returns what kernels reach on a chip."""
    return _RATES[chip.platform]


def kernel_seconds(kernel: Kernel, machine: Machine) -> float:
    """Returns the estimated time of a kernel, a read of the host, or a collective of all chips.

    A kernel takes a time of its own, and the longest of its products, its other operations and its
    bytes. Kernels do not overlap.
    """
    chip, devices, found = machine.chip, machine.devices, rates(machine.chip)
    if kernel is READ:
        return found.read
    if kernel.collective:  # a ring sends everything almost twice
        link = _LINKS.get(chip.name, _NVLINK)
        return _COLLECTIVE_LATENCY + kernel.sent * 2 * (devices - 1) / devices / link
    rate = chip.float32_rate if kernel.matrix_dtype == "f32" else chip.matrix_rate
    return (found.product if kernel.matrix_flops else found.kernel) + max(
        kernel.matrix_flops / (found.matrix_share * rate),
        kernel.operations / _VECTOR_RATES.get(chip.name, _GPU_VECTOR_RATE),
        kernel.bytes / (found.bandwidth_share * chip.bandwidth),
    )
