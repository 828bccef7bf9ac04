"""A mesh with one axis: games and replay are split over it, parameters are on every device.

One device is a mesh of one, so there is a single code path from a laptop to a pod.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

AXIS = "devices"
SPLIT = PartitionSpec(AXIS)
EVERYWHERE = PartitionSpec()


def make_mesh(devices: list[jax.Device] | None = None) -> Mesh:
    """Returns a one-axis mesh over `devices`, by default all devices of all processes."""
    return Mesh(np.asarray(jax.devices() if devices is None else devices), (AXIS,))


def shard(
    function: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any
) -> Callable[..., Any]:
    """Maps a function over the devices of `mesh` by `jax.shard_map`.

    Replication is not checked (`check_vma=False`), because mctx does not trace under the check.
    The check also sums gradients of replicated parameters implicitly, which would make an explicit
    `pmean` too large by the number of devices.
    """
    return jax.shard_map(
        function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False
    )


def in_shard() -> bool:
    """Returns whether the code that is traced runs under `shard_map` over `AXIS`."""
    try:
        jax.lax.axis_size(AXIS)
    except NameError:
        return False
    return True


def shardings(mesh: Mesh, specs: Any) -> Any:
    """Returns the `NamedSharding` of each `PartitionSpec` in the pytree `specs`."""
    return jax.tree.map(
        functools.partial(NamedSharding, mesh),
        specs,
        is_leaf=lambda x: isinstance(x, PartitionSpec),
    )


def local(tree: Any) -> Any:
    """Returns this process's copy of arrays that are the same on all devices."""
    return jax.tree.map(lambda x: x.addressable_data(0), tree)
