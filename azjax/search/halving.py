"""Sequential halving at a search's root, a round at once (Danihelka et al. 2022, section 3).

In a round every considered action gets one visit, which stays in the subtree of its action. So the
simulations of a round do not depend on each other, and one step of the search makes them together.

mctx makes one simulation at a time. It scales values by the most visits of a child, and the first
visit of a round raises that number. So the first action of a round is the best by the scale before
the round, and the others are the best of the rest by the new scale. With these, roots that have all
considered actions get exactly the visits of mctx, unless values are rescaled: then each visit of a
round changes the scale of the others.

A root with fewer legal actions makes the same steps, and visits as many actions in each as it has.
So no game of a batch waits for another, and the number of steps is known at compile time.
"""

import math
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mctx

from azjax.types import Array

_MAXVISIT_INIT = 50.0  # c_visit of the paper, as in mctx
_LOW = -1e9  # as in mctx, so that a considered action with a lower logit stays above the others


class Phase(NamedTuple):
    """Steps of a search that have the same width."""

    width: int  # simulations of a step
    steps: int | Array


def phases(considered: int, simulations: int) -> tuple[Phase, ...]:
    """Returns the steps of a search that considers that many actions at first, at least 1.

    Example:
        >>> phases(considered=7, simulations=16)
        (Phase(width=7, steps=1), Phase(width=3, steps=1), Phase(width=2, steps=3))
    """
    widths: list[int] = []
    halvings, width, left = max(math.ceil(math.log2(considered)), 1), considered, simulations
    while left > 0:
        for _ in range(max(1, simulations // (halvings * width))):
            if left > 0:
                widths.append(min(width, left))
            left -= width
        width = max(min(2, considered), width // 2)
    return tuple(Phase(width, len(list(steps))) for width, steps in groupby(widths))


def select_round(
    key: Array, tree: mctx.Tree, width: int, *, values: Callable[..., Array]
) -> tuple[Array, Array]:
    """Selects the actions of a root's next round, in the order of mctx.

    Args:
      key: not used.
      tree: of one node, the root, with its Gumbel noise.
      width: most actions of the round.
      values: mctx's `qtransform_completed_by_mix_value` with the search's options.

    Returns:
      (actions int32 [width], which of them are to be visited bool [width]).
    """
    del key
    visits, logits = tree.children_visits[0], tree.children_prior_logits[0]
    level = jnp.max(visits)  # each action that is still considered was visited in every round
    considered = (visits == level) & ~tree.root_invalid_actions
    base = tree.extra_data.root_gumbel + (logits - jnp.max(logits))

    def score(more_visits: int) -> Array:
        scaled = values(tree, 0, maxvisit_init=_MAXVISIT_INIT + more_visits)
        return jnp.where(considered, jnp.maximum(_LOW, base + scaled), -jnp.inf)

    first = jnp.argmax(score(0)).astype(jnp.int32)
    if width == 1:
        return first[None], jnp.ones(1, bool)
    in_order = jnp.where(jnp.arange(len(visits)) == first, jnp.inf, score(1))
    best, actions = jax.lax.top_k(in_order, width)
    return actions.astype(jnp.int32), best > -jnp.inf


def select_behind(
    key: Array, tree: mctx.Tree, width: int, *, values: Callable[..., Array]
) -> tuple[Array, Array]:
    """Selects the root's actions whose visits are furthest behind the improved policy.

    This is the rule of the nodes below (Danihelka et al. 2022, section 5), for `width` different
    actions. It has no schedule, so a search by it can stop at any time. Arguments and results are
    those of `select_round`.
    """
    del key
    visits = tree.children_visits[0]
    policy = jax.nn.softmax(tree.children_prior_logits[0] + values(tree, 0))
    behind = policy - visits / (1 + jnp.sum(visits))
    behind = jnp.where(tree.root_invalid_actions, -jnp.inf, behind)
    if width == 1:
        return jnp.argmax(behind).astype(jnp.int32)[None], jnp.ones(1, bool)
    most, actions = jax.lax.top_k(behind, width)
    return actions.astype(jnp.int32), most > -jnp.inf
