"""Files of players that are damaged or were made with bad intentions."""

import json
import sys

import jax
import numpy as np
import pytest
import safetensors.numpy
from azjax_envs import make
from azjax_envs.tic_tac_toe import TicTacToe

import azjax
from azjax.cli.main import main
from azjax.errors import UserError
from azjax.players.load import load_player
from azjax.players.weights_file import load_saved, save_player
from tests import tiny
from tests.players.saved_players import ABOUT, contents, network, refusal, signed


class OwnGame(TicTacToe):
    """A game of the user's own."""


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
            assert (saved.config, saved.metadata) == (intact.config, intact.metadata)
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


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"network": "{"}, "its network cannot be read as JSON"),
        ({"search": "[" * 100_000}, "its search cannot be read as JSON"),
        ({"network": '{"blocks": ' + "[" * 700 + "]" * 700 + "}"}, "network.blocks ="),
        ({"game": "[]"}, "its game must be a JSON object"),
        ({"search": '"gumbel"'}, "its search must be a JSON object"),
        ({"search": '{"num_simulations": ' + "9" * 5000 + "}"}, "its search cannot be read as"),
        ({"search": '{"num_simulation": 1}'}, "did you mean search.num_simulations?"),
        ({"search": '{"gumbel": 3}'}, "search.gumbel must be a table"),
        ({"network": '{"blocks": "many"}'}, "must be a whole number"),
        ({"game": '{"name": "tic_tac_toe\\ud800"}'}, r"unknown game 'tic_tac_toe\ud800'"),
        ({"metadata": "nonsense"}, "its metadata cannot be read as JSON"),
        ({"metadata": "[" * 100_000}, "its metadata cannot be read as JSON"),
        ({"metadata": "[]"}, "its metadata must be a JSON object"),
        ({"metadata": '{"card": 6}'}, "its results are not as"),
        ({"metadata": '{"short": []}'}, "its results are not as"),
        ({"metadata": json.dumps({"card": "x" * 200_000})}, "its results are not as"),
        ({"azjax_format": "2"}, "a player in format 2, but this version of azjax reads format 1"),
        ({"azjax_format": ""}, "but this version of azjax reads format 1"),
        ({"azjax_format": "9" * 9000}, "but this version of azjax reads format 1"),
        ({"azjax_format": "\x1b[2J"}, r"a player in format \x1b[2J, but"),
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
    shown = json.dumps({"card": "\x1b[2J\x07search:4: 90.0%\rof all"})
    odd = signed(tmp_path / "odd.safetensors", arrays, header | {"metadata": shown})
    assert load_saved(odd).describe() == r"\x1b[2J\x07search:4: 90.0%\rof all"
    game = json.dumps({"name": "\x1b[2J"})
    odd = signed(tmp_path / "odder.safetensors", arrays, header | {"game": game})
    assert main(["play", str(odd)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert r"\x1b[2J" in line


def test_a_network_that_the_file_cannot_hold_is_not_built(file, tmp_path, monkeypatch):
    arrays, header = contents(file)
    larger = json.dumps(json.loads(header["network"]) | {"blocks": 900})
    bad = signed(tmp_path / "bad.safetensors", arrays, header | {"network": larger})
    monkeypatch.setattr("azjax.network.custom_network.resolve_network", None)
    assert "do not fit the network" in refusal(bad)


def test_loading_compiles_nothing(file, caplog):
    load_saved(file)
    with jax.log_compiles():
        load_saved(file)
    assert not [record for record in caplog.records if "ompil" in record.getMessage()]


def file_of_game(file, path, name):
    """Writes a file of the same weights, whose config names another game."""
    arrays, header = contents(file)
    return signed(path, arrays, header | {"game": json.dumps({"name": name})})


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
