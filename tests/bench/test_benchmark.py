"""Benchmarks print the figures that they promise. No time is asserted."""

import functools
import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.bench.games import GamesBenchmark, rules_of
from azjax.bench.random_play import choose_legal, play, random_bits, spread_out
from azjax.bench.search import SearchBenchmark
from azjax.bench.timing import interleave
from azjax.bench.training import LearningCycle, TrainingBenchmark, count_evaluations
from azjax.cli.main import main
from azjax.config import Config, SearchConfig, SelfPlayConfig


def test_search_benchmark_compares_with_the_network_and_with_stock_mctx(capsys):
    SearchBenchmark(
        game="tic_tac_toe", batch=4, simulations=4, blocks=1, channels=4, repeats=1, json=True
    ).run()
    facts = json.loads(capsys.readouterr().out)
    assert facts["network"]["ratio"] == 1.0
    assert {"gumbel", "puct", "stock mctx, gumbel"} <= facts.keys()


@pytest.mark.slow
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
    TrainingBenchmark(config=str(config), repeats=1, json=True).run()
    facts = json.loads(capsys.readouterr().out)
    assert facts["share of forwards and gradient steps"] > 0
    assert facts["speedup of 4 devices"] > 0
    assert facts["cycle"]["median"] > 0


def test_cycles_are_measured_once_they_learn():
    def cycle(state):
        return state + 1, {"updates": 0 if state < 3 else 8, "state": state}

    repeated = LearningCycle(cycle, 0)
    assert [repeated()["state"] for _ in range(2)] == [4, 5]


def test_a_cycle_evaluates_less_where_few_searches_are_full():
    full = Config(
        search=SearchConfig(num_simulations=32), selfplay=SelfPlayConfig(plies_per_cycle=8)
    )
    assert count_evaluations(full) == 8 * 33
    capped = SelfPlayConfig(plies_per_cycle=8, full_searches=0.25, fast_simulations=8)
    assert count_evaluations(replace(full, selfplay=capped)) == 2 * 33 + 6 * 9


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
    assert facts["tic_tac_toe"]["state bytes"] == 5
    for name in ("tic_tac_toe", "dots_and_boxes_1x1"):
        found = facts[name]
        assert found["min"] <= found["steps"] <= found["max"]
        assert found["by batch"].keys() == {"4", "8"}
        assert f"{name}: 8 games at once" in printed.err


def test_envs_benchmark_prints_a_table(capsys):
    GamesBenchmark(games=("tic_tac_toe",), batches=(4,), seconds=0.002, repeats=1).run()
    assert "tic_tac_toe" in capsys.readouterr().out


def test_envs_benchmark_complains_in_one_line(capsys):
    assert main(["bench", "envs", "tic_tac_two"]) == 2
    assert "did you mean 'tic_tac_toe'" in capsys.readouterr().err
    assert main(["bench", "envs", "tic_tac_toe", "--batches", "0"]) == 2
    assert "must be positive" in capsys.readouterr().err


@pytest.mark.parametrize("size", [1, 7, 16, 17, 60, 64, 65, 121, 225, 256, 362, 4672])
def test_all_legal_actions_are_equally_likely_and_no_others(size):
    chance = np.random.default_rng(size)
    masks = chance.random((10, size)) < chance.random((10, 1))
    masks[:, chance.integers(size)] = True
    masks[0] = True
    choose = jax.jit(jax.vmap(choose_legal, (0, None)))
    bits = np.arange(2**16, dtype=np.uint32) << 16 | 0xABCD  # the low bits do not count
    for mask in masks:
        times = np.bincount(choose(bits, mask), minlength=size)
        assert not times[~mask].any()
        share = 2**16 // mask.sum()
        assert set(times[mask]) <= {share, share + 1}


def test_random_bits_are_spread():
    bits = np.stack([random_bits(4096, jnp.uint32(now)) for now in (0, 1)])
    assert len(np.unique(bits)) > 0.999 * bits.size
    ones = (bits[..., None] >> np.arange(32) & 1).mean(axis=(0, 1))
    np.testing.assert_allclose(ones, 0.5, atol=0.03)


def test_random_play_is_fair_and_starts_anew():
    rules = rules_of(make("tic_tac_toe"))
    warm = spread_out(rules, 9)
    ages = [int(x).bit_count() for x in warm.taken]
    assert len(set(ages)) >= 5
    states = jax.tree.map(lambda x: jnp.tile(x, 64), warm)
    played = play(rules, states, jnp.uint32(0), 64)
    assert not jax.vmap(rules.over)(played).any()
    choices = 0
    for now in range(64):
        choices += jax.vmap(rules.mask)(states).sum(axis=1).mean() / 64
        states = play(rules, states, jnp.uint32(now), 1)
    jax.tree.map(np.testing.assert_array_equal, played, states)
    moves, expected = expected_of_random_game(0, 0)
    np.testing.assert_allclose(choices, expected / moves, rtol=0.005)
    later = play(rules, states, jnp.uint32(1000), 64)
    assert (np.asarray(later.taken) != np.asarray(played.taken)).mean() > 0.5


@functools.cache
def expected_of_random_game(own: int, other: int) -> tuple[float, float]:
    """Returns the expected number of moves left in a random game of tic-tac-toe, and the expected
    sum of their numbers of legal choices. Bits are cells; `own` is the player to move."""
    lines = (0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
    free = [1 << cell for cell in range(9) if not (own | other) >> cell & 1]
    if not free or any(other & line == line for line in lines):
        return 0.0, 0.0
    rest = [expected_of_random_game(other, own | bit) for bit in free]
    moves, choices = (sum(values) / len(free) for values in zip(*rest, strict=True))
    return 1 + moves, len(free) + choices
