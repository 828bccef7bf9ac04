"""What a search walks through: a game's rules, and a network that judges its positions."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game

from azjax.network.network import Network
from azjax.types import Array, Params, State

Evaluate = Callable[[Params, Array, State], tuple[Array, Array]]
"""(params, key, states [B, ...]) -> (logits [B, A], value [B] seen by the player to move)."""


def transition(game: Game, state: State, action: Array) -> tuple[State, Array, Array]:
    """One move of one game, as a search sees it.

    Returns:
      (next state, reward, discount): reward float32 [] is the result for the player who moved;
      discount is 0 at the end, +1 where the mover is to move again, and -1 otherwise. Where the
      game is over already, both are 0.
    """
    mover = game.current_player(state)
    next_state = game.step(state, action)
    over = game.is_terminal(state)
    reward = jnp.where(over, 0.0, game.returns(next_state)[mover])
    discount = jnp.where(game.current_player(next_state) == mover, 1.0, -1.0)
    return next_state, reward, jnp.where(game.is_terminal(next_state), 0.0, discount)


def network_evaluate(game: Game, network: Network) -> Evaluate:
    """The evaluation by a network; its params are the network's variables."""

    def evaluate(variables: Params, key: Array, states: State) -> tuple[Array, Array]:
        del key
        prediction = network.apply(variables, jax.vmap(game.observe)(states))
        return prediction.policy_logits, prediction.value

    return evaluate


def make_recurrent_fn(game: Game, evaluate: Evaluate) -> mctx.RecurrentFn:
    """mctx's recurrent function: plays the actions and evaluates where they lead."""

    def recurrent_fn(
        params: Params, key: Array, action: Array, states: State
    ) -> tuple[mctx.RecurrentFnOutput, State]:
        states, reward, discount = jax.vmap(functools.partial(transition, game))(states, action)
        logits, value = evaluate(params, key, states)
        output = mctx.RecurrentFnOutput(
            reward=reward,
            discount=discount,
            prior_logits=mask_logits(logits, jax.vmap(game.legal_action_mask)(states)),
            value=value,
        )
        return output, states

    return recurrent_fn


def mask_logits(logits: Array, mask: Array) -> Array:
    """`logits` with the lowest finite number where `mask` is False.

    Finite, so that the position after the end, where nothing is legal, gives no NaN.
    """
    return jnp.where(mask, logits, jnp.finfo(logits.dtype).min)


def log_of(probabilities: Array) -> Array:
    """Logarithms, finite also of 0."""
    return jnp.log(jnp.maximum(probabilities, jnp.finfo(probabilities.dtype).tiny))
