"""Accelerators that a program can be compiled for, and their published figures."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from azjax.errors import UserError


@dataclass(frozen=True)
class Chip:
    """The figures of one kind of accelerator.

    A v4 chip has two cores, each of which is a device for XLA here: the figures are a core's.
    """

    name: str
    platform: Literal["tpu", "cuda"]
    memory: float  # bytes
    bandwidth: float  # bytes per second, of the main memory
    matrix_rate: float  # bfloat16 operations per second, dense
    float32_rate: float  # operations per second of float32 products at JAX's default precision
    usable: float = 0.98  # share of the memory that JAX gives to programs by default
    devices: int = 1  # of XLA, in each chip


# Google Cloud's pages of the TPU versions. A float32 product is one of bfloat16 by default.
# NVIDIA's data sheets of the Hopper GPUs, SXM. A float32 product is TF32 there.
CHIPS = {
    chip.name: chip
    for chip in (
        Chip("v4", "tpu", 16 * 2**30, 0.614e12, 137e12, 137e12, devices=2),
        Chip("v5e", "tpu", 16 * 2**30, 0.819e12, 197e12, 197e12),
        Chip("v5p", "tpu", 95 * 2**30, 2.765e12, 459e12, 459e12),
        Chip("v6e", "tpu", 32 * 2**30, 1.64e12, 918e12, 918e12),
        Chip("h100", "cuda", 80e9, 3.35e12, 989e12, 495e12, 0.75),
        Chip("h200", "cuda", 141e9, 4.8e12, 989e12, 495e12, 0.75),
    )
}


# How JAX names these chips, `jax.Device.device_kind`. Not v4, which has one device or two.
_KINDS = {"TPU v5 lite": "v5e", "TPU v5": "v5p", "TPU v5p": "v5p", "TPU v6 lite": "v6e"}


def chip_of(kind: str) -> Chip | None:
    """Returns the chip of this `jax.Device.device_kind`; None if its figures are unknown."""
    if kind in _KINDS:
        return CHIPS[_KINDS[kind]]
    named = (chip for chip in CHIPS.values() if chip.platform == "cuda")
    return next((chip for chip in named if chip.name.upper() in kind.split()), None)


@dataclass(frozen=True)
class Machine:
    """A number of chips: a TPU slice, or the GPUs of one or several hosts."""

    name: str  # as the user names it: "v5e:4x4", "h100x8"
    chip: Chip
    topology: str  # in XLA's words: "v5e:4x4", "1x1x8" for slices x hosts x GPUs of a host
    chips: int

    @property
    def devices(self) -> int:
        """Number of XLA's devices, over which the run is split."""
        return self.chips * self.chip.devices

    @property
    def usable(self) -> float:
        """Bytes of a device that JAX gives to programs by default."""
        return self.chip.memory * self.chip.usable


def machine(name: str) -> Machine:
    """Returns the machine of a name such as `v5e:4x4`, `h100` or `h100x8`.

    Raises:
      UserError: there is no such machine.
    """
    if slice_ := re.fullmatch(r"(\w+):(\d+(?:x\d+){1,2})", name):
        chip = CHIPS.get(slice_[1])
        if chip is not None and chip.platform == "tpu":
            sizes = [int(size) for size in slice_[2].split("x")]
            return Machine(name, chip, name, math.prod(sizes))
    elif gpus := re.fullmatch(r"([a-z]+\d+)(?:x(\d+))?", name):
        chip, count = CHIPS.get(gpus[1]), int(gpus[2] or 1)
        hosts = max(1, count // 8)
        if chip is not None and chip.platform == "cuda" and 1 <= count == hosts * min(count, 8):
            return Machine(name, chip, f"1x{hosts}x{count // hosts}", count)
    raise UserError(
        f"--on {name}: no such machine; give a TPU slice such as v5e:2x2 or v4:2x2x1 "
        f"({', '.join(c.name for c in CHIPS.values() if c.platform == 'tpu')}), or GPUs such as "
        f"h100 or h200x8 ({', '.join(c.name for c in CHIPS.values() if c.platform == 'cuda')}; "
        "more than eight by eights)"
    )


def target_config(chip: Chip) -> str:
    """Returns XLA's description of a GPU, in protobuf's text format, to compile without one.

    The Hopper chips differ in memory only. Sources: CUDA's device queries of an H100 SXM, as in
    XLA's own descriptions of GPUs, and the data sheets.
    """
    return f"""
      gpu_device_info {{
        threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
        shared_memory_per_block: 49152 shared_memory_per_core: 233472
        shared_memory_per_block_optin: 232448
        core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
        block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
        memory_bandwidth: {chip.bandwidth:.0f} l2_cache_size: 52428800
        device_memory_size: {chip.memory:.0f}
        registers_per_core_limit: 65536 registers_per_block_limit: 65536
        cuda_compute_capability {{ major: 9 }}
      }}
      platform_name: "CUDA"
      dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
      device_description_str: "NVIDIA {chip.name.upper()}"
    """
