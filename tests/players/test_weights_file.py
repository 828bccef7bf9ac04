import functools
import json

import jax
import numpy as np
import pytest
import safetensors.numpy
from azjax_envs import make

from azjax.cli.main import main
from azjax.errors import UserError
from azjax.network.network import make_network
from azjax.players.load import load_player
from azjax.players.network_players import PolicyPlayer
from azjax.players.weights_file import about_run, load_saved, pretrained, save_player
from tests import tiny
from tests.oracles.searches import random_positions

GAME = make("tic_tac_toe")
ABOUT = {
    "cycles": 6,
    "report": [{"player": "search:4", "suite": "positions", "positions": 4520, "mistakes": 452}],
    "matches": [{"player": "search:4", "opponent": "uct:100", "games": 8, "score": 0.75}],
}


@functools.lru_cache
def network():
    config = tiny.config()
    made = make_network(GAME, config.network)
    return config, made, jax.jit(made.init)(jax.random.key(3))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "player.safetensors"
    config, _, variables = network()
    save_player(path, config, variables, ABOUT)
    return path


def test_a_player_comes_back_from_its_file(file):
    config, made, variables = network()
    saved = load_saved(file)
    assert saved.config == config
    assert saved.about == ABOUT
    assert jax.tree.structure(saved.variables) == jax.tree.structure(variables)
    seen = jax.vmap(GAME.observe)(random_positions(GAME, jax.random.key(0), 64))
    for want, have in zip(
        made.apply(variables, seen)[:3], made.apply(saved.variables, seen)[:3], strict=True
    ):
        assert have.dtype == np.float32
        np.testing.assert_allclose(have, want, atol=2e-3)
    size = sum(x.size for x in jax.tree.leaves(variables))
    assert file.stat().st_size < 2 * size + 8000


def test_a_file_is_named_like_a_run(file):
    player = load_player(f"{file}:7", game=GAME)
    assert player.name == "search:7"
    assert load_player(str(file)).config == network()[0].search
    assert isinstance(load_player(f"{file}:policy"), PolicyPlayer)
    with pytest.raises(UserError, match="plays tic_tac_toe, not connect_four"):
        load_player(str(file), game=make("connect_four"))
    with pytest.raises(UserError, match="a number of simulations above 0, policy or value"):
        load_player(f"{file}:fast")


def test_a_file_describes_its_player(file):
    said = load_saved(file).describe()
    assert said.startswith("tic_tac_toe: a 1 x 16 mlp, trained for 6 cycles")
    assert "search:4: 90.0% of 4,520 positions without a mistake" in said
    assert "search:4: 75.0% of the points in 8 games against uct:100" in said
    said = load_saved(pretrained()["connect_four"]).describe()
    assert said.startswith("connect_four: a 3 x 512 mlp after 2 convolutions of 32, trained for")


def test_nothing_is_overwritten(file):
    config, _, variables = network()
    before = file.read_bytes()
    with pytest.raises(UserError, match="exists; choose another name"):
        save_player(file, config, variables, ABOUT)
    assert file.read_bytes() == before
    with pytest.raises(UserError, match=r"must end in \.safetensors"):
        save_player(file.with_suffix(".bin"), config, variables, ABOUT)
    with pytest.raises(UserError, match="no such directory"):
        save_player(file.parent / "a" / file.name, config, variables, ABOUT)


def test_files_that_hold_no_player(tmp_path, file):
    with pytest.raises(UserError, match="no such file"):
        load_saved(tmp_path / "none.safetensors")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(UserError, match="not a safetensors file, or damaged"):
        load_saved(broken)
    other = tmp_path / "other.safetensors"
    other.write_bytes(safetensors.numpy.save({"a": np.zeros(3)}))
    with pytest.raises(UserError, match="holds weights, but no player"):
        load_saved(other)
    with safetensors.safe_open(file, framework="numpy") as opened:
        header = opened.metadata()
    other.write_bytes(safetensors.numpy.save({"a": np.zeros(3)}, metadata=header))
    with pytest.raises(UserError, match="do not fit the network of its config"):
        load_saved(other)


def test_players_that_come_along_are_what_their_names_say():
    for name, path in pretrained().items():
        saved = load_saved(path)
        assert saved.config.game.name == name
        assert saved.about["report"] or saved.about["matches"]
        assert path.stat().st_size <= 3_000_000
        assert load_player(name).game == make(name)


def test_export_without_a_run_is_one_line(tmp_path, capsys):
    assert main(["export", str(tmp_path), str(tmp_path / "a.safetensors")]) == 2
    assert "there is no run (config.toml is missing)" in capsys.readouterr().err
    assert not (tmp_path / "a.safetensors").exists()


def test_a_report_goes_with_its_own_checkpoint_only(tmp_path):
    matches = [
        {"player_a": "policy", "player_b": name, "games": 8, "score": 0.75, "elo": 190.8}
        for name in ("random", "uct:100")
    ]
    scored = {"name": "policy", "scores": ABOUT["report"], "matches": matches}
    report = {"cycle": 4, "players": [scored]}
    (tmp_path / "report.json").write_text(json.dumps(report))
    kept = ABOUT["report"][0] | {"player": "policy"}
    played = {"player": "policy", "opponent": "uct:100", "games": 8, "score": 0.75}
    assert about_run(tmp_path, 4) == {"cycles": 4, "report": [kept], "matches": [played]}
    assert about_run(tmp_path, 6) == {"cycles": 6, "report": [], "matches": []}


def test_a_file_needs_no_game_named_in_a_match(file, capsys):
    """The error is about the opponent, not about the first player."""
    assert main(["match", f"{file}:policy", "nobody"]) == 2
    assert "there is no player 'nobody'" in capsys.readouterr().err
    assert main(["match", "nobody", "random"]) == 2
    assert "there is no player 'nobody'" in capsys.readouterr().err
    assert main(["match", "uct:4", "random"]) == 2
    assert "name the game with --game" in capsys.readouterr().err
