"""The games that azjax plays over GTP, and their moves in that protocol."""

from azjax_envs import Game

# Gomoku is missing although it has stones: GTP's columns skip the letter I, gomoku's do not.
_KINDS = ("go", "hex", "othello")
GAMES = "go, hex and othello"

# As in HexGui and Benzene's engines, where "swap" means that the players change sides.
_TO_GTP = {"swap": "swap-pieces"}
_FROM_GTP = {gtp: own for own, gtp in _TO_GTP.items()}


def kind_of(game: Game) -> str:
    """Returns the name of a game without its size: "go" for "go_9x9"."""
    return game.name.partition("_")[0]


def is_for(game: Game) -> bool:
    """Returns whether azjax plays this game over GTP."""
    return kind_of(game) in _KINDS and board_size(game) > 0


def board_size(game: Game) -> int:
    """Returns the length of the board's sides; 0 if the game has no square board."""
    return getattr(game, "size", 0)


def to_gtp(move: str) -> str:
    """Translates a move from the game's notation to GTP."""
    return _TO_GTP.get(move, move)


def from_gtp(move: str) -> str:
    """Translates a move from GTP to the game's notation; the game's own spelling is accepted."""
    return _FROM_GTP.get(move.lower(), move)
