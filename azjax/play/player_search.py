"""Players without a search tree as engines, which keep a clock too."""

import time
from dataclasses import dataclass, replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.game import legal_actions
from azjax_envs.xla_cpu import jit_for_few_calls

from azjax.errors import UserError
from azjax.players.base import Player, follows_history, is_jittable
from azjax.players.load import with_game
from azjax.players.minimax import MinimaxPlayer, deepen, start_deepening
from azjax.players.monte_carlo import MonteCarloPlayer, add_playouts
from azjax.players.network_players import SearchPlayer
from azjax.players.uct import UCTPlayer
from azjax.pytrees import expand, first
from azjax.search.analysis import SearchAnalysis
from azjax.search.anytime import MEMORY_MB, AnytimeSearch, make_anytime_search, slowest_each
from azjax.search.search import SearchResult
from azjax.types import Array, State

_TIE = 1e-6  # below every difference of values


def make_engine_search(player: Player, *, memory_mb: int = MEMORY_MB) -> AnytimeSearch:
    """Returns the search of a player that is an engine for clients.

    A player with a network, or by UCT, searches until it is stopped. Minimax and Monte Carlo stop
    by themselves at their depth or their playouts, or earlier. Any other, such as one with a search
    of the user's own, is asked once for each move, and takes as long as it does. A search tree gets
    `memory_mb` megabytes.

    Raises:
      UserError: the player is an engine itself.
    """
    custom = isinstance(player, SearchPlayer) and player.has_custom_search
    if isinstance(player, SearchPlayer | UCTPlayer) and not custom:
        return make_anytime_search(player, memory_mb=memory_mb)
    if not hasattr(player, "game") or follows_history(player):
        raise UserError(f"{player.name} is an engine itself, which clients can start without azjax")
    # It has all that the servers use.
    return cast(AnytimeSearch, PlayerSearch(player))


@dataclass(frozen=True)
class PlayerSearch:
    """The same interface as `AnytimeSearch`, for a player without a search tree."""

    player: Player
    num_simulations: int = 2**31 - 1  # the player knows when it has found its move

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
        after: "PlayerDecision | None" = None,
        moves: object = None,
    ) -> "PlayerDecision":
        """Asks the player for a move; see `AnytimeSearch.start`."""
        del moves
        if key is None:
            key = jax.random.PRNGKey(0) if after is None else after.next_key
        key, next_key = jax.random.split(key)
        chosen = root_actions or legal_actions(self.game, state)
        allowed = np.isin(np.arange(self.game.num_actions), chosen)
        begin = _begin_jit if is_jittable(self.player) else _begin
        work = begin(self.player, key, state)
        return PlayerDecision(self.player, key, next_key, state, allowed, work).run(0)

    def warm_up(self, state: State) -> "PlayerDecision":
        """Compiles the player by any position."""
        return replace(self.start(state, after=self.start(state)).run(1), seconds_each=0.0)

    def with_game(self, game: Game) -> "PlayerSearch":
        """Returns the search for another game of the same shapes, such as go with another komi."""
        return replace(self, player=with_game(self.player, game))


@dataclass(frozen=True)
class PlayerDecision:
    """A decision in progress, as `SearchInProgress`."""

    player: Player
    key: Array
    next_key: Array
    state: State
    allowed: np.ndarray  # bool [A], the moves to choose from
    work: Any  # what the player knows so far
    simulations: int = 0  # steps of the player
    full: bool = False  # whether the player has found its move
    seconds_each: float = 0.0

    def run(self, simulations: int) -> "PlayerDecision":
        """Gives the player more steps. It stops early where it has found its move."""
        if not isinstance(self.player, MinimaxPlayer | MonteCarloPlayer):
            return replace(self, full=True)
        began, steps = time.monotonic(), np.int32(simulations)
        work, full = _go_on(self.player, self.key, self.state, self.allowed, self.work, steps)
        return replace(
            self,
            work=work,
            full=bool(full),
            simulations=self.simulations + simulations,
            seconds_each=slowest_each(began, simulations, self.seconds_each),
        )

    def analysis(self) -> SearchAnalysis:
        """Returns what the player has found so far."""
        actions, work = self.allowed.size, jax.device_get(self.work)
        visits, values = np.zeros(actions, np.int32), np.zeros(actions, np.float32)
        chosen = np.random.default_rng(np.asarray(self.key)).uniform(0, _TIE, actions)
        if isinstance(self.player, MinimaxPlayer):
            values = work.values
        elif isinstance(self.player, MonteCarloPlayer):
            totals, visits = work
            values = totals / np.maximum(visits, 1)
        elif isinstance(work, SearchResult):
            visits, values = work.visits, work.action_values
        else:
            chosen[work] = 1.0
        scores = values + chosen
        if isinstance(work, SearchResult):  # its move, or the likeliest of those that are allowed
            scores = work.policy + (np.arange(actions) == work.action)
        scores = np.where(self.allowed, scores, -np.inf)
        action = int(np.argmax(scores))
        visits = np.where(self.allowed, visits, 0)
        visits[action] = max(visits[action], 1)
        return SearchAnalysis(
            simulations=max(self.simulations, 1),
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


def _begin(player: Player, key: Array, state: State) -> Any:
    """Returns what a player knows at first: for most of them that is the move, int32 []."""
    if isinstance(player, MinimaxPlayer):
        return start_deepening(player.game, player.depth, state)
    if isinstance(player, MonteCarloPlayer):
        actions = player.game.num_actions
        return jnp.zeros(actions), jnp.zeros(actions, jnp.int32)
    if isinstance(player, SearchPlayer):
        return first(player.analyse(key, expand(state)))
    return jnp.asarray(player(key, expand(state)))[0]


_begin_jit = jit_for_few_calls(_begin, optimised=True)


@jax.jit
def _go_on(
    player: MinimaxPlayer | MonteCarloPlayer,
    key: Array,
    state: State,
    allowed: Array,
    work: Any,
    steps: Array,
) -> tuple[Any, Array]:
    """Returns (what the player knows after more steps, whether it has found its move)."""
    if isinstance(player, MinimaxPlayer):
        work = deepen(player.game, player.depth, state, work, steps)
        return work, work.ended(player.depth)
    totals, counts = add_playouts(player.game, key, state, allowed, *work, rounds=steps)
    return (totals, counts), (~allowed | (counts >= player.playouts_per_action)).all()
