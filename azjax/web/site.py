"""`azjax web`: a page that plays without a server."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from azjax_envs.game import has_clicks

from azjax.errors import UserError
from azjax.players.network_players import SearchPlayer
from azjax.web.onnx_model import evaluation, export_model
from azjax.web.page import render_page, worker_script
from azjax.web.page_data import ActionNames, describe_game, describe_model, title_of
from azjax.web.runtime import SCRIPT, WASM, runtime_files
from azjax.web.verify import Check, check_model

_GAMES, _SECONDS = 50, 60.0  # of the check: so many games, or fewer if they take longer


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
    """Writes the page, once the exported model has been checked in random games.

    Args:
      player: its game and network are exported; its search is PUCT in JavaScript.
      out: the folder to make, or with `single_file` the file.
      about: a line under the heading.
      single_file: everything in one HTML file, which opens from a disk.
      runtime: the folder with ONNX Runtime Web; None for npm's.
      games: random games of the check; fewer if they take more than a minute.
      seed: of these games.

    Raises:
      UserError: `out` is there, the game cannot be exported, or packages are missing.
    """
    if out.exists() or out.is_symlink():
        raise UserError(f"{out} is there already; another name is wanted")
    if not out.absolute().parent.is_dir():
        raise UserError(f"{out.absolute().parent}: no such directory")
    if not os.access(out.absolute().parent, os.W_OK):
        raise UserError(f"{out.absolute().parent}: nothing can be written there")
    if single_file and out.suffix != ".html":
        raise UserError(f"{out}: with --single-file a name that ends in .html is wanted")
    game, search = player.game, player.config
    model = export_model(game, player.network, player.variables)
    libraries = runtime_files(runtime)
    names = ActionNames(game)
    check = check_model(
        game,
        evaluation(game, player.network, player.variables),
        model,
        games=games,
        seed=seed,
        seconds=_SECONDS,
        seen=lambda state: None if has_clicks(game) else names.see(state),
    )
    description = describe_game(game, search) | describe_model(
        game, search, model, None if has_clicks(game) else names.names()
    )
    files = {
        "worker.js": worker_script().encode(),
        "model.onnx": model.proto,
        SCRIPT: libraries[SCRIPT],
        WASM: libraries[WASM],
    }
    places = {"worker": "worker.js", "runtime": SCRIPT, "wasm": WASM, "model": "model.onnx"}
    page = render_page(
        game,
        title=title_of(game),
        about=about,
        setup={"game": description, "inside" if single_file else "beside": places},
        files=files if single_file else {},
    )
    if single_file:
        _write_file(out, page.encode())
    else:
        text = json.dumps(description, indent=1)
        _write_folder(out, files | {"index.html": page.encode(), "game.json": text.encode()})
    return check


def _write_file(out: Path, content: bytes) -> None:
    partial = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def _write_folder(out: Path, files: dict[str, bytes]) -> None:
    """All of it or nothing."""
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
    try:
        for name, content in files.items():
            (partial / name).write_bytes(content)
        partial.chmod(0o755)
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
