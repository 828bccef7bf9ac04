"""Games of shogi in CSA and KIF files, as moves of USI.

CSA is described at https://www.computer-shogi.org/protocol/record_v22.html (in Japanese). KIF is
the format of Kakinoki Shogi, which has no published standard.
"""

import re

import jax
from azjax_envs.shogi import Shogi

from azjax.errors import UserError
from azjax.files.game_record import GameRecord, start_game
from azjax.files.played_game import PlayedGame, play_named, played_game

_CSA_LETTERS = {"FU": "P", "KY": "L", "KE": "N", "GI": "S", "KI": "G", "KA": "B", "HI": "R"}
_CSA_PROMOTED = ("TO", "NY", "NK", "NG", "UM", "RY")
_CSA_MOVE = re.compile(r"([+-])(\d)(\d)([1-9])([1-9])([A-Z]{2})")
_CSA_START = (
    "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY",
    "P2 * -HI *  *  *  *  * -KA *",
    "P3-FU-FU-FU-FU-FU-FU-FU-FU-FU",
    *(f"P{rank} *  *  *  *  *  *  *  *  *" for rank in (4, 5, 6)),
    "P7+FU+FU+FU+FU+FU+FU+FU+FU+FU",
    "P8 * +KA *  *  *  *  * +HI *",
    "P9+KY+KE+GI+KI+OU+KI+GI+KE+KY",
)

_FILES = "１２３４５６７８９"
_RANKS = "一二三四五六七八九"
_KIF_PIECES: dict[str, str] = dict(zip("歩香桂銀金角飛", "PLNSGBR", strict=True))
_KIF_MOVE = re.compile(
    rf"\s*\d+\s+(?:(?P<file>[{_FILES}1-9])(?P<rank>[{_RANKS}])|同)[\s　]*"
    r"(?P<piece>成[香桂銀]|[歩香桂銀金角飛玉王とと杏圭全馬竜龍])(?P<mark>成|不成|打)?"
    r"(?:[左直右上寄引]*)(?:\((?P<from>[1-9][1-9])\))?(?P<late>成)?"
)
_KIF_END = re.compile(r"\s*\d+\s+[^\s(]")


def split_csa(text: str) -> list[str]:
    """Returns the games of a file in CSA."""
    return [part for part in re.split(r"(?m)^/\s*$", text) if part.strip()]


def csa_move(record: GameRecord, action: int) -> str:
    """Returns the name in CSA of a record's next move, such as "+7776FU"."""
    after = record.play(action)
    move = after.current.move
    start = "00" if move[1] == "*" else move[0] + _number(move[1])
    piece = _piece(after, move[2:4])
    names = {letter: name for name, letter in _CSA_LETTERS.items()} | {"K": "OU"}
    names |= dict(zip(("+P", "+L", "+N", "+S", "+B", "+R"), _CSA_PROMOTED, strict=True))
    return f"{'+-'[record.current.mover]}{start}{move[2]}{_number(move[3])}{names[piece.upper()]}"


def format_csa(moves: list[str], end: str) -> str:
    """Returns a game as CSA; `moves` by `csa_move`, `end` such as "TORYO"."""
    return "\n".join(["V2.2", *_CSA_START, "+", *moves, f"%{end}", ""])


def read_csa(text: str) -> PlayedGame:
    """Returns a game in CSA, or raises a UserError."""
    lines = [line for line in re.split(r"[\n,]", text) if line and not line.startswith("'")]
    names = {line[:2]: line[2:].strip() for line in lines if line[:2] in ("N+", "N-")}
    board = [re.sub(r"\s+$", "", line) for line in lines if re.match(r"P[1-9]", line)]
    squares = [re.sub(r"\s", "", line) for line in board]
    usual = [re.sub(r"\s", "", line) for line in _CSA_START]
    placed = [line for line in lines if re.match(r"P[+-]|PI.", line)]
    if placed or (squares and squares != usual):
        raise UserError("it does not begin with the start of an even game")
    record, ended = start_game(Shogi()), False
    for line in lines:
        if not re.match(r"[+-]\d", line):
            continue
        found = _CSA_MOVE.match(line)
        number = record.num_moves + 1
        if found is None:
            raise UserError(f"move {number}: {line.strip()!r} is not a move of CSA")
        if ended := record.current.over:
            break
        _, from_file, from_rank, file, rank, kind = found.groups()
        target = file + _letter(rank)
        if from_file == "0":
            move = f"{_CSA_LETTERS.get(kind, '?')}*{target}"
        else:
            start = from_file + _letter(from_rank)
            promotes = kind in _CSA_PROMOTED and not _piece(record, start).startswith("+")
            move = start + target + "+" * promotes
        record = play_named(record, move, line.strip())
    return played_game(record, [names.get("N+", ""), names.get("N-", "")], ended=ended)


def read_kif(text: str) -> PlayedGame:
    """Returns a game in KIF, or raises a UserError."""
    lines = text.splitlines()
    headers = dict(
        re.split("[：:]", line, maxsplit=1) for line in lines if re.match(r"[^\s*#\d]+[：:]", line)
    )
    if (handicap := headers.get("手合割", "平手").strip()) != "平手":
        raise UserError(f"its handicap is {handicap}; only even games can be analysed")
    record, target, ended = start_game(Shogi()), "", False
    for line in lines:
        if line.startswith("変化"):
            break  # variations come after the game
        found = _KIF_MOVE.match(line)
        number = record.num_moves + 1
        if found is None:
            if _KIF_END.match(line) and not re.match(r"\s*\d+\s+[^0-9１-９同]", line):
                raise UserError(f"move {number}: {line.strip()[:20]!r} is not a move of KIF")
            continue
        if ended := record.current.over:
            break
        if found["file"]:
            file = found["file"]
            file = str(_FILES.index(file) + 1) if file in _FILES else file
            target = file + _letter(str(_RANKS.index(found["rank"]) + 1))
        elif not target:
            raise UserError(f"move {number}: 同 has no move before it")
        if found["from"] is None:
            move = f"{_KIF_PIECES.get(found['piece'], '?')}*{target}"
        else:
            start = found["from"][0] + _letter(found["from"][1])
            promotes = "成" in (found["mark"], found["late"])
            move = start + target + "+" * promotes
        record = play_named(record, move, line.split()[1])
    sides = [headers.get(side, "").strip() for side in ("先手", "後手")]
    return played_game(record, sides, ended=ended)


def _letter(rank: str) -> str:
    return "abcdefghi"[int(rank) - 1]


def _number(letter: str) -> str:
    return str("abcdefghi".index(letter) + 1)


def _piece(record: GameRecord, square: str) -> str:
    """Returns the piece on a square of USI as SFEN writes it; "." if there is none."""
    game = record.game
    assert isinstance(game, Shogi)
    board = game.to_sfen(jax.device_get(record.current.state)).split()[0]
    row = re.sub(r"\d", lambda digit: "." * int(digit[0]), board).split("/")
    pieces = re.findall(r"\+?[A-Za-z.]", row["abcdefghi".index(square[1])])
    return pieces[9 - int(square[0])]
