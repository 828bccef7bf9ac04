"""Chess and Gardner's chess on 5x5."""

from azjax_envs.chess.game import Chess, ChessState, GardnerChess

__all__ = ["Chess", "ChessState", "GardnerChess"]
