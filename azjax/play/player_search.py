"""Players without a network as engines: one question to the player stands for a search."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.config import SearchConfig
from azjax.errors import UserError
from azjax.players.base import Player, follows_history, is_jittable
from azjax.players.load import with_game
from azjax.players.minimax import MinimaxPlayer, minimax_values
from azjax.players.network_players import SearchPlayer
from azjax.players.uct import UCTPlayer, uct_search
from azjax.pytrees import expand
from azjax.search.analysis import SearchAnalysis
from azjax.search.anytime import MEMORY_MB, AnytimeSearch, make_anytime_search
from azjax.types import Array, State


def make_engine_search(player: Player, *, memory_mb: int = MEMORY_MB) -> AnytimeSearch:
    """Returns the search of a player that is an engine for clients.

    A player with a network searches until it is stopped. Any other is asked once for each move, and
    takes as long as it does.

    Args:
      player: the player.
      memory_mb: megabytes for the tree of a search with a network.

    Raises:
      UserError: the player is an engine itself.
    """
    if isinstance(player, SearchPlayer):
        return make_anytime_search(player, memory_mb=memory_mb)
    if not hasattr(player, "game") or follows_history(player):
        raise UserError(f"{player.name} is an engine itself, which clients can start without azjax")
    # It has all that the servers use.
    return cast(AnytimeSearch, PlayerSearch(player))


@dataclass(frozen=True)
class PlayerSearch:
    """The same interface as `AnytimeSearch`, for a player that decides at once."""

    player: Player
    config: SearchConfig = field(default_factory=lambda: SearchConfig(num_simulations=1))

    @property
    def game(self) -> Game:
        """The game that the player plays."""
        return self.player.game

    def start(
        self,
        state: State,
        key: Array | None = None,
        *,
        root_actions: tuple[int, ...] = (),
        after: PlayerDecision | None = None,
        moves: object = None,
    ) -> PlayerDecision:
        """Asks the player for a move; see `AnytimeSearch.start`."""
        del moves
        if key is None:
            key = jax.random.PRNGKey(0) if after is None else after.next_key
        key, next_key = jax.random.split(key)
        ask = _ask_jit if is_jittable(self.player) else _ask
        found = (np.array(x) for x in jax.device_get(ask(self.player, key, state)))
        scores, visits, values, legal = found
        if root_actions:
            legal &= np.isin(np.arange(legal.size), root_actions)
        scores[~legal], visits[~legal] = -np.inf, 0
        action = int(np.argmax(scores))
        visits[action] = max(visits[action], 1)
        simulations = int(visits.sum())
        found = SearchAnalysis(
            simulations=simulations,
            action=action,
            value=float(values[action]),
            draw=0.0,
            visits=visits,
            scores=scores,
            prior=(legal / legal.sum()).astype(np.float32),
            action_values=values,
            best_child=np.zeros(simulations + 1, np.int32),
            action_to_node=np.zeros(simulations + 1, np.int32),
            root_children={},
        )
        return PlayerDecision(found, next_key)

    def warm_up(self) -> PlayerDecision:
        """Compiles the player."""
        state = jax.jit(self.game.init)()
        return self.start(state, after=self.start(state))

    def with_game(self, game: Game) -> PlayerSearch:
        """Returns the search for another game of the same shapes, such as go with another komi."""
        return replace(self, player=with_game(self.player, game))


@dataclass(frozen=True)
class PlayerDecision:
    """A finished search, as `SearchInProgress`."""

    found: SearchAnalysis
    next_key: Array
    full: bool = True
    seconds_each: float = 0.0

    @property
    def simulations(self) -> int:
        """Number of simulations, or one."""
        return self.found.simulations

    def analysis(self) -> SearchAnalysis:
        """Returns what the player has found."""
        return self.found


def _ask(player: Player, key: Array, state: State) -> tuple[Array, Array, Array, Array]:
    """Returns each action's score, visits, value and legality in one position, [A] each.

    The player plays the action with the highest score. Values are from the mover's perspective, 0
    where the player has none.
    """
    game = player.game
    legal = game.legal_action_mask(state)
    if isinstance(player, UCTPlayer):
        search = {"simulations": player.simulations, "exploration": player.exploration}
        tree = uct_search(game, key, expand(state), **search)
        root = (0, tree.ROOT_INDEX)
        visits = tree.children_visits[root]
        values = tree.children_rewards[root]
        values += tree.children_discounts[root] * tree.children_values[root]
        return visits + tree.children_prior_logits[root], visits, values, legal
    visits = jnp.zeros(game.num_actions, jnp.int32)
    if isinstance(player, MinimaxPlayer):
        values = minimax_values(game, player.depth, state)
        return values + jax.random.uniform(key, values.shape, maxval=1e-3), visits, values, legal
    action = jnp.asarray(player(key, expand(state)))[0]
    values = jnp.zeros(game.num_actions)
    return (jnp.arange(game.num_actions) == action) * 1.0, visits, values, legal


_ask_jit = jax.jit(_ask)
