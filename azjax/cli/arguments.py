"""A command's arguments, read by tyro from a dataclass."""

import contextlib
import inspect
import io
import re
from collections.abc import Callable
from typing import Any

import tyro

from azjax.errors import UserError

PROGRAM = "azjax"


def parse(command: Callable, kind: type, arguments: list[str], name: str) -> Any:
    """The arguments of `command` as an instance of `kind`.

    Raises:
      UserError: what tyro says of a mistake, in one line.
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
