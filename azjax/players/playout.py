"""Random playouts: the value of a position by playing it to its end at random."""

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.players.random import pick


def playout_value(game: Game, key: jax.Array, states) -> jax.Array:
    """The result of one random playout, seen by the player to move in each state: float32 [B].

    At the end of a game, `current_player` stays; the value is that player's result.
    """
    returns = playout_returns(game, key, states)
    movers = jax.vmap(game.current_player)(states)
    return jnp.where(movers == 0, returns[:, 0], returns[:, 1])


def playout_returns(game: Game, key: jax.Array, states) -> jax.Array:
    """The result of one random playout from each state, per player: float32 [B, 2].

    All games run side by side until the last has ended: a finished one stays as it is.
    """
    batch = jax.tree.leaves(states)[0].shape[0]

    def unfinished(carry):
        _, states = carry
        return ~jnp.all(jax.vmap(game.is_terminal)(states))

    def ply(carry):
        generators, states = carry
        generators, uniform = _next_uniform(generators)
        actions = pick(uniform, jax.vmap(game.legal_action_mask)(states))
        return generators, jax.vmap(game.step)(states, actions)

    generators = jax.random.bits(key, (batch,), jnp.uint32)
    _, final = jax.lax.while_loop(unfinished, ply, (generators, states))
    return jax.vmap(game.returns)(final)


def _next_uniform(generators: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Advance one 32-bit generator per game: (uint32 [B], float32 [B] in [0, 1)).

    O'Neill's PCG-RXS-M-XS ("PCG: A Family of Simple Fast Space-Efficient Statistically Good
    Algorithms for Random Number Generation", 2014). Drawing from JAX's own generator at every ply
    took longer than playing the moves of a small game.
    """
    generators = generators * jnp.uint32(747796405) + jnp.uint32(2891336453)
    shift = (generators >> jnp.uint32(28)) + jnp.uint32(4)
    word = ((generators >> shift) ^ generators) * jnp.uint32(277803737)
    word = (word >> jnp.uint32(22)) ^ word
    return generators, (word >> jnp.uint32(8)).astype(jnp.float32) * jnp.float32(2.0**-24)
