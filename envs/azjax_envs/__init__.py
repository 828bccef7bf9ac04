"""Board games as pure JAX functions, for `vmap`, `jit`, and any accelerator."""

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.batching import FinalStep, ResetStep, auto_reset, init_batch
from azjax_envs.game import (
    Game,
    HasBothSeats,
    HasClicks,
    HasFen,
    HasFewLegalActions,
    HasObservationBounds,
    HasOwnership,
    HasPlayerNames,
    HasScore,
    HasWinningCells,
    Symmetries,
    find_legal,
    legal_actions,
    observation_bounds,
    observe_as,
    returns_of,
    settle,
)
from azjax_envs.registry import available_games, make
from azjax_envs.sampling import random_action, weighted_action
from azjax_envs.svg import Drawing, draw, to_svg
from azjax_envs.symmetry import dihedral, on_cells
from azjax_envs.testing.check import check_game

__all__ = [
    "BaseGame",
    "Drawing",
    "FinalStep",
    "Game",
    "HasBothSeats",
    "HasClicks",
    "HasFen",
    "HasFewLegalActions",
    "HasObservationBounds",
    "HasOwnership",
    "HasPlayerNames",
    "HasScore",
    "HasWinningCells",
    "ResetStep",
    "Symmetries",
    "auto_reset",
    "available_games",
    "check_game",
    "dihedral",
    "draw",
    "find_legal",
    "init_batch",
    "legal_actions",
    "make",
    "observation_bounds",
    "observe_as",
    "on_cells",
    "random_action",
    "returns_of",
    "settle",
    "svg",
    "to_svg",
    "weighted_action",
]
