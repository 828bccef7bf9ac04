"""Random moves: openings of a match, and playouts to the end of a game."""

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.pytrees import where


def random_action(key: jax.Array, mask: jax.Array) -> jax.Array:
    """A random True entry of each row of `mask` [B, A]: int32 [B], 0 where there is none."""
    return pick(jax.random.uniform(key, mask.shape[:1]), mask)


def pick(uniform: jax.Array, mask: jax.Array) -> jax.Array:
    """The True entry of each row of `mask` [B, A] that `uniform` [B] in [0, 1) falls on: int32 [B].

    One uniform number and a running count cost far less than a categorical draw over A actions.
    """
    rank = jnp.cumsum(mask, axis=-1, dtype=jnp.int32)
    count = rank[:, -1:]
    # float32 may round uniform * count up to count itself.
    wanted = jnp.minimum((uniform[:, None] * count).astype(jnp.int32), count - 1)
    return jnp.argmax(mask & (rank > wanted), axis=-1).astype(jnp.int32)


def random_openings(game: Game, key: jax.Array, batch: int, plies: int):
    """Starts after `plies` uniformly random moves: states and how many, both [batch].

    An opening stops short of a move that would end the game.
    """
    start = game.init()
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (batch, *jnp.shape(x))), start)
    return play_randomly(game, key, states, jnp.full(batch, plies), most=plies)


def opening_lines(game: Game, key: jax.Array, batch: int, plies: int):
    """The same openings move by move, for players that follow games.

    Returns:
      All states, [plies + 1, batch, ...], from the start to those of `random_openings`, and the
      actions, int32 [plies, batch], -1 where an opening has stopped.
    """
    states, _ = random_openings(game, key, batch, 0)

    def ply(carry, i):
        after, goes_on, actions = _random_ply(game, key, i, *carry)
        return (after, goes_on), (after, jnp.where(goes_on, actions, -1))

    everyone = jnp.ones(batch, jnp.bool_)
    _, (later, actions) = jax.lax.scan(ply, (states, everyone), jnp.arange(plies))
    return jax.tree.map(lambda x, y: jnp.concatenate([x[None], y]), states, later), actions


def play_randomly(game: Game, key: jax.Array, states, plies: jax.Array, *, most: int):
    """`states` [B, ...] after up to `plies` (int32 [B], at most `most`) uniformly random moves.

    Returns the states and how many moves were made, int32 [B]: a move that would end the game is
    not made, nor any after it.
    """

    def ply(i, carry):
        states, lengths = carry
        states, goes_on, _ = _random_ply(game, key, i, states, (lengths == i) & (i < plies))
        return states, lengths + goes_on

    return jax.lax.fori_loop(0, most, ply, (states, jnp.zeros(plies.shape, jnp.int32)))


def _random_ply(game: Game, key: jax.Array, i: jax.Array, states, goes_on: jax.Array):
    """The states after ply `i`, where an opening still goes on, bool [B], and the actions."""
    mask = jax.vmap(game.legal_action_mask)(states)
    actions = random_action(jax.random.fold_in(key, i), mask)
    moved = jax.vmap(game.step)(states, actions)
    goes_on &= ~jax.vmap(game.is_terminal)(moved)
    return where(goes_on, moved, states), goes_on, actions


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
