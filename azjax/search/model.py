"""The model that a search plans with: a game's rules and a network's evaluations."""

import functools
from collections.abc import Callable
from typing import Protocol

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game
from azjax_envs.xla_cpu import fusion_barrier

from azjax.network.network import Network, Prediction
from azjax.pytrees import batch_size
from azjax.rollouts import playout_value
from azjax.types import Array, Params, State

Evaluate = Callable[[Params, Array, State], tuple[Array, Array]]
"""(params, key, states [B, ...]) -> (logits [B, A], value [B] from the mover's perspective).

In a game of chance some states are those before the dice, whose logits are not read."""
Predict = Callable[[Params, State], Prediction]
"""(a network's variables, states [B, ...]) -> its predictions."""


class Rules(Protocol):
    """What a search needs of a game; see `azjax_envs.Game`."""

    @property
    def name(self) -> str: ...
    @property
    def num_actions(self) -> int: ...
    def init(self, key: Array | None = None) -> State: ...
    def step(self, state: State, action: Array) -> State: ...
    def legal_action_mask(self, state: State) -> Array: ...
    def current_player(self, state: State) -> Array: ...
    def is_terminal(self, state: State) -> Array: ...
    def returns(self, state: State) -> Array: ...


def transition(
    game: Rules, state: State, action: Array, *, chance: Callable[[State], State] | None = None
) -> tuple[State, Array, Array]:
    """Plays one move of one game; returns the next state, reward and discount, float32 [] each.

    The reward is the game's result for the player who moved, 0 unless the game ends. The discount
    is 0 at the end, 1 if the same player moves again, -1 otherwise. Both are 0 if the game was over
    before the move. `chance` rolls the dice after the move; then the next state is the one with
    the dice, and its player decides about the discount.
    """
    mover = game.current_player(state)
    next_state = game.step(state, action)
    if chance is not None:
        next_state = chance(next_state)
    over = game.is_terminal(state)
    reward = jnp.where(over, 0.0, game.returns(next_state)[mover])
    discount = jnp.where(game.current_player(next_state) == mover, 1.0, -1.0)
    return next_state, reward, jnp.where(game.is_terminal(next_state), 0.0, discount)


def network_predict(game: Game, network: Network) -> Predict:
    """Returns the network's predictions for states."""

    def predict(variables: Params, states: State) -> Prediction:
        observations = jax.vmap(game.observe)(states)
        with jax.named_scope("network"):
            return network.apply(variables, observations)

    return predict


def network_evaluate(game: Game, network: Network) -> Evaluate:
    """Returns the evaluation by a network, whose `params` are the network's variables."""
    return evaluate_by(network_predict(game, network))


def evaluate_by(predict: Predict) -> Evaluate:
    """Returns the evaluation by a network's predictions."""

    def evaluate(variables: Params, key: Array, states: State) -> tuple[Array, Array]:
        del key
        prediction = predict(variables, states)
        return prediction.policy_logits, prediction.value

    return evaluate


def playout_evaluate(game: Game) -> Evaluate:
    """Returns the evaluation by one random playout. Its logits, in [0, 1), are random."""

    def evaluate(params: Params, key: Array, states: State) -> tuple[Array, Array]:
        del params
        tie_key, playout_key = jax.random.split(key)
        shape = (batch_size(states, name="states"), game.num_actions)
        noise = jax.random.bits(tie_key, shape, jnp.uint8).astype(jnp.float32) / 256
        return noise, playout_value(game, playout_key, states)

    return evaluate


def make_recurrent_fn(game: Rules, evaluate: Evaluate) -> mctx.RecurrentFn:
    """Returns mctx's recurrent function: it plays the actions and evaluates the next states."""

    def recurrent_fn(
        params: Params, key: Array, action: Array, states: State
    ) -> tuple[mctx.RecurrentFnOutput, State]:
        states, reward, discount = jax.vmap(functools.partial(transition, game))(states, action)
        # Else XLA plays the move again for each number of the observation: 11 times the time of a
        # simulation of backgammon on a CPU, and twice that of connect four.
        (states,) = fusion_barrier(states)
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
    """Returns `logits` with the lowest finite number where `mask` is False.

    The number is finite because a finished game has no legal action: its softmax must not be NaN.
    """
    return jnp.where(mask, logits, jnp.finfo(logits.dtype).min)


def log_of(probabilities: Array) -> Array:
    """Returns logarithms of probabilities, finite also for 0."""
    return jnp.log(jnp.maximum(probabilities, jnp.finfo(probabilities.dtype).tiny))
