"""Targets that a user might write, with the networks and losses that learn them."""

import jax
import jax.numpy as jnp
from flax import nnx

import azjax


class Heads(nnx.Module):
    """A network with one more output, of `size` numbers or of one."""

    def __init__(self, game, name, size=None, *, rngs):
        height, width, channels = game.observation_shape
        self.name, self.shape = name, () if size is None else (size,)
        self.hidden = nnx.Linear(height * width * channels, 8, rngs=rngs)
        self.policy = nnx.Linear(8, game.num_actions, rngs=rngs)
        self.value = nnx.Linear(8, 3, rngs=rngs)
        self.more = nnx.Linear(8, size or 1, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.hidden(x.reshape(len(x), -1)))
        more = self.more(x).reshape(len(x), *self.shape)
        return self.policy(x), self.value(x), {self.name: more}


def moves_left_head(game):
    return azjax.flax_network(lambda rngs: Heads(game, "moves_left", rngs=rngs))


def moves_left(game, transitions, results):
    """The plies until the end of the game, this one included, in tens (as Lc0's head)."""
    rows = jnp.arange(len(results.end))[:, None]
    return {"moves_left": ((results.end - rows) % len(rows) + 1) / 10}


def next_policy_head(game):
    size = game.num_actions
    return azjax.flax_network(lambda rngs: Heads(game, "next_policy", size, rngs=rngs))


def next_policy(game, transitions, results):
    """The opponent's next policy (Wu 2019, section 3.4), where it is known."""
    rows = jnp.arange(len(results.end))[:, None]
    known = (results.end != rows) & jnp.roll(transitions.learn, -1, axis=0)
    known &= transitions.discount < 0
    following = jnp.roll(transitions.policy, -1, axis=0)
    return {"next_policy": jnp.where(known[..., None], following, jnp.nan)}


def next_policy_loss(prediction, batch):
    """AlphaZero's loss, and 0.15 times the cross-entropy of the next policy."""
    total, metrics = azjax.alphazero_loss(prediction, batch, weights={"next_policy": 0.0})
    target = batch.targets["next_policy"]
    known = ~jnp.isnan(target).any(axis=-1)
    logits = jax.nn.log_softmax(prediction.extra["next_policy"])
    error = jnp.where(known, -jnp.sum(jnp.nan_to_num(target) * logits, axis=-1), 0.0)
    error = jnp.sum(error) / jnp.maximum(jnp.sum(known), 1)
    return total + 0.15 * error, metrics | {"next_policy_loss": error}


def named(config, scale=1.0):
    """Returns a function of targets, as a config names it."""

    def targets(game, transitions, results):
        found = moves_left(game, transitions, results)
        return {"moves_left": scale * found["moves_left"]}

    return targets


def named_head(game):
    return moves_left_head(game)
