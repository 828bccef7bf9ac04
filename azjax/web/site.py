"""The static pages of `azjax web`, which play without a server."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.svg import to_svg

from azjax.chance import most_entries
from azjax.errors import UserError
from azjax.players.network_players import SearchPlayer
from azjax.search import make_algorithm
from azjax.types import State
from azjax.web.onnx_model import Model, export_model, export_set_up, make_evaluation, run_model
from azjax.web.page import WORKER, Card, join_scripts, render_gallery, render_page
from azjax.web.page_data import add_names, describe_game, describe_model, title_of
from azjax.web.runtime import SCRIPT, WASM, runtime_files
from azjax.web.verify import Check, check_model, draw_outcome, open_session

_GAMES, _SECONDS = 50, 60.0  # of the check: that many games, or fewer if they take longer


def write_site(
    player: SearchPlayer,
    out: Path,
    *,
    about: str,
    single_file: bool = False,
    runtime: Path | None = None,
    games: int = _GAMES,
    seed: int = 0,
) -> Check:
    """Checks the exported model in random games, and writes the page.

    Args:
      player: its game and network are exported, and the page searches by its algorithm.
      out: the folder to create, or the file with `single_file`.
      about: a text about the player, folded under the heading.
      single_file: write one HTML file, which a browser opens without a server.
      runtime: the folder with ONNX Runtime Web; None to fetch it by npm.
      games: number of random games of the check; fewer if they take more than a minute.
      seed: seed of these games.

    Raises:
      UserError: `out` exists, the game cannot be exported, or packages are missing.
    """
    _check_writable(out)
    if single_file and out.suffix != ".html":
        raise UserError(f"{out}: with --single-file the name must end in .html")
    shared = _shared_files(runtime)
    exported = _export(player, games, seed)
    if single_file:
        files = shared | exported.models()
        _write_file(out, _page(exported, about, "embedded", _FILES, files))
    else:
        _write_folder(out, shared | _page_files(exported, about, _FILES))
    return exported.check


def write_gallery(
    players: Mapping[str, SearchPlayer],
    out: Path,
    *,
    about: Mapping[str, str],
    runtime: Path | None = None,
    games: int = _GAMES,
    seed: int = 0,
    progress: Callable[[str, Check], None] = lambda name, check: None,
) -> dict[str, Check]:
    """Writes a folder with a page for each player, and a page that links to them.

    Args:
      players: by the names of their folders.
      about: lines about each player, by the same names; the gallery shows the first.
      runtime: as in `write_site`, as `games` and `seed` are; the pages share it.
      progress: called with each player's name and check.
    """
    _check_writable(out)
    files = _shared_files(runtime)
    # The runtime is most of each page's size, so the pages load one copy from the folder above.
    names = _FILES | {kind: f"../{_FILES[kind]}" for kind in ("worker", "runtime", "wasm")}
    cards, checks = [], {}
    for name, player in players.items():
        exported = _export(player, games, seed)
        page = _page_files(exported, about[name], names)
        files |= {f"{name}/{file}": content for file, content in page.items()}
        drawing = to_svg(player.game, _middle_of_a_game(player.game, exported.model))
        cards.append(Card(name, title_of(player.game), about[name], drawing))
        checks[name] = exported.check
        progress(name, exported.check)
    _write_folder(out, files | {"index.html": render_gallery(cards).encode()})
    return checks


_FILES = {"worker": "worker.js", "runtime": SCRIPT, "wasm": WASM}
_FILES |= {"model": "model.onnx", "setUp": "set_up.onnx"}


class _Exported(NamedTuple):
    """A player's model, checked, and what its page needs to know of it."""

    game: Game
    model: Model
    set_up: Model | None
    description: dict[str, Any]
    check: Check

    def models(self) -> dict[str, bytes]:
        models = {_FILES["model"]: self.model, _FILES["setUp"]: self.set_up}
        return {file: model.proto for file, model in models.items() if model}


def _check_writable(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise UserError(f"{out} exists already; choose another name")
    if not out.absolute().parent.is_dir():
        raise UserError(f"{out.absolute().parent}: no such directory")
    if not os.access(out.absolute().parent, os.W_OK):
        raise UserError(f"{out.absolute().parent}: no permission to write there")


def _export(player: SearchPlayer, games: int, seed: int) -> _Exported:
    game, search = player.game, player.config
    width = int(make_algorithm(search).constants().get("width", 1))  # moves of a step
    model = export_model(game, player.network, player.variables, lanes=width)
    names: dict[int, list[str]] = {}
    check = check_model(
        game,
        make_evaluation(game, player.network, player.variables),
        model,
        games=games,
        seed=seed,
        seconds=_SECONDS,
        on_position=lambda state: add_names(game, state, names),
    )
    set_up = export_set_up(game)
    description = describe_game(game, search.num_simulations) | describe_model(
        game, search, model, names
    )
    description |= {} if set_up else {"notation": None}
    return _Exported(game, model, set_up, description, check)


def _shared_files(runtime: Path | None) -> dict[str, bytes]:
    """Returns the engine of all pages."""
    return {"worker.js": join_scripts(WORKER).encode()} | runtime_files(runtime)


def _page_files(exported: _Exported, about: str, names: dict[str, str]) -> dict[str, bytes]:
    """Returns a page that finds its files by `names`, and those that are its own."""
    return {
        "index.html": _page(exported, about, "separate", names, {}),
        "game.json": json.dumps(exported.description, indent=1).encode(),
    } | exported.models()


def _page(
    exported: _Exported, about: str, how: str, names: dict[str, str], files: dict[str, bytes]
) -> bytes:
    game, title = exported.game, title_of(exported.game)
    setup = {"game": exported.description, how: names}
    return render_page(game, title=title, about=about, setup=setup, files=files).encode()


def _middle_of_a_game(game: Game, model: Model) -> State:
    """Returns a position from a game in which the network plays its likeliest moves.

    In a game of chance the dice are rolled there.
    """
    session, rng = open_session(model), np.random.default_rng(0)
    start = jax.device_get(game.init())
    leaves, structure = jax.tree.flatten(start)
    positions, action = [start], -1
    for _ in range(most_entries(game)):
        facts = run_model(session, model, leaves, action)
        leaves = [facts[name] for name in model.outputs[: len(leaves)]]
        if facts["over"]:
            break
        if np.any(facts.get("chance", 0)):
            action = game.num_actions + draw_outcome(rng, facts["chance"])
            continue
        positions.append(jax.tree.unflatten(structure, leaves))
        action = int(np.argmax(np.where(facts["legal"], facts["prior"], -1.0)))
    return positions[len(positions) // 2]


def _write_file(out: Path, content: bytes) -> None:
    partial = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def _write_folder(out: Path, files: dict[str, bytes]) -> None:
    """Writes all files or, after an error, none."""
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
    try:
        for name, content in files.items():
            (partial / name).parent.mkdir(exist_ok=True)
            (partial / name).write_bytes(content)
        partial.chmod(0o755)
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
