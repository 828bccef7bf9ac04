"""Players in single files: a network's weights as safetensors, with what the player is.

The header holds the number of the format, the game, the network and the search, texts about the
training and strength as metadata, and a checksum over everything in the file. It holds nothing else
of the run, so a change of the config's other sections leaves all files as they are. Of the network
and the search it holds the values that differ from the defaults: an option that no file uses can
go. A new default is another format, which needs another number.

Loading a file starts nothing, and imports nothing that it names unless the user trusts it. Weights
are stored as float16, and in large layers with 8 bits, which changes predictions by a few
thousandths; or, for other programs, as float32. `docs/weights.md` describes the format.
"""

import dataclasses
import hashlib
import importlib.resources
import json
from pathlib import Path
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy
from azjax_envs import Game

from azjax.config import (
    Config,
    NetworkConfig,
    PlayerConfig,
    SearchConfig,
    config_to_dict,
    player_from_dict,
)
from azjax.errors import UserError, printable
from azjax.games import game_config, resolve_game
from azjax.network import Network, Variables
from azjax.players.card import checked_texts, shown
from azjax.players.compact_weights import Precision, pack_weights, unpack_weights

SUFFIX = ".safetensors"
_TYPES = ("F16", "I8", "F32")
FORMAT = "1"
_SECTIONS = ("game", "network", "search")
_PARTS = {*_SECTIONS, "metadata"}


@dataclasses.dataclass(frozen=True)
class SavedPlayer:
    """The contents of a player's file."""

    config: PlayerConfig
    variables: Variables  # float32
    metadata: dict[str, str]  # texts, see `azjax.players.card.card_texts`

    def describe(self, text: str = "card") -> str:
        """Returns the player's card, "" if it has none, or another text of its file."""
        return shown(self.metadata.get(text, ""))


def new_file(path: str | Path, suffix: str) -> Path:
    """Returns the path of a file to write.

    Raises:
      UserError: the file exists, its directory does not, or it has another suffix.
    """
    path = Path(path)
    if path.suffix != suffix:
        raise UserError(f"{path}: the name must end in {suffix}")
    if path.exists():
        raise UserError(f"{path} exists; choose another name")
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: no such directory")
    return path


def save_player(
    path: str | Path,
    config: Config | PlayerConfig,
    variables: Variables,
    metadata: dict[str, str] | None = None,
    *,
    dtype: Precision = "compact",
) -> None:
    """Writes a player's file, whose name must end in `.safetensors`.

    Args:
      config: the player's, or its run's, of which the file keeps `config.player`.
      metadata: texts that `run_metadata` returns; None if there are none.
      dtype: "compact", which is float16 and 8 bits in large layers; "float16", or "float32", which
        rounds nothing.

    Raises:
      UserError: the file exists, its directory does not, it has another suffix, or a weight is not
        finite in this type.
    """
    path = new_file(path, SUFFIX)
    if dtype not in get_args(Precision):
        raise UserError(f"dtype must be one of {', '.join(get_args(Precision))}")
    flat, _ = jax.tree_util.tree_flatten_with_path(variables)
    arrays = pack_weights({_name(keys): np.asarray(x) for keys, x in flat}, dtype)
    if found := _first_infinite(arrays):
        most = "" if dtype == "float32" else " up to 65504"
        raise UserError(
            f"{path}: not written, as {found} has values that are not finite numbers{most}"
        )
    if isinstance(config, Config):
        config = config.player
    path.write_bytes(file_bytes(arrays, file_header(config, metadata or {})))


def load_saved(
    path: str | Path,
    *,
    game: Game | None = None,
    network: Network | None = None,
    trust: bool = False,
) -> SavedPlayer:
    """Reads a player's file, and checks everything in it.

    Args:
      game: its game, if that cannot be made from a name.
      network: its network, if that is the user's own and no name leads to it.
      trust: import the modules that the file names, which can run any code.

    Raises:
      UserError: the file is missing or damaged, it does not hold a player, or it needs `trust`.
    """
    # These import Flax.
    from azjax.network import resolve_network, variable_shapes

    header, weights = _read(path)
    parts = {name: _parse_json(path, name, header[name]) for name in (*_SECTIONS, "metadata")}
    metadata = checked_texts(path, parts.pop("metadata"))
    try:
        config = player_from_dict(parts)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    _check_trust(path, config, game, network, trust)
    game = resolve_game(config.game, game, owner=str(path))
    own = network is not None or config.network.module
    misfit = UserError(
        f"{path}: the weights do not fit the given network; it must be the one that was trained"
        if own
        else f"{path}: the weights do not fit the network of its config; use the version of azjax "
        "that wrote the file"
    )
    # Each layer has arrays of its own. A network with more layers than that takes long to trace.
    if not own and max(config.network.blocks, config.network.convolutions) > len(weights):
        raise misfit
    network = resolve_network(game, config.network, network, owner=str(path))
    shapes = variable_shapes(network)
    flat, structure = jax.tree_util.tree_flatten_with_path(shapes)
    expected = {_name(keys): x for keys, x in flat}
    if {k: x.shape for k, x in expected.items()} != {k: x.shape for k, x in weights.items()}:
        raise misfit
    leaves = [jnp.asarray(weights[name], x.dtype) for name, x in expected.items()]
    return SavedPlayer(config, jax.tree.unflatten(structure, leaves), metadata)


def pretrained() -> dict[str, Path]:
    """Returns the files of the players that come with azjax, by the names of their games."""
    folder = Path(str(importlib.resources.files("azjax") / "pretrained"))
    return {file.stem: file for file in sorted(folder.glob(f"*{SUFFIX}"))}


def _read(path: str | Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Returns the header's texts and the weights of a player's file, which must be intact."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            names = list(file.keys())
            types = {name: file.get_slice(name).get_dtype() for name in names}
            _check_header(path, header)
            for name, kind in types.items():
                if kind not in _TYPES:
                    right = "must have F16 or I8, or all must have F32"
                    raise UserError(f"{path}: {name} has type {kind}, but {right}")
            arrays = {name: file.get_tensor(name) for name in names}
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (OSError, safetensors.SafetensorError) as error:
        why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise UserError(f"{path}: not a safetensors file, or damaged{why}") from error
    if header.get("checksum") != _checksum(arrays, header):
        raise UserError(
            f"{path}: damaged, as its checksum is another; get the file again, or write it again "
            "with `azjax export RUN FILE`"
        )
    try:
        weights = unpack_weights(arrays)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    if found := _first_infinite(weights):
        raise UserError(f"{path}: {found} has values that are not finite numbers")
    return header, weights


def _check_header(path: str | Path, header: dict[str, str]) -> None:
    """Raises a UserError unless a header is one of a player in this format."""
    found = header.get("azjax_format")
    if found is not None and found != FORMAT:
        raise UserError(
            f"{path}: a player in format {printable(found[:20])}, but this version of azjax reads "
            f"format {FORMAT}; a newer version reads newer files"
        )
    if found is None or not header.keys() >= _PARTS:
        raise UserError(f"{path}: holds weights, but no player; `azjax export RUN FILE` writes one")


def file_header(config: PlayerConfig, metadata: dict[str, str]) -> dict[str, str]:
    """Returns the texts of a player's header, without its checksum."""
    parts = {
        "game": config_to_dict(config.game),
        "network": _changed(config_to_dict(config.network), config_to_dict(NetworkConfig())),
        "search": _changed(config_to_dict(config.search), config_to_dict(SearchConfig())),
        "metadata": metadata,
    }
    return {"azjax_format": FORMAT} | {name: json.dumps(part) for name, part in parts.items()}


def _changed(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Returns the values that are not the defaults, in nested dicts."""
    changed = {}
    for key, value in values.items():
        default = defaults.get(key)
        if isinstance(value, dict) and isinstance(default, dict):
            value = _changed(value, default)
            default = {}
        if value != default:
            changed[key] = value
    return changed


def file_bytes(arrays: dict[str, np.ndarray], header: dict[str, str]) -> bytes:
    """Returns a player's file, with its checksum."""
    header = header | {"checksum": _checksum(arrays, header)}
    return safetensors.numpy.save(arrays, metadata=header)


def _checksum(arrays: dict[str, np.ndarray], header: dict[str, str]) -> str:
    """Returns the SHA-256 of all names, types, shapes and values, and of the header's texts."""
    names = sorted(arrays)
    kinds = [(name, str(arrays[name].dtype), arrays[name].shape) for name in names]
    texts = sorted((key, text) for key, text in header.items() if key != "checksum")
    digest = hashlib.sha256(json.dumps([kinds, texts]).encode())
    for name in names:
        digest.update(arrays[name].tobytes())
    return f"sha256:{digest.hexdigest()}"


def _first_infinite(arrays: dict[str, np.ndarray]) -> str | None:
    """Returns the name of the first array that holds an infinity or no number."""
    return next((name for name, x in arrays.items() if not np.isfinite(x).all()), None)


def _parse_json(path: str | Path, name: str, text: str) -> dict[str, Any]:
    """Returns a part of the header, which must be a JSON object."""
    try:
        part = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: its {name} cannot be read as JSON") from error
    if not isinstance(part, dict):
        raise UserError(f"{path}: its {name} must be a JSON object")
    return part


def _check_trust(
    path: str | Path, config: PlayerConfig, game: Game | None, network: Network | None, trust: bool
) -> None:
    """Raises a UserError if making the player would import a module that the file names."""
    names = []
    if game is None or game_config(game) != config.game:
        names.append(config.game.name)
    if network is None:
        names.append(config.network.module)
    asked = [name for name in names if ":" in name]
    if asked and not trust:
        raise UserError(
            f"{path} asks to import {' and '.join(asked)}, which can run any code; if you trust "
            "the file's author, allow it with --trust (in Python: trust=True)"
        )


def _name(keys: tuple[Any, ...]) -> str:
    return ".".join(str(key.key) for key in keys)
