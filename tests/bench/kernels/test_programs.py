"""Counts and estimates of programs that are compiled for machines that are not here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tomli_w

from azjax.games import make_game
from benchmarks.kernels.measure import measure_runs
from tests import tiny

ROOT = Path(__file__).parents[3]
# `make plan` installs what compiles in a folder of its own; processes that search there find it.
COMPILERS = Path(sys.prefix) / "plan"
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(COMPILERS)])}
SELFPLAY = {"parallel_games": 16, "plies_per_cycle": 4}
FAST = {"full_search_fraction": 0.5, "fast_simulations": 3}
RUN = tiny.values(
    search={"algorithm": "puct", "num_simulations": 6},  # whose descent is a loop on every platform
    replay={"capacity_plies": 16, "min_positions": 32},
    learning={"batch_size": 16, "updates_per_cycle": 3},
)
no_plugin = pytest.mark.skipif(
    not (COMPILERS / "jax_plugins").exists(), reason="no CUDA plugin: make plan"
)


def counted(module, *words):
    """Returns the JSON that a module prints in a process that finds the compilers."""
    found = subprocess.run(
        [sys.executable, "-m", f"benchmarks.kernels.{module}", *words],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.mark.slow
@no_plugin
def test_a_cycle(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(tomli_w.dumps(RUN | {"selfplay": SELFPLAY | FAST}))
    (plan,) = counted("cycle", str(file), "--on", "h100")["plans"]
    launches, estimate = plan["launches"], plan["estimate"]
    assert 0 < launches["forward"] < launches["simulation"] < launches["ply"] < launches["cycle"]
    assert launches["cycle"] > 4 * launches["ply"] + 3 * launches["update"]
    places = {loop["place"] for loop in plan["loops"]}
    searches = ("full_search", "fast_search")
    assert {f"descent in simulations in {search}" for search in searches} <= places
    assert not any("backup" in place for place in places)
    assert 0 < estimate["forward_share"] < 1
    assert estimate["self_play"] + estimate["updates"] < estimate["cycle"]
    assert plan["memory"]["left"] > 0


def test_repetitions_are_measured():
    run = tiny.config(**RUN | {"selfplay": SELFPLAY})
    runs = measure_runs(run, make_game(run), games=4, plies=2)
    loops = {path[-2]: numbers for path, numbers in runs.loops.items()}
    backups, up = loops["backup"]
    descents, down = loops["descent"]
    assert backups == descents == 2 * 6  # two plies of six simulations
    assert up == down + backups  # to the root, one level further


def test_fast_searches_have_counts_of_their_own():
    run = tiny.config(**RUN | {"selfplay": SELFPLAY | FAST})
    runs = measure_runs(run, make_game(run), games=4, plies=2)
    descents = {path[-7]: n for path, (n, _) in runs.loops.items() if path[-2] == "descent"}
    assert descents == {"full_search": 6, "fast_search": 3}


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


@pytest.mark.slow
@no_plugin
def test_compiled_searches_keep_their_budgets():
    # A game of dense masks, one that floods areas, and one of listed moves. The record has all.
    games = ["connect_four", "go_9x9", "gardner_chess"]
    words = "--json --blocks 1 --channels 32 --measured-games 16"
    facts = counted("games", *games, *words.split())
    for game in games:
        assert 10 < facts[game]["besides the forward"] <= BUDGETS[game], game
        assert facts[game]["waits for predicates"] == 0, game
    assert facts["go_9x9"]["step"] <= 60


def test_the_record_keeps_the_budgets():
    record = ROOT / "benchmarks" / "results" / "bench_launches_h100.json"
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
