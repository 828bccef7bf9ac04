"""Board games as pure JAX functions, for `vmap`, `jit`, and any accelerator."""

from azjax_envs.conformance import check_game
from azjax_envs.game import Game, Symmetries
from azjax_envs.registry import available_games, make
from azjax_envs.svg import to_svg

__all__ = ["Game", "Symmetries", "available_games", "check_game", "make", "to_svg"]
