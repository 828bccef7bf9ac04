"""Parses a command's arguments into a dataclass, with tyro."""

import contextlib
import inspect
import io
import re
from collections.abc import Callable
from typing import TypeVar

import tyro

from azjax.errors import UserError

PROGRAM = "azjax"


T = TypeVar("T")


def parse(command: Callable[..., None], kind: type[T], arguments: list[str], name: str) -> T:
    """Parses the arguments of a command.

    Args:
      command: its docstring is the description in the help text.
      kind: a dataclass of the arguments.
      arguments: the words after the command's name.
      name: the command's name.

    Returns:
      An instance of `kind`.

    Raises:
      UserError: tyro's message about a mistake, in one line.
    """
    captured = io.StringIO()
    try:
        with contextlib.redirect_stderr(captured):
            return tyro.cli(
                kind,
                args=arguments,
                prog=f"{PROGRAM} {name}",
                description=inspect.getdoc(command),
            )
    except SystemExit as error:
        if not error.code:
            raise
        text = re.sub(r"[─│╭╮╰╯]+", " ", captured.getvalue())
        text = re.sub(r"For full helptext,.*", "", text, flags=re.DOTALL)
        raise UserError(" ".join(text.split())) from None
