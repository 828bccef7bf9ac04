"""azjax in a notebook: boards, search trees, live curves, and an opponent to play against.

Names are imported when they are first used. `board`, `boards` and `search_tree` need only azjax
itself; the others need `pip install "azjax[notebook]"`.
"""

from typing import TYPE_CHECKING, Any

from azjax import lazy_names
from azjax.errors import UserError

if TYPE_CHECKING:
    from azjax.notebook.board_drawing import board as board
    from azjax.notebook.board_drawing import boards as boards
    from azjax.notebook.curves import live_curves as live_curves
    from azjax.notebook.trees import search_tree as search_tree
    from azjax.notebook.widget import opponent as opponent

_EXTRAS = ("IPython", "anywidget", "traitlets")
_get, __dir__ = lazy_names(__name__, __file__)
__all__ = __dir__()


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
