"""azjax: a JAX-native, functional AlphaZero.

The table of contents is `__init__.pyi`. Its names are imported when they are first used, so that
importing the package stays cheap.
"""

from typing import Any

import lazy_loader

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    return _attribute(name)
