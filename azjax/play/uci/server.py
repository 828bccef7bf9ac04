"""A player as a UCI engine, for Cute Chess and other programs of chess, or as a USI engine, the
same for shogi.

Sources: S. Meyer-Kahlen, "Description of the universal chess interface (UCI)", 2006; T. Romstad,
"The Universal Shogi Interface", 2007.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Sequence
from dataclasses import replace

from azjax_envs import Game
from azjax_envs.game import legal_actions

from azjax.errors import UserError
from azjax.play.position import first_position, next_position
from azjax.play.stdin import TOO_LONG, Lines
from azjax.play.uci.engine import START, Desk, Dialect, MakeThinker, Say
from azjax.play.uci.position import read_position
from azjax.play.uci.search import go
from azjax.search.anytime import MEMORY_MB

_LARGEST_MB = 2**16


def serve_uci(
    dialect: Dialect, game: Game, make_thinker: MakeThinker, lines: Lines, say: Say
) -> None:
    """Obeys commands until `quit` or the end of the input, whatever the commands are.

    A mistake is answered with an `info string`, and changes nothing; but after a position that
    cannot be there is none, and `go` finds no move. A `go` without a limit has the player's number
    of simulations. A command that comes while it thinks and is not meant for then waits for the end
    of a search with a limit, as the end of the input does, and ends one without.

    Args:
      dialect: UCI or USI.
      game: what is played.
      make_thinker: who plays, given the megabytes for the tree; called when there is something to
        think about, and again when the client has changed them.
      lines: the commands.
      say: takes what is to be written at once.

    Raises:
      UserError: the game is none of the dialect's.
    """
    require_game(dialect, game)
    desk = Desk(dialect, game, functools.lru_cache(1)(make_thinker), lines, say, START)
    while (line := lines.next()) is not None:
        words = line.split()
        if line is TOO_LONG:
            desk.remark("the line is too long")
            desk = replace(desk, line=None)  # it may have been a position
        elif words == ["quit"]:
            return
        elif words[:1] == ["go"]:
            go(desk, words[1:], _obey)
        elif words:
            desk = _obey(desk, words)


def require_game(dialect: Dialect, game: Game) -> None:
    """UserError where a game is none of the dialect's."""
    if game.name not in dialect.variants:
        games = " and ".join(dialect.variants)
        raise UserError(f"{dialect.name.upper()} is for {games}, not for {game.name}")


def _obey(desk: Desk, words: Sequence[str]) -> Desk:
    """A command that is no search."""
    name, *rest = words
    if name == desk.dialect.name:
        _introduce(desk)
    elif name == "isready":
        _warm_up(desk)
        desk.say("readyok\n")
    elif name == "setoption":
        return _set_option(desk, rest)
    elif name == f"{desk.dialect.name}newgame":
        return replace(desk, line=START)
    elif name == "position":
        try:
            line = read_position(desk.game, desk.dialect.notation, rest, desk.told)
        except ValueError as error:
            desk.remark(f"position: {error}")
            return replace(desk, line=None)
        return replace(desk, line=line)
    elif name not in ("stop", "ponderhit", "debug", "gameover", "register"):
        desk.remark(f"unknown command {name}")
    return desk


def _warm_up(desk: Desk) -> None:
    """Compiles all that a move may need, before a clock runs; once for each size of the tree."""
    game, name = desk.game, desk.dialect.notation.name
    desk.thinker.warm_up()
    start = first_position(game)
    next_position(game, start, legal_actions(game, start.state)[0])
    text = getattr(game, f"to_{name}")(start.state)
    read_position(game, desk.dialect.notation, [name, *text.split()], None)


def _introduce(desk: Desk) -> None:
    dialect, variant = desk.dialect, desk.dialect.variants[desk.game.name]
    options = [
        f"{dialect.memory} type spin default {MEMORY_MB} min 1 max {_LARGEST_MB}",
        f"{dialect.ponder} type check default false",
    ]
    if dialect.name == "uci":
        options.append(f"UCI_Variant type combo default {variant} var {variant}")
        options.append("UCI_ShowWDL type check default false")
    name = f"azjax {importlib.metadata.version('azjax')} {desk.game.name}"
    lines = [f"id name {name}", "id author the azjax project"]
    lines += [f"option name {option}" for option in options]
    desk.say("\n".join([*lines, f"{dialect.name}ok", ""]))


def _set_option(desk: Desk, words: Sequence[str]) -> Desk:
    """`name NAME value VALUE`; names may have blanks, and small letters are as good as large."""
    name, _, value = " ".join(words).removeprefix("name ").partition(" value ")
    known, value = name.strip().lower(), value.strip()
    if known == desk.dialect.memory.lower():
        if not (value.isascii() and value.isdecimal() and len(value) < 10):
            value = "0"
        if not 1 <= int(value) <= _LARGEST_MB:
            desk.remark(f"option {desk.dialect.memory} must be from 1 to {_LARGEST_MB} megabytes")
            return desk
        return replace(desk, megabytes=int(value))
    if known == "uci_showwdl" and value in ("true", "false"):
        return replace(desk, shows_wdl=value == "true")
    variant = desk.dialect.variants[desk.game.name]
    if known == f"{desk.dialect.name}_variant" and value != variant:
        desk.remark(f"this player plays {variant}, and no other variant")
    elif known not in (desk.dialect.ponder.lower(), f"{desk.dialect.name}_variant"):
        desk.remark(f"there is no option {name.strip()}, or not with this value")
    return desk
