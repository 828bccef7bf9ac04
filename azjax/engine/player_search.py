"""Players as engines: by a search that can stop at any time, or by one question a move."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.game import legal_actions
from azjax_envs.xla_cpu import jit_for_few_calls

from azjax.chance import require_no_chance
from azjax.engine.anytime import MEMORY_MB, make_anytime_search
from azjax.engine.decision import EngineSearch
from azjax.engine.search_analysis import SearchAnalysis
from azjax.errors import UserError
from azjax.players.base import Player, follows_history, is_jittable
from azjax.players.load import with_game
from azjax.players.network_players import SearchPlayer
from azjax.players.uct import UCTPlayer
from azjax.pytrees import expand, first
from azjax.search import SearchResult
from azjax.types import Array, State

_TIE = 1e-6  # below every difference of values


def make_engine_search(player: Player, *, memory_mb: int = MEMORY_MB) -> EngineSearch:
    """Returns the search of a player that is an engine for clients.

    A player with a network, or by UCT, searches until it is stopped. Any other, such as one with a
    search of the user's own, is asked once for each move, and takes as long as it does. A search
    tree gets `memory_mb` megabytes.

    Raises:
      UserError: the player is an engine itself, or its game has dice.
    """
    require_no_chance(getattr(player, "game", None))
    custom = isinstance(player, SearchPlayer) and player.has_custom_search
    if isinstance(player, SearchPlayer | UCTPlayer) and not custom:
        return make_anytime_search(player, memory_mb=memory_mb)
    if not hasattr(player, "game") or follows_history(player):
        raise UserError(f"{player.name} is an engine itself, which clients can start without azjax")
    return PlayerSearch(player)


@dataclass(frozen=True)
class PlayerSearch:
    """A player without a search tree, which is asked once for each move."""

    player: Player
    num_simulations: int = 1

    @property
    def game(self) -> Game:
        """The game that the player plays."""
        return self.player.game

    def start(
        self,
        state: State,
        key: Array | None = None,
        *,
        root_actions: Sequence[int] = (),
        after: "PlayerDecision | None" = None,
        moves: Sequence[int] | None = None,
    ) -> "PlayerDecision":
        """Asks the player for a move; see `AnytimeSearch.start`."""
        del moves
        if key is None:
            key = jax.random.PRNGKey(0) if after is None else after.next_key
        key, next_key = jax.random.split(key)
        chosen = root_actions or legal_actions(self.game, state)
        allowed = np.isin(np.arange(self.game.num_actions), chosen)
        ask = _ask_jit if is_jittable(self.player) else _ask
        answer = jax.device_get(ask(self.player, key, state))
        return PlayerDecision(answer, allowed, key, next_key)

    def warm_up(self, state: State) -> "PlayerDecision":
        """Compiles the player by any position."""
        return self.start(state)

    def with_game(self, game: Game) -> "PlayerSearch":
        """Returns the search for another game of the same shapes, such as go with another komi."""
        return replace(self, player=with_game(self.player, game))


@dataclass(frozen=True)
class PlayerDecision:
    """What a player without a search tree has answered."""

    answer: Any  # its move, int32 [], or the result of a search of the user's own
    allowed: np.ndarray  # bool [A], the moves to choose from
    key: Array
    next_key: Array
    simulations: int = 0
    width: int = 1
    full: bool = True
    seconds_each: float = 0.0

    def run(self, simulations: int, *, most: float = 0) -> "PlayerDecision":
        """Returns the same decision, since the player has been asked."""
        del simulations, most
        return self

    def analysis(self) -> SearchAnalysis:
        """Returns the player's move, or one of those that are allowed."""
        actions = self.allowed.size
        visits, values = np.zeros(actions, np.int32), np.zeros(actions, np.float32)
        if isinstance(self.answer, SearchResult):
            visits = np.where(self.allowed, self.answer.visits, 0)
            values = self.answer.action_values
            scores, move = self.answer.policy, self.answer.action
        else:
            scores = np.random.default_rng(np.asarray(self.key)).uniform(0, _TIE, actions)
            move = self.answer
        scores = np.where(self.allowed, scores + (np.arange(actions) == move), -np.inf)
        action = int(np.argmax(scores))
        visits[action] = max(visits[action], 1)
        return SearchAnalysis(
            simulations=1,
            action=action,
            value=float(values[action]),
            draw=0.0,
            visits=visits,
            scores=scores,
            prior=(self.allowed / self.allowed.sum()).astype(np.float32),
            action_values=np.asarray(values),
            best_child=np.zeros(1, np.int32),
            action_to_node=np.zeros(1, np.int32),
            root_children={},
        )


def _ask(player: Player, key: Array, state: State) -> Any:
    """Returns a player's move, int32 [], or the whole result of a search of the user's own."""
    if isinstance(player, SearchPlayer):
        return first(player.analyse(key, expand(state)))
    return jnp.asarray(player(key, expand(state)))[0]


_ask_jit = jit_for_few_calls(_ask, optimised=True)
