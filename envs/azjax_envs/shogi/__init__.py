"""Shogi, with drops, promotion, pawn-drop mate and fourfold repetition."""

from azjax_envs.shogi.game import Shogi, ShogiState

__all__ = ["Shogi", "ShogiState"]
