"""What has to be settled before JAX starts: the CPU's devices, and other hosts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import jax

from azjax.errors import UserError

_FLAG = "xla_force_host_platform_device_count"


@dataclass(frozen=True)
class Hosts:
    """How several processes find each other; the defaults mean that there is only this one."""

    multi_host: bool = False
    """Join the other hosts of a TPU pod, a Slurm job or an MPI job, found automatically."""
    coordinator: str | None = None
    """HOST:PORT of the first process, where the hosts cannot be found automatically."""
    num_processes: int | None = None
    """With --coordinator: how many processes there are."""
    process_id: int | None = None
    """With --coordinator: this process, from 0."""
    heartbeat_timeout: int = 100
    """Seconds of silence after which a process is taken for dead and the others stop."""


def use_all_cores(
    *, splits: tuple[int, ...] = (), processes: int = 1, say: Callable[[str], None] = print
) -> None:
    """On CPU, makes one XLA device of each core, unless the user has chosen otherwise.

    A tower's convolutions run on one core of a device, so that several devices are what puts all
    cores to work. To be called before JAX starts.

    Args:
      splits: numbers that must be divisible by the number of devices: games, batch size.
      processes: how many processes like this one take part.
      say: told what was chosen, where the CPU is what JAX will use.
    """
    if jax.config.jax_num_cpu_devices > 0 or _FLAG in os.environ.get("XLA_FLAGS", ""):
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    fitting = (n for n in range(cores or 1, 0, -1) if all(s % (n * processes) == 0 for s in splits))
    devices = next(fitting, 1)
    try:
        jax.config.update("jax_num_cpu_devices", devices)
    except RuntimeError:  # JAX has started, as in a notebook: its devices are what there is
        return
    if jax.default_backend() == "cpu" and devices > 1:
        say(f"one JAX device for each of {devices} CPU cores (JAX_NUM_CPU_DEVICES changes that)")


def join_hosts(hosts: Hosts) -> None:
    """Starts `jax.distributed` where several processes are wanted.

    Raises:
      UserError: the addresses are incomplete, or the others cannot be reached.
    """
    given = [hosts.coordinator, hosts.num_processes, hosts.process_id]
    if any(x is not None for x in given) and any(x is None for x in given):
        raise UserError("--coordinator, --num-processes and --process-id belong together")
    if not hosts.multi_host and hosts.coordinator is None:
        return
    try:
        jax.distributed.initialize(
            hosts.coordinator,
            hosts.num_processes,
            hosts.process_id,
            heartbeat_timeout_seconds=hosts.heartbeat_timeout,
        )
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"the other processes cannot be joined: {reason}") from error
