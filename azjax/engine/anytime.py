"""A search of one position that runs until it is stopped: an anytime search.

    search = make_anytime_search(player, memory_mb=256)
    for progress in continue_search(search.start(state), seconds=5):  # of decision.py
        print(progress.analysis().value)

The search is the player's own: Gumbel, PUCT, or UCT with random playouts. It visits the moves that
`azjax.search.search(..., steps="anytime")` visits. Sequential halving has to know its number of
simulations beforehand, so Gumbel's rule for the moves below the root holds at the root, too. A
search in pieces by `continue_search` gives exactly the result of one in one piece.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from azjax_envs import Game
from azjax_envs.xla_cpu import fusion_barrier, jit_for_few_calls

from azjax.engine.decision import slowest_each
from azjax.engine.search_analysis import SearchAnalysis, analyse_tree
from azjax.engine.tree_memory import replant, with_capacity
from azjax.network import Network, Variables
from azjax.pytrees import expand
from azjax.search import (
    AnytimeAlgorithm,
    CompactTree,
    Evaluate,
    LoopState,
    Predict,
    Rules,
    compact,
    evaluate_by,
    make_recurrent_fn,
    mask_logits,
    network_predict,
    no_selection,
    normalise_logits,
    num_outcomes,
    playout_evaluate,
    simulate_once,
    tree_capacity,
    with_chance_nodes,
)
from azjax.types import Array, State, static

MEMORY_MB = 256
_MAX_NODES = 2**16


class TreePlayer(Protocol):
    """A player that searches a tree: `players.SearchPlayer`, or `UCTPlayer` without a network."""

    @property
    def game(self) -> Game: ...
    @property
    def network(self) -> Network | None: ...
    @property
    def variables(self) -> Variables: ...
    @property
    def algorithm(self) -> AnytimeAlgorithm: ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AnytimeSearch:
    """A search of single positions, each in a tree of `max_nodes` nodes.

    The tree is allocated at the start and never grows, so nothing is compiled while a clock runs.
    When the tree is full, the search stops.
    """

    game: Game = static()
    network: Network | None = static()  # None: random playouts
    variables: Variables
    algorithm: AnytimeAlgorithm = static()
    max_nodes: int = static()  # capacity of the tree, including the root

    def start(
        self,
        state: State,
        key: Array | None = None,
        *,
        root_actions: Sequence[int] = (),
        after: SearchInProgress | None = None,
        moves: Sequence[int] | None = None,
    ) -> SearchInProgress:
        """Returns a search of a position, whose tree holds at least the root.

        Args:
          state: the position to search, unbatched; the game must not be over, and no chance next.
          key: PRNG key that breaks PUCT's ties between moves. Without one, equal positions are
            searched alike.
          root_actions: legal actions that the search may choose from; empty for all of them.
          after: an earlier search, which cannot be used any more. This search takes its memory,
            and continues its tree where `moves` lead to a node with this very state.
          moves: the actions played since the earlier search's position; None if unknown.
        """
        key = jax.random.PRNGKey(0) if key is None else key
        state = jax.tree.map(jnp.asarray, state)
        allowed = np.full(self.game.num_actions, not root_actions)
        allowed[list(root_actions)] = True
        root, draw = _evaluate_root(self, key, state, allowed)
        restricted = bool(root_actions)
        if after is None or after.search.max_nodes != self.max_nodes or after.is_used_up():
            tree = _allocate(root, self.places)
            return SearchInProgress(self, key, tree, 0, float(draw), restricted)
        kept = np.zeros(1, np.int64)
        if moves is not None and not restricted and after.search is self:
            kept = after.nodes_below(moves, state)
        order, parents = _renumber(after, kept, self.places)
        tree = _replant(root, after.tree, order, parents, len(kept), after.simulations + 1)
        simulations, seconds = len(kept) - 1, after.seconds_each
        return SearchInProgress(self, key, tree, simulations, float(draw), restricted, seconds)

    def warm_up(self, state: State) -> SearchInProgress:
        """Compiles the search by any position, so that later timings measure the search alone.

        The first real search can take the memory of what it returns, by `start(..., after=...)`.
        """
        key, bounds = jax.random.PRNGKey(0), np.array([0, 1, 1], np.int32)
        allowed = np.ones(self.game.num_actions, bool)
        root, _ = _evaluate_root.eval_shape(self, key, state, allowed)
        tree = jax.eval_shape(functools.partial(with_capacity, nodes=self.places), root)
        with ThreadPoolExecutor(1) as another:  # XLA compiles on a second core
            compiled = another.submit(lambda: _run.lower(self, key, tree, bounds).compile())
            progress = self.start(state, after=self.start(state), moves=[])
            progress.analysis()
            compiled.result()
        # The first calls after a compilation are slow, too.
        for _ in range(3):
            progress = self.start(state, after=progress, moves=[]).run(1)
        return replace(progress, seconds_each=0.0)

    @property
    def places(self) -> int:
        """Places for nodes in the tree: the last step may have fewer nodes than places."""
        return self.max_nodes + self.algorithm.width - 1

    @property
    def num_simulations(self) -> int:
        """The limit of a move without any other."""
        return self.algorithm.num_simulations

    def model(self) -> tuple[Rules, Evaluate]:
        """Returns the rules, with chance nodes if there are dice, and how nodes are evaluated."""
        if self.network is None:
            evaluate = _playout_evaluate(self.game)
        else:
            evaluate = evaluate_by(_network_predict(self.game, self.network))
        return with_chance_nodes(self.game, evaluate)

    def with_game(self, game: Game) -> AnytimeSearch:
        """Returns the search for another game of the same shapes, such as go with another komi."""
        return replace(self, game=game)


@dataclass(frozen=True)
class SearchInProgress:
    """A started search. `run` donates its tree, so only the newest value can be used."""

    search: AnytimeSearch
    key: Array
    tree: CompactTree  # of one game
    simulations: int  # so far, those of a continued tree included
    draw: float  # the network's probability of a draw at the root; 0 if it has no draws
    restricted: bool = False  # to some of the root's actions
    seconds_each: float = 0.0  # of a simulation, the slowest of late; 0 before the first

    @property
    def width(self) -> int:
        """Simulations of a step, which are made together."""
        return self.search.algorithm.width

    @property
    def full(self) -> bool:
        """Whether the tree is full."""
        return self.simulations >= self.search.max_nodes - 1

    def run(self, simulations: int, *, most: float = 0) -> SearchInProgress:
        """Runs more simulations, at most until the tree is full, and waits for them.

        Args:
          simulations: how many at least. The last step ends with them, even if it could make more.
          most: total number of simulations up to which the last step may make more.
        """
        search, limit = self.search, self.search.max_nodes - 1
        upper = min(self.simulations + simulations, limit)
        # Bounds are arguments: one compiled program serves every number of simulations.
        bounds = np.array([self.simulations, upper, min(max(upper, most), limit)], np.int32)
        began = time.monotonic()
        made, (key, tree) = _run(search, self.key, self.tree, bounds)
        made = int(made)
        slowest = slowest_each(began, made - self.simulations, self.seconds_each)
        return replace(self, key=key, tree=tree, simulations=made, seconds_each=slowest)

    def analysis(self) -> SearchAnalysis:
        """Returns what the search has found so far; the search can continue afterwards."""
        search = self.search
        found = analyse_tree(self.tree, self.simulations, self.draw, search.algorithm)
        return found.of_actions(search.game.num_actions)

    def is_used_up(self) -> bool:
        """Returns whether a later search has taken this one's memory."""
        return self.tree.node_visits.is_deleted()

    def nodes_below(self, moves: Sequence[int], state: State) -> np.ndarray:
        """Returns the node that `moves` lead to and all nodes below it, int [nodes], in order.

        Returns [0], a root without nodes below it, if the tree has no such node, or if its state
        is not `state`, or if it is the root and not all of the root's actions were searched.
        """
        nothing = np.zeros(1, np.int64)
        count = self.simulations + 1
        tree = self.tree
        parents, actions = (
            x[0, :count] for x in jax.device_get((tree.parents, tree.action_from_parent))
        )
        node = 0
        for move in moves:
            found = np.flatnonzero((parents == node) & (actions == move))
            if not found.size:
                return nothing
            node = int(found[0])
        if (self.restricted and node == 0) or not _has_state(tree, np.int32(node), state):
            return nothing
        # Follows all nodes up at once, until each has come to `node` or to the root.
        above = np.where(np.arange(count) == node, node, np.maximum(parents, 0))
        while not np.array_equal(further := above[above], above):
            above = further
        return np.flatnonzero(above == node)


def make_anytime_search(player: TreePlayer, *, memory_mb: int = MEMORY_MB) -> AnytimeSearch:
    """Returns an anytime search with the player's game, evaluation and algorithm.

    Its tree takes `memory_mb` megabytes, and has at most 2**16 nodes.
    """
    rules, _ = with_chance_nodes(player.game, playout_evaluate(player.game))
    nodes = tree_capacity(rules, memory_mb * 2**20)
    return AnytimeSearch(
        game=player.game,
        network=player.network,
        variables=player.variables,
        algorithm=player.algorithm,
        max_nodes=max(2, min(nodes, _MAX_NODES)),
    )


# Both are traced once for all programs, because that takes a second of a large network or game.
@functools.cache
def _playout_evaluate(game: Game) -> Evaluate:
    return jax.jit(playout_evaluate(game), inline=True)


@functools.cache
def _network_predict(game: Game, network: Network) -> Predict:
    return jax.jit(network_predict(game, network), inline=True)


@functools.partial(jit_for_few_calls, optimised=True)
def _evaluate_root(
    search: AnytimeSearch, key: Array, state: State, allowed: Array
) -> tuple[CompactTree, Array]:
    """Returns (tree of the root alone, N = 1, probability of a draw).

    Moves outside `allowed`, bool [A], count as illegal at the root.
    """
    game, network = search.game, search.network
    rules, evaluate = search.model()
    states = expand(state)
    allowed = jnp.pad(allowed, (0, num_outcomes(rules))) if num_outcomes(rules) else allowed
    mask = jax.vmap(rules.legal_action_mask)(states) & allowed[None]
    logits, value = evaluate(search.variables, key, states)
    logits = normalise_logits(mask_logits(logits, mask), mask)
    tree = mctx.search(
        search.variables,
        jax.random.PRNGKey(0),  # nothing is drawn before the first simulation
        root=mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states),
        recurrent_fn=make_recurrent_fn(rules, evaluate),
        root_action_selection_fn=no_selection,
        interior_action_selection_fn=no_selection,
        num_simulations=0,
        invalid_actions=~mask,
        # The root alone; the simulations come later.
        loop_fn=lambda lower, upper, body, loop: (loop[0], compact(loop[1])),
    )
    if network is None:
        return tree, jnp.zeros(())
    # XLA computes equal predictions once.
    value_logits = _network_predict(game, network)(search.variables, states).value_logits[0]
    return tree, jax.nn.softmax(value_logits)[1] if len(value_logits) == 3 else jnp.zeros(())


_allocate = jax.jit(with_capacity, static_argnames="nodes")
_replant = jax.jit(replant, donate_argnames="tree")


@jax.jit
def _has_state(tree: CompactTree, node: Array, state: State) -> Array:
    """Returns whether a node has exactly this state, bool []."""
    equal = jax.tree.map(
        lambda nodes, x: jnp.array_equal(nodes[0, node], x), tree.embeddings, state
    )
    return jnp.all(jnp.stack(jax.tree.leaves(equal)))


def _renumber(
    progress: SearchInProgress, kept: np.ndarray, max_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns (the kept nodes' old numbers, their parents' new ones), int32 [max_nodes] each."""
    order = np.zeros(max_nodes, np.int32)
    order[: len(kept)] = kept
    parents = np.full(max_nodes, CompactTree.NO_PARENT, np.int32)
    if len(kept) > 1:
        old = np.asarray(jax.device_get(progress.tree.parents))[0]
        parents[1 : len(kept)] = np.searchsorted(kept, old[kept[1:]])
    return order, parents


@functools.partial(jax.jit, donate_argnames="tree")
def _run(
    search: AnytimeSearch, key: Array, tree: CompactTree, bounds: Array
) -> tuple[Array, LoopState]:
    """Runs steps in the memory of the given tree; returns (number of simulations, key and tree).

    `bounds` are three numbers, int32 [3]: simulations of the tree, those at which to stop, and the
    most that the last step may reach.
    """
    lower, upper, most = bounds
    rules, evaluate = search.model()
    recurrent_fn = _compute_states_first(make_recurrent_fn(rules, evaluate))
    selection = search.algorithm.anytime_selection(most, num_outcomes(rules))
    width = search.algorithm.width

    def step(carry: tuple[Array, Array, LoopState]) -> tuple[Array, Array, LoopState]:
        made, _, state = carry
        _, tree = state = simulate_once(
            search.variables, recurrent_fn, selection, width, made + 1, state
        )
        # The next step takes the places after the last node.
        new = jax.lax.dynamic_slice_in_dim(tree.parents[0], made + 1, width)
        count = jnp.sum(new >= 0, dtype=jnp.int32)
        return made + count, count > 0, state

    def goes_on(carry: tuple[Array, Array, LoopState]) -> Array:
        return (carry[0] < upper) & carry[1]  # a game that is over has no move to visit

    made, _, state = jax.lax.while_loop(goes_on, step, (lower, jnp.array(True), (key, tree)))
    return made, state


def _compute_states_first(recurrent_fn: mctx.RecurrentFn) -> mctx.RecurrentFn:
    """Computes the new states before they are written into the tree.

    For a single game, XLA on a CPU fuses reading the parent's state, the move and writing the
    child. Because that reads and writes the same arrays, it would copy all states first, twice.
    """

    def compute_states_first(*args: Any) -> tuple[mctx.RecurrentFnOutput, Any]:
        output, states = recurrent_fn(*args)
        return output, fusion_barrier(states)[0]

    return compute_states_first
