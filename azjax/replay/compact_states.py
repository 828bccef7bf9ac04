"""What of a state learning ever looks at: the rest need not be kept in the replay window.

A game carries parts that only its rules need, such as the hashes of all earlier boards that go
wants for its superko: most of a state's bytes.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.types import State


def drop_unseen(game: Game, states: State) -> State:
    """`states`, with None for each array that neither observation nor legal mask depends on."""
    leaves, structure = jax.tree.flatten(states)
    kept = [x if seen else None for x, seen in zip(leaves, _seen(game), strict=True)]
    return jax.tree.unflatten(structure, kept)


def restore_unseen(game: Game, states: State) -> State:
    """States [N] to observe: what `drop_unseen` left, and zeros in place of the rest."""
    if jax.tree.structure(states) == jax.tree.structure(jax.eval_shape(game.init)):
        return states  # whole
    kept = iter(jax.tree.leaves(states))
    size = jax.tree.leaves(states)[0].shape[0]
    shapes, structure = jax.tree.flatten(jax.eval_shape(game.init))
    leaves = [
        next(kept) if seen else jnp.zeros((size, *shape.shape), shape.dtype)
        for shape, seen in zip(shapes, _seen(game), strict=True)
    ]
    return jax.tree.unflatten(structure, leaves)


@functools.cache
def _seen(game: Game) -> tuple[bool, ...]:
    """For each leaf of a state, whether the observation or the legal mask is computed from it."""

    def look(state: State) -> Any:
        return game.observe(state), game.legal_action_mask(state)

    jaxpr = jax.make_jaxpr(look)(jax.eval_shape(game.init)).jaxpr
    used = set(map(id, jaxpr.outvars))
    for equation in reversed(jaxpr.eqns):
        if any(id(out) in used for out in equation.outvars):
            used.update(map(id, equation.invars))
    return tuple(id(leaf) in used for leaf in jaxpr.invars)
