"""Files with games: SGF, PGN, CSA, KIF, and lists of moves."""

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from azjax_envs import Game
from azjax_envs.chess import Chess
from azjax_envs.go import Go
from azjax_envs.shogi import Shogi

from azjax.errors import UserError
from azjax.files import pgn, sgf, shogi_files, text
from azjax.files.game_record import replay
from azjax.files.played_game import PlayedGame
from azjax.players.spec import is_game

_MAX_BYTES = 16 * 2**20
FORMATS: dict[str, type] = {".sgf": Go, ".pgn": Chess, ".csa": Shogi, ".kif": Shogi, ".kifu": Shogi}
"""The game of each format; all others are lists of moves, a game a line."""


def game_of_file(path: Path) -> str | None:
    """Returns the name of a file's game; None for a list of moves that does not begin with it."""
    kind, data = FORMATS.get(path.suffix.lower()), _read(path)
    if kind is Go:
        size = sgf.board_size(data)
        return f"go_{size}x{size}"
    if kind is not None:
        return kind().name
    return _named_game(_decoded(path, data).partition("\n")[0])


def read_games(path: Path, game: Game) -> Iterator[Callable[[], PlayedGame]]:
    """Yields a function for each game of a file, which returns it or raises a UserError.

    The ending of the file tells its format. `game` is that of the player.

    Raises:
      UserError: the file cannot be read, or its format is of another game.
    """
    data = _read(path)
    kind = check_format(path, game)
    suffix = path.suffix.lower()
    games: Iterable[Any]
    read: Callable[[Any], PlayedGame]
    if isinstance(game, Go) and suffix == ".sgf":
        games, read = sgf.split_games(data), functools.partial(sgf.read_game, game)
    elif suffix == ".pgn":
        games, read = pgn.split_games(_decoded(path, data)), pgn.read_game
    elif suffix == ".csa":
        games, read = shogi_files.split_csa(_decoded(path, data)), shogi_files.read_csa
    elif kind is Shogi:
        games, read = [_decoded(path, data)], shogi_files.read_kif
    else:
        games, read = _lists(_decoded(path, data), game), functools.partial(_read_list, game)
    return (functools.partial(read, each) for each in games)


def check_format(path: Path, game: Game) -> type | None:
    """Returns the kind of game that a file's ending stands for; None for lists of moves.

    Raises:
      UserError: the game is of another kind.
    """
    suffix = path.suffix.lower()
    kind = FORMATS.get(suffix)
    if kind is not None and not isinstance(game, kind):
        raise UserError(f"{path}: files {suffix} are of {kind.__name__.lower()}, not {game.name}")
    return kind


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
    kind = FORMATS.get(path.suffix.lower())
    return text.decode(data, fallback=text.SHIFT_JIS if kind is Shogi else text.LATIN)


def _lists(content: str, game: Game) -> Iterator[list[str]]:
    for line in content.splitlines():
        other = _named_game(line)
        if other not in (None, game.name):
            raise UserError(f"it has moves of {other}, and the player plays {game.name}")
        words = line.partition("#")[0].split()
        if words:
            yield words


def _read_list(game: Game, words: list[str]) -> PlayedGame:
    return PlayedGame(replay(game, words), "")


def _named_game(line: str) -> str | None:
    """Returns the game that a line of a list of moves names, as in "# hex_7x7"."""
    name = line.strip().removeprefix("#").strip()
    return name if line.startswith("#") and is_game(name) else None
