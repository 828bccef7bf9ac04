"""How long to think about a move."""

from __future__ import annotations

from dataclasses import dataclass

_MOVES_AHEAD = 25  # over how many moves what is left is spread where nobody says how many
_RESERVE_S = 0.1  # for what happens between a move and the clock
_LEAST_S = 0.01


@dataclass(frozen=True)
class Clock:
    """A player's time, in seconds."""

    left: float
    increment: float = 0.0  # gained by each move
    moves: int = 0  # to be made in `left`; 0 for the rest of the game
    each: float = 0.0  # for each move anew, besides `left`; what is not used of it is lost

    def for_move(self) -> float:
        """An even share of what is left, and what this move brings of its own."""
        share = self.left / min(self.moves or _MOVES_AHEAD, _MOVES_AHEAD)
        most = self.left + self.each - _RESERVE_S
        return max(min(share + self.increment + self.each - _RESERVE_S, most), _LEAST_S)
