"""All that a UCI or USI engine knows, and in what the two differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from azjax_envs import Game

from azjax.play.stdin import Lines
from azjax.play.uci.position import FEN, SFEN, Line, Notation, first_line
from azjax.search.anytime import MEMORY_MB, Thinker

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


@dataclass(frozen=True)
class Desk:
    """All that an engine knows. Nothing changes in place."""

    dialect: Dialect
    game: Game
    make_thinker: MakeThinker
    lines: Lines
    say: Say
    line: Line | None  # the game that was told, see `told`; None after one that cannot be
    megabytes: int = MEMORY_MB
    shows_wdl: bool = False

    @property
    def thinker(self) -> Thinker:
        return self.make_thinker(self.megabytes)

    @property
    def told(self) -> Line | None:
        """`line`, looked at."""
        return first_line(self.game) if self.line is START else self.line

    def remark(self, text: str) -> None:
        """What is wrong; the protocol has no errors."""
        self.say(f"info string {' '.join(text.split())[:_LONGEST_REMARK]}\n")


_LONGEST_REMARK = 300
# A game's start that nobody has looked at yet. To look at it compiles the rules, and clients wait
# long for `readyok` but only some seconds for the introduction.
START = Line("startpos", ())
