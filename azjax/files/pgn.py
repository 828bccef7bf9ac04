"""Games of chess in PGN: read, and written with comments and variations.

Files of other programs leave the standard in many ways. What can be a move is read as one; what
cannot, such as "ch" or "resigns", is a comment.

Source: Edwards, "Portable Game Notation Specification and Implementation Guide", 1994.
"""

import functools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
from azjax_envs.chess import Chess

from azjax.errors import UserError
from azjax.files.game_record import GameRecord, record_from_state, start_game
from azjax.files.notation import numbered, shown_moves
from azjax.files.played_game import PlayedGame, Unplayed
from azjax.files.played_positions import Line
from azjax.files.positions import read_position

_HALF = r"(?:½|1/2|0[.,]5)"
_DASH = r"\s*[-–—:]\s*"
_TOKEN = re.compile(
    rf"""\[\s*(?P<tag>\w[\w+#=:-]*)\s*"(?P<value>(?:\\.|[^"\\\n])*)"\s*\](?!["\w])
    | ^[ \t]*\[[ \t]*(?P<loose>\w[\w+#=:-]*)(?P<rest>[^\n]*)
    | \{{(?P<comment>[^}}\n]*(?:\n(?![ \t]*\[\s*\w+\s+")[^}}\n]*)*)(?P<closed>\}}?)
    | ;(?P<line>[^\n]*) | (?P<ignored>^%[^\n]*|\[[^\]\n]*\]|[.…,\ufeff]|[^\S\n]+|\n)
    | (?P<bracket>[()])
    | (?P<nag>\$\d+)
    | (?P<result>\*|(?<![\w/])(?:1{_DASH}0|0{_DASH}1|{_HALF}{_DASH}{_HALF}|½|1/2)(?![\w/-]))
    | (?P<number>[1-9]\d*)\s*(?P<dots>[.…]+|(?=[\s{{(;$]|[a-hKQRBNO♔-♟]|$))
    | (?P<word>(?:[^\s{{}}()\[\];$.…,\ufeff]|(?<=[^\W\d])\.)+(?:\([QRBNqrbn]\)[^\s\w]*)?|\S)""",
    re.VERBOSE | re.MULTILINE,
)
_MOVE = re.compile(  # also of other languages, so that no move is passed over
    r"\w{0,2}[a-h]?[1-8]?[x×:–—-]?[a-h]\d.*|[♔-♟].*|[O0o]-?[O0o].*|--|Z0|@@@@"
    r"|[KQRBN][a-h]?x?[a-h]|[a-h]x[a-h]\W*|(ab|b[ac]|c[bd]|d[ce]|e[df]|f[eg]|g[fh]|hg)\W*"
)
_MARKS = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6, "□": 7, "=": 10, "∞": 13, "N": 146}
_MARKS |= {"+/=": 14, "+=": 14, "⩲": 14, "=/+": 15, "=+": 15, "⩱": 15, "+/-": 16, "±": 16}
_MARKS |= {"-/+": 17, "∓": 17, "+-": 18, "-+": 19}
_SCORE = re.compile(r"\[%eval\s+(?:#(?P<mate>[+-]?0*[1-9])|(?P<pawns>[+-]?\d{1,9}(?:\.\d*)?))")
_WIDTH = 80
RESULTS = {0: "1-0", 1: "0-1", None: "1/2-1/2"}
"""How PGN writes who has won."""
_ENDS = (*RESULTS.values(), "*")


@dataclass
class Pgn:
    """What a game's part of a file says."""

    tags: dict[str, str] = field(default_factory=dict)
    moves: list[str] = field(default_factory=list)  # of the main line
    # What stands before the first move, and after each: comments, marks, and variations.
    notes: list[list[str]] = field(default_factory=lambda: [[]])
    result: str = ""  # "" without one
    unclosed: str = ""  # the bracket that has no end, and where

    def where(self) -> str:
        """Returns how a message names the place of the last move."""
        return f"after move {len(self.moves)}" if self.moves else "before the first move"


def split_games(text: str) -> Iterator[Pgn]:
    """Yields the games of a file, without looking at their moves."""
    game, variation = Pgn(), list[str]()
    depth = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        begins = kind in ("value", "rest") or (
            depth == 0
            and (
                (game.result in _ENDS and kind == "word" and _MOVE.fullmatch(token[0]))
                or (
                    token["number"] == "1"
                    and (game.result or (len(game.moves) > 1 and token["dots"] == "."))
                )
            )
        )
        if kind == "rest" and game.moves and not game.result and '"' not in token["rest"]:
            continue  # a remark in brackets
        if begins and (game.moves or game.result):
            yield _closed(game, depth, variation)
            game, variation, depth = Pgn(), [], 0
        if kind in ("value", "rest"):
            _add_tag(game, token)
            continue
        notes = variation if depth else game.notes[-1]
        if kind == "bracket":
            depth = _bracket(game, token[0], depth, variation)
        elif kind == "closed":
            if not token["closed"]:
                game.unclosed = game.unclosed or f"the comment {game.where()}"
            notes.append(f"{{{token['comment']}}}")
        elif kind == "line":
            notes.append(f"{{{token['line'].replace('}', ')')}}}")
        elif kind == "nag":
            notes.append(token[0])
        elif depth and kind in ("number", "dots", "word", "result"):
            variation.append(token[0])
        elif kind == "result":
            game.result = token[0]
        elif kind == "word":
            _add_word(game, token[0])
    if game.tags or game.moves or game.result:
        yield _closed(game, depth, variation)


def _add_tag(game: Pgn, token: re.Match[str]) -> None:
    name, value = token["tag"], token["value"]
    if name is None:  # quotes in the value, a last backslash, or no quotes
        name, value = token["loose"], token["rest"].strip().removesuffix("]").strip()
        value = value.removeprefix('"').removesuffix('"')
    game.tags[name] = re.sub(r'\\(["\\])', r"\1", value)


def _bracket(game: Pgn, bracket: str, depth: int, variation: list[str]) -> int:
    """Returns the depth after a bracket of a variation; the outermost makes it a note."""
    if bracket == "(":
        variation.append(bracket)
        return depth + 1
    if depth == 0:
        return 0
    variation.append(bracket)
    if depth == 1:
        text = " ".join(variation)
        if not game.moves:  # where no variation can be
            text = f"{{{re.sub('[{}]', '', text)}}}"
        game.notes[-1].append(text)
        variation.clear()
    return depth - 1


def _add_word(game: Pgn, word: str) -> None:
    if word in _MARKS:
        game.notes[-1].append(f"${_MARKS[word]}")
    elif _MOVE.fullmatch(word):
        move = word.rstrip("!?")
        game.moves.append(move)
        mark = _MARKS.get(word[len(move) :])
        game.notes.append([] if mark is None else [f"${mark}"])
    elif any(map(str.isalnum, word)):
        game.notes[-1].append(f"{{{word}}}")


def _closed(game: Pgn, depth: int, variation: Sequence[str]) -> Pgn:
    """Returns the game with what its file does not end."""
    if depth:
        game.unclosed = game.unclosed or f"the variation {game.where()}"
        game.notes[-1].append(f"{{{re.sub('[{}]', '', ' '.join(variation))}}}")
    game.result = _standard_result(game.result or game.tags.get("Result", ""))
    return game


def _standard_result(text: str) -> str:
    """Returns a result as PGN has it; "" if the text is none."""
    sides = re.sub(_HALF, "1/2", re.sub(r"\s", "", text))
    sides = re.sub("[–—:]", "-", sides)
    sides = "1/2-1/2" if sides == "1/2" else sides
    return sides if sides in _ENDS else ""


def read_game(pgn: Pgn) -> Unplayed:
    """Reads a game of a file.

    Raises:
      UserError: it is no game of standard chess, or has no moves.
    """
    tags = pgn.tags
    variant = tags.get("Variant", "Standard").lower()
    if variant not in ("", "standard", "chess", "normal", "from position"):
        raise UserError(f"its variant is {tags['Variant']!r}; only standard chess can be analysed")
    if not pgn.moves:
        raise UserError("it has no moves")
    game = Chess()
    record, remarks = start_game(game), list[str]()
    if "FEN" in tags:
        try:
            state, remark = read_position(game, tags["FEN"])
        except ValueError as error:
            raise UserError(str(error)) from error
        record, remarks = record_from_state(game, state), [remark] if remark else []
    line = game.read_line(record.current.state, pgn.moves)
    actions, names = [action for action, _ in line], [name for _, name in line]
    return Unplayed(
        Line(game, game, record.positions, actions, names),
        functools.partial(_finish, pgn, remarks),
        finish_alone=True,
    )


def _finish(pgn: Pgn, remarks: Sequence[str], record: GameRecord) -> PlayedGame:
    """Returns a game after `record`, which has the first moves, up to one that is not legal.

    Raises:
      UserError: it has no legal move.
    """
    game: Any = record.game
    early, remarks = "", [*remarks]
    for number, text in enumerate(pgn.moves[record.num_moves :], record.num_moves + 1):
        if record.current.over:
            early = f"the game is over by its rules after {record.num_moves} moves"
            break
        try:
            action = game.string_to_action(jax.device_get(record.current.state), text)
        except ValueError as error:
            early = f"move {number}: {str(error).partition(';')[0]}"
            break
        record = record.play(action)
    if not record.num_moves:
        raise UserError(early)
    if pgn.unclosed:
        remarks.append(f"{pgn.unclosed} is not closed")
    tags = pgn.tags
    named = [tags.get(side, "?") for side in ("White", "Black")]
    title = "" if "" in named or named == ["?", "?"] else " - ".join(named)
    end = _standard_result(pgn.result or tags.get("Result", ""))
    result = {"1-0": 1, "1/2-1/2": 0, "0-1": -1}.get(end)
    return PlayedGame(
        record,
        title,
        ends_early=early,
        result=result,
        values=_values(pgn.notes[: record.num_moves]),
        source=pgn,
        remark="; ".join(remarks),
    )


def _values(notes: Sequence[Sequence[str]]) -> tuple[float, ...]:
    """Returns White's expected results where comments tell an engine's score, as "[%eval 0.35]".

    Scores are White's, in pawns or as moves to mate, "#-3", of the position in which they stand.
    An expected result of x centipawns is 2 / (1 + exp(-0.00368208 x)) - 1, by games of people.

    Source: https://lichess.org/page/accuracy
    """
    values = []
    for texts in notes:
        score = next(filter(None, map(_SCORE.search, texts)), None)
        value = math.nan
        if score is not None:
            mate, pawns = score["mate"], score["pawns"]
            centipawns = 100 * float(pawns) if mate is None else math.copysign(math.inf, int(mate))
            value = math.tanh(0.00368208 / 2 * centipawns)
        values.append(value)
    return () if all(map(math.isnan, values)) else tuple(values)


def format_pgn(record: GameRecord, moves: list[str], result: str) -> str:
    """Returns a game as PGN; `moves` by `numbered_san`, `result` such as "1-0"."""
    game, start = record.game, record.positions[0].state
    assert isinstance(game, Chess)
    fen = game.to_fen(start)
    tags = {} if fen == game.to_fen(game.init()) else {"SetUp": "1", "FEN": fen}
    return write_text(tags, " ".join(moves).split(), result)


def numbered_san(record: GameRecord, action: int) -> str:
    """Returns the name of a record's next move, after a number if White or nobody moved before."""
    state = record.current.state
    name = shown_moves(record.game, state)[action]
    first = record.num_moves == 0 or record.current.mover == 0
    return numbered(record.game, state, [name])[0] if first else name


def write_text(tags: dict[str, str], words: Sequence[str], result: str) -> str:
    """Returns a game as PGN; a word, which may be a whole comment, stays on one line."""
    needed = ("Event", "Site", "Date", "Round", "White", "Black", "Result")
    tags = {name: "?" for name in needed} | {"Date": "????.??.??"} | tags | {"Result": result}
    escaped = {k: v.replace("\\", "\\\\").replace('"', '\\"') for k, v in tags.items()}
    lines = [f'[{name} "{value}"]' for name, value in escaped.items()] + ["", ""]
    for word in [*words, result]:
        if lines[-1] and len(lines[-1]) + len(word) >= _WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join([*lines, "", ""])
