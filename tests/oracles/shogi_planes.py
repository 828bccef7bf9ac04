"""The expected observation planes and drawing codes of a shogi game, computed from SFEN."""

import re

import numpy as np

KINDS = ["P", "L", "N", "S", "G", "B", "R", "K", "+P", "+L", "+N", "+S", "+B", "+R"]
HAND = ["P", "L", "N", "S", "G", "B", "R"]
TOTAL = [18, 4, 4, 4, 4, 2, 2]


def pieces(sfen):
    """Returns the cells and the pieces in hand of a position.

    The 81 cells are from sente's perspective, '' if empty. Pieces in hand are counted by letter.
    """
    board, _, held, *_ = sfen.split()
    board = re.sub(r"[1-9]", lambda m: "." * int(m[0]), board.replace("/", ""))
    cells = ["" if piece == "." else piece for piece in re.findall(r"\+?.", board)]
    hands = {letter: int(n or 1) for n, letter in re.findall(r"(\d*)([A-Za-z])", held)}
    return cells, hands


def planes(sfens):
    """Returns the planes after a game with these positions from its start, float32 [9, 9, 362]."""
    me = "bw".index(sfens[-1].split()[1])
    keys = [sfen.rsplit(" ", 1)[0] for sfen in sfens]
    seen = np.zeros((9, 9, 362), np.float32)
    for age in range(min(8, len(sfens))):
        index = len(sfens) - 1 - age
        part = seen[..., 45 * age : 45 * age + 45]
        cells, hands = pieces(sfens[index])
        cells = cells if me == 0 else cells[::-1]
        for cell, piece in enumerate(cells):
            if piece:
                theirs = piece.isupper() != (me == 0)
                part[cell // 9, cell % 9, KINDS.index(piece.upper()) + 14 * theirs] = 1
        times = keys[: index + 1].count(keys[index])
        if times <= 3:
            part[..., 27 + times] = 1
        for theirs in (0, 1):
            for i, letter in enumerate(HAND):
                name = letter if (me == 0) != theirs else letter.lower()
                part[..., 31 + 7 * theirs + i] = hands.get(name, 0) / TOTAL[i]
    seen[..., 360] = me == 0
    seen[..., 361] = (int(sfens[-1].split()[3]) - 1) / 512
    return seen


def codes(sfen, last_move):
    """Returns the codes of a drawing after a move in USI, int [95]."""
    cells, hands = pieces(sfen)
    found = [
        KINDS.index(piece.upper()) + 1 + 14 * piece.islower() if piece else 0 for piece in cells
    ]
    for square in re.findall(r"\d[a-i]", last_move):
        found[9 * "abcdefghi".index(square[1]) + 9 - int(square[0])] += 32
    order = "RBGSNLP"
    return found + [hands.get(letter, 0) for letter in order + order.lower()]
