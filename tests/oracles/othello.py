"""Othello in plain Python, cell by cell: slow and independent of azjax's rules."""

BLACK, WHITE = "X", "O"
COMPASS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
PASS = "pass"


class Position:
    """A position: `board` maps (row, column) to a disc, and `turn` is the player to move."""

    def __init__(self, size, board=None, turn=BLACK):
        self.size = size
        self.turn = turn
        if board is None:
            middle = size // 2
            board = {
                (middle - 1, middle - 1): WHITE,
                (middle - 1, middle): BLACK,
                (middle, middle - 1): BLACK,
                (middle, middle): WHITE,
            }
        self.board = board

    @classmethod
    def read(cls, text, turn):
        """Reads a board drawn with X, O and dots, one row a line."""
        rows = text.split()
        discs = {(r, c): d for r, row in enumerate(rows) for c, d in enumerate(row) if d != "."}
        return cls(len(rows), discs, turn)

    def turned(self, cell, disc):
        """Returns the discs that `disc` turns over when placed on `cell`."""
        if cell in self.board:
            return []
        captured = []
        for down, right in COMPASS:
            line = []
            row, column = cell[0] + down, cell[1] + right
            while self.board.get((row, column), disc) != disc:
                line.append((row, column))
                row, column = row + down, column + right
            if (row, column) in self.board:
                captured += line
        return captured

    def places(self, disc):
        cells = [(row, column) for row in range(self.size) for column in range(self.size)]
        return [cell for cell in cells if self.turned(cell, disc)]

    def is_over(self):
        return not self.places(BLACK) and not self.places(WHITE)

    def legal(self):
        """Returns the legal cells, or PASS if there are none; nothing after the end."""
        if self.is_over():
            return []
        return self.places(self.turn) or [PASS]

    def after(self, choice):
        other = WHITE if self.turn == BLACK else BLACK
        board = dict(self.board)
        if choice != PASS:
            for cell in [choice, *self.turned(choice, self.turn)]:
                board[cell] = self.turn
        return Position(self.size, board, other)

    def count(self, disc):
        return sum(found == disc for found in self.board.values())

    def margin(self):
        return self.count(BLACK) - self.count(WHITE)

    def key(self):
        return (self.turn, tuple(sorted(self.board.items())))

    def text(self):
        return "\n".join(
            "".join(self.board.get((row, column), ".") for column in range(self.size))
            for row in range(self.size)
        )


def best_margin(position, low=-99, high=99):
    """Returns Black's discs minus White's under best play, by alpha-beta within (low, high)."""
    choices = position.legal()
    if not choices:
        return position.margin()
    sign = 1 if position.turn == BLACK else -1
    best = -99 * sign
    for choice in choices:
        value = best_margin(position.after(choice), low, high)
        best = max(best, value) if sign == 1 else min(best, value)
        if sign == 1:
            low = max(low, best)
        else:
            high = min(high, best)
        if low >= high:
            break
    return best
