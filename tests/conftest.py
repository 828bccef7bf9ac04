"""Every test runs on four CPU devices. Rank promotion and warnings are errors."""

import os
import re
import sys
from pathlib import Path

import jax
import pytest

from azjax.cli import main as cli
from tests.tiers import OPTIMIZED, SECOND_TIER, SLOW

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_numpy_rank_promotion", "raise")

# Compilation dominates the tests. The cache serves later runs, and the processes that some tests
# start. Programs are compressed, from Python 3.14 on in another way.
CACHE = Path(__file__).parent.parent / ".jax_cache" / str(sys.implementation.cache_tag)
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)

MOST_MAPS = (
    40_000  # memory maps of a process after a module of tests; a module adds fewer than that
)


def pytest_configure(config):
    """Ignores a warning of python-chess 1.11.2, which names a class that Python 3.14 deprecates."""
    config.addinivalue_line(
        "filterwarnings", "ignore:'asyncio.DefaultEventLoopPolicy':DeprecationWarning:chess.engine"
    )


@pytest.fixture(scope="module", autouse=True)
def forget_compiled_programs():
    """Frees compiled programs after each module.

    Each holds some thirty memory maps. Linux allows a process 65,530, and the whole suite would
    exceed that and crash.
    """
    yield
    maps = Path("/proc/self/maps")
    if not maps.exists() or maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        from tests.oracles import searches

        searches.forget()


@pytest.fixture(scope="session")
def devices() -> list[jax.Device]:
    """Returns the four CPU devices."""
    assert jax.device_count() == 4
    return jax.devices()


@pytest.fixture
def refused(capsys):
    """Returns a function that runs a command that must fail, and returns its message, one line."""

    def refused(*arguments):
        capsys.readouterr()
        code = cli.main([str(x) for x in arguments])
        out, err = capsys.readouterr()
        assert code == 2, (out, err)
        assert re.fullmatch(r"azjax: [^\n]+\n", err), err
        assert "Traceback" not in out + err
        return err

    return refused


SKIPPED: list[str] = []  # modules that are skipped whole, so that none of their tests is known


def pytest_collectreport(report):
    """Notes the modules that are skipped whole."""
    if report.skipped:
        SKIPPED.append(report.nodeid)


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by marks
def pytest_collection_modifyitems(config, items):
    """Marks the tests that `tests/tiers.py` lists."""
    marks = dict.fromkeys(SECOND_TIER, pytest.mark.second_tier) | dict.fromkeys(
        SLOW, pytest.mark.slow
    )
    unused = {name for name in marks if not f"tests/{name}".startswith(tuple(SKIPPED))}
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        for entry in marks:
            if name.startswith(entry):
                item.add_marker(marks[entry])
                unused.discard(entry)
        if item.get_closest_marker("second_tier") and name.startswith(OPTIMIZED):
            item.add_marker(pytest.mark.optimized)
    whole = not config.option.file_or_dir and not config.option.keyword
    if whole and unused:
        raise pytest.UsageError(f"tests/tiers.py lists no test: {sorted(unused)}")
