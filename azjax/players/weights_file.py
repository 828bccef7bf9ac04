"""Players in single files: a network's weights as safetensors, with its config and its results.

The header holds the run's config and figures of its evaluation report. Files can be shared and read
without running any code in them. Weights are stored as float16, which changes predictions by about
a thousandth.
"""

from __future__ import annotations

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
from azjax.games import own_game
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
        sizes = f"{network.blocks} x {network.channels} {network.architecture}"
        if network.convolutions and network.architecture == "mlp":
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
    arrays = {_name(keys): np.asarray(x, np.float16) for keys, x in flat}
    header = {"config": json.dumps(config_to_dict(config)), "about": json.dumps(about)}
    path.write_bytes(safetensors.numpy.save(arrays, metadata=header))


def load_saved(path: str | Path, *, game: Game | None = None) -> SavedPlayer:
    """Reads a player's file.

    Args:
      path: the file.
      game: its game, if that cannot be made from a name.

    Raises:
      UserError: the file is missing or damaged, or it does not hold a player.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (OSError, safetensors.SafetensorError) as error:
        raise UserError(f"{path}: not a safetensors file, or damaged ({error})") from error
    if not {"config", "about"} <= header.keys():
        raise UserError(f"{path}: holds weights, but no player; `azjax export RUN FILE` writes one")
    config = config_from_dict(json.loads(header["config"]))
    game = own_game(config, game, owner=str(path))
    network = make_network(game, config.network)
    shapes = jax.eval_shape(network.init, jax.ShapeDtypeStruct((2,), "uint32"))
    flat, structure = jax.tree_util.tree_flatten_with_path(shapes)
    expected = {_name(keys): x.shape for keys, x in flat}
    if expected != {name: x.shape for name, x in arrays.items()}:
        raise UserError(
            f"{path}: the weights do not fit the network of its config; use the version of azjax "
            "that wrote the file"
        )
    leaves = [jnp.asarray(arrays[name], jnp.float32) for name in expected]
    return SavedPlayer(config, jax.tree.unflatten(structure, leaves), json.loads(header["about"]))


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
    written = json.loads(file.read_text()) if file.is_file() else {}
    report, matches = [], []
    if written.get("cycle") == cycle:
        for player in written["players"][:2]:  # with search, and without
            for score in player["scores"]:
                kept = {k: score[k] for k in ("suite", "positions", "mistakes")}
                report.append({"player": player["name"], **kept})
            for match in player["matches"]:
                if match["player_b"] != "random":
                    kept = {k: match[k] for k in ("games", "score")}
                    names = {"player": player["name"], "opponent": match["player_b"]}
                    matches.append(names | kept)
    return {"cycles": cycle, "report": report, "matches": matches}


def _name(keys: tuple[Any, ...]) -> str:
    return ".".join(str(key.key) for key in keys)
