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

from azjax.bench.training import count_evaluations
from azjax.config import NetworkConfig
from azjax.devices import ACCELERATOR_FILES
from azjax.errors import UserError
from azjax.games import make_game
from azjax.plan import compile as compiler
from azjax.plan.compile import DoesNotCompile
from azjax.plan.machines import machine
from azjax.plan.measure import assumed_runs, measure_runs
from azjax.plan.plan import Plan, make_plan
from azjax.plan.table import plan_table
from azjax.sharding import make_mesh
from azjax.training.memory import replay_bytes, what_fits
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


def test_mistakes_are_refused(config, refused):
    assert "v5e:2x2" in refused("plan", config, "--on", "v5e")
    assert "such file or config" in refused("plan", "nothing", "--on", "v5e:2x2")
    assert "--on" in refused("plan", config)
    assert "needs a config" in refused("plan", "--on", "h100")


def test_keys_of_the_config_can_be_changed(config, refused, monkeypatch):
    def make_plans(config, machines, **options):
        raise UserError(f"{config.gate.games} games, {machines[0].name}")

    monkeypatch.setattr("azjax.plan.plan.make_plans", make_plans)
    assert "104 games, h100" in refused("plan", config, "--on", "h100", "--gate.games", "104")
    said = refused("plan", config, "--on", "h100", "--gate.gamse", "104")
    assert "did you mean --gate.games?" in said


def test_repetitions_are_measured():
    run = tiny.config(**RUN | {"selfplay": {"parallel_games": 16, "plies_per_cycle": 4}})
    runs = measure_runs(run, make_game(run), games=4, plies=2)
    loops = {path[-2]: numbers for path, numbers in runs.loops.items()}
    backups, up = loops["backup"]
    descents, down = loops["descent"]
    assert backups == descents == 2 * 6  # two plies of six simulations
    assert up == down + backups  # to the root, one level further


def test_fast_searches_have_counts_of_their_own():
    run = tiny.config(**RUN)
    runs = measure_runs(run, make_game(run), games=4, plies=2)
    descents = {path[-7]: n for path, (n, _) in runs.loops.items() if path[-2] == "descent"}
    assert descents == {"full_search": 6, "fast_search": 3}


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
    game, runs = make_game(run), assumed_runs(run)
    mesh = make_mesh(jax.devices()[:3])
    found = make_plan(run, game, machine("v5e:1x3"), mesh, runs)
    assert "must be a multiple of 3" in found.problem
    full = Plan(machine("h100"), problem="does not fit")
    Console(width=200).print(plan_table("run", [found, full], runs))
    shown = capsys.readouterr().out
    assert "v5e:1x3: selfplay.parallel_games = 16 must be a multiple of 3" in shown
    assert "h100: does not fit" in shown
    assert "assume" in shown


def check(plan: dict, chips: int) -> None:
    """Checks the figures of a plan that are known beforehand."""
    run = tiny.config(**RUN)
    game = make_game(run)
    inputs = 3 * 3 * game.observation_shape[-1]
    assert count_evaluations(run) == 4 + 2 * 6 + 2 * 3
    one = forward_flops(run.network, game.num_actions, inputs)
    positions = count_evaluations(run) * run.selfplay.parallel_games
    # On GPUs, the product with one column becomes a sum.
    assert plan["flops"]["forwards"] == pytest.approx(positions * one, rel=0.03)
    # An update is a forward and, but for the inputs' gradient, twice a forward.
    updates = 3 * run.learning.batch_size * one
    assert 2 * updates < plan["flops"]["gradients"] <= 3 * updates
    assert plan["chips"] == chips
    launches = plan["launches"]
    assert 0 < launches["forward"] < launches["simulation"] < launches["ply"] < launches["cycle"]
    assert launches["cycle"] > 4 * launches["ply"] + 3 * launches["update"]
    assert plan["memory"]["left"] > 0.7 * plan["memory"]["usable"]
    assert plan["problem"] == ""
    places = {loop["place"] for loop in plan["loops"]}
    searches = ("full_search", "fast_search")
    assert {f"descent in simulations in {search}" for search in searches} <= places
    assert not any("backup" in place for place in places)
    assert 0 < plan["estimate"]["forward_share"] < 1


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
def test_compiled_games_and_searches_are_counted():
    words = "bench launches tic_tac_toe --simulations 4 --blocks 1 --channels 8 --json --batch 16"
    found = subprocess.run(
        [sys.executable, "-m", "azjax.cli", *words.split()],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert found.returncode == 0, found.stderr
    facts = json.loads(found.stdout)["tic_tac_toe"]
    assert 1 <= facts["step"] <= facts["all three"] < facts["simulation"]
    assert facts["simulation"] == pytest.approx(facts["forward"] + facts["besides the forward"])
    assert not facts["loops"]  # neither down nor up


# Kernels of a simulation besides those of the network's forward, at most.
BUDGETS = {
    "connect_four": 60,
    "othello": 60,
    "hex": 60,
    "gomoku": 60,
    "dots_and_boxes": 60,
    "mancala": 60,
    "go_9x9": 110,
    # A simulation takes 3 ms, by the estimate; 15 kernels are a hundredth of it.
    "go_19x19": 170,
    "gardner_chess": 120,
    "chess": 120,
    "shogi": 150,
}


@no_plugin
def test_compiled_searches_keep_their_budgets():
    # A game of dense masks, one that floods areas, and one of listed moves. The record has all.
    games = ["connect_four", "go_9x9", "gardner_chess"]
    words = "--json --blocks 1 --channels 32 --measured-games 16"
    found = subprocess.run(
        [sys.executable, "-m", "azjax.cli", "bench", "launches", *games, *words.split()],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert found.returncode == 0, found.stderr
    facts = json.loads(found.stdout)
    for game in games:
        assert 10 < facts[game]["besides the forward"] <= BUDGETS[game], game
        assert facts[game]["waits for predicates"] == 0, game
    assert facts["go_9x9"]["step"] <= 60


def test_the_record_keeps_the_budgets():
    record = Path(__file__).parents[2] / "benchmarks" / "results" / "bench_launches_h100.json"
    facts = json.loads(record.read_text())
    for game, budget in BUDGETS.items():
        assert 10 < facts[game]["besides the forward"] <= budget, game
        assert facts[game]["waits for predicates"] == 0, game
        convolutions = 2 * 6 + 2  # of the blocks, before them, and of the heads
        assert facts[game]["forward"] <= 2.5 * convolutions, game
    assert facts["go_9x9"]["step"] <= 30
    assert facts["go_19x19"]["step"] <= 40
    assert facts["go_19x19"]["estimated us"] <= 3300
    assert facts["connect_four"]["estimated share of the forward"] >= 0.7
    assert facts["go_9x9"]["estimated share of the forward"] >= 0.6


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
    flags = (*tower.split(), *head.split(), *few.split(), "--no-measure")
    (plan,) = plans("gpu/gardner_chess", "h100", flags=flags)
    assert plan["problem"] == ""
    assert plan["flags"] == []


@no_plugin
@pytest.mark.skipif(not (COMPILERS / "libtpu").exists(), reason="no libtpu: make plan")
@pytest.mark.parametrize("name", ["tic_tac_toe", "dots_and_boxes_2x2"])
def test_small_configs_compile_for_a_tpu_slice_and_a_gpu(name):
    for plan in plans(name, "v5e:2x2", "h100", flags=("--no-measure",)):
        assert plan["problem"] == ""
        assert plan["flags"] == []


ROOT = Path(__file__).parents[2]
TOO_LARGE = ROOT / "configs" / "papers" / "go.toml"
CONFIGS = [path for path in (ROOT / "configs").rglob("*.toml") if path != TOO_LARGE]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_record_has_every_config_on_a_tpu_slice_and_on_a_gpu(path):
    record = json.loads((ROOT / "benchmarks" / "results" / "plan_configs.json").read_text())
    name = str(path.relative_to(ROOT / "configs").with_suffix(""))
    found = record["plans"][name]
    for place in ("v5e:2x2", "h100"):
        assert found[place]["problem"] == ""
        assert found[place]["memory"]["left"] > 0
    assert found["h100"]["flags"] == []
