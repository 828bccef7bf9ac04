"""Results that print themselves, in a terminal and in a notebook."""

import io

from rich.console import Console

_WIDTH = 100


class RichRepr:
    """An object that rich can render, for `print`, for rich and for notebooks.

    Subclasses define `__rich__` or `__rich_console__`.
    """

    def __str__(self) -> str:
        console = Console(file=io.StringIO(), width=_WIDTH, color_system=None)
        with console.capture() as captured:
            console.print(self)
        return captured.get().rstrip()

    def _repr_html_(self) -> str:
        console = Console(file=io.StringIO(), width=_WIDTH, record=True, color_system="truecolor")
        console.print(self)
        style = "font-family: monospace; line-height: 1.2; overflow-x: auto"
        return console.export_html(
            inline_styles=True, code_format=f'<pre style="{style}">{{code}}</pre>'
        )
