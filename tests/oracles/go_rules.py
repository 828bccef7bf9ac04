"""Go as simple as possible, with sets and flood fills: a second referee next to GNU Go.

A board is a pair of frozensets, the black points and the white points; a point is row * size + col.
"""

import functools

Board = tuple[frozenset[int], frozenset[int]]
EMPTY: Board = (frozenset(), frozenset())


@functools.cache
def neighbours(size: int, point: int) -> tuple[int, ...]:
    row, col = divmod(point, size)
    around = [(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)]
    return tuple(r * size + c for r, c in around if 0 <= r < size and 0 <= c < size)


def flood(size: int, start: int, inside: frozenset[int]) -> set[int]:
    """Returns the points of `inside` that are connected to `start`, which is one of them."""
    found, frontier = {start}, [start]
    while frontier:
        for near in neighbours(size, frontier.pop()):
            if near in inside and near not in found:
                found.add(near)
                frontier.append(near)
    return found


def breathes(size: int, board: Board, chain: set[int]) -> bool:
    taken = board[0] | board[1]
    return any(near not in taken for point in chain for near in neighbours(size, point))


def without_dead(size: int, board: Board, player: int) -> Board:
    """Returns the board without the chains of `player` that have no liberty."""
    dead: set[int] = set()
    unseen = set(board[player])
    while unseen:
        chain = flood(size, next(iter(unseen)), board[player])
        unseen -= chain
        if not breathes(size, board, chain):
            dead |= chain
    return (board[0] - dead, board[1]) if player == 0 else (board[0], board[1] - dead)


def place(size: int, board: Board, player: int, point: int) -> tuple[Board, bool]:
    """Returns the board after a stone, captures and suicide, and whether it was a suicide."""
    black, white = board
    put = (black | {point}, white) if player == 0 else (black, white | {point})
    captured = without_dead(size, put, 1 - player)
    after = without_dead(size, captured, player)
    return after, after != captured


def owners(size: int, board: Board) -> list[int]:
    """Returns the Tromp-Taylor owner of each point: 1 black, -1 white, 0 nobody.

    A stone belongs to its colour. An empty point belongs to the only colour that it reaches.
    """
    empty = frozenset(range(size * size)) - board[0] - board[1]
    owner = []
    for point in range(size * size):
        region = flood(size, point, empty) if point in empty else set()
        reached = {point, *(near for p in region for near in neighbours(size, p))}
        owner.append(bool(reached & board[0]) - bool(reached & board[1]))
    return owner


class GoRules:
    """A game in progress, which `play` changes. Player 0 is black."""

    def __init__(self, size: int, komi: float = 7.5, suicide: bool = False):
        self.size, self.komi, self.suicide = size, komi, suicide
        self.pass_move = size * size
        self.boards = [EMPTY]  # after each ply
        self.player = 0
        self.passes = 0

    @property
    def board(self) -> Board:
        return self.boards[-1]

    @property
    def over(self) -> bool:
        return self.passes == 2 or len(self.boards) > 2 * self.size * self.size

    def may_place(self, point: int, superko: bool = True) -> bool:
        if point in self.board[0] | self.board[1]:
            return False
        after, is_suicide = place(self.size, self.board, self.player, point)
        return not (superko and after in self.boards) and (self.suicide or not is_suicide)

    def legal(self, superko: bool = True) -> list[int]:
        if self.over:
            return []
        placements = [p for p in range(self.pass_move) if self.may_place(p, superko)]
        return [*placements, self.pass_move]

    def play(self, move: int) -> None:
        assert move in self.legal()
        if move == self.pass_move:
            self.passes += 1
            self.boards.append(self.board)
        else:
            self.passes = 0
            self.boards.append(place(self.size, self.board, self.player, move)[0])
        self.player = 1 - self.player

    def owners(self) -> list[int]:
        return owners(self.size, self.board)

    def score(self) -> tuple[float, float]:
        owner = self.owners()
        return owner.count(1), owner.count(-1) + self.komi

    def result(self) -> int:
        """Returns Black's result: 1 won, 0 drawn, -1 lost."""
        black, white = self.score()
        return (black > white) - (black < white)
