"""What a container may use, from trees of files as Linux shows them."""

import os

import pytest

from azjax.devices import cgroups

GIB = 2**30
CORES = 64
V2 = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw,nsdelegate"
V1 = "31 23 0:27 {root} /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}"
V2_HERE = "0::{path}\n"
V1_HERE = "4:memory:{path}\n3:cpu,cpuacct:{path}\n0::/\n"
UNLIMITED = str(2**63 - 4096)


def tree(root, cgroup, mounts, **files):
    """Writes a tree of /proc and /sys; `files` are below /sys/fs/cgroup, with __ for /."""
    process = root / "proc" / "self"
    process.mkdir(parents=True)
    (process / "cgroup").write_text(cgroup)
    (process / "mountinfo").write_text("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + "\n".join(mounts))
    for name, text in files.items():
        file = root / "sys" / "fs" / "cgroup" / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    return root


def v2(root, path="/", top="/", **files):
    files = {name.replace("memory_max", "memory.max"): x for name, x in files.items()}
    files = {name.replace("cpu_max", "cpu.max"): x for name, x in files.items()}
    return tree(root, V2_HERE.format(path=path), [V2.format(root=top)], **files)


def v1(root, path="/", top="/", **files):
    names = {
        "limit": "memory/{}memory.limit_in_bytes",
        "quota": "cpu,cpuacct/{}cpu.cfs_quota_us",
        "period": "cpu,cpuacct/{}cpu.cfs_period_us",
    }
    placed = {}
    for name, text in files.items():
        *folders, kind = name.split("__")
        placed[names[kind].format("".join(f"{x}/" for x in folders)).replace("/", "__")] = text
    mounts = [V1.format(root=top, name=name) for name in ("memory", "cpu,cpuacct")]
    return tree(root, V1_HERE.format(path=path), mounts, **placed)


CASES = {
    "docker, version 2": (v2, {"memory_max": str(8 * GIB), "cpu_max": "200000 100000"}, 2, 8),
    "no limits, version 2": (v2, {"memory_max": "max", "cpu_max": "max 100000"}, CORES, 1024),
    "nested, the outer limit": (
        v2,
        {
            "path": "/pod/box",
            "pod__memory_max": str(4 * GIB),
            "pod__box__memory_max": "max",
            "pod__cpu_max": "150000 100000",
            "pod__box__cpu_max": "max 100000",
        },
        2,
        4,
    ),
    "nested, the inner limit": (
        v2,
        {"path": "/a/b", "a__memory_max": str(9 * GIB), "a__b__memory_max": str(GIB)},
        CORES,
        1,
    ),
    "half a core": (v2, {"cpu_max": "50000 100000"}, 1, 1024),
    "another period": (v2, {"cpu_max": "30000 10000"}, 3, 1024),
    "more than there is": (v2, {"cpu_max": "9900000 100000", "memory_max": UNLIMITED}, CORES, 1024),
    "damaged": (v2, {"cpu_max": "many", "memory_max": ""}, CORES, 1024),
    "docker, version 1, whose paths begin at the host": (
        v1,
        {"path": "/docker/1f", "top": "/docker/1f"}
        | {"limit": str(8 * GIB), "quota": "200000", "period": "100000"},
        2,
        8,
    ),
    "no limits, version 1": (
        v1,
        {"limit": UNLIMITED, "quota": "-1", "period": "100000"},
        CORES,
        1024,
    ),
    "version 1 of a service": (
        v1,
        {"path": "/slice/job", "slice__limit": str(16 * GIB), "slice__job__limit": str(2 * GIB)}
        | {"slice__job__quota": "400000", "slice__job__period": "100000"},
        4,
        2,
    ),
    "a part of the tree that is mounted elsewhere": (
        v2,
        {"path": "/", "top": "/docker/1f", "memory_max": str(GIB)},
        CORES,
        1,
    ),
}


@pytest.fixture
def large_machine(monkeypatch):
    pages = {"SC_PHYS_PAGES": 2**28, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(CORES)))


@pytest.mark.parametrize("name", CASES)
def test_limits(name, tmp_path, large_machine):
    write, files, cores, memory = CASES[name]
    root = write(tmp_path, **files)
    assert cgroups.usable_cores(root) == cores
    assert cgroups.usable_memory(root) == memory * GIB


def test_other_systems_have_no_groups(tmp_path, large_machine, monkeypatch):
    assert cgroups.usable_cores(tmp_path) == CORES
    assert cgroups.usable_memory(tmp_path) == 1024 * GIB
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    monkeypatch.setattr(os, "sysconf_names", {})
    assert cgroups.usable_cores(tmp_path) == 1
    assert cgroups.usable_memory(tmp_path) is None


def test_this_machine():
    assert 1 <= cgroups.usable_cores() <= os.cpu_count()
    assert cgroups.usable_memory() > 0
