import dataclasses
import functools
import json
import sys
import time

import jax
import numpy as np
import pytest
import safetensors.numpy
from azjax_envs import make
from azjax_envs.tic_tac_toe import TicTacToe

import azjax
from azjax.cli.main import main
from azjax.errors import UserError
from azjax.network.network import make_network
from azjax.players import compact_weights
from azjax.players.card import about_run, checked_about, describe_player
from azjax.players.load import load_player
from azjax.players.network_players import PolicyPlayer
from azjax.players.weights_file import (
    file_bytes,
    load_saved,
    pretrained,
    save_player,
)
from tests import tiny
from tests.oracles.searches import random_positions

GAME = make("tic_tac_toe")


class OwnGame(TicTacToe):
    """A game of the user's own."""


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


@pytest.mark.parametrize("slow", [True, False])
def test_bfloat16_is_computed_in_float32_where_that_is_faster(tmp_path, monkeypatch, slow):
    monkeypatch.setattr("azjax.network.network.bfloat16_is_slow", lambda: slow)
    path = tmp_path / "half.safetensors"
    config = tiny.config(network={"dtype": "bfloat16"})
    save_player(path, config, network()[2], ABOUT)
    for spec in str(path), f"{path}:policy":
        made = load_player(spec).network
        assert made.config.dtype == ("float32" if slow else "bfloat16")
        assert dataclasses.replace(made.config, dtype="bfloat16") == config.network
    assert load_saved(path).config == config


def test_a_file_describes_its_player(file):
    said = load_saved(file).describe()
    assert said.startswith("tic_tac_toe: a 1 x 16 mlp, trained for 6 cycles")
    assert "search:4: 90.0% of 4,520 positions without a mistake" in said
    assert "search:4: 75.0% of the points in 8 games against uct:100" in said
    said = load_saved(pretrained()["connect_four"]).describe()
    assert said.startswith("connect_four: a 13 x 512 residual mlp, trained for 5200 cycles")


def test_a_card_tells_training_strength_and_weakness(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    lines = [
        {"kind": "start", "cycle": 0, "time_s": 0.0, "machine": "2 x cpu"},
        {"kind": "cycle", "cycle": 6, "time_s": 110.0},
        {"kind": "eval", "cycle": 6, "time_s": 120.0, "mistakes": 3},
        {"kind": "cycle", "cycle": 7, "time_s": 130.0},
    ]
    (run / "metrics.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    buckets = [
        {"name": "plies 0-5", "positions": 40, "mistakes": 1},
        {"name": "plies 6-11", "positions": 60, "mistakes": 3},
        {"name": "plies 12-17", "positions": 2, "mistakes": 1},  # too few to tell
    ]
    suite = {"suite": "all positions", "positions": 102, "mistakes": 5, "buckets": buckets}
    first = {"suite": "the start and all first moves", "positions": 10, "right": 9}
    start = {"suite": "the start", "positions": 1, "right": 1}  # too few to tell
    match = {"player_b": "uct:9", "games": 4, "score": 0.625}
    match |= {"as_first": [2, 0, 0], "as_second": [0, 1, 1]}
    player = {"name": "search:4", "scores": [suite], "values": [first, start], "matches": [match]}
    (run / "report.json").write_text(json.dumps({"cycle": 6, "players": [player]}))
    about = about_run(run, 6)
    assert (about["minutes"], about["machine"]) == (2.0, "2 x cpu")
    said = describe_player(network()[0], about)
    assert "trained for 6 cycles in 2 minutes on 2 x cpu\nsearch:4: 95.1% of 102" in said
    assert "weakest: mistakes in 5.0% of plies 6-11, all positions" in said
    assert "search:4: values of the start and all first moves right in 9 of 10" in said
    assert said.endswith("search:4: 62.5% of the points in 4 games against uct:9")
    (kept,) = about["matches"]
    assert (kept["first"], kept["second"]) == (1.0, 0.25)
    broken_seat = {"matches": [kept | {"second": 2}]}
    for broken in ({"minutes": -1}, {"machine": 3}, {"weakest": {}}, {"values": [{}]}, broken_seat):
        with pytest.raises(UserError, match="its results are not as"):
            checked_about("a file", about | broken)


def test_players_that_come_along_have_whole_cards():
    for path in pretrained().values():
        about = load_saved(path).about
        assert about["minutes"] > 1
        assert "core" in about["machine"]
        assert "weakest" in about or about.get("matches")


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
        assert saved.about["report"] or saved.about["matches"]
        game = load_player(name).game
        # The player of go has a komi that is fair on its board.
        assert game == make(name, **dict(saved.config.game.options))
    assert sum(path.stat().st_size for path in pretrained().values()) <= 40_000_000


def test_another_komi_is_told():
    told = r"plays Go\(size=7, komi=9\.0, .*\), not Go\(size=7, komi=7\.5, "
    with pytest.raises(UserError, match=told):
        load_player("go_7x7", game=make("go_7x7"))


def test_export_without_a_run_is_one_line(tmp_path, capsys):
    assert main(["export", str(tmp_path), str(tmp_path / "a.safetensors")]) == 2
    assert "there is no run (config.toml is missing)" in capsys.readouterr().err
    assert not (tmp_path / "a.safetensors").exists()


def test_a_report_goes_with_its_own_checkpoint_only(tmp_path):
    result = {"games": 8, "score": 0.75, "as_first": [4, 0, 0], "as_second": [1, 2, 1]}
    matches = [{"player_a": "policy", "player_b": name} | result for name in ("random", "uct:100")]
    scores = [ABOUT["report"][0] | {"buckets": []}]
    scored = {"name": "policy", "scores": scores, "values": [], "matches": matches}
    report = {"cycle": 4, "players": [scored]}
    (tmp_path / "report.json").write_text(json.dumps(report))
    kept = ABOUT["report"][0] | {"player": "policy"}
    played = {"player": "policy", "opponent": "uct:100", "games": 8, "score": 0.75}
    played |= {"first": 1.0, "second": 0.5}
    assert about_run(tmp_path, 4) == {"cycles": 4, "report": [kept], "matches": [played]}
    assert about_run(tmp_path, 6) == {"cycles": 6, "report": [], "matches": []}


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "[]", '{"cycle": 4}', '{"cycle": 4, "players": [{}]}', "\0"]
)
def test_a_damaged_report_is_named_in_one_line(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(UserError, match=r"report\.json: not as `azjax report` writes it"):
        about_run(tmp_path, 4)


def test_a_file_needs_no_game_named_in_a_match(file, capsys):
    """The error is about the opponent, not about the first player."""
    assert main(["match", f"{file}:policy", "nobody"]) == 2
    assert "there is no player 'nobody'" in capsys.readouterr().err
    assert main(["match", "nobody", "random"]) == 2
    assert "there is no player 'nobody'" in capsys.readouterr().err
    assert main(["match", "uct:4", "random"]) == 2
    assert "name the game with --game" in capsys.readouterr().err


def signed(path, arrays, header):
    """Writes a file whose checksum is right, as someone with bad intentions would."""
    path.write_bytes(file_bytes(arrays, header))
    return path


def contents(file):
    with safetensors.safe_open(file, framework="numpy") as opened:
        return {name: opened.get_tensor(name) for name in opened.keys()}, opened.metadata()  # noqa: SIM118


def refusal(path):
    with pytest.raises(UserError) as caught:
        load_saved(path)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_no_flipped_bit_gives_another_player(file, tmp_path):
    original, intact = file.read_bytes(), load_saved(file)
    damaged = tmp_path / "damaged.safetensors"
    rng = np.random.default_rng(0)
    refused = 0
    for position in rng.integers(len(original) * 8, size=300):
        flipped = bytearray(original)
        flipped[position // 8] ^= 1 << (position % 8)
        damaged.write_bytes(flipped)
        try:
            saved = load_saved(damaged)
        except UserError:
            refused += 1
        else:
            assert (saved.config, saved.about) == (intact.config, intact.about)
            tiny.assert_equal(saved.variables, intact.variables)
    assert refused > 290


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_finite_numbers_are_refused(file, tmp_path, value):
    arrays, header = contents(file)
    name = sorted(arrays)[3]
    arrays[name] = arrays[name].copy()
    arrays[name].flat[0] = value
    bad = signed(tmp_path / "bad.safetensors", arrays, header)
    assert f"{name} has values that are not finite numbers" in refusal(bad)


def test_values_too_large_for_the_file_are_not_written(tmp_path):
    config, _, variables = network()
    variables = jax.tree.map(lambda x: 1e5 * jax.numpy.ones_like(x), variables)
    with pytest.raises(UserError, match=r"not written, as .* not finite numbers up to 65504"):
        save_player(tmp_path / "a.safetensors", config, variables, ABOUT)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool"])
def test_other_types_are_refused(file, tmp_path, dtype):
    arrays, header = contents(file)
    name = sorted(arrays)[0]
    bad = signed(tmp_path / "bad.safetensors", arrays | {name: arrays[name].astype(dtype)}, header)
    assert f"{name} has type" in refusal(bad)
    assert "must have F16 or I8" in refusal(bad)


@pytest.fixture
def file_with_8_bits(tmp_path, monkeypatch):
    """A file whose policy's and trunk's kernels count as large."""
    monkeypatch.setattr(compact_weights, "LARGE", 100)
    path = tmp_path / "eight.safetensors"
    config, _, variables = network()
    save_player(path, config, variables, ABOUT)
    return path


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
    zeros = {"a": np.zeros((1024, 1024), np.float32)}
    arrays = compact_weights.pack_weights(zeros)
    assert arrays["a"].dtype == np.int8
    tiny.assert_equal(compact_weights.unpack_weights(arrays), zeros)


@pytest.mark.parametrize("steps", [None, np.ones(3, np.float32), np.ones(16, np.float16)])
def test_8_bits_without_their_steps_are_refused(file_with_8_bits, tmp_path, steps):
    arrays, header = contents(file_with_8_bits)
    step = next(name for name in sorted(arrays) if name.endswith(".step"))
    del arrays[step]
    arrays |= {} if steps is None else {step: steps}
    bad = signed(tmp_path / "bad.safetensors", arrays, header)
    assert "has type I8, but no step of type F32 for each output" in refusal(bad)


def test_infinite_products_are_refused(file_with_8_bits, tmp_path):
    arrays, header = contents(file_with_8_bits)
    step = next(name for name in sorted(arrays) if name.endswith(".step"))
    arrays[step] = np.full_like(arrays[step], 3e38)
    bad = signed(tmp_path / "bad.safetensors", arrays, header)
    assert "has values that are not finite numbers" in refusal(bad)


def test_missing_superfluous_and_reshaped_arrays_are_refused(file, tmp_path):
    arrays, header = contents(file)
    name = max(arrays, key=lambda name: arrays[name].size)
    fewer = {key: value for key, value in arrays.items() if key != name}
    for changed in fewer, arrays | {"more": arrays[name]}, arrays | {name: arrays[name].T.copy()}:
        assert "do not fit the network" in refusal(
            signed(tmp_path / "a.safetensors", changed, header)
        )


def test_a_file_without_a_checksum_is_refused(file, tmp_path):
    arrays, header = contents(file)
    del header["checksum"]
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(safetensors.numpy.save(arrays, metadata=header))
    assert "its checksum is another" in refusal(bad)


def about(**changes):
    return json.dumps({**ABOUT, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"config": "{"}, "its config cannot be read as JSON"),
        ({"config": "[" * 100_000}, "its config cannot be read as JSON"),
        ({"config": '{"network": {"blocks": ' + "[" * 700 + "]" * 700 + "}}"}, "network.blocks ="),
        ({"config": "[]"}, "its config must be a JSON object"),
        ({"config": '{"seed": ' + "9" * 5000 + "}"}, "its config cannot be read as JSON"),
        ({"config": '{"sede": 1}'}, "did you mean seed?"),
        ({"config": '{"network": {"blocks": "many"}}'}, "must be of type int"),
        (
            {"config": '{"game": {"name": "tic_tac_toe\\ud800"}}'},
            r"unknown game 'tic_tac_toe\ud800'",
        ),
        ({"about": "nonsense"}, "its results cannot be read as JSON"),
        ({"about": "[" * 100_000}, "its results cannot be read as JSON"),
        ({"about": "{}"}, "its results are not as"),
        ({"about": "[]"}, "its results are not as"),
        ({"about": about(cycles="6")}, "its results are not as"),
        ({"about": about(report=[{}])}, "its results are not as"),
        ({"about": about(report=[ABOUT["report"][0] | {"positions": 0}])}, "results are not as"),
        ({"about": about(matches=[ABOUT["matches"][0] | {"score": float("nan")}])}, "are not as"),
        ({"about": about(matches=7)}, "its results are not as"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else next(iter(value.values()))[:20],
)
def test_hostile_headers_with_a_right_checksum_are_refused_in_one_line(
    file, tmp_path, changes, said
):
    arrays, header = contents(file)
    bad = signed(tmp_path / "bad.safetensors", arrays, header | changes)
    assert said in refusal(bad)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"\x00" * 8,
        (2**63).to_bytes(8, "little") + b"{}",
        (2**64 - 1).to_bytes(8, "little"),
        (100_000).to_bytes(8, "little") + b"[" * 100_000,
        (2).to_bytes(8, "little") + b"[]",
        (27).to_bytes(8, "little") + b'{"__metadata__":{"a":[{}]}}',
    ],
)
def test_headers_that_are_none_are_refused(tmp_path, start):
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(start)
    assert "not a safetensors file, or damaged" in refusal(bad)


def test_text_of_a_file_does_not_reach_the_terminal(file, tmp_path, capsys):
    arrays, header = contents(file)
    name = "\x1b[2J\x07search:4"
    shown = json.dumps({**ABOUT, "report": [ABOUT["report"][0] | {"player": name}]})
    odd = signed(tmp_path / "odd.safetensors", arrays, header | {"about": shown})
    assert r"\x1b[2J\x07search:4: 90.0%" in load_saved(odd).describe()
    game = json.dumps({"game": {"name": "\x1b[2J"}})
    odd = signed(tmp_path / "odder.safetensors", arrays, header | {"config": game})
    assert main(["play", str(odd)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert r"\x1b[2J" in line


def test_a_network_that_the_file_cannot_hold_is_not_built(file, tmp_path):
    arrays, header = contents(file)
    config = json.loads(header["config"])
    config["network"] |= {"blocks": 900}
    bad = signed(tmp_path / "bad.safetensors", arrays, header | {"config": json.dumps(config)})
    started = time.monotonic()
    assert "do not fit the network" in refusal(bad)
    assert time.monotonic() - started < 1


def test_loading_compiles_nothing(file, caplog):
    load_saved(file)
    with jax.log_compiles():
        load_saved(file)
    assert not [record for record in caplog.records if "ompil" in record.getMessage()]


def file_of_game(file, path, name, **evaluation):
    """Writes a file of the same weights, whose config names another game or other opponents."""
    arrays, header = contents(file)
    config = json.loads(header["config"])
    config["game"] = {"name": name}
    config["evaluation"] |= evaluation
    return signed(path, arrays, header | {"config": json.dumps(config)})


@pytest.fixture
def hostile(file, tmp_path, monkeypatch):
    """A file that names a module next to it, which leaves a mark when it is imported."""
    source = "import pathlib\nfrom azjax_envs.tic_tac_toe import TicTacToe as Game\n"
    source += f"pathlib.Path({str(tmp_path / 'imported')!r}).touch()\n"
    (tmp_path / "module_of_a_file.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    yield file_of_game(file, tmp_path / "hostile.safetensors", "module_of_a_file:Game")
    sys.modules.pop("module_of_a_file", None)


@pytest.mark.parametrize("module", ["module_of_a_file:Game", "pgx:tic_tac_toe", "os.path:x", ":"])
def test_a_file_imports_nothing_on_its_own(file, tmp_path, module, hostile):
    named = file_of_game(file, tmp_path / "named.safetensors", module)
    for game in None, make("connect_four"):
        with pytest.raises(UserError) as caught:
            load_player(named, game=game)
        said = str(caught.value)
        assert f"named.safetensors asks to import {module}, which can run any code" in said
        assert "allow it with --trust (in Python: trust=True)" in said
    assert not (tmp_path / "imported").exists()


def test_a_trusted_file_imports_its_game(hostile, tmp_path):
    assert azjax.load_player(hostile, trust=True).game.name == "tic_tac_toe"
    assert (tmp_path / "imported").exists()


def test_the_users_own_game_needs_no_trust(file, tmp_path):
    name = f"{OwnGame.__module__}:{OwnGame.__qualname__}"
    named = file_of_game(file, tmp_path / "own.safetensors", name)
    assert load_player(named, game=OwnGame()).game == OwnGame()
    with pytest.raises(UserError, match="asks to import"):
        load_player(named)


COMMANDS = (
    ["play", "FILE"],
    ["play", "FILE", "--web", "--no-browser"],
    ["eval", "FILE"],
    ["match", "FILE", "random"],
    ["web", "FILE", "--out", "site"],
    ["gtp", "FILE"],
    ["uci", "FILE"],
    ["usi", "FILE"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_import_a_files_game_only_with_trust(
    command, hostile, tmp_path, capsys, monkeypatch
):
    words = [str(hostile) if word == "FILE" else word for word in command]
    assert main(words) == 2
    (line,) = [x for x in capsys.readouterr().err.splitlines() if x.startswith("azjax: ")]
    assert "asks to import module_of_a_file:Game" in line
    assert not (tmp_path / "imported").exists()

    def stop(spec, *, trust=False, **options):
        raise UserError(f"trust is {trust}")

    monkeypatch.setattr("azjax.players.load.load_player", stop)
    assert main([*words, "--trust"]) == 2
    assert "trust is True" in capsys.readouterr().err


def test_opponents_in_a_file_are_never_started(file, tmp_path):
    command = f"gtp:sh -c 'touch {tmp_path}/started'"
    named = file_of_game(file, tmp_path / "a.safetensors", "tic_tac_toe", opponents=[command])
    assert load_player(named, trust=True).game == GAME
    assert not (tmp_path / "started").exists()
