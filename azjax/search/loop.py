"""A fast simulation loop for mctx, with exactly the results of mctx's own loop.

mctx's loop body `vmap`s a `while_loop` over the tree of one game. Batched, this becomes a loop that
selects between old and new copies of the *whole* tree at each step down and up. Here one loop with
a scalar predicate walks all games at once and writes single elements in place. Its tree stores
little for each edge (`tree.py`). mctx accepts the loop through its public `loop_fn` argument. The
results equal stock mctx exactly, because the random keys are used in the same way.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from azjax.pytrees import take
from azjax.search.backup import backup
from azjax.search.descent import Selection, descend
from azjax.search.halving import Phase
from azjax.search.packing import packing
from azjax.search.tree import CompactTree, add_nodes, compact, with_root_edges
from azjax.types import Array, Params, State

# More states at once do not fit into the caches of a CPU's core. A search of 512 games of connect
# four with 32 simulations takes 1.06 times as long as one simulation at a time does if each action
# of a round is evaluated by itself, and 1.28 times if all are together (AMD EPYC, one core,
# 2026-11-28).
_MOST_ROWS = 1024

LoopState = tuple[Array, CompactTree]  # (PRNG key, tree)
_MctxState = tuple[Array, mctx.Tree]


def make_loop_fn(
    params: Params,
    recurrent_fn: mctx.RecurrentFn,
    selection: Selection,
    *,
    phases: Sequence[Phase] | None = None,
    goes_on: Callable[[CompactTree], Array] | None = None,
    deterministic: bool = False,
    pack_states: bool = False,
) -> Callable[[int | Array, int | Array, Any, _MctxState], _MctxState]:
    """Returns a `loop_fn` for `mctx.gumbel_muzero_policy`, `mctx.muzero_policy` and `mctx.search`.

    Args:
      params: the same as for mctx, passed to `recurrent_fn`.
      recurrent_fn: the same as for mctx. Its discounts are -1, 0 or 1, and its rewards 0 unless
        the discount is 0, as those of `model.transition`; on a CPU they may be any.
      selection: how actions are selected at the root and below it.
      phases: the steps of a whole search, which makes `width` simulations in each step of a phase.
        Without them each step makes one.
      goes_on: whether a search that has phases needs another step, bool []; always by default.
      deterministic: whether both selections ignore their key and depth, as Gumbel's do.
      pack_states: whether the states are stored as one array of each dtype during a call, which
        saves an accelerator a kernel for each of their arrays.

    Returns:
      A function of (lower, upper, body, (key, tree)) that ignores mctx's body and runs the
      simulations `lower` to `upper - 1`. Simulation `i` writes its node at index `i + 1`, so a
      second call from `upper` continues a tree that is not full. The `max_depth` of mctx is not
      supported: every simulation expands a new node. A step whose root has fewer actions to visit
      leaves nodes without a parent and without visits.

      The returned tree, a policy's `search_tree`, has all nodes [B, N] and their prior logits
      [B, N, A] as in mctx. The other `children_` arrays hold the roots' edges only, [B, 1, A];
      `tree.whole_tree` returns all edges, of the compact tree in `extra_data`.
    """

    def loop_fn(lower: int | Array, upper: int | Array, body: Any, state: _MctxState) -> _MctxState:
        del body
        key, tree = state[0], compact(state[1])
        pack, unpack = packing(tree.embeddings) if pack_states else 2 * (lambda states: states,)
        simulate = functools.partial(
            simulate_once,
            params,
            recurrent_fn,
            selection,
            deterministic=deterministic,
            pack=pack,
            unpack=unpack,
        )
        packed = key, replace(tree, embeddings=pack(tree.embeddings))
        with jax.named_scope("simulations"):
            for phase in phases or [Phase(1, upper - lower)]:
                step = functools.partial(_step, simulate, phase.width, lower)
                packed = _repeat(step, phase.steps, packed, goes_on)
                lower += phase.width * phase.steps
        key, tree = packed
        return key, with_root_edges(replace(tree, embeddings=unpack(tree.embeddings)))

    return loop_fn


def _repeat(
    step: Callable[[Array, LoopState], LoopState],
    steps: int | Array,
    state: LoopState,
    goes_on: Callable[[CompactTree], Array] | None,
) -> LoopState:
    if goes_on is None:
        return jax.lax.fori_loop(0, steps, step, state)

    def wanted(carry: tuple[Array, LoopState]) -> Array:
        made, (_, tree) = carry
        return (made < steps) & goes_on(tree)

    def next_step(carry: tuple[Array, LoopState]) -> tuple[Array, LoopState]:
        made, state = carry
        return made + 1, step(made, state)

    return jax.lax.while_loop(wanted, next_step, (jnp.int32(0), state))[1]


def simulate_once(
    params: Params,
    recurrent_fn: mctx.RecurrentFn,
    selection: Selection,
    width: int,
    index: Array,
    state: LoopState,
    *,
    deterministic: bool = False,
    pack: Callable[[State], Any] = lambda states: states,
    unpack: Callable[[Any], State] = lambda states: states,
) -> LoopState:
    """Makes a step of a search: `width` simulations of each game, whose nodes begin at `index`.

    The other arguments are those of `make_loop_fn`; `pack` and `unpack` are for a tree with packed
    states.
    """
    key, tree = state
    key, select_key, expand_key = jax.random.split(key, 3)
    parent, action = descend(select_key, tree, selection, width=width, deterministic=deterministic)
    # All lanes in one row, for the same reason as in the descent.
    rows = jnp.repeat(jnp.arange(len(parent)), width)
    at = jnp.maximum(parent, tree.ROOT_INDEX).reshape(-1)
    embedding = unpack(take(tree.embeddings, (rows, at)))
    play = functools.partial(recurrent_fn, params, expand_key)
    step, embedding = _play_all(play, action, embedding)
    tree = add_nodes(tree, index, parent, action, step, pack(embedding))
    return key, backup(tree, index, step, parent, selection.weighted_outcomes)


def _step(
    simulate: Callable[..., LoopState], width: int, made: int | Array, step: Array, state: LoopState
) -> LoopState:
    return simulate(width, made + width * step + 1, state)


def _play_all(
    play: Callable[[Array, State], tuple[mctx.RecurrentFnOutput, State]],
    actions: Array,
    states: State,
) -> tuple[mctx.RecurrentFnOutput, State]:
    """Plays and evaluates actions [B, W] in states [B * W, ...]; results are [B, W, ...]."""

    def split(x: Array) -> Array:
        return x.reshape(*actions.shape, *x.shape[1:])

    def together(actions: Array, states: State) -> Any:
        return jax.tree.map(split, play(actions.reshape(-1), states))

    def by_lane(actions: Array, states: State) -> Any:
        lanes = jax.tree.map(lambda x: jnp.swapaxes(split(x), 0, 1), (actions.reshape(-1), states))
        found = jax.lax.map(lambda lane: play(*lane), lanes)
        return jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), found)

    if actions.size <= _MOST_ROWS or actions.shape[1] == 1:
        return together(actions, states)
    return jax.lax.platform_dependent(actions, states, cpu=by_lane, default=together)


def no_selection(*_: Any) -> Array:
    """Stands where mctx asks for a selection, which its own loop would call."""
    raise NotImplementedError
