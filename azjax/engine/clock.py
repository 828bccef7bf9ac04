"""How much of a clock to use for one move."""

from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class TimeControl:
    """Main time, and periods of overtime after it, any number of times. All times in seconds.

    A period of Canadian overtime is for several moves, one of Japanese overtime (byoyomi) for one.
    """

    main: float
    period: float = 0.0
    moves: int = 0  # in a period; 0: there is no overtime
    counts_periods: bool = False  # clients tell the periods left in place of the moves

    def start(self) -> Clock:
        """Returns a player's clock at the start of a game."""
        return self.clock(self.main, 0) if self.main or not self.moves else self._overtime

    def clock(self, left: float, moves: int) -> Clock:
        """Returns the clock of a client that tells the time left.

        Args:
          left: of the main time or of this period.
          moves: 0 in the main time, otherwise those (or the periods) that are left.
        """
        if moves:
            return Clock(left, moves=1 if self.counts_periods else moves)
        # Moves may take as long as they will in the overtime.
        return Clock(left, each=self.period / self.moves if self.moves else 0.0)

    def after_move(self, clock: Clock, seconds: float) -> Clock:
        """Returns the clock after a move."""
        left, moves = clock.left - seconds, clock.moves
        if not moves and left <= 0 and self.moves:  # the overtime has begun during the move
            left, moves = left + self.period, self.moves
        if moves and (left <= 0 or moves == 1):
            return self._overtime if self.moves else Clock(0.0)
        each = 0.0 if moves else clock.each
        return replace(clock, left=max(left, 0.0), moves=max(moves - 1, 0), each=each)

    @property
    def _overtime(self) -> Clock:
        return Clock(self.period, moves=self.moves)
