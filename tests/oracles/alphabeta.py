"""Alpha-beta with a transposition table over hex, m,n,k and go, by rules in plain Python.

It shares no code with the games that it checks. Values are those of the player to move: 1 won, 0
drawn, -1 lost. A board is two integers with a bit for each cell: the stones of the player to move
and of the opponent.
"""

import functools
from collections.abc import Iterable
from typing import Protocol

from tests.oracles import go_rules


class Rules(Protocol):
    cells: int

    def wins(self, stones: int, player: int) -> bool:
        """Returns whether these stones have won for `player`, who placed the last of them."""

    def hopeless(self, other: int, player: int) -> bool:
        """Returns whether `player` can no longer win against these stones of the opponent."""

    def order(self) -> Iterable[int]:
        """Returns the cells, the most promising first."""


class Solver:
    """A solver of games in which stones never move and the last stone may win."""

    def __init__(self, rules: Rules):
        self.rules = rules
        self.order = tuple(1 << cell for cell in rules.order())
        self.full = (1 << rules.cells) - 1
        self.table: dict[tuple[int, int], tuple[int, int]] = {}  # lower and upper bound

    def value(self, own: int = 0, other: int = 0, alpha: int = -1, beta: int = 1) -> int:
        """Returns the mover's value, exact between alpha and beta; the game must not be over."""
        free = self.full & ~(own | other)
        if not free:
            return 0
        key = (own, other)
        low, high = self.table.get(key, (-1, 1))
        player = (own | other).bit_count() % 2
        if high > 0 and self.rules.hopeless(other, player):
            high = 0
        if low < 0 and self.rules.hopeless(own, 1 - player):
            low = 0
        alpha, beta = max(alpha, low), min(beta, high)
        if alpha >= beta:
            return low if low >= beta else high
        best = -1
        floor = alpha
        for move in self.forced(own, other, free, player):
            if self.rules.wins(own | move, player):
                best = 1
            else:
                best = max(best, -self.value(other, own | move, -beta, -floor))
            floor = max(floor, best)
            if floor >= beta:
                break
        if best > alpha or best == -1:
            low = max(low, best)
        if best < beta or best == 1:
            high = min(high, best)
        self.table[key] = (low, high)
        return best

    def forced(self, own: int, other: int, free: int, player: int) -> list[int]:
        """Returns a winning move if any, else a block of the opponent's win, else all moves."""
        moves = [move for move in self.order if move & free]
        for move in moves:
            if self.rules.wins(own | move, player):
                return [move]
        threats = [move for move in moves if self.rules.wins(other | move, 1 - player)]
        return threats[:1] or moves

    def winning_openings(self) -> list[int]:
        """Returns the first player's moves that win against any defence."""
        cells = range(self.rules.cells)
        return [cell for cell in cells if self.value(0, 1 << cell) == -1]

    def principal_line(self, first: int | None = None) -> list[int]:
        """Returns the best play of both sides, after that first move if one is given."""
        own, other, line = 0, 0, []
        while True:
            free = self.full & ~(own | other)
            if not free:
                return line
            player = len(line) % 2
            if first is not None and not line:
                move = 1 << first
            else:
                wanted = self.value(own, other)
                move = next(
                    m for m in self.order if m & free and self.is_best(own, other, m, wanted)
                )
            line.append(move.bit_length() - 1)
            if self.rules.wins(own | move, player):
                return line
            own, other = other, own | move

    def is_best(self, own: int, other: int, move: int, wanted: int) -> bool:
        if self.rules.wins(own | move, (own | other).bit_count() % 2):
            return wanted == 1
        return -self.value(other, own | move) == wanted


class RowRules:
    """The rules of m,n,k: m columns, n rows, k in a row win, and a full board is a draw."""

    def __init__(self, m: int, n: int, k: int):
        self.columns, self.cells = m, m * n
        self.lines = []
        for row in range(n):
            for col in range(m):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    line = [(row + i * down, col + i * right) for i in range(k)]
                    if all(0 <= r < n and 0 <= c < m for r, c in line):
                        self.lines.append(sum(1 << (r * m + c) for r, c in line))

    def wins(self, stones: int, player: int) -> bool:
        return any(line & stones == line for line in self.lines)

    def hopeless(self, other: int, player: int) -> bool:
        return all(line & other for line in self.lines)

    def order(self) -> list[int]:
        """Returns the cells, those on many lines first."""
        crowd = [sum(line >> cell & 1 for line in self.lines) for cell in range(self.cells)]
        return sorted(range(self.cells), key=lambda cell: -crowd[cell])


class HexRules:
    """The rules of hex: the first player connects top and bottom, the second left and right.

    Cell row * size + col touches the two cells next to it in its row, two above it (col, col + 1)
    and two below it (col - 1, col).
    """

    def __init__(self, size: int):
        self.size, self.cells = size, size * size
        rows = [((1 << size) - 1) << (row * size) for row in range(size)]
        columns = [sum(1 << (row * size + col) for row in range(size)) for col in range(size)]
        self.sides = ((rows[0], rows[-1]), (columns[0], columns[-1]))
        self.near = [self.neighbours(cell) for cell in range(self.cells)]

    def neighbours(self, cell: int) -> int:
        row, col = divmod(cell, self.size)
        around = [(row, col - 1), (row, col + 1)]
        around += [(row - 1, col), (row - 1, col + 1), (row + 1, col - 1), (row + 1, col)]
        inside = [r * self.size + c for r, c in around if 0 <= r < self.size > c >= 0]
        return sum(1 << near for near in inside)

    def wins(self, stones: int, player: int) -> bool:
        start, goal = self.sides[player]
        reached = stones & start
        frontier = reached
        while frontier:
            if reached & goal:
                return True
            cell = frontier.bit_length() - 1
            frontier ^= 1 << cell
            fresh = self.near[cell] & stones & ~reached
            reached |= fresh
            frontier |= fresh
        return bool(reached & goal)

    def hopeless(self, other: int, player: int) -> bool:
        return False  # without a winner yet, either player can still win

    def order(self) -> list[int]:
        """Returns the cells from the centre outwards."""
        middle = (self.size - 1) / 2
        away = [sum(abs(x - middle) for x in divmod(cell, self.size)) for cell in range(self.cells)]
        return sorted(range(self.cells), key=lambda cell: away[cell])


@functools.cache
def rows_solver(m: int, n: int, k: int) -> Solver:
    return Solver(RowRules(m, n, k))


@functools.cache
def hex_solver(size: int) -> Solver:
    return Solver(HexRules(size))


class GoSolver:
    """A solver of go for Black's area minus White's, without komi; superko uses the exact history.

    `cut` is the number of plies after which the game ends. Without it only two passes end it.
    """

    def __init__(self, size: int, cut: int | None = None):
        self.size, self.cut = size, cut
        self.points = range(size * size)
        self.place = functools.cache(functools.partial(go_rules.place, size))
        self.margin = functools.cache(lambda board: sum(go_rules.owners(size, board)))
        self.table: dict = {}

    def value(self, boards: tuple = (go_rules.EMPTY,), passes: int = 0, low=None, high=None) -> int:
        """Returns the value after these boards (one a ply), exact between `low` and `high`."""
        low = -len(self.points) if low is None else low
        high = len(self.points) if high is None else high
        board = boards[-1]
        if passes == 2 or (self.cut is not None and len(boards) > self.cut):
            return self.margin(board)
        black_moves = len(boards) % 2 == 1
        # The rest of the game depends on which boards have occurred, not on their order.
        plies = len(boards) if self.cut is not None else black_moves
        key = (frozenset(boards), board, plies, passes, low, high)
        if key in self.table:
            return self.table[key]
        best = None
        for move in self.moves(boards, passes):
            after, passed = self.play(boards, move)
            value = self.value(after, passes + 1 if passed else 0, low, high)
            if black_moves:
                best = value if best is None else max(best, value)
                low = max(low, best)
            else:
                best = value if best is None else min(best, value)
                high = min(high, best)
            if low >= high:
                break
        self.table[key] = best
        return best

    def good_move(self, boards: tuple, passes: int, *, low: int) -> int:
        """Returns a move of Black with a value above `low`."""
        for move in self.moves(boards, passes):
            after, passed = self.play(boards, move)
            if self.value(after, passes + 1 if passed else 0, low) > low:
                return move
        raise ValueError(f"no move has a value above {low}")

    def moves(self, boards: tuple, passes: int) -> list[int]:
        """Returns legal moves, the most area first; the pass is last unless it ends the game."""
        board, player = boards[-1], (len(boards) + 1) % 2
        sign = 1 - 2 * player
        ranked = []
        for point in self.points:
            if point in board[0] | board[1]:
                continue
            after, is_suicide = self.place(board, player, point)
            if not is_suicide and after not in boards:
                ranked.append(
                    (-sign * self.margin(after), abs(point - len(self.points) // 2), point)
                )
        placements, pass_move = [point for *_, point in sorted(ranked)], len(self.points)
        return [pass_move, *placements] if passes else [*placements, pass_move]

    def play(self, boards: tuple, move: int) -> tuple[tuple, bool]:
        """Returns the boards after a move, and whether it was a pass."""
        if move == len(self.points):
            return (*boards, boards[-1]), True
        return (*boards, self.place(boards[-1], (len(boards) + 1) % 2, move)[0]), False
