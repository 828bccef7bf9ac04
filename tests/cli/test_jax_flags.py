"""All commands with numbers of 64 bits, and with JAX stopping at every NaN."""

import os
import sys

import jax
import pytest

from azjax.cli import main as cli
from tests import tiny

FEW = {
    "cycles": 2,  # the first one without an update, and without the end of a game
    "search": {"num_simulations": 2},
    "selfplay": {"parallel_games": 8, "plies_per_cycle": 4},
    "replay": {"capacity_plies": 8, "min_positions": 8},
    "learning": {"batch_size": 8, "warmup_updates": 0},
    "checkpoint": {"every": 1},
}
MEASURED = FEW | {"evaluation": {"every": 1, "games": 8, "num_simulations": 2}}
MANY_PARTS = FEW | {
    "game": {"name": "dots_and_boxes_2x2"},
    "network": {
        "architecture": "resnet",
        "channels": 4,
        "pooling_every": 1,
        "auxiliary": ["score", "ownership"],
    },
    "search": {"num_simulations": 2, "algorithm": "puct"},
    "selfplay": FEW["selfplay"]
    | {"actor": "gated", "full_search_fraction": 0.5, "resign_false_positive_rate": 0.05},
    "learning": FEW["learning"] | {"optimizer": "sgd", "l2": 1e-4, "root_value_weight": 0.5},
    "replay": FEW["replay"] | {"max_games": 12},
    "evaluation": {"every": 0},
    "gate": {"every": 1, "games": 8},
}
GO = FEW | {"game": {"name": "go_3x3"}, "evaluation": {"every": 0}}

COMMANDS = {
    "train": ["train a.toml --run-dir a", "eval a --games 8", "analyse moves.txt --player a:2"],
    "parts": ["train b.toml --run-dir b", "report b --games 8 --own-games 8"],
    "players": [
        "match mc:2 minimax:2 --game tic_tac_toe --games 8",
        "match exact uct:2 --game tic_tac_toe --games 8",
        "solve tic_tac_toe",
        "bench search --game tic_tac_toe --batch 2 --simulations 2 --repeats 1",
        "bench envs tic_tac_toe --batches 4 --seconds 0.01 --repeats 1",
        "play tic_tac_toe --side 0 <hint;b2;quit",
        "play hex_5x5:2 --watch",
    ],
    "runs": [
        "train a.toml --run-dir a",
        "report a --games 8 --own-games 8 --baselines exact",
        "rate a --games 8 --anchors random minimax:1",
        "export a a.safetensors",
        "web a.safetensors --out site --games 1",
    ],
    "engines": [
        "train c.toml --run-dir c",
        "analyse game.sgf --player c:2",
        "gtp c:2 <genmove b;lz-analyze b 1;quit",
        "gtp uct:2 --game go_3x3 <genmove b;quit",
        "uci gardner_chess:2 <uci;go nodes 2;quit",
        "uci chess:2 <position startpos moves e2e4;go nodes 2;quit",
        "usi shogi:2 <position startpos;go nodes 2;quit",
    ],
}


@pytest.fixture(params=["jax_enable_x64", "jax_debug_nans"])
def flag(request):
    """Sets a flag for all threads, as the environment does."""
    jax.config.update(request.param, True)
    yield request.param
    jax.config.update(request.param, False)


@pytest.mark.parametrize(
    "group", ["train", *(pytest.param(x, marks=pytest.mark.slow) for x in list(COMMANDS)[1:])]
)
def test_commands(group, flag, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, values in (("a", MEASURED), ("b", MANY_PARTS), ("c", GO)):
        tiny.write_config(tmp_path / f"{name}.toml", **values)
    (tmp_path / "moves.txt").write_text("b2 a1 c1\n")
    (tmp_path / "game.sgf").write_text("(;GM[1]SZ[3];B[bb];W[aa])")
    for line in COMMANDS[group]:
        command, _, typed = line.partition("<")
        reading, writing = os.pipe()
        os.write(writing, typed.replace(";", "\n").encode() + b"\n")
        os.close(writing)
        with os.fdopen(reading) as standard_input:
            monkeypatch.setattr(sys, "stdin", standard_input)
            code = cli.main(command.split())
        assert code == 0, (line, capsys.readouterr())


def test_a_state_has_the_same_dtypes_with_numbers_of_64_bits():
    """So that a run goes on under another setting."""
    trainer = tiny.trainer(**MANY_PARTS)
    usual = trainer.abstract_state()
    with jax.enable_x64(True):
        wide = tiny.make_trainer(trainer.game, trainer.config, trainer.mesh).abstract_state()
    for x, y in zip(jax.tree.leaves(usual), jax.tree.leaves(wide), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
