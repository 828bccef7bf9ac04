"""The games that azjax plays over UCI and USI, and the differences between these protocols."""

from dataclasses import dataclass
from typing import Any

from azjax_envs import Game

from azjax.types import State


@dataclass(frozen=True)
class Dialect:
    """UCI or USI."""

    name: str  # also the client's first command
    notation: str  # of positions: games have `from_NOTATION` and `to_NOTATION`
    fields: int  # that describe a position; the fields after them count moves
    colours: str  # the letters of player 0 and 1
    prefix: str  # of the options Hash (megabytes of the tree), MultiPV and Ponder
    no_move: str  # answered in place of a best move when there is none
    scale: float  # a score of that many hundredths of a pawn is an expected share of 73%
    variants: dict[str, str]  # our games, and their names in the protocol

    def read(self, game: Game, text: str, **options: Any) -> State:
        """Returns a position; a ValueError tells what is wrong with the text."""
        return getattr(game, f"from_{self.notation}")(text, **options)

    def write(self, game: Game, state: State) -> str:
        """Returns a position as text."""
        return getattr(game, f"to_{self.notation}")(state)


_CHESS = {"chess": "chess", "gardner_chess": "gardner"}
DIALECTS = {
    "uci": Dialect("uci", "fen", 4, "wb", "", "(none)", scale=272, variants=_CHESS),
    "usi": Dialect("usi", "sfen", 3, "bw", "USI_", "resign", 600, variants={"shogi": "shogi"}),
}
