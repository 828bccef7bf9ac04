"""Players: `player(key, states) -> actions` for a batch of positions.

The names here are imported when they are first used.
"""

from typing import TYPE_CHECKING

from azjax import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, __file__)
__all__ = __dir__()
