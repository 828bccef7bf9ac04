"""Files with games: SGF, PGN, CSA, KIF, match files, and lists of moves."""

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from azjax_envs import Game
from azjax_envs.backgammon import Backgammon
from azjax_envs.chess import Chess
from azjax_envs.go import Go
from azjax_envs.shogi import Shogi

from azjax.errors import UserError, printable
from azjax.files import backgammon_files, pgn, sgf, shogi_files
from azjax.files.move_lists import read_list
from azjax.files.played_game import PlayedGame, Unplayed
from azjax.files.played_positions import LANES, play_together
from azjax.files.sgf_parser import SgfTree, parse_sgf
from azjax.files.text import LATIN, SHIFT_JIS, decode
from azjax.games import game_from_name
from azjax.players.spec import is_game

_Read = TypeVar("_Read")
_MAX_BYTES = 256 * 2**20  # of which the games take ten times the memory
_MANY = 8  # fewer games are played one by one, since a program for several would be compiled
_GROUP = 4 * LANES  # games that are read before they are played: enough to sort them by length
FORMATS: dict[str, tuple[type, ...]] = {
    ".sgf": (Go, Backgammon),
    ".pgn": (Chess,),
    ".mat": (Backgammon,),
    ".csa": (Shogi,),
    ".kif": (Shogi,),
    ".kifu": (Shogi,),
}
"""The games of each format; all others are lists of moves, a game a line."""


def read_games(
    paths: str | Path | Iterable[str | Path],
    game: Game | str | None = None,
    *,
    strict: bool = True,
) -> Iterator[PlayedGame]:
    """Returns the games of files.

    They are in SGF (go, backgammon), PGN (chess), CSA and KIF (shogi), match files of backgammon
    (.mat), and lists of moves.

    In a list of moves of a game of dice each roll stands before its moves: "6-1: 13/7 8/7". The
    ending of a file tells its format. A game that cannot be read has an `error` and no record.
    One whose later moves cannot be read has those before, and `ends_early` says why.

    Args:
      paths: a file, or several.
      game: the game or its name; None to take it from the file. A list of moves names it in a line
        such as "# hex_7x7".
      strict: if False, a file that cannot be opened is one game with an `error`, like games that
        cannot be read, and so is a file without games.

    Returns:
      An iterator that reads each game when it is asked for. It reads many games of go or chess in
      groups.

    Raises:
      UserError: a file cannot be opened, or its format is of another game, and `strict`.

    Example:
        ```python
        for played in azjax.read_games(["first.sgf", "games.pgn"]):
            if played.record is None:
                print(played.where, played.error)
            else:
                print(played.where, played.record.game.name, *played.record.moves)
        ```
    """
    several = [paths] if isinstance(paths, str | Path) else paths
    wanted = game_from_name(game) if isinstance(game, str) else game
    opened = [one for path in several for one in _open(Path(path), wanted, strict=strict)]
    return _read_in_groups(opened)


def open_games(path: Path, game: Game | None) -> list[Callable[[], PlayedGame]]:
    """Returns a function for each game of a file, which reads it.

    Raises:
      UserError: the file cannot be opened, or its format is of another game.
    """
    return [functools.partial(_read_alone, one) for one in _open(path, game, strict=True)]


class _Opened(NamedTuple):
    """A game of a file, which is not read yet."""

    unread: PlayedGame  # tells where it is
    read: Callable[[], PlayedGame | Unplayed]  # may raise a UserError

    def read_by(self, read: Callable[[], _Read]) -> _Read | PlayedGame:
        """Returns what `read` returns, with its place in the file; or why it cannot be read."""
        try:
            game = read()
        except UserError as error:
            return replace(self.unread, error=str(error))
        if not isinstance(game, PlayedGame):
            return game
        place = self.unread
        return replace(game, path=place.path, number=place.number, count=place.count)


def _open(path: Path, game: Game | None, *, strict: bool) -> list[_Opened]:
    """Returns the games of a file; unless `strict` one with an error if there is none."""
    try:
        if game is not None:
            check_format(path, game)
        found = list(_split(path, game))
        error = "it holds no game"
    except UserError as mistake:
        if strict:
            raise
        found, error = [], str(mistake).removeprefix(f"{printable(str(path))}: ")
    if not found and not strict:
        unread = PlayedGame(None, path=path, error=error)
        return [_Opened(unread, lambda: unread)]
    return [
        _Opened(PlayedGame(None, path=path, number=i, count=len(found)), read)
        for i, read in enumerate(found, 1)
    ]


def _read_alone(opened: _Opened) -> PlayedGame:
    begun = opened.read_by(opened.read)
    return begun if isinstance(begun, PlayedGame) else opened.read_by(begun.play)


def _read_in_groups(opened: Sequence[_Opened]) -> Iterator[PlayedGame]:
    """Yields the games in order. While the moves of a group are played, the next one is read."""
    if len(opened) < _MANY:
        yield from map(_read_alone, opened)
        return
    group: list[tuple[_Opened, PlayedGame | Unplayed]] = []
    playing: Iterable[PlayedGame] = ()
    for one in opened:
        begun = one.read_by(one.read)
        group.append((one, begun))
        is_played = isinstance(begun, PlayedGame) and begun.record is not None
        if is_played or len(group) == _GROUP:
            others, playing, group = playing, _play(group), []
            yield from others
        if is_played:  # it took long, and waits for nothing
            yield from playing
            playing = ()
    rest = _play(group)
    yield from playing
    yield from rest


def _play(group: Sequence[tuple[_Opened, PlayedGame | Unplayed]]) -> Iterator[PlayedGame]:
    """Begins to play the moves of games, and returns an iterator that waits for them."""
    found = play_together([game.line for _, game in group if isinstance(game, Unplayed)])

    def games() -> Iterator[PlayedGame]:
        positions = iter(found())
        for one, game in group:
            if isinstance(game, PlayedGame):
                yield game
            else:
                yield one.read_by(functools.partial(game.with_positions, next(positions)))

    return games()


def game_of_file(path: Path) -> str | None:
    """Returns the name of a file's game, or of its first one; None if a list of moves has none."""
    kinds, data = FORMATS.get(path.suffix.lower(), ()), read_bytes(path)
    if Go in kinds and not _is_backgammon(trees := parse_sgf(data)):
        size = sgf.board_size(trees)
        return f"go_{size}x{size}"
    if kinds:
        return kinds[-1]().name
    return next(filter(None, map(_named_game, decode(data).split("\n"))), None)


def check_format(path: Path, game: Game) -> None:
    """Raises a UserError if the ending of a file stands for another game than `game`."""
    suffix = path.suffix.lower()
    kinds = FORMATS.get(suffix, (object,))
    if not isinstance(game, kinds):
        names = " or ".join(kind.__name__.lower() for kind in kinds)
        raise UserError(f"{path}: files {suffix} are of {names}, not {game.name}")


def read_tree(path: Path) -> SgfTree:
    """Returns the first game of a file in SGF.

    Raises:
      UserError: the file cannot be read, or is no SGF.
    """
    trees = parse_sgf(read_bytes(path))
    if not trees:
        raise UserError(f"{path}: it is not an SGF file")
    return trees[0]


def read_bytes(path: Path) -> bytes:
    """Returns what a file holds.

    Raises:
      UserError: there is no such file, or it cannot be read, or it is too large.
    """
    if not os.path.isfile(path):  # reading a terminal, for example, would wait
        raise UserError(f"{path}: there is no such file")
    try:
        if path.stat().st_size > _MAX_BYTES:
            most = f"{_MAX_BYTES // 2**20} megabytes"
            raise UserError(f"{path}: it is larger than {most}; split it into several files")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def _split(path: Path, game: Game | None) -> Iterator[Callable[[], PlayedGame | Unplayed]]:
    """Returns a function for each game, which returns it or raises a UserError."""
    suffix, data = path.suffix.lower(), read_bytes(path)
    shogi = FORMATS.get(suffix) == (Shogi,)
    if suffix == ".sgf":
        trees = parse_sgf(data)
        if data.strip() and not trees:
            raise UserError(f"{path}: it is not an SGF file")
        return (functools.partial(_read_tree, game, tree) for tree in trees)
    text = decode(data, fallback=SHIFT_JIS if shogi else LATIN)
    games: Iterable[Any]
    if suffix == ".pgn":
        games, read = pgn.split_games(text), pgn.read_game
    elif suffix == ".csa":
        games, read = shogi_files.split_csa(text), shogi_files.read_csa
    elif suffix == ".mat":
        games = backgammon_files.split_mat(text)
        read = functools.partial(backgammon_files.read_mat, cast(Backgammon | None, game))
    elif shogi:
        games, read = shogi_files.split_kif(text), shogi_files.read_kif
    else:
        games, read = _lists(text), functools.partial(_read_line, game)
    return (functools.partial(read, each) for each in games)


def _read_tree(game: Game | None, tree: SgfTree) -> PlayedGame | Unplayed:
    """Returns a game of an SGF file, whose kind the file tells if `game` is None."""
    if isinstance(game, Backgammon) or (game is None and _is_backgammon([tree])):
        return backgammon_files.read_sgf(game, tree)
    assert game is None or isinstance(game, Go)
    return sgf.read_game(game, tree)


def _is_backgammon(trees: Sequence[SgfTree]) -> bool:
    """Returns whether the first game says so."""
    return bool(trees) and trees[0].packed.sequence[0].get("GM", [b""])[0].strip() == b"6"


def _lists(text: str) -> Iterator[tuple[str, str | None]]:
    """Yields the lines with moves, and the name of the game of each if the file tells it."""
    name = None
    for line in text.split("\n"):
        name = _named_game(line) or name
        if moves := line.partition("#")[0].strip():
            yield moves, name


def _read_line(game: Game | None, line: tuple[str, str | None]) -> PlayedGame:
    moves, name = line
    if game is None and name is None:
        raise UserError('a list of moves needs the name of its game, or a line such as "# hex_7x7"')
    if game is not None and name not in (None, game.name):
        raise UserError(f"it has moves of {name}, and the player plays {game.name}")
    return read_list(game or game_from_name(str(name)), moves)


def _named_game(line: str) -> str | None:
    """Returns the game that a line of a list of moves names, as in "# hex_7x7"."""
    name = line.strip().removeprefix("#").strip()
    return name if line.startswith("#") and is_game(name) else None
