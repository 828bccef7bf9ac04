"""A player as a UCI engine, for Cute Chess and other programs of chess, or as a USI engine, the
same for shogi.

Sources: S. Meyer-Kahlen, "Description of the universal chess interface (UCI)", 2006; T. Romstad,
"The Universal Shogi Interface", 2007.
"""

from __future__ import annotations

import functools
import importlib.metadata
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from azjax_envs import Game
from azjax_envs.game import legal_actions

from azjax.errors import UserError
from azjax.play.findings import Findings
from azjax.play.lines import TOO_LONG, Lines
from azjax.play.position import Position, first_position, next_position
from azjax.play.thinking import MEMORY_MB, Thinker, Thinking, keep_thinking
from azjax.play.uci_go import Go, read_go
from azjax.play.uci_info import info_line
from azjax.play.uci_position import (
    FEN,
    SFEN,
    Line,
    Notation,
    first_line,
    principal_variation,
    read_position,
    revived,
)

_TELL_S = 1.0
_LARGEST_MB = 2**16

Say = Callable[[str], None]
MakeThinker = Callable[[int], Thinker]


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """In what UCI and USI differ."""

    name: str  # what an engine is greeted with
    notation: Notation
    colours: str  # the letters of player 0 and 1
    memory: str  # the option for the tree's megabytes
    ponder: str  # the option that tells whether the client will let it ponder
    no_move: str  # instead of a best move, where there is none
    variants: dict[str, str]  # the games, and how other programs call them


DIALECTS = {
    "uci": Dialect(
        name="uci",
        notation=FEN,
        colours="wb",
        memory="Hash",
        ponder="Ponder",
        no_move="(none)",
        variants={"chess": "chess", "gardner_chess": "gardner"},
    ),
    "usi": Dialect(
        name="usi",
        notation=SFEN,
        colours="bw",
        memory="USI_Hash",
        ponder="USI_Ponder",
        no_move="resign",
        variants={"shogi": "shogi"},
    ),
}


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
    desk = _Desk(dialect, game, functools.lru_cache(1)(make_thinker), lines, say, _START)
    while (line := lines.next()) is not None:
        words = line.split()
        if line is TOO_LONG:
            desk.remark("the line is too long")
            desk = replace(desk, line=None)  # it may have been a position
        elif words == ["quit"]:
            return
        elif words[:1] == ["go"]:
            _go(desk, words[1:])
        elif words:
            desk = _obey(desk, words)


def require_game(dialect: Dialect, game: Game) -> None:
    """UserError where a game is none of the dialect's."""
    if game.name not in dialect.variants:
        games = " and ".join(dialect.variants)
        raise UserError(f"{dialect.name.upper()} is for {games}, not for {game.name}")


@dataclass(frozen=True)
class _Desk:
    """All that an engine knows. Nothing changes in place."""

    dialect: Dialect
    game: Game
    make_thinker: MakeThinker
    lines: Lines
    say: Say
    line: Line | None  # the game that was told, see `_line`; None after one that cannot be
    megabytes: int = MEMORY_MB
    shows_wdl: bool = False

    @property
    def thinker(self) -> Thinker:
        return self.make_thinker(self.megabytes)

    def remark(self, text: str) -> None:
        """What is wrong; the protocol has no errors."""
        self.say(f"info string {' '.join(text.split())[:_LONGEST_REMARK]}\n")


_LONGEST_REMARK = 300
# A game's start that nobody has looked at yet. To look at it compiles the rules, and clients wait
# long for `readyok` but only some seconds for the introduction.
_START = Line("startpos", ())


def _line(desk: _Desk) -> Line | None:
    return first_line(desk.game) if desk.line is _START else desk.line


def _obey(desk: _Desk, words: Sequence[str]) -> _Desk:
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
        return replace(desk, line=_START)
    elif name == "position":
        try:
            line = read_position(desk.game, desk.dialect.notation, rest, _line(desk))
        except ValueError as error:
            desk.remark(f"position: {error}")
            return replace(desk, line=None)
        return replace(desk, line=line)
    elif name not in ("stop", "ponderhit", "debug", "gameover", "register"):
        desk.remark(f"unknown command {name}")
    return desk


def _warm_up(desk: _Desk) -> None:
    """Compiles all that a move may need, before a clock runs; once for each size of the tree."""
    game, name = desk.game, desk.dialect.notation.name
    desk.thinker.warm_up()
    start = first_position(game)
    next_position(game, start, legal_actions(game, start.state)[0])
    text = getattr(game, f"to_{name}")(start.state)
    read_position(game, desk.dialect.notation, [name, *text.split()], None)


def _introduce(desk: _Desk) -> None:
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


def _set_option(desk: _Desk, words: Sequence[str]) -> _Desk:
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


def _go(desk: _Desk, words: Sequence[str]) -> None:
    """Thinks, and names the best move."""
    dialect, game = desk.dialect, desk.game
    line = _line(desk)
    position = None if line is None else revived(game, dialect.notation, line.now)
    if words[:1] == ["mate"] and dialect.name == "usi":
        desk.say("checkmate notimplemented\n")
    elif position is None or position.over:
        why = "the position is not known" if position is None else "the game is over"
        desk.remark(f"{why}: there is no move")
        desk.say(f"bestmove {dialect.no_move}\n")
    else:
        simulations = desk.thinker.config.num_simulations
        go = read_go(words, dialect.colours, position.mover, simulations)
        findings = _think(desk, go, position)
        moves = principal_variation(game, position, findings.line(findings.action))
        desk.say(f"bestmove {moves[0]}{f' ponder {moves[1]}' if len(moves) > 1 else ''}\n")


def _think(desk: _Desk, go: Go, position: Position) -> Findings:
    """Searches until a limit is reached or a command ends it. Commands for later are given back."""
    thinking = desk.thinker.start(position.state)
    told = _Told(time.monotonic(), time.monotonic(), 0)
    steps = keep_thinking(thinking) if go.waits else _limited(thinking, go)
    waits, ended, later = go.waits, False, []
    while True:
        step = next(steps, None)
        if step is not None:
            thinking = step
            told = _tell(desk, position, thinking, told)
        if not waits and (step is None or _depth(thinking, go) >= go.depth):
            break
        if ended or (step is not None and not desk.lines.waiting()):
            continue
        line = desk.lines.next()
        words = [] if line is None else line.split()
        if line is None:
            ended = True
        elif line is TOO_LONG or words[:1] in _LATER or words == [f"{desk.dialect.name}newgame"]:
            later.append(line)
        elif words == ["quit"]:
            later = [line]
        elif words == ["ponderhit"] and waits and go.ponders:
            waits, steps = False, _limited(thinking, go)
        elif words == ["isready"]:
            desk.say("readyok\n")
        elif words and words != ["stop"]:
            _obey(desk, words)
        if words in (["stop"], ["quit"]) or (waits and (ended or later)):
            break
    desk.lines.give_back(later)
    findings = thinking.findings()
    if told.simulations < max(findings.simulations, 1):
        desk.say(_info(desk, position, findings, time.monotonic() - told.began))
    return findings


_LATER = (["go"], ["position"], ["setoption"], ["gameover"])


def _limited(thinking: Thinking, go: Go) -> Iterator[Thinking]:
    return keep_thinking(thinking, simulations=go.simulations, seconds=go.seconds)


def _depth(thinking: Thinking, go: Go) -> float:
    """The length of the principal variation, looked up only where it is a limit."""
    if math.isinf(go.depth):
        return 0
    findings = thinking.findings()
    return len(findings.line(findings.action))


@dataclass(frozen=True)
class _Told:
    """When a search began, and when the client last heard of it."""

    began: float
    at: float
    simulations: int


def _tell(desk: _Desk, position: Position, thinking: Thinking, told: _Told) -> _Told:
    """Tells of the search every second, and early on whenever it is twice as large."""
    now = time.monotonic()
    if now - told.at < _TELL_S and thinking.simulations < 2 * max(told.simulations, 1):
        return told
    desk.say(_info(desk, position, thinking.findings(), now - told.began))
    return replace(told, at=now, simulations=thinking.simulations)


def _info(desk: _Desk, position: Position, findings: Findings, seconds: float) -> str:
    return info_line(desk.game, position, findings, seconds, shows_wdl=desk.shows_wdl)
