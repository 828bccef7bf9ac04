"""Networks that a user might write, for the tests."""

import jax
import jax.numpy as jnp
from flax import linen, nnx

from azjax.network.network import Network, Prediction


class Dense(nnx.Module):
    """An nnx module of a game, with batch normalisation and dropout."""

    def __init__(self, game, width=8, *, rngs):
        cells = game.observation_shape[0] * game.observation_shape[1] * game.observation_shape[2]
        self.hidden = nnx.Linear(cells, width, rngs=rngs)
        self.norm = nnx.BatchNorm(width, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.policy = nnx.Linear(width, game.num_actions, rngs=rngs)
        self.value = nnx.Linear(width, 3, rngs=rngs)

    def __call__(self, x):
        x = self.dropout(self.norm(nnx.relu(self.hidden(x.reshape(len(x), -1)))))
        return self.policy(x), self.value(x)


class LinenDense(linen.Module):
    """A linen module of the same layers, with a scalar value."""

    game: object
    width: int = 8

    @linen.compact
    def __call__(self, x, train: bool):
        x = linen.relu(linen.Dense(self.width)(x.reshape(len(x), -1)))
        x = linen.BatchNorm(use_running_average=not train)(x)
        x = linen.Dropout(0.5, deterministic=not train)(x)
        return linen.Dense(self.game.num_actions)(x), jnp.tanh(linen.Dense(1)(x))


class Uniform(Network):
    """A network without Flax, of one parameter."""

    def __init__(self, game):
        self.num_actions = game.num_actions

    def init(self, key):
        return {"params": {"value": jax.random.normal(key, ())}, "stats": {}}

    def apply(self, variables, observations):
        value = jnp.tanh(jnp.full(len(observations), variables["params"]["value"]))
        logits = jnp.zeros((len(observations), self.num_actions))
        return Prediction(logits, value[:, None], value)


def uniform(game):
    """Returns a network, as a config names it."""
    return Uniform(game)
