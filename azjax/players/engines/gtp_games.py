"""The games that GTP is for here, and what it calls their moves."""

from __future__ import annotations

from azjax_envs import Game

# Not gomoku, though it has a board with stones: GTP's columns have no I, and gomoku's have.
_KINDS = ("go", "hex", "othello")
GAMES = "go, hex and othello"

# As HexGui and Benzene's engines have it; their "swap" lets the players change sides instead.
_MOVES = {"swap": "swap-pieces"}
_BACK = {theirs: ours for ours, theirs in _MOVES.items()}


def kind_of(game: Game) -> str:
    """What a game of any size is called: "go" for "go_9x9"."""
    return game.name.partition("_")[0]


def is_for(game: Game) -> bool:
    """Whether GTP is for this game."""
    return kind_of(game) in _KINDS and hasattr(game, "size")


def to_gtp(move: str) -> str:
    """GTP's name of a move that a game names."""
    return _MOVES.get(move, move)


def from_gtp(move: str) -> str:
    """A game's name of a move that GTP names; the game's own is let through."""
    return _BACK.get(move.lower(), move)
