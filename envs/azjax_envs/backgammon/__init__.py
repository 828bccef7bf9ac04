"""Backgammon, and hypergammon, which has three checkers of each player."""

from azjax_envs.backgammon.game import Backgammon, BackgammonState, Hypergammon

__all__ = ["Backgammon", "BackgammonState", "Hypergammon"]
