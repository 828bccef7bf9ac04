"""A fast simulation loop for mctx, with exactly the results of mctx's own loop.

mctx's loop body `vmap`s a `while_loop` over the tree of one game. Batched, this becomes a loop that
selects between old and new copies of the *whole* tree at each step down and up. Here one loop with
a scalar predicate walks all games at once and writes single elements in place. Its tree stores
little for each edge (`tree.py`). mctx accepts the loop through its public `loop_fn` argument. The
results equal stock mctx exactly, because the random keys are used in the same way.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from azjax.pytrees import take
from azjax.search.backup import backup
from azjax.search.descent import Selection, descend
from azjax.search.packing import packing
from azjax.search.tree import add_nodes, compact, with_root_edges
from azjax.types import Array, Params

LoopState = tuple[Array, mctx.Tree]  # (PRNG key, tree)


def make_loop_fn(
    params: Params,
    recurrent_fn: mctx.RecurrentFn,
    selection: Selection,
    *,
    deterministic: bool = False,
    pack_states: bool = False,
) -> Callable[[int | Array, int | Array, Any, LoopState], LoopState]:
    """Returns a `loop_fn` for `mctx.gumbel_muzero_policy`, `mctx.muzero_policy` and `mctx.search`.

    Args:
      params: the same as for mctx, passed to `recurrent_fn`.
      recurrent_fn: the same as for mctx. Its discounts are -1, 0 or 1, and its rewards 0 unless the
        discount is 0, as those of `model.transition`; on a CPU they may be any.
      selection: mctx's action selections at the root and below it, with the policy's options bound.
        They are called with a tree of one node, the node to choose at, whose index is 0.
      deterministic: whether both selections ignore their key and depth, as Gumbel's do.
      pack_states: whether the states are stored as one array of each dtype during a call, which
        saves an accelerator a kernel for each of their arrays.

    Returns:
      A function of (lower, upper, body, (key, tree)) that ignores mctx's body and runs the
      simulations `lower` to `upper - 1`. Simulation `i` writes its node at index `i + 1`, so a
      second call from `upper` continues a tree that is not full. The `max_depth` of mctx is not
      supported: every simulation expands a new node.

      The returned tree, a policy's `search_tree`, has all nodes [B, N] and their prior logits
      [B, N, A] as in mctx. The other `children_` arrays hold the roots' edges only, [B, 1, A];
      `tree.whole_tree` returns all edges.
    """

    def loop_fn(lower: int | Array, upper: int | Array, body: Any, state: LoopState) -> LoopState:
        del body

        def simulate(simulation: Array, state: LoopState) -> LoopState:
            key, tree = state
            key, select_key, expand_key = jax.random.split(key, 3)
            parent, action = descend(select_key, tree, selection, deterministic=deterministic)
            rows = jnp.arange(parent.shape[0])
            embedding = unpack(take(tree.embeddings, (rows, parent)))
            step, embedding = recurrent_fn(params, expand_key, action, embedding)
            index = simulation + 1
            tree = add_nodes(tree, index, parent, action, step, pack(embedding))
            return key, backup(tree, index, step, parent)

        key, tree = state
        pack, unpack = packing(tree.embeddings) if pack_states else 2 * (lambda states: states,)
        tree = tree.replace(embeddings=pack(tree.embeddings))
        with jax.named_scope("simulations"):
            key, tree = jax.lax.fori_loop(lower, upper, simulate, (key, compact(tree)))
        return key, with_root_edges(tree.replace(embeddings=unpack(tree.embeddings)))

    return loop_fn
