"""A perfect player behind the local server's page: it knows the result of every move."""

import dataclasses
import random
import time
from typing import Any

import jax
import numpy as np
from azjax_envs import Game

from azjax.chance import mean_over_outcomes
from azjax.files import notation
from azjax.files.game_record import record_from_state
from azjax.play.text import win_chance
from azjax.players.exact import (
    ExactChancePlayer,
    ExactPlayer,
    ExactTablePlayer,
    results_at,
    results_in_words,
)
from azjax.pytrees import expand
from azjax.types import Array, State


@dataclasses.dataclass(frozen=True)
class PerfectPlay:
    """What the page asks in place of a search, see `azjax.web.api`."""

    player: ExactPlayer | ExactChancePlayer | ExactTablePlayer

    @property
    def game(self) -> Game:
        """The game that the player plays."""
        return self.player.game

    def value(self, state: State) -> float:
        """Returns the result of a state that is not over, from the mover's perspective.

        In a game of dice it is the expected result, also before a roll.
        """
        if isinstance(self.player, ExactChancePlayer):
            first = float(_expected_jit(self.player, state))
            return -first if self.game.current_player(state) else first
        known = results_at(self.player, state)
        assert known is not None
        return float(known.results.max())

    def report(self, state: State) -> dict[str, Any]:
        """Returns a best move and the results of all moves in words, as the page reads them."""
        began = time.perf_counter()
        words, best, value = self._judge(state)
        action = random.choice(best)
        record = record_from_state(self.game, state)
        return {
            "action": action,
            "visits": [],
            "value": -value if record.current.mover else value,  # for player 0
            "line": notation.shown_line(record, [action]),
            "results": [[notation.shown_line(record, [a])[0], text] for a, text in words.items()],
            "simulations": 0,
            "ms": 1000 * (time.perf_counter() - began),
        }

    def _judge(self, state: State) -> tuple[dict[int, str], list[int], float]:
        """Returns all moves with their results in words, the best of them, and their result."""
        if isinstance(self.player, ExactChancePlayer):
            values = np.asarray(_move_values_jit(self.player, state))
            ranked = sorted(np.flatnonzero(np.isfinite(values)).tolist(), key=lambda a: -values[a])
            most = float(values.max())
            words = {action: win_chance(float(values[action])) for action in ranked}
            return words, [a for a in ranked if values[a] >= most - _ROUNDING], most
        known = results_at(self.player, state)
        assert known is not None
        words = results_in_words(known)
        first, best = next(iter(words.items()))
        return words, [a for a, text in words.items() if text == best], float(known.results[first])


_ROUNDING = 1e-6  # of float32 values


@jax.jit
def _move_values_jit(player: ExactChancePlayer, state: State) -> Array:
    return player.move_values(expand(state))[0]


@jax.jit
def _expected_jit(player: ExactChancePlayer, state: State) -> Array:
    def value(states: State) -> Array:
        return player.move_values(states).max(axis=-1)

    return mean_over_outcomes(player.game, value, expand(state))[0]


def describe_perfect_play() -> dict[str, Any]:
    """Returns the data of the page that differ from those of a network with a search."""
    level = {"simulations": 1, "label": "perfect play"}
    return {"simulations": 1, "levels": [level], "opponent": "the perfect player"}
