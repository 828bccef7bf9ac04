"""Constructed go positions in which a rule matters, and lines of play that show it.

X is black and O is white, the top row first. A line starts from the picture. `banned` is a move
that is illegal after the line, and `board` is the picture after it.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Position:
    picture: str
    to_move: str  # "black" or "white"
    line: str
    board: str
    banned: str | None = None

    @property
    def size(self) -> int:
        return len(self.picture.split())

    def moves(self) -> list[str]:
        """Returns the whole game: stones one by one, all black ones first, then the line."""
        rows, moves, player = self.picture.split(), [], 0
        for colour, stone in enumerate("XO"):
            for row, marks in enumerate(rows):
                for col, mark in enumerate(marks):
                    if mark == stone:
                        point = f"{'ABCDEFGHJKLMNOPQRST'[col]}{self.size - row}"
                        moves += ["pass"] * (player != colour) + [point]
                        player = 1 - colour
        passes = ["pass"] * (player != ("black", "white").index(self.to_move))
        return moves + passes + self.line.split()


_KO = "..... .XO.. XO.O. .XO.. ....."
_TRIPLE_KO = """
    XO.O.XO.O
    .XO...XO.
    .........
    .........
    .........
    .........
    .........
    .XO......
    X.XO.....
"""
_SEND_TWO = "O.O.X .OXX. ..... ..... ....."

POSITIONS = {
    "ko": Position(_KO, "black", "C3", "..... .XO.. X.XO. .XO.. .....", "B3"),
    "ko after a threat": Position(
        _KO, "black", "C3 E5 E1 B3", "....O .XO.. XO.O. .XO.. ....X", "C3"
    ),
    "snapback": Position(
        "..... ..... XX... OOX.. ..X..", "black", "A1 B1 A1", "..... ..... XX... ..X.. X.X.."
    ),
    "triple ko": Position(
        _TRIPLE_KO,
        "black",
        "C9 B1 H9 B9 C1",
        """
        XO.O.X.XO
        .XO...XO.
        .........
        .........
        .........
        .........
        .........
        .XO......
        X.XO.....
        """,
        "G9",
    ),
    "sending two, returning one": Position(
        _SEND_TWO, "white", "D5 B5", "OX..X .OXX. ..... ..... .....", "C5"
    ),
    "sending two, returning one, later": Position(
        _SEND_TWO, "white", "D5 B5 E1 A1 C5", "O.O.X .OXX. ..... ..... X...O"
    ),
    "a liberty on three sides": Position(
        "O.OX. OOOX. XXX.. ..... .....", "black", "B5", ".X.X. ...X. XXX.. ..... ....."
    ),
    "two captures at once": Position(
        ".X.X. XO.OX .X.X. ..... .....", "black", "C4", ".X.X. X.X.X .X.X. ..... ....."
    ),
    "four captures at once": Position(
        "..X.. .XOX. XO.OX .XOX. ..X..", "black", "C3", "..X.. .X.X. X.X.X .X.X. ..X.."
    ),
    "a full board but one": Position(
        "OOOOO OOOOO OO.OO OOOOO OOOOO", "black", "C3", "..... ..... ..X.. ..... ....."
    ),
    "a capture, no suicide": Position(
        ".OX.. OX... X.... ..... .....", "black", "A5", "X.X.. .X... X.... ..... ....."
    ),
    "suicide of one": Position(
        ".X... X.... ..... ..... .....", "white", "", ".X... X.... ..... ..... .....", "A5"
    ),
    "the last liberty within": Position(
        ".X.XO XXXXO OOOOO ..... .....", "white", "", ".X.XO XXXXO OOOOO ..... .....", "A5"
    ),
}
