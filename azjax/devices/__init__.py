"""JAX's devices: settings that must be made before it starts, several hosts, and a description."""

import glob
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import jax

from azjax.devices.cgroups import usable_cores
from azjax.errors import UserError, printable

CPU_FEATURES = Path("/proc/cpuinfo")  # Linux only
BFLOAT16_FEATURES = {"avx512_bf16", "amx_bf16"}  # x86-64 instructions for products of bfloat16
# Of GPUs (NVIDIA, also in WSL2, and AMD) and of TPUs.
ACCELERATOR_FILES = (
    "/dev/nvidia*",
    "/dev/dxg",
    "/dev/kfd",
    "/dev/accel*",
    "/dev/vfio/[0-9]*",
)

_FLAG = "xla_force_host_platform_device_count"


@dataclass(frozen=True)
class Hosts:
    """The options by which several processes find each other; by default there is only this one."""

    multi_host: bool = False
    """Join the other hosts of a TPU pod, a Slurm job or an MPI job, found automatically."""
    coordinator: str | None = None
    """HOST:PORT of the first process, if the hosts cannot be found automatically."""
    num_processes: int | None = None
    """With --coordinator: the number of processes."""
    process_id: int | None = None
    """With --coordinator: the number of this process, from 0."""
    heartbeat_timeout: int = 100
    """Seconds without a sign of life from a process, after which the others stop."""


def avoid_missing_tpu() -> None:
    """Chooses the CPU where libtpu is installed, but there is no accelerator.

    `azjax plan` needs libtpu on such machines. There libtpu writes errors about the missing TPU to
    standard error whenever JAX starts, at all of its log levels. A choice of the user's
    (JAX_PLATFORMS) stays, and so does JAX's own where it sees a TPU. Must be called before JAX
    starts.
    """
    if getattr(jax.config, "jax_platforms", None) is not None or find_spec("libtpu") is None:
        return
    if not any(map(glob.glob, ACCELERATOR_FILES)):
        jax.config.update("jax_platforms", "cpu")


def use_all_cores(
    *, splits: tuple[int, ...] = (), processes: int = 1, say: Callable[[str], None] = print
) -> None:
    """Makes one JAX device of each CPU core, unless the user has chosen the number of devices.

    XLA runs a network's convolutions on one core of a device, so one device would leave the other
    cores idle. Must be called before JAX starts; does nothing afterwards.

    Args:
      splits: numbers that must be divisible by the number of devices: games, batch size.
      processes: the number of processes that take part.
      say: prints the choice, if JAX uses the CPU.
    """
    if getattr(jax.config, "jax_num_cpu_devices", 0) > 0 or _FLAG in os.environ.get(
        "XLA_FLAGS", ""
    ):
        return
    cores = range(usable_cores(), 0, -1)
    fitting = (n for n in cores if all(s % (n * processes) == 0 for s in splits))
    devices = next(fitting, 1)
    try:
        jax.config.update("jax_num_cpu_devices", devices)
    except RuntimeError:  # JAX has started, in a notebook for example
        return
    if jax.default_backend() == "cpu" and devices > 1:
        say(f"one JAX device for each of {devices} CPU cores (JAX_NUM_CPU_DEVICES changes that)")


def join_hosts(hosts: Hosts) -> None:
    """Starts `jax.distributed`, if there are several processes.

    Raises:
      UserError: the options are incomplete, or the other processes cannot be reached.
    """
    given = [hosts.coordinator, hosts.num_processes, hosts.process_id]
    if any(x is not None for x in given) and any(x is None for x in given):
        raise UserError("--coordinator, --num-processes and --process-id must be given together")
    if not hosts.multi_host and hosts.coordinator is None:
        return
    # A lost process does not abort the others: `azjax.cli.multihost` says which it was.
    jax.config.update("jax_enable_recoverability", True)
    try:
        jax.distributed.initialize(
            hosts.coordinator,
            hosts.num_processes,
            hosts.process_id,
            heartbeat_timeout_seconds=hosts.heartbeat_timeout,
        )
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"cannot join the other processes: {reason}") from error


def describe_machine() -> str:
    """Returns the kind and number of JAX's devices, and JAX's version; this starts JAX."""
    devices = jax.devices()
    return (
        f"{len(devices)} x {devices[0].device_kind} ({platform.machine()}), jax {jax.__version__}"
    )


def why_no_device(error: Exception) -> str | None:
    """Returns in one line why JAX had no device to compute on; None if an error tells another."""
    try:
        jax.devices()
        if "Unable to initialize backend" not in str(error):
            return None
    except Exception as again:  # of many kinds, an AssertionError among them
        error = again
    platforms = getattr(jax.config, "jax_platforms", None)
    reason = (str(error).strip().splitlines() or ["nothing of that kind is here"])[0]
    asked = f"JAX_PLATFORMS={platforms}: " if platforms else ""
    return printable(
        f"{asked}JAX finds no device to compute on ({reason}); JAX_PLATFORMS=cpu computes on "
        'the CPU, and a GPU needs JAX\'s plugin, pip install "azjax[cuda13]"'
    )


def bfloat16_is_slow() -> bool:
    """Returns whether this machine computes bfloat16 more slowly than float32; this starts JAX.

    That was measured on two x86-64 CPUs without instructions for bfloat16, one of them with
    AVX-512. The answer is no on accelerators, and where the CPU's features are unknown.
    """
    if jax.default_backend() != "cpu" or platform.machine() != "x86_64":
        return False
    try:
        return BFLOAT16_FEATURES.isdisjoint(CPU_FEATURES.read_text().split())
    except OSError:
        return False
