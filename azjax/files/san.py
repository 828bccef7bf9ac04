"""Moves of chess in standard algebraic notation (SAN), as PGN has them."""

import re

import jax
import numpy as np
from azjax_envs.chess import Chess

from azjax.files.game_record import GameRecord

_MOVE = re.compile(r"([KQRBN]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:=?([QRBN]))?")
_IN_CHECK = 32  # of a king's style code, see `Chess.view`


def read_san(record: GameRecord, text: str) -> int:
    """Returns the action that a text names in a record's current position.

    Castling with zeros, moves of UCI, and missing marks of capture and check are taken, too.

    Raises:
      ValueError: no legal move, or several, have that name.
    """
    moves = {name: action for action, name in record.legal_moves().items()}
    wanted = text.rstrip("+#!?").replace("0", "O")
    if wanted in ("O-O", "O-O-O"):
        pieces = _pieces(record)
        side = "g" if wanted == "O-O" else "c"
        found = [m for m in moves if pieces[m[:2]] == "K" and m[0] == "e" and m[2] == side]
    elif match := _MOVE.fullmatch(text.rstrip("+#!?")):
        piece, file, rank, target, promotion = match.groups()
        pieces = _pieces(record)
        found = [
            move
            for move in moves
            if move[2:4] == target
            and pieces[move[:2]] == (piece or "P")
            and move[0] == (file or move[0])
            and move[1] == (rank or move[1])
            and move[4:] == (promotion or "").lower()
        ]
        # Castling is not a king's move two squares aside in SAN.
        found = [m for m in found if piece != "K" or abs(ord(m[0]) - ord(m[2])) < 2]
    else:
        found = []
    found = found or [text.lower()] * (text.lower() in moves)
    if len(found) != 1:
        raise ValueError(f"{text!r} {'could be several moves' if found else 'is not legal there'}")
    return moves[found[0]]


def to_san(record: GameRecord, action: int) -> str:
    """Returns the name in SAN of a legal action in a record's current position."""
    moves, pieces = record.legal_moves(), _pieces(record)
    move = moves[action]
    start, target, promotion = move[:2], move[2:4], move[4:].upper()
    piece, after = pieces[start], record.play(action)
    if piece == "K" and abs(ord(move[0]) - ord(move[2])) == 2:
        name = "O-O" if move[2] == "g" else "O-O-O"
    else:
        takes = target in pieces or (piece == "P" and start[0] != target[0])
        if piece == "P":
            name = start[0] if takes else ""
        else:
            twins = [m for m in moves.values() if m[2:4] == target and m != move]
            twins = [m[:2] for m in twins if pieces[m[:2]] == piece]
            name = piece + _distinction(start, twins)
        name += "x" * takes + target + (f"={promotion}" if promotion else "")
    if after.current.over and any(after.current.returns):
        return name + "#"
    codes = np.asarray(record.game.view(jax.device_get(after.current.state)))
    return name + "+" * bool((codes & _IN_CHECK).any())


def _distinction(start: str, twins: list[str]) -> str:
    """Returns what tells a piece from its twins, which can go to the same square."""
    if not twins:
        return ""
    if all(twin[0] != start[0] for twin in twins):
        return start[0]
    return start[1] if all(twin[1] != start[1] for twin in twins) else start


def _pieces(record: GameRecord) -> dict[str, str]:
    """Returns the letter in capitals of each piece, by square."""
    game = record.game
    assert isinstance(game, Chess)
    board = game.to_fen(record.current.state).split()[0]
    rows = re.sub(r"\d", lambda digit: "." * int(digit[0]), board).upper().split("/")
    return {
        f"{'abcdefgh'[column]}{8 - row}": letter
        for row, letters in enumerate(rows)
        for column, letter in enumerate(letters)
        if letter != "."
    }
