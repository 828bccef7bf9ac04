"""azjax in a notebook: boards, search trees, live curves, and an opponent to play against.

Names are imported when they are first used. `board`, `boards` and `search_tree` need only azjax
itself; the others need `pip install "azjax[notebook]"`.
"""

import importlib
from typing import Any

from azjax.errors import UserError

_MODULES = {
    "board": "azjax.notebook.board_drawing",
    "boards": "azjax.notebook.board_drawing",
    "live_curves": "azjax.notebook.curves",
    "opponent": "azjax.notebook.widget",
    "search_tree": "azjax.notebook.trees",
}
_EXTRAS = ("IPython", "anywidget", "traitlets")
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRAS:
            raise
        raise UserError(
            f'azjax.notebook.{name} needs {missing}: pip install "azjax[notebook]"'
        ) from error


def __dir__() -> list[str]:
    return __all__
