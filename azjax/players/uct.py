"""UCT: Monte Carlo tree search with UCB1 and random playouts, no network."""

import dataclasses
import functools
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game

from azjax.players.base import register_player
from azjax.pytrees import batch_size, check_key, check_states, take
from azjax.rollouts import playout_value
from azjax.search.loop import make_loop_fn
from azjax.search.model import transition
from azjax.types import Array, State, static


@register_player
@dataclasses.dataclass(frozen=True)
class UCTPlayer:
    """A player of the most visited action of a UCT search (Kocsis & Szepesvari, "Bandit Based
    Monte-Carlo Planning", 2006).

    Every simulation descends by UCB1, adds one node, and plays one random game from it. Consider a
    node visited N times through its actions. An action tried n times with mean result q in [-1, 1]
    from the mover's perspective scores (q + 1) / 2 + exploration * sqrt(ln N / n). Untried actions
    come first. Ties are broken at random, once for each node.
    """

    game: Game = static()
    simulations: int = static()
    exploration: float = static(default=math.sqrt(2.0))

    jittable: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"uct:{self.simulations}"

    def __call__(self, key: Array, states: State) -> Array:
        check_key(key)
        check_states(self.game, states)

        def act(key_and_states: tuple[Array, State]) -> Array:
            key, states = key_and_states
            tree = uct_search(
                self.game,
                key,
                states,
                simulations=self.simulations,
                exploration=self.exploration,
            )
            # The tie-breaker, below 1 (and -1 if illegal), decides between equal counts.
            root = tree.ROOT_INDEX
            preference = tree.children_visits[:, root] + tree.children_prior_logits[:, root]
            return jnp.argmax(preference, axis=-1).astype(jnp.int32)

        # Searches run one after another, each with as many states as fit into memory. On a CPU that
        # means the caches: walking a tree outside of them takes three times as long.
        batch = batch_size(states, name="states")
        chunks = -(-batch // self._states_at_once())
        size = -(-batch // chunks)
        padded = jnp.minimum(jnp.arange(chunks * size), batch - 1).reshape(chunks, size)
        chunked = take(states, padded)
        return jax.lax.map(act, (jax.random.split(key, chunks), chunked)).reshape(-1)[:batch]

    def _states_at_once(self) -> int:
        memory = (32 << 20) if jax.default_backend() == "cpu" else (2 << 30)
        bytes_per_state = (self.simulations + 1) * (24 * self.game.num_actions + 64)
        return max(memory // bytes_per_state, 16)


def uct_search(
    game: Game, key: Array, states: State, *, simulations: int, exploration: float = math.sqrt(2.0)
) -> mctx.Tree:
    """Searches B states and returns the tree.

    A node's `raw_values` is its playout, its `node_values` the mean of all playouts through it.
    Instead of prior logits each node has its tie-breaker: a random number in [0, 1) for each action
    that may be tried, and -1 for the others.
    """
    root_key, search_key = jax.random.split(key)
    tie_break, value = _evaluate(game, root_key, states)

    def recurrent_fn(
        _: object, key: Array, actions: Array, states: State
    ) -> tuple[mctx.RecurrentFnOutput, State]:
        step = functools.partial(transition, game)
        states, reward, discount = jax.vmap(step)(states, actions)
        tie_break, value = _evaluate(game, key, states)
        output = mctx.RecurrentFnOutput(
            reward=reward, discount=discount, prior_logits=tie_break, value=value
        )
        return output, states

    def select_interior(key: Array, tree: mctx.Tree, node: Array, depth: Array) -> Array:
        return _ucb1(tree, node, exploration)

    def select_root(key: Array, tree: mctx.Tree, node: Array) -> Array:
        return _ucb1(tree, node, exploration)

    return mctx.search(
        (),
        search_key,
        root=mctx.RootFnOutput(prior_logits=tie_break, value=value, embedding=states),
        recurrent_fn=recurrent_fn,
        root_action_selection_fn=select_root,
        interior_action_selection_fn=select_interior,
        num_simulations=simulations,
        loop_fn=make_loop_fn(
            (), recurrent_fn, select_root=select_root, select_interior=select_interior
        ),
    )


def _evaluate(game: Game, key: Array, states: State) -> tuple[Array, Array]:
    """Returns tie-breakers float32 [B, num_actions] and playout values float32 [B]."""
    tie_key, playout_key = jax.random.split(key)
    legal = jax.vmap(game.legal_action_mask)(states)
    # After the end every action stays there. All are open, so that visits to an end spread over
    # short branches; one action alone would grow into a long chain.
    open_ = legal | jax.vmap(game.is_terminal)(states)[:, None]
    noise = jax.random.bits(tie_key, legal.shape, jnp.uint8).astype(jnp.float32) / 256
    return jnp.where(open_, noise, -1.0), playout_value(game, playout_key, states)


def _ucb1(tree: mctx.Tree, node: Array, exploration: float) -> Array:
    """Returns the action with the highest upper confidence bound at one node: int32 []."""
    tie_break = tree.children_prior_logits[node]
    visits = tree.children_visits[node]
    q = tree.children_rewards[node] + tree.children_discounts[node] * tree.children_values[node]
    tried = jnp.maximum(visits, 1).astype(q.dtype)
    total = jnp.maximum(visits.sum(), 1).astype(q.dtype)
    bound = (q + 1) / 2 + exploration * jnp.sqrt(jnp.log(total) / tried)
    bound = jnp.where(visits > 0, bound, _UNTRIED + tie_break)
    return jnp.argmax(jnp.where(tie_break >= 0, bound, -1.0), axis=-1).astype(jnp.int32)


# Above every bound of a tried action, and small enough that float32 keeps the tie-breaker.
_UNTRIED = 1000.0
