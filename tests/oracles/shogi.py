"""Shogi by cshogi: its legal moves and checks, and the ends of games computed from them.

cshogi's own `is_draw` is for searches: it reports a position at its first repetition. So this
module counts occurrences, by the SFEN without the number of the move.
"""

import functools

from tests import absent

cshogi = absent.package(
    "cshogi",
    unreleased=(3, 12),
    reason="cshogi for Python 3.12 requires NumPy below 2",
)

DIRECTIONS = [(-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1)]
JUMPS = [(-2, -1), (-2, 1)]
DROPS = "PLNSGBR"
PLIES = 512


class Referee:
    """A game from the start or from a position in SFEN."""

    def __init__(self, sfen: str | None = None):
        self.board = cshogi.Board(sfen) if sfen else cshogi.Board()
        self.ply = self.board.move_number - 1
        self.seen = {self._key(): [self.ply]}  # the plies at which each position occurred
        self.played: list[str] = []
        self.checks: list[tuple[int, int, bool]] = []  # (ply, mover, whether it was check)
        self.result: int | None = None  # of player 0, once the game is over
        self._look()

    @property
    def player(self) -> int:
        return self.board.turn

    @property
    def over(self) -> bool:
        return self.result is not None

    def moves(self) -> dict[int, str]:
        """Returns the legal moves in USI by their actions; none after the end."""
        if self.over:
            return {}
        names = map(cshogi.move_to_usi, self.board.legal_moves)
        return {action_of(name, self.player): name for name in names}

    def play(self, usi: str) -> None:
        mover = self.player
        self.played.append(usi)
        self.board.push_usi(usi)
        self.ply += 1
        self.checks.append((self.ply, mover, self.board.is_check()))
        self.seen.setdefault(self._key(), []).append(self.ply)
        self._look()

    def occurrences(self) -> int:
        return len(self.seen[self._key()])

    def _look(self) -> None:
        first, *_ = plies = self.seen[self._key()]
        if self.board.is_game_over():
            self.result = 1 if self.player else -1
        elif len(plies) >= 4:
            since = [(mover, check) for ply, mover, check in self.checks if ply > first]
            always = [all(check for who, check in since if who == side) for side in (0, 1)]
            self.result = always[1] - always[0]
        elif self.ply >= PLIES:
            self.result = 0

    def _key(self) -> str:
        return self.board.sfen().rsplit(" ", 1)[0]


@functools.cache
def action_of(usi: str, player: int) -> int:
    """Returns the number of a move, computed from its squares."""
    target = _cell(usi[2:4], player)
    if usi[1] == "*":
        return _number(target, 20 + DROPS.index(usi[0]))
    start = _cell(usi[:2], player)
    rows, columns = target[0] - start[0], target[1] - start[1]
    if (rows, columns) in JUMPS:
        plane = 8 + JUMPS.index((rows, columns))
    else:
        longest = max(abs(rows), abs(columns))
        plane = DIRECTIONS.index((rows // longest, columns // longest))
    return _number(target, plane + 10 * usi.endswith("+"))


def _number(cell: tuple[int, int], plane: int) -> int:
    return (9 * cell[0] + cell[1]) * 27 + plane


def _cell(square: str, player: int) -> tuple[int, int]:
    """Returns row and column from the player's perspective."""
    row, column = "abcdefghi".index(square[1]), 9 - int(square[0])
    return (row, column) if player == 0 else (8 - row, 8 - column)
