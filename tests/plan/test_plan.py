"""`azjax plan`, with a tiny run, compiled for machines that are not here."""

import glob
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
import tomli_w

from azjax.config import NetworkConfig
from azjax.devices import ACCELERATOR_FILES
from azjax.errors import UserError
from azjax.games import make_game
from azjax.plan import compile as compiler
from azjax.plan.compile import DoesNotCompile
from azjax.plan.machines import machine
from azjax.plan.operations import count_evaluations
from azjax.plan.plan import Plan, collectives, make_plan, plan_table
from azjax.running.memory import replay_bytes, what_fits
from azjax.sharding import make_mesh
from azjax.training.trainer import make_trainer
from tests import tiny

# `make plan` installs what compiles in a folder of its own; processes that search there find it.
COMPILERS = Path(sys.prefix) / "plan"
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(COMPILERS)])}
RUN = tiny.values(
    search={"algorithm": "puct", "num_simulations": 6},  # whose descent is a loop on every platform
    selfplay={"parallel_games": 16, "plies_per_cycle": 4, "full_search_fraction": 0.5}
    | {"fast_simulations": 3},
    replay={"capacity_plies": 16, "min_positions": 32},
    learning={"batch_size": 16, "updates_per_cycle": 3},
)


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(tomli_w.dumps(RUN))
    return file


def forward_flops(network: NetworkConfig, actions: int, inputs: int) -> int:
    """Returns the operations of one evaluation by the tiny run's dense layers."""
    layers = [inputs, *[network.channels] * network.blocks]
    widths = itertools.pairwise(layers)
    hidden = network.channels * network.value_hidden + network.value_hidden
    return 2 * (sum(a * b for a, b in widths) + network.channels * actions + hidden)


@pytest.mark.parametrize(
    ("name", "extra"), [("v5e:2x2", "plan-tpu"), ("h100", "plan-gpu"), ("h200x8", "plan-gpu")]
)
def test_what_is_missing_is_named(name, extra, config, refused, monkeypatch):
    monkeypatch.setattr(compiler, "_missing", lambda module: True)
    assert f'pip install "azjax[{extra}]"' in refused("plan", config, "--on", name)


def test_keys_of_the_config_can_be_changed(config, refused, monkeypatch):
    def make_plans(config, machines, **options):
        raise UserError(f"{config.gate.games} games, {machines[0].name}")

    monkeypatch.setattr("azjax.plan.plan.make_plans", make_plans)
    assert "104 games, h100" in refused("plan", config, "--on", "h100", "--gate.games", "104")
    said = refused("plan", config, "--on", "h100", "--gate.gamse", "104")
    assert "did you mean --gate.games?" in said


def test_what_would_fit():
    run = tiny.config(**RUN)
    trainer = make_trainer(make_game(run), run, make_mesh(jax.devices()[:1]))
    stored = replay_bytes(trainer) // 2
    assert "replay.capacity_plies = 12 would fit (now 16)" in what_fits(trainer, -100, stored)
    assert "selfplay.parallel_games = " in what_fits(trainer, -1e9, stored)


class Refusing:
    """A function that XLA compiles only without Triton, as some products of odd sizes."""

    def lower(self, x):
        self.lowered = jax.jit(lambda x: x + 1).lower(x)
        return self

    def compile(self, compiler_options):
        if compiler_options.get("xla_gpu_enable_triton_gemm", True):
            raise RuntimeError("INTERNAL: Couldn't find output tile sizes that satisfy hlo: %dot")
        return self.lowered.compile()


def test_a_flag_without_which_it_does_not_compile_is_named():
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    x = jax.ShapeDtypeStruct((4,), "float32", sharding=sharding)
    compiled = compiler.compile_ahead(Refusing(), (x,))
    assert compiled.flags == ("--xla_gpu_enable_triton_gemm=false",)


@pytest.mark.parametrize(
    ("message", "needs"),
    [
        (
            "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO "
            "temporaries (20.79G) exceeds available HBM (15.75G).",
            20.79 * 2**30,
        ),
        ("Ran out of memory in memory space hbm. Used 20.50G of 15.75G hbm.", 20.5 * 2**30),
        ("INTERNAL: something else", None),
    ],
)
def test_memory_that_xla_misses(message, needs):
    assert DoesNotCompile(RuntimeError(message)).needs == needs


def test_a_run_that_cannot_be_split_is_a_column_of_the_table(capsys):
    from rich.console import Console

    run = tiny.config(**RUN)
    mesh = make_mesh(jax.devices()[:3])
    found = make_plan(run, make_game(run), machine("v5e:1x3"), mesh)
    assert "must be a multiple of 3" in found.problem
    full = Plan(machine("h100"), problem="does not fit")
    Console(width=200).print(plan_table("run", [found, full]))
    shown = capsys.readouterr().out
    assert "v5e:1x3: selfplay.parallel_games = 16 must be a multiple of 3" in shown
    assert "h100: does not fit" in shown


def check(plan: dict, chips: int) -> None:
    """Checks the figures of a plan that are known beforehand."""
    run = tiny.config(**RUN)
    game = make_game(run)
    inputs = 3 * 3 * game.observation_shape[-1]
    assert count_evaluations(run) == 4 + 2 * 6 + 2 * 3
    one = forward_flops(run.network, game.num_actions, inputs)
    positions = count_evaluations(run) * run.selfplay.parallel_games
    assert plan["flops"]["forwards"] == pytest.approx(positions * one, rel=0.1)
    updates = 3 * run.learning.batch_size * one
    assert plan["flops"]["gradients"] == pytest.approx(3 * updates, rel=0.1)
    assert plan["chips"] == chips
    assert plan["memory"]["left"] > 0.7 * plan["memory"]["usable"]
    assert plan["problem"] == ""
    bound = plan["bound"]
    assert 0 < bound["cycle"] < 1e-3
    assert bound["positions"] == pytest.approx(16 * 4 / bound["cycle"])


def test_collectives_of_updates_count_as_often_as_these():
    """As XLA writes them, for GPUs and for TPUs."""
    text = """
  %a = f32[9,200]{1,0} all-reduce-start(%x), metadata={op_name="jit(f)/updates/while/body/psum"}
  %b = f32[9,200]{1,0} all-reduce-done(%a), metadata={op_name="jit(f)/updates/while/body/psum"}
  %c = (f32[]{:T(128)}, bf16[8]{0:T(8,128)S(1)}) all-reduce(%y, %z), metadata={op_name="f/psum"}
"""
    assert collectives(text, 3) == {"all-reduce": {"calls": 4, "bytes": 3 * 9 * 200 * 4 + 4 + 16}}


def plans(config: Path | str, *machines: str, flags: tuple[str, ...] = ()) -> list[dict]:
    """Returns what `azjax plan` prints in a process that finds the compilers."""
    words = ["plan", str(config), *flags, "--on", *machines, "--json"]
    found = subprocess.run(
        [sys.executable, "-m", "azjax.cli", *words],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)["plans"]


@pytest.mark.skipif(not (COMPILERS / "libtpu").exists(), reason="no libtpu: make plan")
def test_compiled_for_tpu_slices(config):
    one, four = plans(config, "v5e:1x1", "v5e:2x2")
    check(one, 1)
    check(four, 4)
    assert four["memory"]["code"] > 0
    # One of a cycle's statistics, one in each update: batch statistics are each chip's own.
    assert four["collectives"]["all-reduce"]["calls"] == 1 + 3
    assert four["flops"]["forwards"] == one["flops"]["forwards"]


@pytest.mark.skipif(not (COMPILERS / "libtpu").exists(), reason="no libtpu: make plan")
def test_libtpu_does_not_complain_about_a_missing_tpu(tmp_path):
    if any(map(glob.glob, ACCELERATOR_FILES)):
        pytest.skip("JAX looks for this machine's accelerator")
    for file in COMPILERS.glob("libtpu*"):  # alone: the CUDA plugin complains, too
        (tmp_path / file.name).symlink_to(file)  # JAX looks for the metadata, too
    found = subprocess.run(
        [sys.executable, "-m", "azjax.cli", "solve", "tic_tac_toe"],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "JAX_PLATFORMS"}
        | {"PYTHONPATH": os.pathsep.join([*sys.path, str(tmp_path)])},
    )
    assert found.stdout.startswith("tic_tac_toe: a draw")
    assert "tpu" not in found.stderr.lower()


no_plugin = pytest.mark.skipif(
    not (COMPILERS / "jax_plugins").exists(), reason="no CUDA plugin: make plan"
)


@no_plugin
def test_compiled_for_a_gpu(config):
    (plan,) = plans(config, "h100")
    check(plan, 1)
    assert plan["memory"]["code"] == 0
    assert not plan["collectives"]


# Gardner's head is a product over cells, for which XLA once found no tiles. One block before it and
# one search are enough to show that, and compile in a fraction of the time.
@no_plugin
def test_gardners_head_compiles_for_a_gpu_without_a_flag():
    tower = "--network.architecture resnet --network.blocks 1 --network.channels 96"
    head = "--network.policy-head planes --network.convolutions 0 --network.no-residual"
    few = "--learning.updates-per-cycle 1 --selfplay.full-search-fraction 1"
    flags = (*tower.split(), *head.split(), *few.split())
    (plan,) = plans("gpu/gardner_chess", "h100", flags=flags)
    assert plan["problem"] == ""
    assert plan["flags"] == []


@no_plugin
@pytest.mark.skipif(not (COMPILERS / "libtpu").exists(), reason="no libtpu: make plan")
@pytest.mark.parametrize("name", ["tic_tac_toe", "dots_and_boxes_2x2"])
def test_small_configs_compile_for_a_tpu_slice_and_a_gpu(name):
    for plan in plans(name, "v5e:2x2", "h100"):
        assert plan["problem"] == ""
        assert plan["flags"] == []
