"""azjax: a JAX-native, functional AlphaZero.

The names here are imported when they are first used, so that importing the package stays cheap.
"""

import importlib
from typing import Any

_HOMES = {
    "Config": "azjax.config",
    "UserError": "azjax.errors",
    "load_config": "azjax.config.toml",
    "load_player": "azjax.players.load",
    "play_match": "azjax.evaluation.match",
    "read_metrics": "azjax.runs.metrics",
    "report": "azjax.evaluation.report",
    "resume": "azjax.training.loop",
    "solve": "azjax.exact.solver",
    "train": "azjax.training.loop",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
