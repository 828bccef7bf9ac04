"""Benchmarks print what they promise; no time is asserted."""

import json

from azjax import benchmark
from azjax.benchmark import SearchBenchmark, TrainBenchmark


def test_search_benchmark_compares_with_the_network_and_with_stock_mctx(capsys):
    SearchBenchmark(
        game="tic_tac_toe", batch=4, simulations=4, blocks=1, channels=4, repeats=1, json=True
    ).run()
    facts = json.loads(capsys.readouterr().out)
    assert facts["network"]["ratio"] == 1.0
    assert {"gumbel", "puct", "stock mctx, gumbel"} <= facts.keys()


def test_train_benchmark_prints_the_split(tmp_path, capsys):
    config = tmp_path / "tiny.toml"
    config.write_text(
        """
        game = { name = "tic_tac_toe" }
        network = { kind = "mlp", blocks = 1, channels = 8, value_hidden = 8 }
        search = { num_simulations = 2 }
        selfplay = { games = 8, plies_per_cycle = 4 }
        replay = { plies = 32, min_positions = 8 }
        learning = { batch_size = 8, updates_per_cycle = 1 }
        """
    )
    TrainBenchmark(config=str(config), repeats=1, json=True).run()
    facts = json.loads(capsys.readouterr().out)
    assert facts["share of forwards and gradient steps"] > 0
    assert facts["speedup of 4 devices"] > 0
    assert facts["cycle"]["median"] > 0


def test_every_contestant_is_called_in_every_round_and_the_first_is_dropped():
    calls = []
    seconds = benchmark.interleave(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=2
    )
    assert calls == ["a", "b"] * 3
    assert [len(times) for times in seconds.values()] == [2, 2]
