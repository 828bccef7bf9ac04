"""Flat Monte Carlo: each legal move is tried by random playouts, and the best average is played."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.rollouts import playout_returns, random_action


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=[],
    meta_fields=["game", "playouts_per_action"],
)
@dataclasses.dataclass(frozen=True)
class MonteCarloPlayer:
    """Plays the action with the best mean result over `playouts_per_action` random playouts.

    No tree: every playout is random from the first ply after the move (Abramson, "Expected-Outcome:
    A General Model of Static Evaluation", 1990). Equal means are broken at random.
    """

    game: Game
    playouts_per_action: int

    jittable = True

    @property
    def name(self) -> str:
        return f"mc:{self.playouts_per_action}"

    def __call__(self, key: jax.Array, states) -> jax.Array:
        """Actions int32 [B] for a batch of states."""
        playout_key, tie_key = jax.random.split(key)
        legal = jax.vmap(self.game.legal_action_mask)(states)
        totals = jnp.where(legal, self.total_results(playout_key, states), -jnp.inf)
        best = legal & (totals == totals.max(-1, keepdims=True))
        return random_action(tie_key, best)

    def total_results(self, key: jax.Array, states) -> jax.Array:
        """The mover's summed playout results after each action, float32 [B, num_actions].

        Whole numbers, so that equal ones are exactly equal.
        """
        num_actions = self.game.num_actions
        movers = jax.vmap(self.game.current_player)(states)  # [B]
        step_all = jax.vmap(self.game.step, in_axes=(None, 0))
        children = jax.vmap(step_all, in_axes=(0, None))(states, jnp.arange(num_actions))
        children = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), children)  # [B * A]

        def add_playout(i, totals):
            returns = playout_returns(self.game, jax.random.fold_in(key, i), children)
            returns = returns.reshape(-1, num_actions, 2)
            return totals + jnp.where(movers[:, None] == 0, returns[..., 0], returns[..., 1])

        start = jnp.zeros((movers.shape[0], num_actions), jnp.float32)
        return jax.lax.fori_loop(0, self.playouts_per_action, add_playout, start)
