"""Flat Monte Carlo: the move whose random playouts have the best mean result."""

import dataclasses

import jax
import jax.numpy as jnp
from azjax_envs import Game, random_action

from azjax.players.base import register_player
from azjax.pytrees import batch_size, check_key, check_states, in_chunks
from azjax.rollouts import playout_returns
from azjax.types import Array, State, static


@register_player
@dataclasses.dataclass(frozen=True)
class MonteCarloPlayer:
    """A player that chooses the action with the best mean over `playouts_per_action` playouts.

    There is no tree: every playout is random from the first ply after the move (Abramson,
    "Expected-Outcome: A General Model of Static Evaluation", 1990). Ties are broken at random.
    """

    game: Game = static()
    playouts_per_action: int = static()

    @property
    def name(self) -> str:
        return f"mc:{self.playouts_per_action}"

    def __call__(self, key: Array, states: State) -> Array:
        check_key(key)
        check_states(self.game, states)
        playout_key, tie_key = jax.random.split(key)
        legal = jax.vmap(self.game.legal_action_mask)(states)
        totals = jnp.where(legal, self.total_results(playout_key, states), -jnp.inf)
        best = legal & (totals == totals.max(-1, keepdims=True))
        return random_action(tie_key, best)

    def total_results(self, key: Array, states: State) -> Array:
        """Returns the mover's summed playout results after each action, float32 [B, num_actions].

        Sums are whole numbers, so that ties are exact. Positions whose children do not fit into
        memory together are played out one part after another.
        """
        most = max(1, _MEMORY // (_COPIES * self.game.num_actions * _state_bytes(self.game)))
        if batch_size(states, name="states") <= most:
            return self._total_results((key, states))
        return in_chunks(self._total_results, key, states, most=most)

    def _total_results(self, key_and_states: tuple[Array, State]) -> Array:
        key, states = key_and_states
        num_actions = self.game.num_actions
        movers = jax.vmap(self.game.current_player)(states)  # [B]
        step_all = jax.vmap(self.game.step, in_axes=(None, 0))
        children = jax.vmap(step_all, in_axes=(0, None))(states, jnp.arange(num_actions))
        children = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), children)  # [B * A]

        def add_playout(i: Array, totals: Array) -> Array:
            returns = playout_returns(self.game, jax.random.fold_in(key, i), children)
            returns = returns.reshape(-1, num_actions, 2)
            return totals + jnp.where(movers[:, None] == 0, returns[..., 0], returns[..., 1])

        start = jnp.zeros((movers.shape[0], num_actions), jnp.float32)
        return jax.lax.fori_loop(0, self.playouts_per_action, add_playout, start)


_MEMORY = 256 << 20  # bytes for the states of playouts
_COPIES = 4  # of each state, while a move is made


def _state_bytes(game: Game) -> int:
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(jax.eval_shape(game.init)))
