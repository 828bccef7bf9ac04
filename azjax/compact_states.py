"""States without the parts that learning never reads, to keep the replay buffer small.

Only the rules need some parts of a state, which the game names as `unobserved`. In go, superko
needs the hashes of all earlier boards, which are most of a state's bytes.
"""

import functools

import jax
import jax.numpy as jnp
from azjax_envs import Game
from azjax_envs.game import unobserved_leaves

from azjax.types import State


def drop_unobserved(game: Game, states: State) -> State:
    """Replaces the arrays that the game names as unobserved by None."""
    leaves, structure = jax.tree.flatten(states)
    kept = [None if drop else x for x, drop in zip(leaves, _dropped(game), strict=True)]
    return jax.tree.unflatten(structure, kept)


def restore_unobserved(game: Game, states: State) -> State:
    """Fills what `drop_unobserved` dropped with zeros, so that states [N, ...] can be observed."""
    kept = iter(jax.tree.leaves(states))
    size = jax.tree.leaves(states)[0].shape[0]
    shapes, structure = jax.tree.flatten(jax.eval_shape(game.init))
    leaves = [
        jnp.zeros((size, *shape.shape), shape.dtype) if drop else next(kept)
        for shape, drop in zip(shapes, _dropped(game), strict=True)
    ]
    return jax.tree.unflatten(structure, leaves)


_dropped = functools.cache(unobserved_leaves)
