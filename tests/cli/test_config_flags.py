"""Flags of a config, next to its file."""

import tomllib

import pytest

from azjax.cli import main as cli
from azjax.config.toml import load_config
from azjax.errors import UserError
from azjax.running import loop as train_module
from tests import tiny


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
