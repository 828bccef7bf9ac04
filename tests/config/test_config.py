import functools
import time
import tomllib
import typing
from pathlib import Path

import pytest
from azjax_envs import make

from azjax.config import (
    Config,
    EvaluationConfig,
    GameConfig,
    LearningConfig,
    NetworkConfig,
    ReplayConfig,
    SelfPlayConfig,
)
from azjax.config.toml import config_from_dict, config_to_dict, load_config, save_config
from azjax.errors import UserError
from tests.config.sections import FIELDS, SECTIONS, nested, refused


def value_of(config, section, name):
    return functools.reduce(getattr, section.split("."), config).__getattribute__(name)


def another_value(section, name):
    """Returns a valid value that is not the default."""
    kind = SECTIONS[section]
    hint, default = typing.get_type_hints(kind)[name], getattr(kind(), name)
    if typing.get_origin(hint) is typing.Literal:
        return next(choice for choice in typing.get_args(hint) if choice != default)
    special = {
        "learning.lr_drops": [0.25, 0.5, 0.875],
        "network.auxiliary": ["ownership", "score"],
        "network.module": "my_net:Transformer",
        "network.options": {"width": 64, "name": "a"},
        "search.module": "my_search:search",
        "learning.optimizer": "my_optimizer:muon",
        "learning.optimizer_options": {"beta": 0.5},
        "learning.loss": "my_loss:loss",
        "learning.loss_options": {"weight": 0.25, "late": True},
        "learning.targets": "my_targets:targets",
        "learning.targets_options": {"scale": 0.5},
        "league.opponents": ["runs/a", "othello"],
        "selfplay.openings": "lines.txt",
        "evaluation.opponents": ["uct:100", "random"],
        "selfplay.plies_per_cycle": 8,
        "replay.module": "my_buffer:Reservoir",
        "replay.options": {"size": 1000},
        "replay.capacity_plies": 512,
        "gate.games": 66,
        "evaluation.games": 66,
    }
    if f"{section}.{name}" in special:
        return special[f"{section}.{name}"]
    if isinstance(default, bool):
        return not default
    return default + 1 if isinstance(default, int) else default / 2 + 0.0625


@pytest.mark.parametrize(("section", "name"), FIELDS)
def test_every_field_comes_back_from_toml(section, name, tmp_path):
    value = another_value(section, name)
    config = config_from_dict(nested(section, {name: value}))
    stored = value_of(config, section, name)
    if isinstance(value, list | dict):
        value = tuple(sorted(value.items()) if isinstance(value, dict) else value)
    assert stored == value
    assert config != Config()
    save_config(config, tmp_path / "config.toml")
    assert load_config(tmp_path / "config.toml") == config
    assert hash(load_config(tmp_path / "config.toml")) == hash(config)


def test_the_rest_comes_back_and_all_of_it_is_written(tmp_path):
    config = Config(
        game=GameConfig("go", (("komi", 6.5), ("note", "a"), ("size", 7), ("suicide", True))),
        seed=3,
        cycles=7,
    )
    save_config(config, tmp_path / "config.toml")
    assert load_config(tmp_path / "config.toml") == config
    written = tomllib.loads((tmp_path / "config.toml").read_text())
    assert written == config_to_dict(config)
    found = {
        (section, name)
        for section in SECTIONS
        for name, value in functools.reduce(dict.get, section.split("."), written).items()
        if f"{section}.{name}" not in SECTIONS
    }
    assert found == set(FIELDS)
    assert written["game"] == {"name": "go", "komi": 6.5, "note": "a", "size": 7, "suicide": True}


def test_game_may_be_named_by_a_string_alone():
    assert config_from_dict({"game": "hex_7x7"}).game == GameConfig("hex_7x7")
    assert config_from_dict({}) == Config()
    assert "table with the game's name" in refused({"game": 3})
    assert "table with the game's name" in refused({"game": {"name": 3}})
    assert "game.size must be a number" in refused({"game": {"name": "go", "size": [7]}})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"sarch": {}}, "unknown key sarch; did you mean search?"),
        (
            {"search": {"num_simulation": 3}},
            "unknown key search.num_simulation; did you mean search.num_simulations?",
        ),
        ({"learning": {"learning_rat": 1.0}}, "did you mean learning.learning_rate?"),
        ({"gate": {"zzz": 1}}, "unknown key gate.zzz; valid keys: every, games, threshold"),
    ],
)
def test_unknown_keys_are_answered_with_the_nearest(data, said):
    assert said in refused(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"seed": "1"}, 'seed = "1" must be a whole number'),
        ({"seed": True}, "seed = true must be a whole number"),
        ({"seed": 1.0}, "seed = 1.0 must be a whole number"),
        ({"network": {"blocks": False}}, "network.blocks = false must be a whole number"),
        (
            {"search": {"puct": {"pb_c_init": True}}},
            "search.puct.pb_c_init = true must be a number",
        ),
        ({"learning": {"symmetries": 1}}, "learning.symmetries = 1 must be true or false"),
        ({"learning": {"lr_drops": 0.5}}, "learning.lr_drops = 0.5 must be a list"),
        ({"learning": {"lr_drops": [True]}}, "learning.lr_drops = true must be a number"),
        ({"evaluation": {"opponents": "random"}}, 'opponents = "random" must be a list'),
        ({"evaluation": {"opponents": [1]}}, "opponents = 1 must be a text in quotes"),
        ({"network": 3}, "network must be a table, [network]"),
        (
            {"network": {"norm": "instance"}},
            'network.norm = "instance" must be one of "batch", "layer", "none"',
        ),
        ({"network": {"dtype": []}}, "network.dtype = [] must be one of"),
    ],
)
def test_wrong_types_are_named(data, said):
    assert said in refused(data)


def test_an_integer_will_do_for_a_float():
    value = config_from_dict({"learning": {"clip_norm": 1}}).learning.clip_norm
    assert value == 1.0
    assert isinstance(value, float)


def test_what_must_fit_together():
    Config(selfplay=SelfPlayConfig(plies_per_cycle=10), replay=ReplayConfig(capacity_plies=250))
    with pytest.raises(
        UserError, match=r"replay\.capacity_plies = 256 must be a multiple of .* = 10"
    ):
        Config(selfplay=SelfPlayConfig(plies_per_cycle=10))
    with pytest.raises(UserError, match=r"evaluation\.games = 3 must be even"):
        Config(evaluation=EvaluationConfig(games=3))
    Config(selfplay=SelfPlayConfig(parallel_games=4), replay=ReplayConfig(min_positions=512))
    with pytest.raises(UserError, match="at most 512: half of the 1024 positions"):
        Config(selfplay=SelfPlayConfig(parallel_games=4), replay=ReplayConfig(min_positions=513))
    with pytest.raises(UserError, match="cycles = 0 must be at least 1"):
        Config(cycles=0)
    for drops in [(0.75, 0.5), (0.5, 0.5), (0.0,), (1.0,)]:
        with pytest.raises(UserError, match=r"learning\.lr_drops"):
            LearningConfig(lr_drops=drops)


def test_the_newer_methods_fit_together():
    with pytest.raises(UserError, match=r"full_search_fraction = 0\.02 leaves no .* = 16; .*0\.06"):
        SelfPlayConfig(full_search_fraction=0.02)
    with pytest.raises(UserError, match=r"network\.auxiliary = .*contains duplicates"):
        NetworkConfig(auxiliary=("score", "score"))
    said = refused({"network": {"auxiliary": ["scores"]}})
    assert 'network.auxiliary = "scores" must be one of "score", "ownership"' in said


def test_planes_need_convolutions():
    for other in ({"architecture": "resnet", "policy_head": "planes"}, {"architecture": "mlp"}):
        config_from_dict({"network": other})
    said = refused({"network": {"architecture": "mlp", "policy_head": "planes"}})
    assert 'network.policy_head = "planes" needs network.architecture = "resnet"' in said


def test_overrides_lie_over_the_file(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('game = "hex_7x7"\n[network]\nblocks = 2\nchannels = 32\n')
    over = {"network": {"blocks": 3}, "learning": {"l2": 0.5}, "seed": 9}
    config = load_config(path, over)
    assert config.network == NetworkConfig(blocks=3, channels=32)
    assert config.learning.l2 == 0.5
    assert config.seed == 9
    assert config.game == GameConfig("hex_7x7")
    assert over == {"network": {"blocks": 3}, "learning": {"l2": 0.5}, "seed": 9}
    with pytest.raises(UserError, match=r"a\.toml: unknown key network\.blokcs;"):
        load_config(path, {"network": {"blokcs": 3}})


def test_files_that_are_no_config(tmp_path):
    with pytest.raises(UserError, match=r"none\.toml: cannot be read \(No such file"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(UserError, match="cannot be read"):
        load_config(tmp_path)
    (tmp_path / "a.toml").write_text("seed = \n")
    with pytest.raises(UserError, match=r"a\.toml: not a TOML file"):
        load_config(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"b\.toml: not a TOML file"):
        load_config(tmp_path / "b.toml")


HOSTILE = {
    "an integer beyond all floats": (f"[learning]\nlearning_rate = {'9' * 400}", "must be between"),
    "an integer of 5,000 digits": (f"seed = {'9' * 5000}", "not a TOML file"),
    "a hexadecimal one": (f"seed = 0x{'f' * 50_000}", "seed must be between -2**63 and 2**63 - 1"),
    "one in a list": (f"seed = [0x{'f' * 50_000}]", "an integer is too long"),
    "one of the game": (f"[game]\nsize = 0x{'f' * 50_000}", "game.size must be between"),
    "one of 65 bits": (f"seed = {2**63}", "seed must be between -2**63 and 2**63 - 1"),
    "20,000 brackets": (f"seed = {'[' * 20_000}", "not a TOML file"),
    "zeros": ("\0" * 1000, "not a TOML file"),
    "no number": ("[learning]\nlearning_rate = nan", "must be a finite number"),
    "no number of the game": ("[game]\nkomi = inf", "game.komi = inf must be a finite number"),
    "a date": ("seed = 1979-05-27", "must be a whole number"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_in_one_line_at_once(case, tmp_path):
    text, said = HOSTILE[case]
    file = tmp_path / "a.toml"
    file.write_text(text)
    started = time.monotonic()
    with pytest.raises(UserError) as caught:
        load_config(file)
    assert said in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 3000
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_other_encodings_are_refused(encoding, tmp_path):
    (tmp_path / "a.toml").write_bytes("# für später\nseed = 1\n".encode(encoding))
    with pytest.raises(UserError, match="not a TOML file"):
        load_config(tmp_path / "a.toml")


def test_configs_are_utf8_whatever_the_locale(tmp_path):
    file = tmp_path / "a.toml"
    save_config(Config(game=GameConfig("将棋")), file)
    assert file.read_bytes().decode() == file.read_text(encoding="utf-8")
    assert load_config(file).game.name == "将棋"
    for encoding in ("utf-8", "utf-8-sig"):
        file.write_bytes("# für später\r\nseed = 1\r\n".encode(encoding))
        assert load_config(file).seed == 1


CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("**/*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_configs_of_the_project_load_and_their_games_exist(path):
    config = load_config(path)
    game = make(config.game.name, **dict(config.game.options))
    assert make(game.name).name == game.name  # except options that a name cannot hold
    if path.parent.name == "configs":
        assert game.name == path.stem.removesuffix("_less_noise").removesuffix("_games")
    else:
        assert game.name.startswith(path.stem.removesuffix("_small"))


def test_there_are_configs():
    assert len(CONFIGS) >= 3
