"""Games by name: `make("connect_four_4x5")`, `make("my_module:MyGame", size=7)`."""

import dataclasses
import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

from azjax_envs.game import Game
from azjax_envs.nearest import nearest


@dataclasses.dataclass(frozen=True)
class _Entry:
    path: str  # "module:Class", imported when first made
    size: tuple[str, ...] = ()  # the options that "_AxBxC" at the end of a name sets


_GAMES = {
    "backgammon": _Entry("azjax_envs.backgammon:Backgammon"),
    "chess": _Entry("azjax_envs.chess:Chess"),
    "connect_four": _Entry("azjax_envs.connect_four:ConnectFour", ("rows", "columns", "connect")),
    "dots_and_boxes": _Entry("azjax_envs.dots_and_boxes:DotsAndBoxes", ("rows", "columns")),
    "gardner_chess": _Entry("azjax_envs.chess:GardnerChess"),
    "go": _Entry("azjax_envs.go:Go", ("size",)),
    "gomoku": _Entry("azjax_envs.gomoku:Gomoku", ("size",)),
    "hex": _Entry("azjax_envs.hex:Hex", ("size",)),
    "hypergammon": _Entry("azjax_envs.backgammon:Hypergammon"),
    "mancala": _Entry("azjax_envs.mancala:Mancala", ("pits", "seeds")),
    "mnk": _Entry("azjax_envs.gomoku:Mnk", ("m", "n", "k")),
    "othello": _Entry("azjax_envs.othello:Othello", ("size",)),
    "shogi": _Entry("azjax_envs.shogi:Shogi"),
    "tic_tac_toe": _Entry("azjax_envs.tic_tac_toe:TicTacToe"),
    "ur": _Entry("azjax_envs.ur:Ur", ("pieces",)),
}

_ALSO_CALLED = {
    "baduk": "go",
    "fiveinarow": "gomoku",
    "fourinarow": "connect_four",
    "kalah": "mancala",
    "minichess": "gardner_chess",
    "noughtsandcrosses": "tic_tac_toe",
    "reversi": "othello",
    "ttt": "tic_tac_toe",
    "weiqi": "go",
}


def available_games() -> tuple[str, ...]:
    """Returns the names that `make` accepts, without sizes."""
    return tuple(_GAMES)


def make(name: str, **options: Any) -> Game:
    """Makes a game by name.

    Args:
      name: one of `available_games()`. A size may follow: `"connect_four_4x5"` has 4 rows and 5
        columns. `"module:Class"` names a game of your own, on the import path or in the working
        directory. `"pgx:go_9x9"` names a game of pgx; see `azjax_envs.pgx.adapters`.
      **options: parameters of the game, which are the fields of its class.

    Raises:
      ValueError: the name or an option is unknown, or a value is out of range. The message says
        what would be right.

    Example:
        ```python
        game = make("connect_four", rows=4, columns=5)
        ```
    """
    if name.startswith("pgx:"):
        is_backgammon = name == "pgx:backgammon"
        path = "backgammon:PgxBackgammon" if is_backgammon else "adapters:Pgx"
        pgx_game = _load(f"azjax_envs.pgx.{path}")
        try:
            return _construct(name, pgx_game, {"env": name.removeprefix("pgx:")} | options)
        except ImportError as error:
            raise ValueError(f"{name}: {error}") from error
    if ":" in name:
        return _construct(name, _load(name), options)
    base, entry, size = _parse(name)
    twice = sorted(set(size) & set(options))
    if twice:
        raise ValueError(f"{name!r} already sets {', '.join(twice)}: give it once")
    return _construct(base, _load(entry.path), size | options)


def _parse(name: str) -> tuple[str, _Entry, dict[str, int]]:
    """Splits a name into the base name, its entry, and the options that its size sets."""
    if name in _GAMES:
        return name, _GAMES[name], {}
    match = re.fullmatch(r"(.+)_([0-9]{1,6}(?:x[0-9]{1,6})*)", name)
    if match is None or match[1] not in _GAMES:
        raise ValueError(_unknown(name))
    base, numbers = match[1], [int(number) for number in match[2].split("x")]
    entry = _GAMES[base]
    if len(entry.size) == 1 and len(numbers) == 2 and numbers[0] == numbers[1]:
        numbers = numbers[:1]  # "go_9x9": the board is square, so one number is enough
    if not entry.size:
        raise ValueError(f"{base} has one size only: write {base!r}, not {name!r}")
    if not min(2, len(entry.size)) <= len(numbers) <= len(entry.size):
        options = entry.size if len(entry.size) > 1 else 2 * entry.size
        form = "x".join(f"<{option}>" for option in options)
        raise ValueError(f"{name!r} does not name a size: write {base}_{form}, with numbers")
    return base, entry, dict(zip(entry.size, numbers, strict=False))


def nearest_game(name: str) -> str | None:
    """Returns the game that was probably meant, with the size in `name`; None without any.

    Example:
        ```python
        nearest_game("Connect 4")  # "connect_four"
        nearest_game("go9x9")  # "go_9x9"
        ```
    """
    if whole := nearest(name, _GAMES, cutoff=0.75, also_called=_ALSO_CALLED):
        return whole
    match = re.fullmatch(r"(.*?)[\W_]*([0-9]{1,6}(?:x[0-9]{1,6})*)", name.strip().lower())
    base = nearest(match[1], _GAMES, cutoff=0.75, also_called=_ALSO_CALLED) if match else None
    return f"{base}_{match[2]}" if match and base and _GAMES[base].size else base


def _unknown(name: str) -> str:
    if near := nearest_game(name):
        return f"unknown game {name!r}: did you mean {near!r}?"
    return (
        f"unknown game {name!r}: the games are {', '.join(_GAMES)}, or module:Class for one of "
        "your own"
    )


def _hint(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    return f"did you mean {near!r}? " if near else ""


def _load(path: str) -> type:
    module_name, _, class_name = path.partition(":")
    if not module_name or not class_name:
        raise ValueError(f"{path!r} names no game: write module:Class")
    try:
        module = import_module(module_name)
    except (ImportError, SyntaxError) as error:
        raise ValueError(f"cannot import {module_name!r} for the game {path!r}: {error}") from error
    found = getattr(module, class_name, None)
    if found is None:
        classes = ((key, value) for key, value in vars(module).items() if inspect.isclass(value))
        own = [key for key, value in classes if value.__module__ == module_name]
        has = f"its classes are {', '.join(own)}" if own else "it has no classes"
        raise ValueError(f"{module_name!r} has no {class_name!r}: {_hint(class_name, own)}{has}")
    if not inspect.isclass(found) or not callable(getattr(found, "step", None)):
        raise ValueError(f"{path!r} is not a game: it must be a class with the methods of a Game")
    return found


def import_module(module_name: str):
    """Imports a module; also from the working directory, which console scripts do not search."""
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError:
        here = os.getcwd()
        if here in sys.path:
            raise
        sys.path.insert(0, here)
        try:
            return importlib.import_module(module_name)
        finally:
            sys.path.remove(here)


def _construct(name: str, game_class: type, options: dict[str, Any]) -> Game:
    valid = list(inspect.signature(game_class).parameters)
    unknown = [option for option in options if option not in valid]
    if unknown:
        takes = f"its options are {', '.join(valid)}" if valid else "it takes no options"
        hint = _hint(unknown[0], valid)
        raise ValueError(f"{name} has no option {unknown[0]!r}: {hint}{takes}")
    try:
        return game_class(**options)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from error
