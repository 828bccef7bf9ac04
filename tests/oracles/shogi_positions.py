"""Positions of shogi that random games do not reach."""

import numpy as np

from tests.oracles.shogi import cshogi

# A position, a move, and whether it is legal: nearly always a pawn dropped in front of a king.
PAWN_DROPS = {
    "gold covers all": ("7nk/9/7G1/9/9/9/9/9/K8 b P 1", "P*1b", False),
    "by gote": ("8k/9/9/9/9/9/1g7/9/KN7 w p 1", "P*9h", False),
    "nobody guards the pawn": ("7nk/9/6G2/9/9/9/9/9/K8 b P 1", "P*1b", True),
    "king steps aside": ("8k/9/7G1/9/9/9/9/9/K8 b P 1", "P*1b", True),
    "gold takes": ("7gk/9/7G1/9/9/9/9/9/K8 b P 1", "P*1b", True),
    "gold is pinned by a rook": ("R6gk/9/7G1/9/9/9/9/9/K8 b P 1", "P*1b", False),
    "gold is pinned by a dragon": ("3+R3gk/9/7G1/9/9/9/9/9/K8 b P 1", "P*1b", False),
    "rook is pinned but along the file": ("7nk/9/7Gr/9/9/9/9/9/K7L b P 1", "P*1b", True),
    "knight takes": ("5lln1/5pkp1/9/6G2/9/9/9/9/K8 b P 1", "P*3c", True),
    "lance does not take": ("5lll1/5pkp1/9/6G2/9/9/9/9/K8 b P 1", "P*3c", False),
    "pawn shuts off its bishop": ("6lk1/9/5SB1G/9/9/9/9/9/K8 b P 1", "P*2b", True),
    "pawn shuts off what is not needed": ("6lkl/9/5SB1G/9/9/9/9/9/K8 b P 1", "P*2b", False),
    "also ends a check": ("3lkl3/3r4K/2B1G4/9/9/9/9/9/9 b P 1", "P*5b", False),
    "push": ("7nk/9/7GP/9/9/9/9/9/K8 b - 1", "1c1b", True),
    "lance": ("7nk/9/7G1/9/9/9/9/9/K8 b L 1", "L*1b", True),
    "second pawn on the file": ("9/8k/9/7G1/9/9/8P/9/K8 b P 1", "P*1c", False),
    "second pawn is promoted": ("9/8k/9/7G1/9/9/8+P/9/K8 b P 1", "P*1c", True),
}

# A position and all moves of one piece in it.
PROMOTIONS = {
    "pawn to the last row": ("k8/4P4/9/9/9/9/9/9/K8 b - 1", "5b5a+"),
    "pawn inside": ("k8/9/4P4/9/9/9/9/9/K8 b - 1", "5c5b 5c5b+"),
    "pawn entering": ("k8/9/9/4P4/9/9/9/9/K8 b - 1", "5d5c 5d5c+"),
    "pawn outside": ("k8/9/9/9/4P4/9/9/9/K8 b - 1", "5e5d"),
    "pawn of gote": ("k8/9/9/9/9/9/9/4p4/K8 w - 1", "5h5i+"),
    "lance": ("k8/9/9/4L4/9/9/9/9/K8 b - 1", "5d5c 5d5c+ 5d5b 5d5b+ 5d5a+"),
    "knight entering": ("k8/9/9/9/4N4/9/9/9/K8 b - 1", "5e4c 5e4c+ 5e6c 5e6c+"),
    "knight to the second row": ("k8/9/9/4N4/9/9/9/9/K8 b - 1", "5d4b+ 5d6b+"),
    "knight to the last row": ("k8/9/4N4/9/9/9/9/9/K8 b - 1", "5c4a+ 5c6a+"),
    "silver leaving": (
        "k8/9/4S4/9/9/9/9/9/K8 b - 1",
        "5c5b 5c5b+ 5c4b 5c4b+ 5c6b 5c6b+ 5c4d 5c4d+ 5c6d 5c6d+",
    ),
    "gold": ("k8/9/4G4/9/9/9/9/9/K8 b - 1", "5c5b 5c4b 5c6b 5c4c 5c6c 5c5d"),
    "promoted silver": ("k8/9/4+S4/9/9/9/9/9/K8 b - 1", "5c5b 5c4b 5c6b 5c4c 5c6c 5c5d"),
    "rook leaving": (
        "k8/4R4/4g4/9/9/9/9/9/K8 b - 1",
        "5b5a 5b5a+ 5b5c 5b5c+ 5b6b 5b6b+ 5b7b 5b7b+ 5b8b 5b8b+ 5b9b 5b9b+ "
        "5b4b 5b4b+ 5b3b 5b3b+ 5b2b 5b2b+ 5b1b 5b1b+",
    ),
}


def random_position(rng: np.random.Generator) -> str:
    """Returns the SFEN of any pieces on any cells, with sente or gote to move.

    The position may be impossible; callers must check it.
    """
    cells = [""] * 81
    for king, cell in zip("Kk", rng.choice(81, 2, replace=False), strict=True):
        cells[cell] = king
    bag = list("RRBBGGGGSSSSNNNNLLLL" + "P" * int(rng.integers(0, 19)))
    rng.shuffle(bag)
    hands = ["", ""]
    for piece in bag[: int(rng.integers(2, len(bag) + 1))]:
        if rng.random() < 0.25:
            hands[int(rng.integers(2))] += piece
        else:
            _put(rng, cells, piece, range(81), sente=0.5, promoted=0.25)
    return _sfen(rng, cells, hands)


def cornered_position(rng: np.random.Generator) -> str:
    """Returns the SFEN of a position with a king near the edge.

    Gote's king is near the edge, its own pieces next to it and sente's not far. Sente has a pawn in
    hand. The position may be turned round.
    """
    cells = [""] * 81
    row, column = int(rng.choice([0, 0, 0, 1])), int(rng.integers(9))
    cells[9 * row + column] = "k"
    cells[int(rng.integers(54, 81))] = "K"
    distance = [max(abs(c // 9 - row), abs(c % 9 - column)) for c in range(81)]
    ahead = 9 * (row + 1) + column
    beside = [c for c in range(81) if distance[c] == 1 and c != ahead]
    near = [c for c in range(81) if distance[c] in (2, 3) and c % 9 != column]
    guard = [c for c in range(81) if c // 9 == row + 2 and abs(c % 9 - column) <= 1]
    pieces = list("GGSSSSNNNNLLLLBBRR")
    rng.shuffle(pieces)
    _put(rng, cells, "G", guard, sente=0.9, promoted=0)
    for cell in beside:
        if rng.random() < 0.75:
            _put(rng, cells, pieces.pop(), [cell], sente=0, promoted=0.05)
    for _ in range(int(rng.integers(0, 4))):
        _put(rng, cells, pieces.pop(), near, sente=0.9, promoted=0.2)
    for _ in range(int(rng.integers(0, 3))):
        _put(rng, cells, pieces.pop(), range(81), sente=0.6, promoted=0.2)
    return _sfen(rng, cells, ["P" + pieces.pop() * int(rng.integers(2)), ""])


def _put(rng, cells, piece, places, *, sente, promoted):
    """Puts a piece on a free one of these places, if there is one."""
    free = [cell for cell in places if not cells[cell]]
    if free:
        plus = "+" if piece != "G" and rng.random() < promoted else ""
        cells[int(rng.choice(free))] = plus + (piece if rng.random() < sente else piece.lower())


def _sfen(rng, cells, hands):
    board = "/".join(
        "".join(cell or "." for cell in cells[9 * row : 9 * row + 9]) for row in range(9)
    )
    for blanks in range(9, 0, -1):
        board = board.replace("." * blanks, str(blanks))
    held = "".join(map(_held, (hands[0], hands[1].lower()))) or "-"
    sfen = f"{board} b {held} 1"
    return cshogi.rotate_sfen(sfen) if rng.random() < 0.5 else sfen


def _held(hand):
    counts = [(letter, hand.count(letter)) for letter in dict.fromkeys(hand)]
    return "".join(f"{n if n > 1 else ''}{letter}" for letter, n in counts)
