"""States without the parts that learning never reads, to keep the replay buffer small.

Only the rules need some parts of a state. In go, superko needs the hashes of all earlier boards,
which are most of a state's bytes.
"""

import functools

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.types import Array, State


def drop_unobserved(game: Game, states: State) -> State:
    """Replaces each array that neither observation nor legal mask depends on by None."""
    leaves, structure = jax.tree.flatten(states)
    kept = [x if used else None for x, used in zip(leaves, _observed(game), strict=True)]
    return jax.tree.unflatten(structure, kept)


def restore_unobserved(game: Game, states: State) -> State:
    """Fills what `drop_unobserved` dropped with zeros, so that states [N, ...] can be observed."""
    kept = iter(jax.tree.leaves(states))
    size = jax.tree.leaves(states)[0].shape[0]
    shapes, structure = jax.tree.flatten(jax.eval_shape(game.init))
    leaves = [
        next(kept) if used else jnp.zeros((size, *shape.shape), shape.dtype)
        for shape, used in zip(shapes, _observed(game), strict=True)
    ]
    return jax.tree.unflatten(structure, leaves)


@functools.cache
def _observed(game: Game) -> tuple[bool, ...]:
    """Returns for each leaf of a state whether the observation or the legal mask depends on it."""

    def read(state: State) -> tuple[Array, Array]:
        return game.observe(state), game.legal_action_mask(state)

    jaxpr = jax.make_jaxpr(read)(jax.eval_shape(game.init)).jaxpr
    used = set(map(id, jaxpr.outvars))
    for equation in reversed(jaxpr.eqns):
        if any(id(out) in used for out in equation.outvars):
            used.update(map(id, equation.invars))
    return tuple(id(leaf) in used for leaf in jaxpr.invars)
