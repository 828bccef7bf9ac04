"""Sequential halving at a search's root, a round at once (Danihelka et al. 2022, section 3).

In a round every considered action gets one visit, which stays in the subtree of its action. So the
simulations of a round do not depend on each other, and one step of the search makes them together.

mctx makes one simulation at a time. It scales values by the most visits of a child, and the first
visit of a round raises that number. So the first action of a round is the best by the scale before
the round, and the others are the best of the rest by the new scale. With these, visits equal those
of mctx, unless values are rescaled: then each visit of a round changes the scale of the others.

A root with fewer legal actions has more rounds, which are narrower. With `rounds_of_all` every root
makes its own, but one whose only move is forced stops with the others. With `rounds_of_full` all
roots make the steps of a root with all considered actions, and visit as many actions in each as
they have. These are far fewer steps, and their number is known at compile time.
"""

import functools
import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np

from azjax.search.tree import CompactTree
from azjax.types import Array

_MAXVISIT_INIT = 50.0  # c_visit of the paper, as in mctx
_LOW = -1e9  # as in mctx, so that a considered action with a lower logit stays above the others


class Phase(NamedTuple):
    """Steps of a search that have the same width."""

    width: int  # simulations of a step
    steps: int | Array


def round_widths(actions: int, simulations: int) -> list[int]:
    """Returns how many actions each round visits if the root has that many to consider.

    Example:
        >>> round_widths(actions=7, simulations=16)
        [7, 3, 2, 2, 2]
    """
    if actions <= 1:
        return [1] * simulations
    widths: list[int] = []
    halvings, width, left = math.ceil(math.log2(actions)), actions, simulations
    while left > 0:
        for _ in range(max(1, simulations // (halvings * width))):
            if left > 0:
                widths.append(min(width, left))
            left -= width
        width = max(2, width // 2)
    return widths


def rounds_of_full(considered: int, simulations: int) -> tuple[Phase, ...]:
    """Returns the steps of a search whose root has all considered actions, at least 1.

    Example:
        >>> rounds_of_full(considered=7, simulations=16)
        (Phase(width=7, steps=1), Phase(width=3, steps=1), Phase(width=2, steps=3))
    """
    return _phases(round_widths(considered, simulations))


def rounds_of_all(considered: int, simulations: int) -> tuple[Phase, ...]:
    """Returns steps that are wide and numerous enough for roots with 2 to `considered` actions.

    Example:
        >>> rounds_of_all(considered=3, simulations=8)
        (Phase(width=3, steps=1), Phase(width=2, steps=3))
    """
    numbers = range(min(2, considered), considered + 1)
    widths = [round_widths(number, simulations) for number in numbers]
    steps = max(map(len, widths))
    padded = [row + [0] * (steps - len(row)) for row in widths]
    return _phases([max(column) for column in zip(*padded, strict=True)])


def _phases(widths: Sequence[int]) -> tuple[Phase, ...]:
    return tuple(Phase(width, len(list(steps))) for width, steps in groupby(widths))


def unfinished(tree: CompactTree, simulations: int) -> Array:
    """Returns whether a root of some trees still lacks simulations, bool []."""
    has_choice = jnp.sum(~tree.root_invalid_actions, axis=-1) > 1
    return jnp.any(has_choice & (tree.node_visits[:, tree.ROOT_INDEX] <= simulations))


def select_round(
    key: Array,
    tree: mctx.Tree,
    width: int,
    *,
    values: Callable[..., Array],
    own_rounds: tuple[int, int] | None = None,
) -> tuple[Array, Array]:
    """Selects the actions of a root's next round, in the order of mctx.

    Args:
      key: not used.
      tree: of one node, the root, with its Gumbel noise.
      width: most actions of the round.
      values: mctx's `qtransform_completed_by_mix_value` with the search's options.
      own_rounds: the search's (considered, simulations), if roots with fewer legal actions than are
        considered have rounds of their own.

    Returns:
      (actions int32 [width], which of them are to be visited bool [width]).
    """
    del key
    visits, logits = tree.children_visits[0], tree.children_prior_logits[0]
    legal = ~tree.root_invalid_actions
    level = jnp.max(visits)  # each action that is still considered was visited in every round
    considered = (visits == level) & legal
    base = tree.extra_data.root_gumbel + (logits - jnp.max(logits))

    def score(more_visits: int) -> Array:
        scaled = values(tree, 0, maxvisit_init=_MAXVISIT_INIT + more_visits)
        return jnp.where(considered, jnp.maximum(_LOW, base + scaled), -jnp.inf)

    limit = jnp.int32(width)
    if own_rounds is not None:
        widths = jnp.asarray(_width_table(*own_rounds))
        number = jnp.minimum(len(widths) - 1, jnp.sum(legal, dtype=jnp.int32))
        limit = widths[number, jnp.minimum(level, widths.shape[1] - 1)]
    first = jnp.argmax(score(0)).astype(jnp.int32)
    if width == 1:
        return first[None], (limit > 0)[None]
    in_order = jnp.where(jnp.arange(len(visits)) == first, jnp.inf, score(1))
    best, actions = jax.lax.top_k(in_order, width)
    return actions.astype(jnp.int32), (best > -jnp.inf) & (jnp.arange(width) < limit)


@functools.cache
def _width_table(considered: int, simulations: int) -> np.ndarray:
    """Returns the widths of rounds by (number of actions, rounds before), int32 [C + 1, S + 1]."""
    table = np.zeros((considered + 1, simulations + 1), np.int32)
    for number, row in enumerate(table):
        widths = round_widths(number, simulations)
        row[: len(widths)] = widths
    return table


def select_behind(
    key: Array,
    tree: mctx.Tree,
    width: int,
    *,
    values: Callable[..., Array],
    simulations: int | Array,
) -> tuple[Array, Array]:
    """Selects the root's actions whose visits are furthest behind the improved policy.

    This is the rule of the nodes below (Danihelka et al. 2022, section 5), for `width` different
    actions. It has no schedule, so a search by it can stop at any time. It stops at `simulations`
    visits of the root's actions. The other arguments and the results are those of `select_round`.
    """
    del key
    visits = tree.children_visits[0]
    policy = jax.nn.softmax(tree.children_prior_logits[0] + values(tree, 0))
    behind = policy - visits / (1 + jnp.sum(visits))
    behind = jnp.where(tree.root_invalid_actions, -jnp.inf, behind)
    left = simulations - jnp.sum(visits)
    if width == 1:
        return jnp.argmax(behind).astype(jnp.int32)[None], (left > 0)[None]
    most, actions = jax.lax.top_k(behind, min(width, len(behind)))
    is_open = (most > -jnp.inf) & (jnp.arange(len(most)) < left)
    more = (0, width - len(most))  # a game may have fewer actions
    return jnp.pad(actions.astype(jnp.int32), more), jnp.pad(is_open, more)
