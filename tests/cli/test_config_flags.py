"""The command line: its messages about mistakes in a config file or in flags."""

import tomllib

import pytest

from azjax.cli import main as cli
from azjax.config.toml import load_config
from azjax.errors import UserError
from azjax.running import loop as train_module
from tests import tiny


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('game = { name = "tic_tac_to" }', ["tic_tac_to", "tic_tac_toe"]),
        ("[learning]\nlerning_rate = 1.0", ["learning.lerning_rate", "learning.learning_rate"]),
        ("cycels = 4", ["cycels", "cycles"]),
        ("[serch]\nnum_simulations = 4", ["serch", "search"]),
        ("[search]\nnum_simulations = 0", ["num_simulations = 0", "at least 1"]),
        ("[learning]\nlearning_rate = -1.0", ["learning_rate = -1.0", "above 0"]),
        ("[gate]\nthreshold = 1.5", ["gate.threshold = 1.5"]),
        ('[search]\nalgorithm = "mcts"', ["search.algorithm", "gumbel", "puct"]),
        ('[selfplay]\nparallel_games = "many"', ['parallel_games = "many"', "a whole number"]),
        ("selfplay = 4", ["selfplay", "[selfplay]"]),
        ("cycles = true", ["cycles", "a whole number"]),
        ("[network", ["not a TOML file"]),
        ('[evaluation]\nopponents = ["nobody"]', ["nobody", "random", "uct"]),
        ("[evaluation]\ngames = 7", ["evaluation.games", "even"]),
        ("[game]\nname = 'tic_tac_toe'\nsize = 3", ["size"]),
    ],
)
def test_a_config_with_a_mistake(text, said, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(train_module, "run_cycles", lambda *arguments: pytest.fail("it trains"))
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    message = refused("train", file, "--run-dir", tmp_path / "run")
    for part in said:
        assert part in message
    assert not (tmp_path / "run").exists()


def test_a_config_that_is_not_there(refused, tmp_path):
    missing = tmp_path / "missing.toml"
    assert str(missing) in refused("train", missing)
    assert str(tmp_path) in refused("train", tmp_path)
    assert "config file" in refused("train")
    assert not missing.exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--search.num-simulation", "4"], "--search.num-simulations"),
        (["--search.num-simulations", "0"], "num_simulations = 0"),
        (["--search.num-simulations", "few"], "few"),
        (["--learning.optimizer", "adam"], "adamw"),
        (["--gate.threshold", "2"], "gate.threshold = 2.0"),
        (["--nonsense"], "--nonsense"),
        (
            ["--selfplay.parallel_games", "18"],
            "selfplay.parallel_games = 18 must be a multiple of 4",
        ),
        (["--learning.batch-size", "18"], "learning.batch_size = 18 must be a multiple of 4"),
        (["--coordinator", "127.0.0.1:1"], "--num-processes"),
    ],
)
def test_a_flag_with_a_mistake(flags, said, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(train_module, "run_cycles", lambda *arguments: pytest.fail("it trains"))
    file = tiny.write_config(tmp_path / "tiny.toml")
    assert said in refused("train", file, "--run-dir", tmp_path / "run", *flags)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "said",
    [
        "search.num_simulations = 0 must be at least 1",
        "selfplay.opening_plies = 3000000000 must be below 2**31",
        "learning.learning_rate = 1e+39 must be at most 1e38",
        "learning.lr_drops = [1.5] must be increasing numbers between 0 and 1",
        "seed = -1 must be between 0 and 4294967295",
    ],
)
def test_a_flag_is_refused_in_the_words_of_a_file(said, refused):
    key, _, value, *_ = said.split()
    with pytest.raises(UserError) as error:
        load_config("tic_tac_toe", tomllib.loads(f"{key} = {value}"))
    assert str(error.value).endswith(f": {said}")
    option = "--" + key.replace("_", "-")
    assert refused("train", "tic_tac_toe", option, value.strip("[]")) == f"azjax: {said}\n"


def test_a_flag_lies_over_the_file(tmp_path, monkeypatch, capsys):
    taken = []
    monkeypatch.setattr(
        train_module, "train", lambda config, run_dir, **_: taken.append((config, run_dir))
    )
    file = tiny.write_config(tmp_path / "tiny.toml")
    assert cli.main(["train", str(file), "--search.num-simulations", "7", "--seed", "3"]) == 0
    ((config, run_dir),) = taken
    assert config == tiny.config(seed=3, search={"num_simulations": 7})
    assert str(run_dir) == "runs/tiny"
