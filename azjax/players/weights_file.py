"""Players in single files: a network's weights as safetensors, with its config and its results.

The header holds the run's config, figures of its evaluation report, and a checksum over everything
in the file. Loading a file starts nothing, and imports nothing that it names unless the user
trusts it. Weights are stored as float16, which changes predictions by about a thousandth.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy
from azjax_envs import Game

from azjax.config import Config
from azjax.config.toml import config_from_dict, config_to_dict
from azjax.errors import UserError, printable
from azjax.games import game_config, own_game
from azjax.network.network import Variables, make_network

SUFFIX = ".safetensors"


@dataclass(frozen=True)
class SavedPlayer:
    """The contents of a player's file."""

    config: Config  # of the run it comes from
    variables: Variables  # float32
    about: dict[str, Any]  # see `about_run`

    def describe(self) -> str:
        """Returns the network's size and its results, in a line or two."""
        network = self.config.network
        dense = network.architecture == "mlp"
        kind = "residual mlp" if dense and network.residual else network.architecture
        sizes = f"{network.blocks} x {network.channels} {kind}"
        if network.convolutions and dense:
            sizes += f" after {network.convolutions} convolutions of {network.filters}"
        lines = [f"{self.config.game.name}: a {sizes}, trained for {self.about['cycles']} cycles"]
        for score in self.about["report"]:
            share = 1 - score["mistakes"] / score["positions"]
            lines.append(
                f"{score['player']}: {share:.1%} of {score['positions']:,} {score['suite']} "
                "without a mistake"
            )
        for match in self.about.get("matches", ()):  # files of older versions have none
            lines.append(
                f"{match['player']}: {match['score']:.1%} of the points in {match['games']} games "
                f"against {match['opponent']}"
            )
        return printable("; ".join(lines))


def save_player(
    path: str | Path, config: Config, variables: Variables, about: dict[str, Any]
) -> None:
    """Writes a player's file.

    Args:
      path: the file, with the suffix `.safetensors`.
      config: of the run.
      variables: of its network.
      about: its results, see `about_run`.

    Raises:
      UserError: the file exists, its directory does not, or it has another suffix.
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        raise UserError(f"{path}: the name must end in {SUFFIX}")
    if path.exists():
        raise UserError(f"{path} exists; choose another name")
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: no such directory")
    flat, _ = jax.tree_util.tree_flatten_with_path(variables)
    with np.errstate(over="ignore"):  # the check below says it better
        arrays = {_name(keys): np.asarray(x, np.float16) for keys, x in flat}
    if found := _first_infinite(arrays):
        raise UserError(
            f"{path}: not written, as {found} has values that are not finite numbers up to 65504"
        )
    header = {"config": json.dumps(config_to_dict(config)), "about": json.dumps(about)}
    path.write_bytes(file_bytes(arrays, header))


def load_saved(path: str | Path, *, game: Game | None = None, trust: bool = False) -> SavedPlayer:
    """Reads a player's file, and checks everything in it.

    Args:
      path: the file.
      game: its game, if that cannot be made from a name.
      trust: import the module of its game, if the file names one. This can run any code.

    Raises:
      UserError: the file is missing or damaged, it does not hold a player, or it needs `trust`.
    """
    header, arrays = _read(path)
    config = _parse_config(path, header["config"])
    about = _checked_about(path, _parse_json(path, "results", header["about"]))
    _check_trust(path, config, game, trust)
    game = own_game(config, game, owner=str(path))
    misfit = UserError(
        f"{path}: the weights do not fit the network of its config; use the version of azjax "
        "that wrote the file"
    )
    # Each layer has arrays of its own. A network with more layers than that takes long to trace.
    if max(config.network.blocks, config.network.convolutions) > len(arrays):
        raise misfit
    network = make_network(game, config.network)
    shapes = jax.eval_shape(network.init, jax.ShapeDtypeStruct((2,), "uint32"))
    flat, structure = jax.tree_util.tree_flatten_with_path(shapes)
    expected = {_name(keys): x.shape for keys, x in flat}
    if expected != {name: x.shape for name, x in arrays.items()}:
        raise misfit
    # Converted by NumPy, because JAX would compile a program for each shape.
    leaves = [jnp.asarray(arrays[name].astype(np.float32)) for name in expected]
    return SavedPlayer(config, jax.tree.unflatten(structure, leaves), about)


def pretrained() -> dict[str, Path]:
    """Returns the files of the players that come with azjax, by the names of their games."""
    folder = Path(str(importlib.resources.files("azjax") / "pretrained"))
    return {file.stem: file for file in sorted(folder.glob(f"*{SUFFIX}"))}


def about_run(run_dir: Path, cycle: int | None) -> dict[str, Any]:
    """Returns the results of a checkpoint, if the run's report is about this checkpoint.

    Args:
      run_dir: the run directory.
      cycle: cycle of the checkpoint.

    Returns:
      "cycles"; "report", for each position suite the "suite", "player", "positions" and "mistakes";
      and "matches", for each opponent except random play the "player", "opponent", "games" and
      "score".
    """
    file = run_dir / "report.json"
    about: dict[str, Any] = {"cycles": cycle, "report": [], "matches": []}
    if not file.is_file():
        return about
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
        if written.get("cycle") == cycle:
            about |= _results(written)
        return _checked_about(file, about)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"{file}: not as `azjax report` writes it; delete it, or write it again with "
            f"`azjax report {run_dir}`"
        ) from error


def _results(report: dict[str, Any]) -> dict[str, Any]:
    """Returns the results that a file keeps of an evaluation report."""
    scores, matches = [], []
    for player in report["players"][:2]:  # with search, and without
        for score in player["scores"]:
            kept = {k: score[k] for k in ("suite", "positions", "mistakes")}
            scores.append({"player": player["name"], **kept})
        for match in player["matches"]:
            if match["player_b"] != "random":
                kept = {k: match[k] for k in ("games", "score")}
                names = {"player": player["name"], "opponent": match["player_b"]}
                matches.append(names | kept)
    return {"report": scores, "matches": matches}


def _read(path: str | Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Returns the header's texts and the arrays of a player's file, which must be intact."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            names = list(file.keys())
            types = {name: file.get_slice(name).get_dtype() for name in names}
            if {"config", "about"} <= header.keys():
                for name, kind in types.items():
                    if kind != "F16":
                        raise UserError(f"{path}: {name} has type {kind}, but must have F16")
            arrays = {name: file.get_tensor(name) for name in names if types[name] == "F16"}
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (OSError, safetensors.SafetensorError) as error:
        raise UserError(f"{path}: not a safetensors file, or damaged ({error})") from error
    if not {"config", "about"} <= header.keys():
        raise UserError(f"{path}: holds weights, but no player; `azjax export RUN FILE` writes one")
    if header.get("checksum") != _checksum(arrays, header):
        raise UserError(
            f"{path}: damaged, as its checksum is another; get the file again, or write it again "
            "with `azjax export RUN FILE`"
        )
    if found := _first_infinite(arrays):
        raise UserError(f"{path}: {found} has values that are not finite numbers")
    return header, arrays


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


def _parse_json(path: str | Path, what: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: its {what} cannot be read as JSON ({error})") from error


def _parse_config(path: str | Path, text: str) -> Config:
    data = _parse_json(path, "config", text)
    if not isinstance(data, dict):
        raise UserError(f"{path}: its config must be a JSON object")
    try:
        return config_from_dict(data)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def _check_trust(path: str | Path, config: Config, game: Game | None, trust: bool) -> None:
    """Raises a UserError if making the file's game would import a module that the file names."""
    if trust or ":" not in config.game.name:
        return
    if game is None or game_config(game) != config.game:
        raise UserError(
            f"{path} asks to import {config.game.name}, which can run any code; if you trust the "
            "file's author, allow it with --trust (in Python: trust=True)"
        )


def _checked_about(path: str | Path, about: Any) -> dict[str, Any]:
    """Returns the results in a file, if they are as `about_run` makes them."""
    good = (
        isinstance(about, dict)
        and (about.get("cycles", 0) is None or _is_count(about.get("cycles")))
        and _are_rows(about.get("report"), ("player", "suite"))
        and all(
            _is_count(row.get("positions"), 1)
            and _is_count(row.get("mistakes"), 0, row["positions"])
            for row in about["report"]
        )
        and _are_rows(about.get("matches", []), ("player", "opponent"))
        and all(
            _is_count(row.get("games"), 1)
            and type(row.get("score")) in (int, float)
            and 0 <= row["score"] <= 1
            for row in about.get("matches", [])
        )
    )
    if not good:
        raise UserError(f"{path}: its results are not as `azjax export` writes them")
    return about


def _are_rows(rows: Any, texts: tuple[str, ...]) -> bool:
    """Returns whether a list holds dicts with these texts."""
    return isinstance(rows, list) and all(
        isinstance(row, dict) and all(isinstance(row.get(key), str) for key in texts)
        for row in rows
    )


def _is_count(number: Any, low: int = 0, high: int = 10**15) -> bool:
    return type(number) is int and low <= number <= high


def _name(keys: tuple[Any, ...]) -> str:
    return ".".join(str(key.key) for key in keys)
