"""The state of a UCI or USI engine."""

from collections.abc import Callable
from dataclasses import dataclass

from azjax_envs import Game

from azjax.engine.anytime import MEMORY_MB
from azjax.engine.decision import EngineSearch
from azjax.engine.search_reuse import LastSearch
from azjax.engine.stdin import Lines
from azjax.engine.uci.position import ClientGame
from azjax.errors import UserError
from azjax.files.game_record import start_game
from azjax.players.engines.uci_games import Dialect

_MAX_MESSAGE = 300

Write = Callable[[str], None]
MakeSearch = Callable[[int], EngineSearch]


# Without a record, because computing the start compiles the rules. Clients wait long for `readyok`,
# but only some seconds for the introduction.
START = ClientGame("startpos")


@dataclass(frozen=True)
class EngineState:
    """The state of an engine. Commands return another one and change nothing in place."""

    dialect: Dialect
    game: Game
    make_search: MakeSearch  # from the megabytes of its tree
    lines: Lines
    write: Write
    # None after a position that could not be read.
    client_game: ClientGame | None = START
    megabytes: int = MEMORY_MB
    num_lines: int = 1  # the best moves to show
    shows_wdl: bool = False
    last: LastSearch | None = None

    @property
    def search(self) -> EngineSearch:
        """The search, whose tree has the size that the client has set."""
        return self.make_search(self.megabytes)

    def position(self) -> ClientGame | None:
        """Returns the client's game with its record, computed now if it was not before."""
        client_game = self.client_game
        if client_game is not None and client_game.record is None:
            return ClientGame(client_game.start, start_game(self.game))
        return client_game

    def report_error(self, text: str) -> None:
        """Writes an `info string`, because the protocol has no errors."""
        self.write(f"info string {' '.join(text.split())[:_MAX_MESSAGE]}\n")


def check_game(dialect: Dialect, game: Game) -> None:
    """Raises a UserError if the dialect has no such game."""
    if game.name not in dialect.variants:
        games = " and ".join(dialect.variants)
        raise UserError(f"{dialect.name.upper()} is for {games}, not for {game.name}")
