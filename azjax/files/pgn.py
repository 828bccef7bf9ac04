"""Games of chess in PGN: read, and written with comments and variations.

Source: Edwards, "Portable Game Notation Specification and Implementation Guide", 1994.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from azjax_envs.chess import Chess

from azjax.errors import UserError
from azjax.files.game_record import GameRecord, record_from_state, start_game
from azjax.files.played_game import PlayedGame, played_game
from azjax.files.san import read_san, to_san

_TOKEN = re.compile(
    r"""\[\s*(?P<tag>\w+)\s*"(?P<value>(?:\\.|[^"\\])*)"\s*\]
    | (?P<comment>\{[^}]*\}|;[^\n]*|^%[^\n]*)
    | (?P<bracket>[()]) | (?P<ignored>\$\d+|\d+\.*|\.+|[!?]+) (?=[\s(){;$]|[A-Za-z]|$)
    | (?P<result>1-0|0-1|1/2-1/2|\*) | (?P<move>[A-Za-z0][\w+#=:/-]*[!?]*) | (?P<other>\S)""",
    re.VERBOSE | re.MULTILINE,
)
_WIDTH = 80
RESULTS = {0: "1-0", 1: "0-1", None: "1/2-1/2"}
"""How PGN writes who has won."""


@dataclass(frozen=True)
class Pgn:
    """What a game's part of a file says."""

    tags: dict[str, str]
    moves: tuple[str, ...]  # of the main line
    result: str


def split_games(text: str) -> Iterator[Pgn]:
    """Yields the games of a file, without looking at their moves."""
    tags: dict[str, str] = {}
    moves: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "value":
            if moves:  # the game before has no result
                yield Pgn(tags, tuple(moves), "*")
                tags, moves, depth = {}, [], 0
            tags[token["tag"]] = re.sub(r"\\(.)", r"\1", token["value"])
        elif kind == "bracket":
            depth = max(depth + (1 if token[0] == "(" else -1), 0)
        elif depth:
            continue
        elif kind == "result":
            yield Pgn(tags, tuple(moves), token[0])
            tags, moves = {}, []
        elif kind in ("move", "other"):
            moves.append(token[0])
    if tags or moves:
        yield Pgn(tags, tuple(moves), "*")


def format_pgn(record: GameRecord, moves: list[str], result: str) -> str:
    """Returns a game as PGN; `moves` by `numbered_san`, `result` such as "1-0"."""
    game, start = record.game, record.positions[0].state
    assert isinstance(game, Chess)
    fen = game.to_fen(start)
    tags = {} if fen == game.to_fen(game.init()) else {"SetUp": "1", "FEN": fen}
    return write_text(tags, " ".join(moves).split(), result)


def numbered_san(record: GameRecord, action: int) -> str:
    """Returns the name of a record's next move, after a number if White or nobody moved before."""
    name = to_san(record, action)
    first = record.num_moves == 0 or record.current.mover == 0
    return f"{move_number(record)} {name}" if first else name


def write_text(tags: dict[str, str], words: list[str], result: str) -> str:
    needed = ("Event", "Site", "Date", "Round", "White", "Black", "Result")
    tags = {name: tags.get(name, "?") for name in needed} | tags | {"Result": result}
    escaped = {k: v.replace("\\", "\\\\").replace('"', '\\"') for k, v in tags.items()}
    lines = [f'[{name} "{value}"]' for name, value in escaped.items()]
    text = textwrap.fill(
        " ".join([*words, result]), _WIDTH, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join([*lines, "", text, "", ""])


def read_game(pgn: Pgn) -> PlayedGame:
    """Returns a game of a file, or raises a UserError."""
    tags = pgn.tags
    variant = tags.get("Variant", "Standard").lower()
    if variant not in ("standard", "chess", "normal", "from position"):
        raise UserError(f"its variant is {tags['Variant']!r}; only standard chess can be analysed")
    game: Any = Chess()
    record = start_game(game)
    if "FEN" in tags:
        try:
            record = record_from_state(game, game.from_fen(tags["FEN"]))
        except ValueError as error:
            raise UserError(str(error)) from error
    for number, text in enumerate(pgn.moves, 1):
        if record.current.over:
            break
        try:
            record = record.play(read_san(record, text))
        except ValueError as error:
            raise UserError(f"move {number}: {error}") from error
    named = [tags.get(side, "?") for side in ("White", "Black")]
    sides = [] if named == ["?", "?"] else named
    return played_game(record, sides, ended=record.num_moves < len(pgn.moves), source=pgn)


def move_number(record: GameRecord) -> str:
    """Returns the number before a move: "12." of White, "12..." of Black."""
    ply = int(jnp.asarray(record.current.state.ply))
    return f"{ply // 2 + 1}{'.' if ply % 2 == 0 else '...'}"
