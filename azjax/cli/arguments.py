"""Parses a command's arguments into a dataclass, with tyro."""

import contextlib
import dataclasses
import inspect
import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import tyro

from azjax.config import MAX_SEED, MOST_FLOAT, Config
from azjax.errors import UserError

if TYPE_CHECKING:
    from azjax_envs import Game

PROGRAM = "azjax"
_MOST = 1_000_000  # of anything that an option counts

RunArgument = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
PlayerArgument = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAYER")]
GameArgument = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
GameOption = Annotated[str | None, tyro.conf.arg(metavar="GAME")]
TrustOption = Annotated[
    bool,
    tyro.conf.arg(
        help="Let a player's file import its own game, if it names one. This can run any code."
    ),
]
FileArgument = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]

T = TypeVar("T")


def parse(command: Callable[..., None], kind: type[T], arguments: list[str], name: str) -> T:
    """Parses the words after a command's name into `kind`, a dataclass of its arguments.

    The command's docstring is the description in the help text.

    Raises:
      UserError: an argument is wrong; the message says in one line what would be right.
    """

    captured = io.StringIO()
    try:
        with contextlib.redirect_stderr(captured):
            parsed = tyro.cli(
                kind, args=arguments, prog=f"{PROGRAM} {name}", description=inspect.getdoc(command)
            )
    except SystemExit as error:
        if not error.code:
            raise
        if said := _user_error(error):  # of the config, in the same words as about a file
            raise said from None
        raise UserError(_one_line(captured.getvalue(), name)) from None
    _check_numbers(parsed)
    return _at_home(parsed)


def summary(described: Any) -> str:
    """Returns the first line of a docstring; "" where Python drops them (`python -OO`)."""
    # Without docstrings, dataclasses describe themselves by their fields.
    text = "" if sys.flags.optimize > 1 else inspect.getdoc(described) or ""
    return text.partition("\n")[0]


def game_of(player: str, game: str | None) -> "Game | None":
    """Returns the game of the option --game; None if the player knows its own.

    Raises:
      UserError: there is no such game, or the player works for any.
    """
    from azjax.games import game_from_name
    from azjax.players.spec import NetworkSpec, parse_spec

    if game is not None:
        return game_from_name(game)
    if not isinstance(parse_spec(player), NetworkSpec):
        raise UserError(f"{player} works for any game: name the game with --game")
    return None


def _at_home(options: Any) -> Any:
    """Replaces a first "~" of paths by the home directory, as a shell does not after a "="."""
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    paths = {name: path for name, path in values.items() if isinstance(path, Path)}
    found = {name: Path(os.path.expanduser(path)) for name, path in paths.items()}
    return dataclasses.replace(options, **found)


def _check_numbers(options: Any) -> None:
    """Raises a UserError for a number beyond all use. A config has checked its own."""
    for field in dataclasses.fields(options):
        value, option = getattr(options, field.name), field.name.replace("_", "-")
        if dataclasses.is_dataclass(value) and not isinstance(value, Config):
            _check_numbers(value)
        low, high = (0, MAX_SEED) if field.name == "seed" else (-_MOST, _MOST)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and not abs(number) <= MOST_FLOAT:
                raise UserError(f"--{option} must be a number from -1e38 to 1e38")
            if type(number) is int and not low <= number <= high:
                raise UserError(f"--{option} must be between {max(low, 0)} and {high}")


def _user_error(error: BaseException | None) -> UserError | None:
    """Returns the UserError that an exception was raised after, if there is one."""
    if error is None or isinstance(error, UserError):
        return error
    return _user_error(error.__context__)


def _one_line(text: str, name: str) -> str:
    """Returns tyro's message about a wrong argument as a sentence."""
    text = re.sub(r"[─│╭╮╰╯]+|-{5,}", " ", text)  # the borders of a box, also in ASCII
    text = re.sub(r"For full helptext,.*", "", text, flags=re.DOTALL)
    text = " ".join(text.split())
    if found := re.search(r"Unrecognized options: (\S+?)(?:,| |$)", text):
        word, advice = found[1], f"{PROGRAM} {name} --help lists the options"
        if not word.startswith("-"):
            return f"unexpected argument {word!r}; {advice}"
        if near := re.search(r"Perhaps you meant: (--[\w.-]*\w)", text):
            advice = f"did you mean {near[1]}?"
        return f"unknown option {word}; {advice}"
    if found := re.search(r"Error parsing (\S+): (.*?)(?: Argument helptext:|$)", text):
        option, reason = found[1], found[2]
        if given := re.search(r"invalid literal for int\(\) with base 10: (.*)", reason):
            return f"{option} must be a whole number, not {given[1]}"
        if given := re.search(r"could not convert string to float: (.*)", reason):
            return f"{option} must be a number, not {given[1]}"
        return f"{option}: {reason}"
    if found := re.search(r"Missing value for argument '(\S+)'", text):
        return f"{found[1]} needs a value"
    if found := re.search(r"invalid choice (\S+) for argument '(\S+)'.*one of \((.*)\)", text):
        choices = found[3].replace("'", "").rstrip(",").replace("None, ", "").replace(", None", "")
        return f"{found[2]} must be one of {choices}, not {found[1]}"
    if found := re.search(r"Missing from [^:]*: (--\S+ )?(\S+) (.*?) \(required\)", text):
        return f"{name} needs {found[1] or ''}{found[2]}: {found[3]}"
    return text
