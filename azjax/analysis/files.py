"""Files with games: SGF, PGN, CSA, KIF, and lists of moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from azjax_envs import Game
from azjax_envs.chess import Chess
from azjax_envs.go import Go
from azjax_envs.shogi import Shogi

from azjax.analysis import pgn, sgf, shogi_files
from azjax.analysis.analyse import replay
from azjax.analysis.game_analysis import GameAnalysis
from azjax.analysis.played_game import PlayedGame
from azjax.errors import UserError

_MAX_BYTES = 16 * 2**20
_ENCODINGS = ("utf-8-sig", "cp932")  # KIF and CSA are often in the second
FORMATS: dict[str, type] = {".sgf": Go, ".pgn": Chess, ".csa": Shogi, ".kif": Shogi, ".kifu": Shogi}
"""The game of each format; all others are lists of moves, a game a line."""


def game_of_file(path: Path) -> str | None:
    """Returns the name of a file's game, as far as its format tells; None for lists of moves."""
    kind = FORMATS.get(path.suffix.lower())
    if kind is Go:
        size = sgf.board_size(_read(path))
        return f"go_{size}x{size}"
    return None if kind is None else kind().name


def read_games(path: Path, game: Game) -> Iterator[Callable[[], PlayedGame]]:
    """Yields a function for each game of a file, which returns it or raises a UserError.

    Args:
      path: the file; its ending tells the format.
      game: the game that the player plays.

    Raises:
      UserError: the file cannot be read, or its format is of another game.
    """
    data = _read(path)
    suffix = path.suffix.lower()
    kind = FORMATS.get(suffix)
    if kind is not None and not isinstance(game, kind):
        raise UserError(f"{path}: files {suffix} are of {kind.__name__.lower()}, not {game.name}")
    if isinstance(game, Go) and suffix == ".sgf":
        return sgf.read_sgf(data, game)
    text = _decoded(path, data)
    if suffix == ".pgn":
        return pgn.read_pgn(text)
    if suffix == ".csa":
        return shogi_files.read_csa(text)
    if kind is Shogi:
        return shogi_files.read_kif(text)
    return _read_lists(text, game)


def new_files(stem: Path, suffix: str) -> list[Path]:
    """Returns the files that `write_analysis` writes.

    Raises:
      UserError: one of them exists already.
    """
    endings = [".html", suffix] if suffix.lower() in (".sgf", ".pgn") else [".html"]
    files = [stem.with_name(stem.name + ending) for ending in endings]
    for file in files:
        if file.exists():
            raise UserError(f"{file} exists already: move it away, or give another --out")
    return files


def write_analysis(
    analysis: GameAnalysis, played: PlayedGame, stem: Path, suffix: str
) -> list[Path]:
    """Writes the page, and for go and chess the game with comments.

    Args:
      analysis: the analysis.
      played: the game that was read.
      stem: the new files' path without an ending.
      suffix: the ending of the file that was read.

    Returns:
      The new files.

    Raises:
      UserError: a file exists already.
    """
    files = new_files(stem, suffix)
    contents = [analysis.page(played.title or None).encode()]
    if isinstance(played.source, sgf.SgfSource):
        contents.append(sgf.write_sgf(analysis, played.source))
    elif isinstance(played.source, pgn.Pgn):
        contents.append(pgn.write_pgn(analysis, played.source).encode())
    for file, data in zip(files, contents, strict=True):
        try:
            file.write_bytes(data)
        except OSError as error:
            raise UserError(f"{file}: cannot be written ({error.strerror})") from error
    return files


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise UserError(f"{path}: there is no such file")
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UserError(f"{path}: it is larger than {_MAX_BYTES // 2**20} megabytes")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def _decoded(path: Path, data: bytes) -> str:
    for encoding in _ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UserError(f"{path}: it is not text in UTF-8 or Shift JIS")


def _read_lists(text: str, game: Game) -> Iterator[Callable[[], PlayedGame]]:
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            yield lambda words=words: PlayedGame(replay(game, words), "")
