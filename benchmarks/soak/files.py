"""Hostile config files and players' files: each is loaded correctly, or refused in one line.

    python benchmarks/soak/files.py --json benchmarks/results/hostile_files_2_cores.json

The files are mutations of valid ones: flipped bits, cuts, insertions, nesting, huge numbers, other
encodings, keys and values of all types. Half of the players' files have a right checksum, as a
person with bad intentions would write them. No file may be loaded as something else than it says,
take long, import a module or start a process.
"""

import collections
import copy
import dataclasses
import functools
import json
import os
import random
import resource
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import safetensors.numpy
import tomli_w
import tyro

from azjax.config import Config
from azjax.config.toml import (
    config_from_dict,
    config_to_dict,
    load_config,
    player_from_dict,
    save_config,
    shipped_configs,
)
from azjax.errors import UserError
from azjax.games import make_game
from azjax.network.two_headed import make_network
from azjax.players.load import load_player
from azjax.players.weights_file import file_bytes, load_saved, save_player

LONGEST_LINE = 2500
MOST_SECONDS = 10.0  # of the processor, for one file
CANARY = "azjax_soak_canary"
OPPONENT = "gtp:sh -c 'touch azjax_soak_canary'"
PLAYER = {
    "game": {"name": "tic_tac_toe"},
    "network": {"architecture": "mlp", "blocks": 1, "channels": 16, "value_hidden": 16},
    "replay": {"min_positions": 96},
}
ABOUT = {"training": "6 cycles", "card": "tic_tac_toe is good.\nsearch:4: 90.0%"}
VALUES: list[Any] = [
    *(0, 1, -1, 2, 3, 7, 900, 1000, 10**6, 10**7, 10**9, 2**31, 2**63 - 1, 2**63, -(2**63)),
    *(10**400, 0.0, -0.0, 0.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf")),
    *(True, False, "", "a", "\x1b[2J\x07", "\u202e\u2028", "\x00", "é漢", "x" * 5000),
    *("../../etc/passwd", "go_19x19", "chess", "hex_999999999", "tic_tac_toe_3x3", "random"),
    *("resnet", "wdl", "planes", "muon", "puct", "gated", "score", OPPONENT, f"{CANARY}:Game"),
    *("pgx:go_9x9", ":", "os:system", [], [1], [[[]]], ["score", "ownership"], ["a"] * 3000),
    *([OPPONENT], {}, {"a": {}}, {"name": "go"}, {"name": "go", "size": 10**9}),
    *({"name": f"{CANARY}:Game"}, {"name": "mnk", "m": 3, "n": 3, "k": 3}),
]
TOML = [
    *("nan", "-inf", "1e400", "9" * 400, "9" * 5000, "0x" + "f" * 60_000, "0b1", "1_000", "1__0"),
    *("1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "true", '"x"', "{}", "{a=1}", "[]"),
    *("[[1]]", "'''\na\n'''", '"\\u001b[2J"', '"\\ud800"', "=", '"', "#", "\x00", "\x1b[31m"),
    *("\ufeff", "[" * 20_000, "[" * 300 + "]" * 300, "{a=" * 10_000, "\u202e", "\r"),
    *("'" + "x" * 90_000 + "'", ".".join("a" * 900)),
]


class WrongError(Exception):
    """A file was not handled as it must be."""


def watch(event: str, details: tuple[Any, ...]) -> None:
    """Ends whatever would start a process."""
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"):
        raise WrongError(f"a process was started: {details}")


class Imports:
    """Ends the import of a module that only a file names."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name.startswith((CANARY, "pgx", "azjax_envs.pgx")):
            raise WrongError(f"{name} was imported")


def flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 3, 20))):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    if rng.random() < 0.5:
        return data[:start]
    return data[:start] + data[start + rng.randrange(1, 200) :]


def insert(rng: random.Random, data: bytes) -> bytes:
    start, piece = rng.randrange(len(data) + 1), rng.randrange(len(data))
    more = rng.choice(
        (rng.randbytes(rng.randrange(1, 50)), data[piece : piece + 100], rng.choice(TOML).encode())
    )
    return data[:start] + more + data[start:]


def noise(rng: random.Random, data: bytes) -> bytes:
    return rng.randbytes(rng.randrange(2000))


BYTES = (flip, flip, cut, insert, noise)


def mutate_value(rng: random.Random, tree: Any) -> Any:
    """Returns a copy of nested dicts and lists with one to three hostile changes."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = list(containers(tree))
        if not places:
            return rng.choice(VALUES)
        place = rng.choice(places)
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        value = copy.deepcopy(rng.choice(VALUES))
        match rng.randrange(6), place:
            case 0, _:
                del place[key]
            case 1, dict():
                place[rng.choice(("", "\x1b[2J", "seed", "blocks", "é", "x" * 3000))] = value
            case 2, dict():
                place[key + rng.choice(("s", "\x07", "."))] = place.pop(key)
            case _:
                place[key] = value
    return tree


def containers(tree: Any) -> Any:
    """Yields all dicts and lists of a tree that are not empty."""
    if isinstance(tree, dict | list) and tree:
        yield tree
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from containers(value)


def config_bytes(rng: random.Random, config: Config) -> bytes:
    """Returns the content of a hostile config file."""
    data = config_to_dict(config)
    text = tomli_w.dumps(data)
    match rng.randrange(8):
        case 0 | 1:
            return rng.choice(BYTES)(rng, text.encode())
        case 2 | 3 | 4:
            return tomli_w.dumps(printed(mutate_value(rng, data))).encode("utf-8", "surrogatepass")
        case 5:  # one assignment gets a value that only TOML has
            lines = text.splitlines()
            where = rng.choice([i for i, line in enumerate(lines) if "=" in line])
            lines[where] = lines[where].partition("=")[0] + "= " + rng.choice(TOML)
            return "\n".join(lines).encode("utf-8", "surrogatepass")
        case 6:
            key, value = rng.choice(TOML), rng.choice(TOML)
            line = rng.choice((f"{key} = {value}", f"[{key}]", f"[[{key}]]", value, f"a = {value}"))
            parts = [text, line]
            rng.shuffle(parts)
            return "\n".join(parts).encode("utf-8", "surrogatepass")
        case _:
            return text.encode(rng.choice(("utf-16", "utf-32", "utf-7", "utf-8-sig", "cp037")))


def printed(tree: Any) -> dict[str, Any]:
    return tree if isinstance(tree, dict) else {"a": tree}


def check_config(file: Path) -> str:
    """Loads a config and checks that it is what the file says."""
    config = load_config(file)
    again = file.with_name("again.toml")
    save_config(config, again)
    if load_config(again) != config:
        raise WrongError("another config came back")
    if ":" not in config.game.name:
        make_game(config)
    return "loaded"


PARTS = ("game", "network", "search", "metadata")


@dataclasses.dataclass(frozen=True)
class Intact:
    """A valid player's file."""

    content: bytes
    arrays: dict[str, np.ndarray]
    header: dict[str, str]


def write_intact(file: Path) -> Intact:
    config = config_from_dict(PLAYER)
    network = make_network(make_game(config), config.network)
    save_player(file, config, jax.jit(network.init)(jax.random.key(0)), ABOUT)
    with safetensors.safe_open(file, framework="numpy") as opened:
        arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        return Intact(file.read_bytes(), arrays, opened.metadata())


def player_bytes(rng: random.Random, intact: Intact) -> tuple[bytes, dict[str, str] | None]:
    """Returns the content of a hostile player's file.

    The second value is the header of a file whose checksum is right. Without one, only the intact
    player may be loaded.
    """
    arrays, header = dict(intact.arrays), dict(intact.header)
    name = rng.choice(sorted(arrays))
    match rng.randrange(10):
        case 0 | 1 | 2:
            return rng.choice(BYTES)(rng, intact.content), None
        case 3:  # the length of the header
            length = rng.choice((0, 1, 2**31, 2**63, 2**64 - 1, rng.randrange(2**20)))
            return struct.pack("<Q", length) + intact.content[8:], None
        case 4:  # the table of arrays
            length = struct.unpack("<Q", intact.content[:8])[0]
            table = json.loads(intact.content[8 : 8 + length])
            nested = "[" * 100_000 if rng.random() < 0.1 else None
            text = (nested or json.dumps(mutate_value(rng, table))).encode()
            return struct.pack("<Q", len(text)) + text + intact.content[8 + length :], None
        case 5 | 6:
            key = rng.choice(PARTS)
            header[key] = json.dumps(mutate_value(rng, json.loads(header[key])))
        case 7:
            key = rng.choice((*PARTS, "azjax_format"))
            changed = rng.choice(BYTES)(rng, header[key].encode())
            header[key] = changed.decode("utf-8", "replace")
        case 8:  # a config that the arrays may fit
            section = rng.choice(("game", "network"))
            values = json.loads(header[section])
            values[rng.choice(list(values))] = rng.choice(VALUES)
            header[section] = json.dumps(values)
        case _:
            match rng.randrange(6):
                case 0:
                    arrays[name] = arrays[name].astype(
                        rng.choice(("float32", "float64", "int16", "bool"))
                    )
                case 1:
                    arrays[name] = arrays[name].reshape(-1, 1).copy()
                case 2:
                    del arrays[name]
                case 3:
                    arrays[rng.choice(("", "\x1b[2J", name + "s"))] = arrays.pop(name)
                case 4:
                    arrays[name] = np.zeros(rng.choice(((0,), (), (1, 0, 3))), np.float16)
                case _:
                    arrays[name] = arrays[name].copy()
                    arrays[name].flat[rng.randrange(arrays[name].size)] = rng.choice(
                        (np.nan, np.inf, -np.inf)
                    )
    return file_bytes(arrays, header), header


def check_player(file: Path, intact: Intact, header: dict[str, str] | None) -> str:
    """Loads a player and checks that it is what the file says."""
    player = load_player(file)
    saved = load_saved(file)
    if not all(line.isprintable() for line in saved.describe().split("\n")):
        raise WrongError("a line of the description is not printable")
    said = intact.header if header is None else header
    parts = {part: json.loads(said[part]) for part in PARTS}
    metadata = parts.pop("metadata")
    if saved.config != player_from_dict(parts):
        raise WrongError("another config was loaded")
    if saved.metadata != metadata:
        raise WrongError("other results were loaded")
    loaded = jax.tree_util.tree_flatten_with_path(player.variables)[0]
    for keys, values in loaded:
        want = intact.arrays[".".join(key.key for key in keys)]
        if not np.array_equal(np.asarray(values), want.astype(np.float32)):
            raise WrongError("other weights were loaded")
    if len(loaded) != len(intact.arrays):
        raise WrongError("another number of arrays was loaded")
    return "loaded"


def outcome(check: Callable[[], str]) -> str:
    """Returns "loaded", "refused", or what went wrong."""
    started = time.process_time()
    try:
        found = check()
    except UserError as error:
        line = str(error)
        fine = line.isprintable() and 0 < len(line) <= LONGEST_LINE
        found = "refused" if fine else f"not one printable line: {line[:200]!r}"
    except WrongError as error:
        found = f"wrong: {error}"
    except BaseException:
        found = traceback.format_exc(limit=-3)
    seconds = time.process_time() - started
    return found if seconds <= MOST_SECONDS else f"{seconds:.1f} seconds, {found}"


@dataclasses.dataclass(frozen=True)
class Arguments:
    files: int = 5000
    """Files of each kind."""
    seed: int = 0
    """Seed of the mutations."""
    json: Path | None = None
    """Where the record is written."""


def soak(folder: Path, options: Arguments) -> dict[str, Any]:
    """Loads all files, and returns what came of them."""
    rng = random.Random(options.seed)
    configs = [load_config(path) for path in shipped_configs().values()]
    intact = write_intact(folder / "intact.safetensors")
    load_player(folder / "intact.safetensors")  # imports what loading needs
    sys.addaudithook(watch)
    sys.meta_path.insert(0, Imports())
    results: dict[str, Any] = {}
    for kind in "config", "player":
        counts: collections.Counter[str] = collections.Counter()
        wrong: list[dict[str, str]] = []
        longest = 0.0
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(options.files):
            if kind == "config":
                file = folder / "hostile.toml"
                file.write_bytes(config_bytes(rng, rng.choice(configs)))
                check = functools.partial(check_config, file)
            else:
                file = folder / "hostile.safetensors"
                content, header = player_bytes(rng, intact)
                file.write_bytes(content)
                check = functools.partial(check_player, file, intact, header)
            started = time.process_time()
            found = outcome(check)
            longest = max(longest, time.process_time() - started)
            counts[found if found in ("loaded", "refused") else "wrong"] += 1
            if found not in ("loaded", "refused"):
                wrong.append({"number": str(number), "what": found})
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        results[kind] = {
            "files": options.files,
            **{name: counts[name] for name in ("loaded", "refused", "wrong")},
            "longest_seconds_of_the_processor": round(longest, 2),
            "more_memory_mb": round(grown / 1024, 1),
            "what_was_wrong": wrong[:20],
        }
        print(kind, json.dumps(results[kind], indent=1), flush=True)
    return results


def main(options: Arguments) -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = soak(Path(folder), options)
    record = {
        "command": "python benchmarks/soak/files.py",
        "machine": f"{os.cpu_count()} cores",
        "options": {"files": options.files, "seed": options.seed},
        "results": results,
    }
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    if any(result["wrong"] for result in results.values()):
        raise SystemExit("some files were neither loaded correctly nor refused in one line")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
