"""Games of shogi in CSA and KIF files, as moves of USI.

CSA is described at https://www.computer-shogi.org/protocol/record_v22.html (in Japanese). KIF is
the format of Kakinoki Shogi, which has no published standard.
"""

import itertools
import re
import unicodedata
from collections.abc import Sequence

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

_CSA_NAMES = {letter: name for name, letter in _CSA_LETTERS.items()} | {"K": "OU"}
_CSA_NAMES |= dict(zip(("+P", "+L", "+N", "+S", "+B", "+R"), _CSA_PROMOTED, strict=True))
_CSA_PIECES = {name: letter for letter, name in _CSA_NAMES.items()}
# These lines are whole; the others may be joined by commas. A comment takes the rest of its line.
_CSA_STATEMENT = re.compile(r"^(?:N[+-]|\$|V).*|(?:^|,)'.*|[^,\n]+", re.MULTILINE)

_RANKS = "一二三四五六七八九"
_KIF_PIECES: dict[str, str] = dict(zip("歩香桂銀金角飛玉", "PLNSGBRK", strict=True))
_KIF_PIECES |= {"王": "K", "と": "+P", "杏": "+L", "圭": "+N", "全": "+S", "馬": "+B", "竜": "+R"}
_KIF_PIECES |= {"成香": "+L", "成桂": "+N", "成銀": "+S", "龍": "+R"}
_KIF_MOVE = re.compile(
    rf"[▲△▼▽☗☖]?\s*(?:(?P<file>[1-9])(?P<rank>[{_RANKS}1-9])|同)\s*"
    r"(?P<piece>成[香桂銀]|[歩香桂銀金角飛玉王と杏圭全馬竜龍])[左直右上寄引行入]*"
    r"(?P<mark>成|不成|打)?\s*(?:\((?P<from>[1-9][1-9])\))?(?P<late>成)?(?![^\s(+])"
)
_KIF_NUMBERED = re.compile(r"\s*(\d+)[\s.:]+(\S.*)")
_KIF_HEADER = re.compile(r"(?!まで|変化)([^\s*#&|+\d][^:]*):(.*)")
_KIF_ENDS = "投了 中断 千日手 持将棋 詰 不詰 切れ負け 反則 入玉 不戦 封じ手 勝ち宣言 宣言 時間"
_KIF_START = (
    "v香v桂v銀v金v玉v金v銀v桂v香",
    "・v飛・・・・・v角・",
    "v歩v歩v歩v歩v歩v歩v歩v歩v歩",
    *("・・・・・・・・・",) * 3,
    "歩歩歩歩歩歩歩歩歩",
    "・角・・・・・飛・",
    "香桂銀金玉金銀桂香",
)
_UNEVEN = "it does not begin with the start of an even game"


def split_csa(text: str) -> list[str]:
    """Returns the games of a file in CSA: "/" stands between them, and a version begins one."""
    parts = re.split(r"(?m)^/[^\S\n]*$|^(?=V\d)", text)
    return [part for part in parts if re.search(r"(?m)^[^'\s]", part)]


def csa_move(record: GameRecord, action: int) -> str:
    """Returns the name in CSA of a record's next move, such as "+7776FU"."""
    after = record.play(action)
    move = after.current.move
    start = "00" if move[1] == "*" else move[0] + _number(move[1])
    piece = _piece(after, move[2:4]).upper()
    return f"{'+-'[record.current.mover]}{start}{move[2]}{_number(move[3])}{_CSA_NAMES[piece]}"


def format_csa(moves: list[str], end: str) -> str:
    """Returns a game as CSA; `moves` by `csa_move`, `end` such as "TORYO"."""
    return "\n".join(["V2.2", *_CSA_START, "+", *moves, f"%{end}", ""])


def read_csa(text: str) -> PlayedGame:
    """Returns a game in CSA, or raises a UserError."""
    lines = [line.strip() for line in _CSA_STATEMENT.findall(text)]
    lines = [line for line in lines if line and not line.startswith(("'", ",'"))]
    names = {line[:2]: line[2:].strip() for line in lines if line[:2] in ("N+", "N-")}
    first = next((i for i, line in enumerate(lines) if re.match(r"[+-].|%", line)), len(lines))
    if not _is_even_csa(lines[:first]):
        raise UserError(_UNEVEN)
    record, ended, problem, result = start_game(Shogi()), False, "", None
    moves = [line for line in lines[first:] if re.match(r"[+-]|%", line)]
    for number, line in enumerate(moves):
        if line.startswith("%"):
            problem = f"moves come after {line}" if _goes_on(moves[number:], r"[+-]") else ""
            result = _result(record, resigned=line.startswith(("%TORYO", "%TIME_UP")))
            break
        if ended := record.current.over:
            break
        try:
            record = _play_csa(record, line)
        except UserError as error:
            problem = str(error)
            break
    return played_game(
        record,
        [names.get("N+", ""), names.get("N-", "")],
        ended=ended,
        problem=problem,
        result=result,
    )


def _result(record: GameRecord, *, resigned: bool) -> int | None:
    """Returns the first player's result if the player to move has given up or lost on time."""
    return (-1 if record.current.mover == 0 else 1) if resigned else None


def _play_csa(record: GameRecord, line: str) -> GameRecord:
    found = _CSA_MOVE.fullmatch(line)
    if found is None or found[6] not in _CSA_PIECES:
        raise UserError(f"move {record.num_moves + 1}: {line!r} is not a move of CSA")
    side, from_file, from_rank, file, rank, name = found.groups()
    start = "" if from_file + from_rank == "00" else from_file + _letter(from_rank)
    piece = _CSA_PIECES[name]
    promotes = bool(start) and piece == "+" + _piece(record, start).upper()
    before = piece.removeprefix("+") if promotes else piece
    side_to_move = side == "+-"[record.current.mover]
    return _play(
        record, start, file + _letter(rank), before if side_to_move else "", promotes, line
    )


def _is_even_csa(lines: list[str]) -> bool:
    """Returns whether the lines before the first move set up the start of an even game."""
    board: dict[str, str] = {}  # "77": "+FU"
    usual = dict(_csa_squares(_CSA_START))
    for line in lines:
        if line.startswith("PI"):
            board = usual | dict.fromkeys(re.findall(r"(\d\d)[A-Z]{2}", line[2:]), "")
        elif side := re.match(r"P([+-])", line):
            pieces = re.findall(r"(\d\d)([A-Z]{2})", line[2:])
            board |= {square: side[1] + name for square, name in pieces}
    board |= _csa_squares([line for line in lines if re.match(r"P[1-9]", line)])
    return (not board or board == usual) and "-" not in lines


def _csa_squares(rows: Sequence[str]) -> dict[str, str]:
    return {
        f"{9 - column}{row[1]}": cell
        for row in rows
        for column, cell in enumerate(re.findall(r"[+-][A-Z]{2}|\*", row[2:]))
        if cell != "*"
    }


def split_kif(text: str) -> list[str]:
    """Returns the games of a file in KIF: headers after moves begin one, and a second first move.

    Letters, digits and brackets of full width become usual ones.
    """
    games: list[list[str]] = [[]]
    moves = varies = False
    for line in unicodedata.normalize("NFKC", text).split("\n"):
        number = _KIF_NUMBERED.match(line)
        begins = _KIF_HEADER.match(line) or line.startswith("手数--")
        if moves and (begins or (number and number[1] == "1" and not varies)):
            games.append([])
            moves = varies = False
        varies = varies or line.startswith("変化")
        moves = moves or bool(number and _KIF_MOVE.match(number[2]))
        games[-1].append(line)
    with_moves = [lines for lines in games if any(map(_KIF_NUMBERED.match, lines))]
    return ["\n".join(lines) for lines in with_moves or games if any(map(str.strip, lines))]


def read_kif(text: str) -> PlayedGame:
    """Returns a game that `split_kif` found, or raises a UserError."""
    lines = text.split("\n")
    found = filter(None, map(_KIF_HEADER.match, lines))
    headers = {match[1].strip(): match[2].strip() for match in found}
    _check_even_kif(headers, lines)
    record, target, ended, problem, result = start_game(Shogi()), "", False, "", None
    game = itertools.takewhile(lambda line: not line.startswith("変化"), lines)
    numbered = filter(None, map(_KIF_NUMBERED.match, game))
    moves = [found[2] for found in numbered if found[0].split() != list("987654321")]  # a diagram's
    for number, text in enumerate(moves):
        if text.startswith(tuple(_KIF_ENDS.split())):
            goes_on = _goes_on(moves[number:], _KIF_MOVE)
            problem = f"moves come after {text.split()[0]}" if goes_on else ""
            result = _result(record, resigned=text.startswith(("投了", "切れ負け")))
            break
        if ended := record.current.over:
            break
        try:
            record, target = _play_kif(record, text, target)
        except UserError as error:
            problem = str(error)
            break
    sides = [headers.get(side, "") for side in ("先手", "後手")]
    return played_game(record, sides, ended=ended, problem=problem, result=result)


def _play_kif(record: GameRecord, text: str, target: str) -> tuple[GameRecord, str]:
    """Returns the record after a move, and its target; `target` is that of the move before."""
    number, written = record.num_moves + 1, re.split(r"\s*\(\s*\d+:|\s{2,}", text)[0]
    found = _KIF_MOVE.match(text)
    if found is None:
        raise UserError(f"move {number}: {written[:20]!r} is not a move of KIF")
    if found["file"]:
        rank = found["rank"]
        target = found["file"] + _letter(rank if rank.isdigit() else str(_RANKS.index(rank) + 1))
    elif not target:
        raise UserError(f"move {number}: 同 has no move before it")
    start = found["from"][0] + _letter(found["from"][1]) if found["from"] else ""
    promotes = "成" in (found["mark"], found["late"])
    return _play(record, start, target, _KIF_PIECES[found["piece"]], promotes, written), target


def _goes_on(moves: Sequence[str], pattern: str | re.Pattern[str]) -> bool:
    return any(re.match(pattern, move) for move in moves)


def _check_even_kif(headers: dict[str, str], lines: list[str]) -> None:
    handicap = headers.get("手合割", "平手")
    rows = [found[1] for line in lines if (found := re.match(r"\s*\|(.*)\|", line))]
    board = tuple(re.sub(r"\s", "", row).replace("王", "玉") for row in rows)
    hands = [text for name, text in headers.items() if name.endswith("持駒")]
    turned = headers.get("手番", "").startswith("後手") or "後手番" in map(str.strip, lines)
    if handicap != "平手" and not board:
        raise UserError(f"its handicap is {handicap}; only even games can be analysed")
    if (board and board != _KIF_START) or any(hand not in ("", "なし") for hand in hands) or turned:
        raise UserError(_UNEVEN)


def _play(
    record: GameRecord, start: str, target: str, piece: str, promotes: bool, written: str
) -> GameRecord:
    """Returns the record after a move of a piece, named before it moves, or its drop."""
    there = _piece(record, start).upper() if start else piece
    name = f"{start}{target}{'+' * promotes}" if start else f"{piece}*{target}"
    return play_named(record, name if there == piece else "", written)


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
