"""Compiles programs for accelerators that are not here, on a machine with a CPU only."""

import importlib.util
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding

from azjax.errors import UserError
from azjax.plan.machines import Machine, target_config
from azjax.plan.silence import quiet
from azjax.sharding import AXIS, EVERYWHERE

# There is no device to time kernels on.
_NO_TUNING = {"xla_gpu_autotune_level": 0}
_NO_TRITON = {"xla_gpu_enable_triton_gemm": False}


@dataclass(frozen=True)
class Compiled:
    """A program that was compiled for a machine."""

    text: str  # the program in XLA's words
    lower_seconds: float  # tracing, and lowering to StableHLO
    compile_seconds: float  # by XLA
    arguments: int  # bytes of one chip, with results that no argument's memory takes
    temporaries: int  # bytes
    code: int  # bytes; 0 on GPUs, for which XLA does not tell
    flags: tuple[str, ...] = ()  # of XLA, without which it does not compile

    @property
    def memory(self) -> int:
        """Bytes that the program needs on one chip."""
        return self.arguments + self.temporaries + self.code


# What XLA says of a TPU's memory: of the whole program, or of its temporaries alone.
_NEEDS = re.compile(r"(?:[Uu]sed |HLO temporaries \()([\d.]+)([KMGT]?)")


class DoesNotCompile(Exception):
    """XLA's reason, in one line, and what it says about memory."""

    def __init__(self, error: Exception) -> None:
        text = re.sub(r"\s+", " ", str(error)).strip()
        super().__init__(text if len(text) < 300 else text[:297] + "...")
        used = _NEEDS.search(text)
        self.needs = float(used[1]) * 1024.0 ** " KMGT".index(used[2] or " ") if used else None


def check_installed(machine: Machine) -> None:
    """Checks that what compiles for a machine is installed.

    Raises:
      UserError: it is not; the message says what to install.
    """
    if machine.chip.platform == "tpu":
        modules, needs, extra = ["libtpu"], "TPUs needs libtpu (no TPU)", "tpu"
    else:
        modules = ["jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13"]
        needs, extra = "GPUs needs JAX's CUDA plugin (no GPU)", "gpu"
    if all(map(_missing, modules)):
        raise UserError(
            f'--on {machine.name}: compiling for {needs}: pip install "azjax[plan-{extra}]"'
        )


def _missing(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is None
    except ModuleNotFoundError:  # the package that would hold it
        return True


def ahead_mesh(machine: Machine) -> Mesh:
    """Returns the one-axis mesh of a machine that is not here.

    Raises:
      UserError: what compiles for it is not installed, or it has no such topology.
    """
    check_installed(machine)
    os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")  # there are no drivers to check
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # nor a cloud to ask what this machine is
    os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")  # nor a TPU that two could use
    if machine.chip.platform == "tpu":
        options: dict[str, Any] = {"topology_name": machine.topology}
        if machine.chips == 1:  # a host of a slice has four chips, that of a single chip has one
            options["chips_per_host_bounds"] = (1, 1, 1)
    else:
        options = {"topology": machine.topology, "target_config": target_config(machine.chip)}
    try:
        with quiet():
            description = topologies.get_topology_desc(platform=machine.chip.platform, **options)
    except Exception as error:
        reason = re.sub(r"\s+", " ", str(error))[:200]
        raise UserError(f"--on {machine.name}: there is no such topology: {reason}") from error
    return Mesh(np.asarray(description.devices), (AXIS,))


def placed(arguments: Any, mesh: Mesh) -> Any:
    """Returns the shapes and dtypes of arguments, each whole on every device of a mesh."""
    everywhere = NamedSharding(mesh, EVERYWHERE)
    return jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=everywhere), arguments
    )


def compile_ahead(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Compiled:
    """Compiles what `jax.jit` returns for the machine that its arguments' shardings name.

    The arguments are pytrees of `jax.ShapeDtypeStruct`.

    Raises:
      DoesNotCompile: XLA does not compile it.
    """
    started = time.perf_counter()
    lowered: jax.stages.Lowered = function.lower(*arguments)  # type: ignore[attr-defined]
    lowered_at = time.perf_counter()
    device, *_ = jax.tree.leaves(arguments)[0].sharding.device_set  # all are of one kind
    attempts = [{}] if device.platform == "tpu" else [_NO_TUNING, _NO_TUNING | _NO_TRITON]
    compiled, options = _compile(lowered, *attempts)
    compiled_at = time.perf_counter()
    memory: Any = compiled.memory_analysis()
    results = memory.output_size_in_bytes - memory.alias_size_in_bytes
    return Compiled(
        text=compiled.as_text() or "",
        lower_seconds=lowered_at - started,
        compile_seconds=compiled_at - lowered_at,
        arguments=memory.argument_size_in_bytes + max(0, results),
        temporaries=memory.temp_size_in_bytes,
        code=memory.generated_code_size_in_bytes,
        flags=tuple(f"--{name}=false" for name in _NO_TRITON if name in options),
    )


def _compile(
    lowered: jax.stages.Lowered, options: dict[str, Any], *others: dict[str, Any]
) -> tuple[jax.stages.Compiled, dict[str, Any]]:
    """Returns the program and the options of the first attempt that succeeds."""
    try:
        with quiet():
            return lowered.compile(compiler_options=options), options
    except Exception as error:
        # XLA's emitter of Triton kernels finds no tiles for some products. cuBLAS takes any.
        if not others or "RESOURCE_EXHAUSTED" in str(error):
            raise DoesNotCompile(error) from error
    return _compile(lowered, *others)
