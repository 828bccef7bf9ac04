"""A perfect player behind the local server's page: it knows the result of every move."""

import dataclasses
import random
import time
from typing import Any

from azjax_envs import Game

from azjax.files import notation
from azjax.files.game_record import record_from_state
from azjax.players.exact import ExactPlayer, ExactTablePlayer, results_at, results_in_words
from azjax.types import State


@dataclasses.dataclass(frozen=True)
class PerfectPlay:
    """What the page asks in place of a search, see `azjax.web.api`."""

    player: ExactPlayer | ExactTablePlayer

    @property
    def game(self) -> Game:
        """The game that the player plays."""
        return self.player.game

    def value(self, state: State) -> float:
        """Returns the result of a state that is not over, from the mover's perspective."""
        known = results_at(self.player, state)
        assert known is not None
        return float(known.results.max())

    def report(self, state: State) -> dict[str, Any]:
        """Returns a best move and the results of all moves in words, as the page reads them."""
        began = time.perf_counter()
        known = results_at(self.player, state)
        assert known is not None
        words = results_in_words(known)
        best = next(iter(words.values()))
        action = random.choice([a for a, text in words.items() if text == best])
        record = record_from_state(self.game, state)
        value = float(known.results[action])
        return {
            "action": action,
            "visits": [],
            "value": -value if record.current.mover else value,  # for player 0
            "line": notation.shown_line(record, [action]),
            "results": [[notation.shown_line(record, [a])[0], text] for a, text in words.items()],
            "simulations": 0,
            "ms": 1000 * (time.perf_counter() - began),
        }


def describe_perfect_play() -> dict[str, Any]:
    """Returns the data of the page that differ from those of a network with a search."""
    level = {"simulations": 1, "label": "perfect play"}
    return {"simulations": 1, "levels": [level], "opponent": "the perfect player"}
