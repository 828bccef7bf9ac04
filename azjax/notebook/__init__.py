"""azjax in a notebook: boards, search trees, live curves, and an opponent to play against.

The names in `__init__.pyi` are imported when they are first used. `board`, `boards` and
`search_tree` need only azjax itself; the others need `pip install "azjax[notebook]"`.
"""

from typing import Any

import lazy_loader

from azjax.errors import UserError

_EXTRAS = ("IPython", "anywidget", "traitlets")
_get, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _get(name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRAS:
            raise
        raise UserError(
            f'azjax.notebook.{name} needs {missing}: pip install "azjax[notebook]"'
        ) from error
