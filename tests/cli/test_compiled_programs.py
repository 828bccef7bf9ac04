"""Commands keep their compiled programs, where users want it."""

import os
import subprocess
import sys

import jax
import pytest

from azjax.cli.compiled_programs import keep_compiled_programs, programs_directory

TRAIN = """
[game]
name = "tic_tac_toe"
[network]
architecture = "mlp"
blocks = 1
channels = 8
[search]
num_simulations = 2
[selfplay]
parallel_games = 4
plies_per_cycle = 4
[replay]
min_positions = 8
"""


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """Returns the settings of JAX that a call changes, which stay without effect."""
    settings = {}
    for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(jax.config, "update", settings.__setitem__)
    return settings


def test_they_are_kept_in_the_users_cache(settings, tmp_path):
    keep_compiled_programs()
    kept = settings["jax_compilation_cache_dir"]
    assert kept == str(programs_directory())
    assert kept.startswith(f"{tmp_path}/cache/azjax/programs/")
    assert os.path.isdir(kept)
    assert settings["jax_compilation_cache_max_size"] == 2 * 1024**3


@pytest.mark.parametrize("name", ["JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE"])
def test_what_the_environment_says_is_left_alone(settings, monkeypatch, name, tmp_path):
    monkeypatch.setenv(name, "0")
    keep_compiled_programs()
    assert not settings
    assert not (tmp_path / "cache").exists()


def test_without_a_place_for_them_none_are_kept(settings, tmp_path):
    (tmp_path / "cache").write_text("a file where the directory should be")
    keep_compiled_programs()
    assert not settings


def test_each_kind_of_cpu_and_each_python_has_its_own(monkeypatch):
    from azjax.cli import compiled_programs

    directories = set()
    for cpu in ("flags: avx2", "flags: avx2 avx512f", "flags: avx2"):
        monkeypatch.setattr(compiled_programs, "_describe_cpu", lambda cpu=cpu: cpu)
        directories.add(programs_directory())
    assert len(directories) == 2
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    assert programs_directory() not in directories


def test_a_second_start_compiles_nothing_large(tmp_path):
    (tmp_path / "config.toml").write_text(TRAIN)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("JAX_")
    } | {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    def programs_after_training(run):
        command = [sys.executable, "-m", "azjax.cli", "train", "config.toml", "--cycles", "1"]
        subprocess.run(
            [*command, "--run-dir", run],
            cwd=tmp_path,
            env=environment,
            check=True,
            capture_output=True,
            timeout=300,
        )
        return {path.name for path in tmp_path.glob("cache/azjax/programs/*/*-cache")}

    first, second = programs_after_training("one"), programs_after_training("two")
    assert any("cycle" in name for name in first)
    # A program whose compilation takes about the least time that is kept may be new in the second.
    functions = {name.split("-")[0] for name in first}
    assert {name for name in second if name.split("-")[0] in functions} == first
