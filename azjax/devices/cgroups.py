"""How many cores and how much memory this process may use, by the limits of its containers too.

On Linux a container is a control group: of version 1 or 2, with limits of its own and those of all
groups around it. The limits of a host are no limits of a container in it.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")  # tests have trees of their own


def usable_cores(root: Path = _ROOT) -> int:
    """Returns the number of cores that this process may use, at least 1.

    A quota of 1.5 cores' time counts as 2 cores.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    quotas = [math.ceil(quota) for quota in _quotas(root)]
    return max(1, min([cores, *quotas]))


def usable_memory(root: Path = _ROOT) -> int | None:
    """Returns the bytes of memory that this process may use; None if they are not known.

    Memory that others use now is not subtracted, because the system fills it with cached files.
    """
    limits = []
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", ()):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for group, version in _groups(root, "memory"):
        name = "memory.max" if version == 2 else "memory.limit_in_bytes"
        limits += [number for number in _numbers(group / name) if number > 0]
    return min(limits, default=None)


def _quotas(root: Path) -> Iterator[float]:
    """Yields the share of its time that each group may compute, in cores."""
    for group, version in _groups(root, "cpu"):
        names = ["cpu.max"] if version == 2 else ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        numbers = [number for name in names for number in _numbers(group / name)]
        if len(numbers) == 2 and min(numbers) > 0:
            yield numbers[0] / numbers[1]


def _numbers(file: Path) -> list[int]:
    """Returns the numbers in a file, without "max"; none if it cannot be read."""
    try:
        return [int(word) for word in file.read_text().split() if word != "max"]
    except (OSError, ValueError):
        return []


def _groups(root: Path, controller: str) -> Iterator[tuple[Path, int]]:
    """Yields the folders of this process's groups with a controller, and the version, 1 or 2."""
    process = root / "proc" / "self"
    try:
        mine = (process / "cgroup").read_text().splitlines()
        mounts = (process / "mountinfo").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    paths = {}  # by version, the group of this process
    for line in mine:  # "0::/user.slice" of version 2, "4:cpu,cpuacct:/docker/1f" of version 1
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" or controller in controllers.split(","):
            paths[2 if number == "0" else 1] = path
    for line in mounts:  # "30 23 0:26 /docker/1f /sys/fs/cgroup rw - cgroup2 cgroup rw"
        place, _, kind = line.partition(" - ")
        fields, kinds = place.split(), kind.split()
        version = {"cgroup": 1, "cgroup2": 2}.get(kinds[0] if kinds else "")
        if version not in paths or len(fields) < 5 or len(kinds) < 3:
            continue
        if version == 1 and controller not in kinds[2].split(","):
            continue
        top = root / fields[4].replace("\\040", " ").lstrip("/")
        # Where only a part of the tree is mounted, as in a container, paths begin before it.
        inside = os.path.relpath(paths[version], fields[3])
        inside = "." if inside.startswith("..") else inside
        for depth in range(len(Path(inside).parts) + 1):
            yield top.joinpath(*Path(inside).parts[:depth]), version
