"""Checksums of a checkpoint's arrays, so that damaged values are never loaded.

A checksum is the CRC-32 of a block's bytes: the part of an array that one device holds. A process
computes those of its own devices only. They are compared block by block, however the arrays are
divided when they are loaded.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils

Bounds = tuple[tuple[int, int], ...]  # start and stop of a block, in each dimension


def checksum_record(**items: Any) -> dict[str, Any]:
    """Returns the types, shapes and checksums of pytrees, as plain JSON.

    All processes of a run must call this together.

    Args:
      **items: pytrees of arrays, each on any devices.
    """
    arrays = {name: _item_record(tree) for name, tree in items.items()}
    return {"arrays": arrays, "checksum": _checksum(_canonical(arrays))}


def recorded_arrays(record: Any) -> dict[str, dict[str, Any]]:
    """Returns the record's arrays by item and path, after checking the record itself.

    Raises:
      ValueError: the record is damaged.
    """
    if not isinstance(record, dict) or not isinstance(record.get("arrays"), dict):
        raise ValueError("the checksums are damaged")
    if record.get("checksum") != _checksum(_canonical(record["arrays"])):
        raise ValueError("the checksums are damaged")
    return record["arrays"]


def first_damaged(tree: Any, recorded: dict[str, Any]) -> str | None:
    """Returns the path of the first array that differs from its record; None if all are equal.

    All processes of a run must call this together, and all get the same answer.

    Args:
      tree: the arrays as loaded.
      recorded: one item of `recorded_arrays`.
    """
    leaves = arrays_by_path(tree)
    for path in sorted(leaves.keys() | recorded.keys()):
        if path not in leaves or path not in recorded:
            return path
        if signature(leaves[path]) != recorded[path]["type"]:
            return path
        values = _whole(leaves[path])
        for bounds, checksum in recorded[path]["blocks"]:
            block = values[tuple(slice(start, stop) for start, stop in bounds)]
            if _checksum(block) != checksum:
                return path
    return None


def arrays_by_path(tree: Any) -> dict[str, Any]:
    """Returns the leaves of a pytree by their paths, as "params.trunk.kernel"."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {
        ".".join(
            str(getattr(k, "key", getattr(k, "name", getattr(k, "idx", k)))) for k in path
        ): leaf
        for path, leaf in leaves
    }


def signature(array: Any) -> str:
    """Returns an array's type and shape, as "float32[3, 4]"."""
    return f"{jnp.dtype(array.dtype).name}{list(array.shape)}"


def _item_record(tree: Any) -> dict[str, Any]:
    leaves = arrays_by_path(tree)
    local = [_local_checksums(x) for x in leaves.values()]
    every = _of_all_processes(list(leaves.values()), local)
    return {
        path: {
            "type": signature(x),
            "blocks": [[list(map(list, bounds)), checksum] for bounds, checksum in found.items()],
        }
        for (path, x), found in zip(leaves.items(), every, strict=True)
    }


def _local_checksums(array: jax.Array) -> dict[Bounds, int]:
    """Returns the checksums of the blocks on this process's devices; copies count once."""
    found: dict[Bounds, int] = {}
    for shard in array.addressable_shards:
        bounds = _bounds(shard.index, array.shape)
        if bounds not in found:
            found[bounds] = _checksum(np.asarray(shard.data))
    return found


def _of_all_processes(
    arrays: list[jax.Array], local: list[dict[Bounds, int]]
) -> list[dict[Bounds, int]]:
    """Returns the checksums of each array's blocks on the devices of all processes."""
    if jax.process_count() == 1 or not arrays:
        return local
    # Row d holds the checksums of the blocks on this process's device d.
    rows = [
        [
            found[_bounds(x.sharding.devices_indices_map(x.shape)[device], x.shape)]
            for x, found in zip(arrays, local, strict=True)
        ]
        for device in jax.local_devices()
    ]
    every = multihost_utils.process_allgather(np.asarray(rows, np.uint32))
    result: list[dict[Bounds, int]] = [{} for _ in arrays]
    for process, process_rows in enumerate(every):
        devices = jax.local_devices(process_index=process)
        for device, row in zip(devices, process_rows, strict=True):
            for x, found, checksum in zip(arrays, result, row, strict=True):
                index = x.sharding.devices_indices_map(x.shape)[device]
                found[_bounds(index, x.shape)] = int(checksum)
    return result


def _bounds(index: tuple[slice, ...], shape: tuple[int, ...]) -> Bounds:
    return tuple(s.indices(n)[:2] for s, n in zip(index, shape, strict=True))


def _whole(array: Any) -> np.ndarray:
    """Returns an array on this host, with the parts that other processes hold."""
    if isinstance(array, jax.Array) and not array.is_fully_addressable:
        if array.is_fully_replicated:
            return np.asarray(array.addressable_data(0))
        return np.asarray(multihost_utils.process_allgather(array, tiled=True))
    return np.asarray(array)


def _checksum(values: np.ndarray | bytes) -> int:
    data: Any = values
    if isinstance(values, np.ndarray):
        data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    return zlib.crc32(data)


def _canonical(arrays: Any) -> bytes:
    return json.dumps(arrays, sort_keys=True).encode()
