import dataclasses
import json

import jax
import numpy as np
import pytest
import safetensors.numpy
from azjax_envs import make

from azjax.cli.main import main
from azjax.config import Config, NetworkConfig, SearchConfig, config_to_dict
from azjax.errors import UserError
from azjax.evaluation.report import report
from azjax.players import compact_weights
from azjax.players.card import run_metadata
from azjax.players.load import load_player
from azjax.players.network_players import PolicyPlayer
from azjax.players.weights_file import (
    FORMAT,
    file_bytes,
    file_header,
    load_saved,
    pretrained,
    save_player,
)
from tests import tiny
from tests.oracles.searches import random_positions
from tests.players.saved_players import ABOUT, GAME, contents, network


def test_a_player_comes_back_from_its_file(file):
    config, made, variables = network()
    saved = load_saved(file)
    assert saved.config == config.player
    assert saved.metadata == ABOUT
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
    assert load_player(str(file)).config == network()[0].player.search
    assert isinstance(load_player(f"{file}:policy"), PolicyPlayer)
    with pytest.raises(UserError, match="plays tic_tac_toe, not connect_four"):
        load_player(str(file), game=make("connect_four"))
    with pytest.raises(
        UserError, match="a number of simulations from 1 to 1,000,000, policy or value"
    ):
        load_player(f"{file}:fast")


@pytest.mark.parametrize("slow", [True, False])
def test_bfloat16_is_computed_in_float32_where_that_is_faster(tmp_path, monkeypatch, slow):
    monkeypatch.setattr("azjax.network.two_headed.bfloat16_is_slow", lambda: slow)
    path = tmp_path / "half.safetensors"
    config = tiny.config(network={"dtype": "bfloat16"})
    save_player(path, config, network()[2], ABOUT)
    for spec in str(path), f"{path}:policy":
        made = load_player(spec).network
        assert made.config.dtype == ("float32" if slow else "bfloat16")
        assert dataclasses.replace(made.config, dtype="bfloat16") == config.network
    assert load_saved(path).config == config.player


def test_a_file_describes_its_player(file):
    assert load_saved(file).describe() == ABOUT["card"]
    assert load_saved(file).describe("short") == ""
    said = load_saved(pretrained()["connect_four"]).describe()
    assert said.startswith("connect_four scored 99.0% against UCT-1000, with 64 simulations.\n")
    assert "\nconnect_four: a 13 x 512 residual mlp, trained for 740 cycles" in said


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
    other.write_bytes(file_bytes({"a": np.zeros(3, np.float16)}, header))
    with pytest.raises(UserError, match="do not fit the network of its config"):
        load_saved(other)


def test_players_that_come_along_are_what_their_names_say():
    for name, path in pretrained().items():
        saved = load_saved(path)
        assert saved.config.game.name == name
        assert saved.metadata["card"].startswith(f"{name} ")
        game = load_player(name).game
        # The player of go has a komi that is fair on its board.
        assert game == make(name, **dict(saved.config.game.options))
    assert sum(path.stat().st_size for path in pretrained().values()) <= 40_000_000


def test_tic_tac_toe_is_played_perfectly():
    game = make("tic_tac_toe")
    players = {how: load_player(f"tic_tac_toe{how}") for how in ("", ":policy")}
    card = report(game, players)
    assert [(x.positions, x.mistakes) for x in card.players] == [(4520, 0), (4520, 0)]


def test_another_komi_is_told():
    told = r"plays Go\(size=7, komi=9\.0, .*\), not Go\(size=7, komi=7\.5, "
    with pytest.raises(UserError, match=told):
        load_player("go_7x7", game=make("go_7x7"))


def test_a_report_goes_with_its_own_checkpoint_only(tmp_path):
    result = {"games": 8, "score": 0.75, "as_first": [4, 0, 0], "as_second": [1, 2, 1]}
    matches = [{"player_a": "policy", "player_b": name} | result for name in ("random", "uct:100")]
    score = {"suite": "positions", "positions": 4520, "mistakes": 452, "buckets": []}
    scored = {"name": "policy", "scores": [score], "values": [], "matches": matches}
    report = {"cycle": 4, "players": [scored]}
    (tmp_path / "report.json").write_text(json.dumps(report))
    player = network()[0].player
    assert run_metadata(tmp_path, 4, player)["card"].splitlines()[2:] == [
        "policy: 90.0% of 4,520 positions without a mistake",
        "policy: 75.0% of the points in 8 games against random",
        "policy: 75.0% of the points in 8 games against uct:100",
    ]
    assert len(run_metadata(tmp_path, 6, player)["card"].splitlines()) == 2


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "[]", '{"cycle": 4}', '{"cycle": 4, "players": [{}]}', "\0"]
)
def test_a_damaged_report_is_named_in_one_line(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(UserError, match=r"report\.json: not as `azjax report` writes it"):
        run_metadata(tmp_path, 4, network()[0].player)


def test_a_file_needs_no_game_named_in_a_match(file, capsys):
    """The error is about the opponent, not about the first player."""
    assert main(["match", f"{file}:policy", "nobody"]) == 2
    assert "'nobody'" in capsys.readouterr().err


def test_a_file_holds_nothing_of_the_training(file):
    _, header = contents(file)
    assert header.keys() == {"azjax_format", "game", "network", "search", "metadata", "checksum"}
    assert json.loads(header["game"]) == {"name": "tic_tac_toe"}
    search = json.loads(header["search"])
    assert search["num_simulations"] == network()[0].evaluation.num_simulations


KEYS_OF_TRAINING = {
    "selfplay": "temperature",
    "league": "every",
    "replay": "max_games",
    "learning": "l2",
    "gate": "threshold",
    "evaluation": "exact_report",
    "checkpoint": "keep",
}


def test_the_keys_of_training_are_of_all_other_sections():
    sections = {x.name for x in dataclasses.fields(Config) if dataclasses.is_dataclass(x.type)}
    assert sections - KEYS_OF_TRAINING.keys() == {"game", "network", "search"}


@pytest.mark.parametrize(("section", "key"), KEYS_OF_TRAINING.items())
def test_a_key_more_or_less_of_training_changes_no_file(section, key, file, tmp_path):
    config, _, variables = network()
    arrays, header = contents(file)
    old = getattr(config, section)
    keys = {x.name: (x.name, x.type, x) for x in dataclasses.fields(old)}
    new = ("a_new_key", int, dataclasses.field(default=1))
    less = [x for name, x in keys.items() if name != key]
    for number, changed in enumerate(([*keys.values(), new], less)):
        kind = dataclasses.make_dataclass("Section", changed, frozen=True)
        values = {x[0]: getattr(old, x[0]) for x in changed if x[0] in keys}
        default = (section, kind, dataclasses.field(default_factory=kind))
        other = dataclasses.make_dataclass("Other", [default], bases=(Config,), frozen=True)
        parts = {x.name: getattr(config, x.name) for x in dataclasses.fields(Config)}
        path = tmp_path / f"{number}.safetensors"
        save_player(path, other(**parts | {section: kind(**values)}), variables, ABOUT)
        assert contents(path)[1] == header
        tiny.assert_equal(contents(path)[0], arrays)


@pytest.mark.parametrize("name", pretrained())
def test_a_shipped_file_is_as_it_would_be_written_today(name):
    _, header = contents(pretrained()[name])
    saved = load_saved(pretrained()[name])
    del header["checksum"]
    assert header == file_header(saved.config, saved.metadata)


def test_new_defaults_need_a_new_format():
    """A file holds the values that are not the defaults; a key that is gone does no harm."""
    network = {
        "module": "",
        "options": {},
        "architecture": "resnet",
        "blocks": 6,
        "channels": 64,
        "convolutions": 0,
        "filters": 32,
        "residual": False,
        "pooling_every": 0,
        "norm": "batch",
        "policy_head": "dense",
        "policy_channels": 2,
        "value_channels": 1,
        "value_hidden": 256,
        "value_head": "tanh",
        "auxiliary": [],
        "dtype": "float32",
    }
    gumbel = {"max_considered_actions": 16, "value_scale": 0.1, "rescale_values": False}
    puct = {"pb_c_init": 1.25, "pb_c_base": 19652.0}
    noise = {"dirichlet_fraction": 0.25, "dirichlet_concentration": 10.0}
    search = {"algorithm": "gumbel", "num_simulations": 32, "module": ""}
    today = config_to_dict(SearchConfig())
    for defaults, format_1 in (
        (config_to_dict(NetworkConfig()), network),
        (today.pop("gumbel"), gumbel),
        (today.pop("puct"), puct | noise),
        (today, search),
    ):
        assert defaults == {key: format_1.get(key, defaults[key]) for key in defaults}
    assert FORMAT == "1"


def test_large_layers_have_8_bits(file, file_with_8_bits):
    arrays, _ = contents(file_with_8_bits)
    layers = [name for name, x in arrays.items() if x.dtype == np.int8]
    halves, _ = contents(file)
    assert sorted(layers) == sorted(name for name, x in halves.items() if x.size >= 100)
    assert len(layers) >= 2
    want = jax.tree_util.tree_flatten_with_path(network()[2])[0]
    have = jax.tree.leaves(load_saved(file_with_8_bits).variables)
    for (keys, before), after in zip(want, have, strict=True):
        name = ".".join(key.key for key in keys)
        assert after.dtype == np.float32
        if name in layers:
            largest = np.abs(before).max(axis=tuple(range(before.ndim - 1)))
            assert (np.abs(after - before) <= 0.51 * largest / 127).all()
            assert (np.abs(arrays[name]).max(axis=tuple(range(before.ndim - 1))) == 127).all()
        else:
            np.testing.assert_array_equal(after, np.asarray(before, np.float16))


def test_a_large_layer_of_zeros_stays_zero():
    zeros = {"a": np.zeros((512, 512), np.float32)}
    arrays = compact_weights.pack_weights(zeros)
    assert arrays["a"].dtype == np.int8
    tiny.assert_equal(compact_weights.unpack_weights(arrays), zeros)
