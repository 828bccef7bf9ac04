"""Searches on accelerators: a backup without a loop and rows by gathers, equal to those of CPUs."""

import dataclasses
import types

import chex
import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from azjax_envs import make

from azjax.search.backup import backup_at_once, backup_by_level
from azjax.search.tree import ancestor_bytes, compact, edges_at, new_ancestors
from tests.oracles import searches
from tests.oracles.searches import BATCH, compiled_policy
from tests.search.test_loop import WIDE, problem


def the_cpu(*arguments, cpu=None, default, **forms):
    """Replaces `jax.lax.platform_dependent`, which does not work outside of compiled functions."""
    del forms
    return (cpu or default)(*arguments)


def other_platform(*arguments, cpu=None, default, **forms):
    """Replaces `jax.lax.platform_dependent`: the branch of every platform without its own."""
    del cpu, forms
    return default(*arguments)


# Each policy with two of the games, because searching operation by operation takes a minute.
@pytest.mark.parametrize(
    ("name", "policy"),
    [
        pytest.param("dots_and_boxes_2x2", "gumbel", marks=pytest.mark.slow),
        pytest.param("dots_and_boxes_2x2", "rounds", marks=pytest.mark.slow),
        pytest.param("dots_and_boxes_2x2", "fixed", marks=pytest.mark.slow),
        pytest.param("tic_tac_toe", "puct", marks=pytest.mark.slow),
        pytest.param("connect_four", "gumbel", marks=pytest.mark.slow),
        pytest.param(WIDE, "puct", marks=pytest.mark.slow),
    ],
)
def test_searches_are_the_same_on_other_platforms(name, policy, monkeypatch):
    """Operation by operation: XLA may round a product and a sum at once if it compiles them."""
    game = make(name)
    monkeypatch.setattr(searches, "SIMULATIONS", 12)

    def run(platform_dependent):
        with monkeypatch.context() as patched, jax.disable_jit():
            patched.setattr(jax.lax, "platform_dependent", platform_dependent)
            name = "puct" if policy == "puct" else "gumbel"
            compiled = compiled_policy.__wrapped__(
                game, name, steps=policy if policy in ("rounds", "fixed") else "single"
            )
            return compiled.__wrapped__(*problem(game, 0))

    expected, found = run(the_cpu), run(other_platform)
    ancestors = found.search_tree.extra_data.ancestors
    check_ancestors(ancestors, found.search_tree)
    chex.assert_trees_all_equal(without_ancestors(found), without_ancestors(expected))
    # Games that are over, and moves after their end, are among the nodes.
    assert {-1.0, 0.0, 1.0} == set(np.unique(ancestors.signs))


def without_ancestors(output):
    tree = output.search_tree
    compact = dataclasses.replace(tree.extra_data, ancestors=None)
    return output.replace(search_tree=tree.replace(extra_data=compact))


def check_ancestors(ancestors, tree):
    """Checks which nodes are above each node by following the parents."""
    parents, words = np.asarray(tree.parents), np.asarray(ancestors.above)
    numbers = np.arange(parents.shape[1])
    found = (words[:, :, numbers // 32] >> (numbers % 32).astype(np.uint32)) & 1
    expected = np.zeros((BATCH, len(numbers), len(numbers)), bool)
    rows = np.arange(BATCH)
    for node in numbers:
        if node:
            above = expected[rows, parents[:, node]]
            expected[:, node] = above & (parents[:, node] >= 0)[:, None]
        expected[:, node, node] = True
    np.testing.assert_array_equal(found, expected)


def test_only_a_cpu_walks_up_level_by_level():
    tree = compiled_policy(make("tic_tac_toe"), "puct")(
        *problem(make("tic_tac_toe"), 0)
    ).search_tree.extra_data
    numbers = jnp.zeros((BATCH, 1))
    step = mctx.RecurrentFnOutput(
        reward=numbers, discount=numbers, prior_logits=numbers, value=numbers
    )
    arguments = (tree, jnp.int32(1), step, jnp.zeros((BATCH, 1), jnp.int32))
    assert "while" in jax.jit(backup_by_level).lower(*arguments).as_text()
    assert "while" not in jax.jit(backup_at_once).lower(*arguments).as_text()


@pytest.mark.parametrize("nodes", [33, 2048, 2049])
def test_a_large_tree_has_no_ancestors(nodes):
    """Their bits grow with the square of the nodes."""
    shape = jax.ShapeDtypeStruct((2, nodes), jnp.float32)
    tree = types.SimpleNamespace(parents=shape, node_values=shape)
    ancestors = jax.eval_shape(lambda: new_ancestors(tree))
    assert (ancestors is None) == (nodes > 2048)
    taken = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(ancestors))
    assert taken == 2 * ancestor_bytes(nodes)


def test_other_platforms_scatter_only_the_children(monkeypatch):
    """And not even these where the tree keeps them."""
    tree = compiled_policy(make(WIDE), "puct")(*problem(make(WIDE), 0)).search_tree
    kept = jax.tree.map(lambda x: x[0], compact(tree))
    found = dataclasses.replace(kept, children=None)

    def scatters(tree):
        program = jax.jit(lambda *x: edges_at(*x)).lower(tree, jnp.int32(0)).as_text()
        return program.count('"stablehlo.scatter"(')

    with monkeypatch.context() as other:
        other.setattr(jax.lax, "platform_dependent", other_platform)
        assert scatters(kept) == 0
        assert scatters(found) == 1
    assert scatters(kept) == scatters(found) == 5
