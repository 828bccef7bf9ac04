"""Players: `player(key, states) -> actions` for a batch of positions.

The names here are imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azjax.players.base import Analysis as Analysis
    from azjax.players.base import History as History
    from azjax.players.base import Player as Player
    from azjax.players.base import act as act
    from azjax.players.engines.gtp import GtpPlayer as GtpPlayer
    from azjax.players.engines.uci import UciPlayer as UciPlayer
    from azjax.players.exact import ExactPlayer as ExactPlayer
    from azjax.players.exact import ExactTablePlayer as ExactTablePlayer
    from azjax.players.exact import exact_player as exact_player
    from azjax.players.load import load_player as load_player
    from azjax.players.load import untrained_player as untrained_player
    from azjax.players.minimax import MinimaxPlayer as MinimaxPlayer
    from azjax.players.monte_carlo import MonteCarloPlayer as MonteCarloPlayer
    from azjax.players.network_players import PolicyPlayer as PolicyPlayer
    from azjax.players.network_players import SearchPlayer as SearchPlayer
    from azjax.players.network_players import ValuePlayer as ValuePlayer
    from azjax.players.random_player import RandomPlayer as RandomPlayer
    from azjax.players.spec import parse_spec as parse_spec
    from azjax.players.uct import UCTPlayer as UCTPlayer

_HOMES = {
    "Analysis": "base",
    "ExactPlayer": "exact",
    "ExactTablePlayer": "exact",
    "GtpPlayer": "engines.gtp",
    "History": "base",
    "MinimaxPlayer": "minimax",
    "MonteCarloPlayer": "monte_carlo",
    "Player": "base",
    "PolicyPlayer": "network_players",
    "RandomPlayer": "random_player",
    "SearchPlayer": "network_players",
    "UCTPlayer": "uct",
    "UciPlayer": "engines.uci",
    "ValuePlayer": "network_players",
    "act": "base",
    "exact_player": "exact",
    "load_player": "load",
    "parse_spec": "spec",
    "untrained_player": "load",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
