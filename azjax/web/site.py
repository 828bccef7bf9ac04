"""The static page of `azjax web`, which plays without a server."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from azjax_envs.game import HasClicks

from azjax.errors import UserError
from azjax.players.network_players import SearchPlayer
from azjax.web.onnx_model import export_model, make_evaluation
from azjax.web.page import render_page, worker_script
from azjax.web.page_data import ActionNames, describe_game, describe_model, title_of
from azjax.web.runtime import SCRIPT, WASM, runtime_files
from azjax.web.verify import Check, check_model

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
      player: the player whose game and network are exported; the page searches by PUCT.
      out: the folder to create, or the file with `single_file`.
      about: the line under the heading.
      single_file: write everything into one HTML file, which a browser opens without a server.
      runtime: the folder with ONNX Runtime Web; None to fetch it by npm.
      games: number of random games of the check; fewer if they take more than a minute.
      seed: seed of these games.

    Returns:
      The results of the check.

    Raises:
      UserError: `out` exists, the game cannot be exported, or packages are missing.
    """
    if out.exists() or out.is_symlink():
        raise UserError(f"{out} exists already; choose another name")
    if not out.absolute().parent.is_dir():
        raise UserError(f"{out.absolute().parent}: no such directory")
    if not os.access(out.absolute().parent, os.W_OK):
        raise UserError(f"{out.absolute().parent}: no permission to write there")
    if single_file and out.suffix != ".html":
        raise UserError(f"{out}: with --single-file the name must end in .html")
    game, search = player.game, player.config
    model = export_model(game, player.network, player.variables)
    libraries = runtime_files(runtime)
    names = ActionNames(game)
    check = check_model(
        game,
        make_evaluation(game, player.network, player.variables),
        model,
        games=games,
        seed=seed,
        seconds=_SECONDS,
        on_position=lambda state: None if isinstance(game, HasClicks) else names.add(state),
    )
    description = describe_game(game, search) | describe_model(
        game, search, model, None if isinstance(game, HasClicks) else names.names()
    )
    files = {
        "worker.js": worker_script().encode(),
        "model.onnx": model.proto,
        SCRIPT: libraries[SCRIPT],
        WASM: libraries[WASM],
    }
    names_of_files = {"worker": "worker.js", "runtime": SCRIPT, "wasm": WASM, "model": "model.onnx"}
    page = render_page(
        game,
        title=title_of(game),
        about=about,
        setup={"game": description, "embedded" if single_file else "separate": names_of_files},
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
    """Writes all files or, after an error, none."""
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
    try:
        for name, content in files.items():
            (partial / name).write_bytes(content)
        partial.chmod(0o755)
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
