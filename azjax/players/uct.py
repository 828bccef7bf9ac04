"""UCT: Monte Carlo tree search with UCB1 and random playouts, no network."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game

from azjax.players.base import register_player
from azjax.pytrees import check_key, check_states, in_chunks
from azjax.search import (
    UCT,
    make_loop_fn,
    make_recurrent_fn,
    mask_logits,
    no_selection,
    num_outcomes,
    playout_evaluate,
    with_chance_nodes,
)
from azjax.types import Array, State, static


@register_player
@dataclasses.dataclass(frozen=True)
class UCTPlayer:
    """A player of the most visited action of a UCT search (Kocsis & Szepesvari, "Bandit Based
    Monte-Carlo Planning", 2006).

    Every simulation descends by UCB1, adds one node, and plays one random game from it; see
    `azjax.search.policies.UCT`. Ties are broken at random, once for each node.
    """

    game: Game = static()
    simulations: int = static()
    exploration: float = static(default=math.sqrt(2.0))

    @property
    def name(self) -> str:
        return f"uct:{self.simulations}"

    @property
    def network(self) -> None:
        """It has none, see `azjax.engine.anytime.TreePlayer`."""

    @property
    def variables(self) -> dict[str, Any]:
        """It has none."""
        return {}

    @property
    def algorithm(self) -> UCT:
        """The selection of its search."""
        return UCT(self.simulations, self.exploration)

    def __call__(self, key: Array, states: State) -> Array:
        check_key(key)
        check_states(self.game, states)

        def act(key_and_states: tuple[Array, State]) -> Array:
            key, states = key_and_states
            tree = uct_search(self, key, states)
            # The tie-breaker, below 1, decides between equal counts.
            root = tree.ROOT_INDEX
            preference = tree.children_visits[:, root] + tree.children_prior_logits[:, root]
            return jnp.argmax(preference, axis=-1).astype(jnp.int32)

        # Searches run one after another, each with as many states as fit into memory. On a CPU that
        # means the caches: walking a tree outside of them takes three times as long.
        return in_chunks(act, key, states, most=self._states_at_once())

    def _states_at_once(self) -> int:
        memory = (32 << 20) if jax.default_backend() == "cpu" else (2 << 30)
        bytes_per_state = (self.simulations + 1) * (24 * self.game.num_actions + 64)
        return max(memory // bytes_per_state, 16)


def uct_search(player: UCTPlayer, key: Array, states: State) -> mctx.Tree:
    """Searches B states as a player does, and returns the tree.

    A node's `raw_values` is its playout, its `node_values` the mean of all playouts through it.
    Instead of prior logits each node has a random number in [0, 1) for each legal action, which
    breaks ties.
    """
    root_key, search_key = jax.random.split(key)
    game, evaluate = with_chance_nodes(player.game, playout_evaluate(player.game))
    recurrent_fn = make_recurrent_fn(game, evaluate)
    tie_break, value = evaluate((), root_key, states)
    tie_break = mask_logits(tie_break, jax.vmap(game.legal_action_mask)(states))
    selection = player.algorithm.anytime_selection(player.simulations, num_outcomes(game))
    return mctx.search(
        (),
        search_key,
        root=mctx.RootFnOutput(prior_logits=tie_break, value=value, embedding=states),
        recurrent_fn=recurrent_fn,
        root_action_selection_fn=no_selection,
        interior_action_selection_fn=no_selection,
        num_simulations=player.simulations,
        loop_fn=make_loop_fn((), recurrent_fn, selection),
    )
