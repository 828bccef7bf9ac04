"""How much of a clock to use for one move."""

from __future__ import annotations

from dataclasses import dataclass

_MOVES_AHEAD = 25  # the time left is spread over at most this many moves
_RESERVE_S = 0.05  # for what happens between the engine and the clock
_MIN_S = 0.01


@dataclass(frozen=True)
class Clock:
    """A player's time, in seconds."""

    left: float
    increment: float = 0.0  # added after each move
    moves: int = 0  # to be made in `left`; 0 means the rest of the game
    each: float = 0.0  # extra time for each move, as in byoyomi; unused time is lost

    def for_move(self) -> float:
        """Returns the seconds for this move: an equal share of the time left, plus extras."""
        share = self.left / min(self.moves or _MOVES_AHEAD, _MOVES_AHEAD)
        most = self.left + self.each - _RESERVE_S
        return max(min(share + self.increment + self.each - _RESERVE_S, most), _MIN_S)
