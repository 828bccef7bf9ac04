"""Benchmarks print the figures that they promise. No time is asserted."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.bench.games import GamesBenchmark
from azjax.bench.search import SearchBenchmark
from azjax.bench.timing import interleave, matrix_share, peak_memory
from azjax.bench.training import LearningCycle, TrainingBenchmark, parts_of_cycle
from azjax.config import (
    Config,
    GameConfig,
    LearningConfig,
    NetworkConfig,
    ReplayConfig,
    SearchConfig,
    SelfPlayConfig,
)
from azjax.errors import UserError
from azjax.games import make_game
from azjax.network.two_headed import make_network
from azjax.plan.operations import count_evaluations, cycle_operations, forward_operations
from azjax.sharding import make_mesh
from azjax.training import make_trainer


@pytest.fixture
def accelerator(monkeypatch):
    """Imitates a GPU: XLA counts operations only in programs for a CPU, if one was asked for."""
    count = jax.stages.Lowered.cost_analysis

    def on_request(lowered):
        return None if jax.config.jax_default_device is None else count(lowered)

    monkeypatch.setattr(jax.stages.Lowered, "cost_analysis", on_request)
    for name in ("cost_analysis", "memory_analysis"):
        monkeypatch.setattr(jax.stages.Compiled, name, lambda compiled: None)


def test_operations_are_counted_on_an_accelerator(accelerator, monkeypatch):
    game = make("tic_tac_toe")
    network = make_network(game, NetworkConfig(architecture="mlp", channels=8))
    assert jax.jit(jnp.dot).lower(jnp.ones(3), jnp.ones(3)).cost_analysis() is None
    assert forward_operations(game, network) > 2 * 18 * 8

    def without_cpu(backend):
        raise RuntimeError(f"Unknown backend {backend}")

    monkeypatch.setattr(jax, "devices", without_cpu)
    with pytest.raises(UserError, match=r"add it: JAX_PLATFORMS=.*,cpu"):
        forward_operations(game, network)


def test_search_benchmark_compares_with_the_network_and_with_stock_mctx(accelerator, capsys):
    SearchBenchmark(
        game="tic_tac_toe", batch=4, simulations=4, blocks=1, channels=4, repeats=1, json=True
    ).run()
    facts = json.loads(capsys.readouterr().out)
    assert facts["network"]["ratio"] == 1.0
    assert facts["gumbel"]["TFLOP/s of the network"] >= 0
    assert {"gumbel", "puct", "stock mctx, gumbel"} <= facts.keys()


@pytest.mark.slow
def test_train_benchmark_prints_the_split(accelerator, tmp_path, capsys):
    config = tmp_path / "tiny.toml"
    config.write_text(
        """
        game = { name = "tic_tac_toe" }
        network = { architecture = "mlp", blocks = 1, channels = 8, value_hidden = 8 }
        search = { num_simulations = 2 }
        selfplay = { parallel_games = 8, plies_per_cycle = 4 }
        replay = { capacity_plies = 32, min_positions = 8 }
        learning = { batch_size = 8, updates_per_cycle = 1 }
        """
    )
    TrainingBenchmark(config=str(config), repeats=1, json=True).run()
    facts = json.loads(capsys.readouterr().out)
    assert facts["share of forwards and gradient steps"] > 0
    assert facts["speedup of 4 devices"] > 0
    assert facts["TFLOP/s of the network"] >= 0
    assert facts["peak memory of the process in MiB"] > 100
    assert facts["cycle"]["median"] > 0
    assert facts["cycle in azjax train"]["median"] > 0


def test_parts_of_a_cycle_know_the_results_of_a_game():
    """Backgammon has six results, and a head of results learns their chances."""
    config = Config(
        game=GameConfig(name="hypergammon"),
        network=NetworkConfig(architecture="mlp", blocks=1, channels=8, value_head="results"),
        selfplay=SelfPlayConfig(parallel_games=4, plies_per_cycle=1),
        replay=ReplayConfig(capacity_plies=8, min_positions=8),
        learning=LearningConfig(batch_size=4, updates_per_cycle=1),
    )
    game, mesh = make_game(config), make_mesh(jax.devices()[:1])
    trainer = make_trainer(game, config, mesh)
    state = trainer.init(jax.random.PRNGKey(0))
    steps = parts_of_cycle(game, trainer.network, config, mesh, state)["gradient steps alone"]
    _, metrics = steps()
    assert metrics
    assert all(np.isfinite(x).all() for x in metrics.values())


def test_cycles_are_measured_from_the_first_that_learns_on():
    def cycle(state):
        return state + 1, {"train/updates": 0 if state < 3 else 8, "state": state}

    repeated = LearningCycle(cycle, 0)
    assert [repeated()["state"] for _ in range(2)] == [4, 5]


def test_a_cycle_evaluates_less_where_few_searches_are_full():
    full = Config(
        search=SearchConfig(num_simulations=32), selfplay=SelfPlayConfig(plies_per_cycle=8)
    )
    assert count_evaluations(full) == 8 * 33
    capped = SelfPlayConfig(plies_per_cycle=8, full_search_fraction=0.25, fast_simulations=8)
    assert count_evaluations(replace(full, selfplay=capped)) == 2 * 33 + 6 * 9


def test_operations_of_a_cycle_are_those_of_its_layers():
    config = Config(
        network=NetworkConfig(
            architecture="mlp", blocks=1, channels=64, norm="none", value_hidden=32
        ),
        search=SearchConfig(num_simulations=3),
        selfplay=SelfPlayConfig(parallel_games=8, plies_per_cycle=2),
        replay=ReplayConfig(min_positions=1),
        learning=LearningConfig(batch_size=4, updates_per_cycle=5),
    )
    layers = 18 * 64 + 64 * 9 + 64 * 32 + 32
    evaluations = 8 * 2 * (1 + 3) + 3 * 4 * 5
    expected = 2 * layers * evaluations
    game = make("tic_tac_toe")
    found = sum(cycle_operations(config, game, make_network(game, config.network)))
    assert expected <= found < 1.1 * expected  # with the biases and activations


def test_the_share_of_a_chips_rate(monkeypatch):
    assert matrix_share(4e12, 2.0) == {"TFLOP/s of the network": 2.0}
    monkeypatch.setattr(jax, "devices", lambda: [type("D", (), {"device_kind": "NVIDIA H200"})])
    monkeypatch.setattr(jax, "device_count", lambda: 2)
    facts = matrix_share(0.5 * 2 * 989e12, 1.0)
    assert facts["share of h200's matrix rate in bfloat16"] == 0.5


def test_peak_memory_is_that_of_the_process_on_a_cpu():
    (memory,) = peak_memory().values()
    assert 50 < memory < 1e6


def test_every_contestant_is_called_in_every_round_and_the_first_is_dropped():
    calls = []
    seconds = interleave(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=2
    )
    assert calls == ["a", "b"] * 3
    assert [len(times) for times in seconds.values()] == [2, 2]


def test_envs_benchmark_measures_each_game(devices, capsys):  # JAX has started
    GamesBenchmark(
        games=("tic_tac_toe", "dots_and_boxes_1x1"),
        batches=(4, 8),
        seconds=0.002,
        repeats=2,
        json=True,
    ).run()
    printed = capsys.readouterr()
    facts = json.loads(printed.out)
    assert "not pinned, as JAX had started before" in facts["cores"]
    assert facts["peak memory of the process in MiB"] > 50
    assert facts["tic_tac_toe"]["state bytes"] == 5
    for name in ("tic_tac_toe", "dots_and_boxes_1x1"):
        found = facts[name]
        assert found["min"] <= found["steps"] <= found["max"]
        assert found["by batch"].keys() == {"4", "8"}
        assert f"{name}: 8 games at once" in printed.err


def test_envs_benchmark_prints_a_table(capsys):
    GamesBenchmark(games=("tic_tac_toe",), batches=(4,), seconds=0.002, repeats=1).run()
    assert "tic_tac_toe" in capsys.readouterr().out
