"""Board games as pure JAX functions, for `vmap`, `jit`, and any accelerator."""

from azjax_envs.game import Game, Symmetries
from azjax_envs.registry import available_games, make
from azjax_envs.svg import to_svg
from azjax_envs.testing.check import check_game

__all__ = ["Game", "Symmetries", "available_games", "check_game", "make", "to_svg"]
