"""Players named in text, as opponents are on the command line."""

import functools

from azjax_envs import Game

from azjax.errors import UserError
from azjax.players.engines.gtp import gtp_player
from azjax.players.engines.uci import uci_player
from azjax.players.exact import exact_player
from azjax.players.minimax import MinimaxPlayer
from azjax.players.monte_carlo import MonteCarloPlayer
from azjax.players.random_player import RandomPlayer
from azjax.players.uct import UCTPlayer

FORMS = (
    "random, minimax:PLIES, mc:PLAYOUTS (for each action), uct:SIMULATIONS, exact (small games), "
    "and engines: gtp:COMMAND, uci:COMMAND?OPTION=VALUE&OPTION=VALUE, usi:COMMAND?..., such as "
    "'gtp:gnugo --level 3' or 'uci:stockfish?nodes=1000&Skill Level=3'"
)


def parse_player(spec: str, game: Game):
    """The player that `spec` names: "random", "minimax:4", "mc:100", "uct:1000", "exact", or an
    engine such as "gtp:gnugo --level 3" or "uci:stockfish?nodes=1000".

    Raises:
      UserError: naming the valid forms; or the game is too large for "exact"; or the engine cannot
        be started or does not play the game.
    """
    kind, colon, number = spec.strip().partition(":")
    if kind in _PLAIN and not colon:
        return _PLAIN[kind](game)
    if kind in _NUMBERED and number.isdecimal() and int(number) > 0:
        return _NUMBERED[kind](game, int(number))
    if kind in _PLAIN:
        raise UserError(f"player {spec!r}: {kind} takes no number; players: {FORMS}")
    if kind in _NUMBERED:
        raise UserError(f"player {spec!r}: {kind} needs a whole number above 0; players: {FORMS}")
    if kind in ENGINES:
        return ENGINES[kind](number, game)
    raise UserError(f"there is no player {spec!r}; players: {FORMS}")


_PLAIN = {"random": RandomPlayer, "exact": exact_player}
_NUMBERED = {"minimax": MinimaxPlayer, "mc": MonteCarloPlayer, "uct": UCTPlayer}
ENGINES = {
    "gtp": gtp_player,
    "uci": functools.partial(uci_player, "uci"),
    "usi": functools.partial(uci_player, "usi"),
}
