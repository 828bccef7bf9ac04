"""Compiled programs kept on disk, so that a command's second start does not compile them again."""

import contextlib
import hashlib
import os
import platform
import sys
import tempfile
from pathlib import Path

_MAX_BYTES = 2 << 30  # the programs used least recently are deleted
_MIN_SECONDS = 0.3  # programs that compile faster are not kept
_CHOSEN_BY_USER = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE")


def keep_compiled_programs() -> None:
    """Turns JAX's persistent compilation cache on, unless the user's environment says otherwise.

    The environment variable JAX_COMPILATION_CACHE_DIR names another directory, and
    JAX_ENABLE_COMPILATION_CACHE=0 turns the cache off.
    """
    if any(name in os.environ for name in _CHOSEN_BY_USER):
        return
    try:
        directory = programs_directory()
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except (OSError, RuntimeError):  # no home, or none that can be written to
        return
    import jax

    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_compilation_cache_max_size", _MAX_BYTES)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", _MIN_SECONDS)


def programs_directory() -> Path:
    """Returns the directory of this machine's programs.

    Programs for a CPU use all its instructions, and a home directory may be shared by several
    machines, so each kind of CPU has its own. So has each Python, because JAX's compression depends
    on it.
    """
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    kind = hashlib.sha256(_describe_cpu().encode()).hexdigest()[:12]
    name = f"{platform.machine()}-{kind}-{sys.implementation.cache_tag}"
    return Path(base).expanduser() / "azjax" / "programs" / name


def _describe_cpu() -> str:
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = ("model name", "flags", "Features", "CPU part")
        return "\n".join(sorted({line for line in lines if line.startswith(names)}))
    return platform.processor()
