"""Settings made before JAX starts: each case runs in a process that has not started JAX yet."""

import os
import subprocess
import sys

import pytest

from azjax import devices
from azjax.devices import Hosts, join_hosts
from azjax.errors import UserError
from tests import tiny

SCRIPT = """
import os
os.sched_getaffinity = lambda process: set(range(6))  # six cores
import jax
from azjax.devices import use_all_cores
said = []
use_all_cores(splits={splits}, processes={processes}, say=said.append)
print(jax.device_count(), len(said))
"""


def counted(splits=(), processes=1, **environment):
    """Returns the number of devices and the number of printed lines."""
    inherited = {
        k: v for k, v in os.environ.items() if k not in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS")
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(splits=splits, processes=processes)],
        env={**inherited, "JAX_PLATFORMS": "cpu", **environment},
        capture_output=True,
        text=True,
        timeout=tiny.PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"splits": (12, 36)}, (6, 1)),
        ({"splits": (12, 16)}, (4, 1)),  # the largest number that divides both
        ({"splits": (12, 16), "processes": 2}, (2, 1)),
        ({"splits": (7, 12)}, (1, 0)),
        ({"JAX_NUM_CPU_DEVICES": "3"}, (3, 0)),
        ({"XLA_FLAGS": "--xla_force_host_platform_device_count=5"}, (5, 0)),
    ],
)
def test_a_device_for_each_core(arguments, expected):
    assert counted(**arguments) == expected


CHOOSE = """
from azjax import devices
devices.ACCELERATOR_FILES = ({files!r},)
devices.avoid_missing_tpu()
print(devices.jax.config.jax_platforms)
"""


@pytest.mark.parametrize(
    ("installed", "file", "chosen", "platforms"),
    [
        (True, "", None, "cpu"),
        (True, "accel0", None, "None"),  # JAX looks for the accelerator itself
        (False, "", None, "None"),
        (True, "", "tpu", "tpu"),
        (True, "", "", ""),
    ],
)
def test_a_missing_tpu_is_avoided(installed, file, chosen, platforms, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "JAX_PLATFORMS"}
    if chosen is not None:
        environment["JAX_PLATFORMS"] = chosen
    if installed:
        (tmp_path / "libtpu.py").write_text("def get_library_path(): return None")
    if file:
        (tmp_path / file).touch()
    done = subprocess.run(
        [sys.executable, "-c", CHOOSE.format(files=str(tmp_path / "accel*"))],
        env=environment | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        timeout=tiny.PATIENCE_S,
        check=False,
    )
    assert done.stdout == f"{platforms}\n", done.stderr


@pytest.mark.parametrize(
    ("backend", "machine", "features", "slow"),
    [
        ("cpu", "x86_64", "flags : fpu avx avx2 fma", True),
        ("cpu", "x86_64", "flags : fpu avx avx2 avx512f avx512_vnni", True),
        ("cpu", "x86_64", "flags : fpu avx avx2 avx512f avx512_bf16", False),
        ("cpu", "x86_64", "flags : fpu avx avx2 avx512f amx_bf16 amx_tile", False),
        ("cpu", "x86_64", None, False),  # not Linux
        ("cpu", "aarch64", "Features : fp asimd", False),
        ("gpu", "x86_64", "flags : fpu avx avx2 fma", False),
    ],
)
def test_bfloat16_is_slow_on_some_cpus(backend, machine, features, slow, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "CPU_FEATURES", tmp_path / "cpuinfo")
    monkeypatch.setattr("jax.default_backend", lambda: backend)
    monkeypatch.setattr("platform.machine", lambda: machine)
    if features is not None:
        (tmp_path / "cpuinfo").write_text(f"processor : 0\n{features}\n")
    assert devices.bfloat16_is_slow() == slow


@pytest.mark.parametrize(
    "hosts",
    [
        Hosts(coordinator="127.0.0.1:1"),
        Hosts(num_processes=2),
        Hosts(coordinator="127.0.0.1:1", num_processes=2),
        Hosts(process_id=0),
    ],
)
def test_addresses_belong_together(hosts):
    with pytest.raises(UserError, match="--process-id must be given together"):
        join_hosts(hosts)


def test_one_process_joins_nobody():
    join_hosts(Hosts())
    import jax

    assert jax.process_count() == 1


def test_jax_that_has_started_cannot_join():
    with pytest.raises(UserError, match="cannot join the other processes: ") as caught:
        join_hosts(Hosts(coordinator="127.0.0.1:1", num_processes=1, process_id=0))
    assert "\n" not in str(caught.value)
