"""Descents on accelerators: without a loop where they can, and equal to those of CPUs."""

import functools

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from azjax_envs import make

from azjax.search.descent import Selection, descend, descend_at_once, descend_by_level
from azjax.search.tree import compact
from tests.oracles.searches import BATCH, compiled_policy
from tests.search.test_loop import WIDE, problem

select = functools.partial(
    mctx.gumbel_muzero_interior_action_selection,
    qtransform=mctx.qtransform_completed_by_mix_value,
)


def select_roots(key, tree, width):
    """Selects the first legal actions, also those of a root with fewer."""
    del key
    legal = jnp.sort(jnp.where(tree.root_invalid_actions, 10**6, jnp.arange(tree.num_actions)))
    return jnp.minimum(legal[:width], tree.num_actions - 1), legal[:width] < 10**6


SELECTION = Selection(select_roots, select)


def tree_of(name):
    """Returns the compact tree after a search."""
    tree = compiled_policy(make(name), "gumbel")(*problem(make(name), 0)).search_tree
    return compact(tree)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("name", ["connect_four", "dots_and_boxes_2x2", WIDE])
def test_both_forms_find_the_same_ends(name, width):
    tree = tree_of(name)
    by_level, at_once = (
        jax.jit(functools.partial(form, selection=SELECTION, width=width))
        for form in (descend_by_level, descend_at_once)
    )
    key = jax.random.key(0)
    (node, action), (expected, move) = at_once(key, tree), by_level(key, tree)
    assert node.shape == action.shape == (BATCH, width)
    is_open = np.asarray(node) >= 0
    np.testing.assert_array_equal(node, expected)
    np.testing.assert_array_equal(action[is_open], move[is_open])
    # The action leads to no node yet, and some ways are long.
    children = np.asarray(tree.children)
    ends = children[np.arange(BATCH)[:, None], node, action]
    assert (ends[is_open] == tree.UNVISITED).all()
    assert len(np.unique(node)) > 5
    # Each way begins with another action of its root.
    legal = (~np.asarray(tree.root_invalid_actions)).sum(-1)
    np.testing.assert_array_equal(is_open.sum(-1), np.minimum(legal, width))


@pytest.mark.parametrize(
    ("few_edges", "most_edges", "deterministic", "loops"),
    [
        (3000, 3000 * BATCH, True, False),
        (3000, 3000 * BATCH, False, True),
        (2999, 3000 * BATCH, True, True),
        (3000, 3000 * BATCH - 1, True, True),
    ],
)
def test_a_loop_walks_down_where_it_must(few_edges, most_edges, deterministic, loops, monkeypatch):
    """Where selections draw, or where there are too many edges to select at all nodes."""
    tree = tree_of(WIDE)
    assert tree.children_prior_logits[0].size == 3000
    monkeypatch.setattr("azjax.search.tree._FEW_EDGES", few_edges)
    monkeypatch.setattr("azjax.search.descent._MOST_EDGES", most_edges)

    def program():
        find = functools.partial(descend, selection=SELECTION, deterministic=deterministic)
        return jax.jit(lambda *x: find(*x)).lower(jax.random.PRNGKey(0), tree).as_text()

    assert "stablehlo.while" in program()  # on a CPU

    def other_platform(*arguments, cpu, default):
        del cpu
        return default(*arguments)

    monkeypatch.setattr(jax.lax, "platform_dependent", other_platform)
    assert ("stablehlo.while" in program()) == loops
