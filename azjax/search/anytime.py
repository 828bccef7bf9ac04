"""A search of one position that runs until it is stopped: an anytime search.

    search = make_anytime_search(player, memory_mb=256)
    for progress in continue_search(search.start(state), seconds=5):
        print(progress.analysis().value)

The tree is always PUCT's. Gumbel's search has to know its number of simulations beforehand, so
runs that were trained with it are searched by PUCT here too. K calls of n simulations give
exactly the result of one search of K * n.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from azjax_envs import Game
from azjax_envs.xla_cpu import computed_once

from azjax.config import SearchConfig
from azjax.network.network import Network, Variables
from azjax.pytrees import expand
from azjax.search.analysis import SearchAnalysis, analyse_tree
from azjax.search.loop import make_loop_fn
from azjax.search.model import make_recurrent_fn, mask_logits, network_evaluate
from azjax.search.policies import normalise_logits, puct_selection
from azjax.search.tree import compact, tree_capacity
from azjax.types import Array, State

MEMORY_MB = 256
_MAX_NODES = 2**16
_CHUNK_S = 0.05  # a request to stop waits at most about this long
_FIRST_CHUNK = 4


class NetworkPlayer(Protocol):
    """A player that searches with a network, such as `players.network_players.SearchPlayer`."""

    @property
    def game(self) -> Game: ...
    @property
    def network(self) -> Network: ...
    @property
    def variables(self) -> Variables: ...
    @property
    def config(self) -> SearchConfig: ...


@dataclass(frozen=True)
class AnytimeSearch:
    """A search of single positions, each in a tree of `max_nodes` nodes.

    The tree is allocated at the start and never grows, so nothing is compiled while a clock runs.
    When the tree is full, the search stops.
    """

    game: Game
    network: Network
    variables: Variables
    config: SearchConfig  # algorithm "puct"; num_simulations is the default limit of a move
    max_nodes: int  # capacity of the tree, including the root

    def start(
        self, state: State, key: Array | None = None, *, root_actions: Sequence[int] = ()
    ) -> SearchInProgress:
        """Returns a search whose tree holds only the root.

        Args:
          state: the position to search, unbatched; the game must not be over.
          key: PRNG key that breaks ties between moves. Without one, equal positions are searched
            alike.
          root_actions: legal actions that the search may choose from; empty for all of them.
        """
        key = jax.random.PRNGKey(0) if key is None else key
        static = (self.game, self.network, self.config, self.max_nodes)
        allowed = np.full(self.game.num_actions, not root_actions)
        allowed[list(root_actions)] = True
        key, tree, draw = _start(*static, self.variables, key, state, allowed)
        return SearchInProgress(self, key, tree, simulations=0, draw=float(draw))

    def warm_up(self) -> None:
        """Compiles the search, so that later timings measure the search alone."""
        self.start(jax.jit(self.game.init)()).run(1).analysis()

    def with_game(self, game: Game) -> AnytimeSearch:
        """Returns the search for another game of the same shapes, such as go with another komi."""
        return replace(self, game=game)


@dataclass(frozen=True)
class SearchInProgress:
    """A started search. `run` donates its tree, so only the newest value can be used."""

    search: AnytimeSearch
    key: Array
    tree: mctx.Tree  # of one game, compact
    simulations: int  # so far
    draw: float  # the network's probability of a draw at the root; 0 if it has no draws

    @property
    def full(self) -> bool:
        """Whether the tree is full."""
        return self.simulations >= self.search.max_nodes - 1

    def run(self, simulations: int) -> SearchInProgress:
        """Returns the search after more simulations, at most until the tree is full.

        The call blocks until the simulations are done.
        """
        search = self.search
        upper = min(self.simulations + simulations, search.max_nodes - 1)
        # Bounds are arguments: one compiled program serves every number of simulations.
        bounds = np.int32(self.simulations), np.int32(upper)
        static = (search.game, search.network, search.config)
        key, tree = _run(*static, search.variables, (self.key, self.tree), bounds)
        jax.block_until_ready(tree.node_visits)
        return replace(self, key=key, tree=tree, simulations=upper)

    def analysis(self) -> SearchAnalysis:
        """Returns what the search has found so far; the search can continue afterwards."""
        return analyse_tree(self.tree, self.simulations, self.draw)


def make_anytime_search(player: NetworkPlayer, *, memory_mb: int = MEMORY_MB) -> AnytimeSearch:
    """Returns an anytime search with the player's game, network and PUCT constants.

    Args:
      player: the player; its own algorithm is replaced by PUCT.
      memory_mb: megabytes for the tree. They decide its capacity, which is at most 2**16 nodes.
    """
    game = player.game
    nodes = tree_capacity(game, memory_mb * 2**20)
    # No forced playouts and no noise: every visit is the search's own choice.
    config = replace(
        player.config,
        algorithm="puct",
        puct=replace(player.config.puct, forced_playouts=0.0),
    )
    return AnytimeSearch(
        game=game,
        network=player.network,
        variables=player.variables,
        config=config,
        max_nodes=max(2, min(nodes, _MAX_NODES)),
    )


def continue_search(
    progress: SearchInProgress, *, simulations: float = math.inf, seconds: float = math.inf
) -> Iterator[SearchInProgress]:
    """Continues a search in steps of about 50 ms; the caller stops it by leaving the loop.

    Args:
      progress: the search to continue.
      simulations: total number of simulations at which to stop, earlier ones included.
      seconds: time after which to stop, from now.

    Yields:
      The search after each step; nothing if a limit is reached already or the tree is full.
    """
    end = time.monotonic() + seconds
    step = _FIRST_CHUNK
    while not progress.full and progress.simulations < simulations:
        began = time.monotonic()
        if began >= end:
            return
        count = int(min(step, simulations - progress.simulations))
        progress = progress.run(count)
        took = time.monotonic() - began
        yield progress
        # The speed of the last step decides the size of the next. A step at most doubles, because
        # the first ones may have waited for something else.
        left = max(end - time.monotonic(), 0.0)
        step = max(1, int(min(count * min(_CHUNK_S, left) / took, 2 * count)))


_STATIC = ("game", "network", "config", "max_nodes")


@functools.partial(jax.jit, static_argnames=_STATIC)
def _start(
    game: Game,
    network: Network,
    config: SearchConfig,
    max_nodes: int,
    variables: Variables,
    key: Array,
    state: State,
    allowed: Array,
) -> tuple[Array, mctx.Tree, Array]:
    """Returns (next key, tree with only its root, probability of a draw).

    The PRNG key is split as `search.search` splits it. Moves outside `allowed`, bool [A], count as
    illegal at the root.
    """
    states = expand(jax.tree.map(jnp.asarray, state))
    mask = jax.vmap(game.legal_action_mask)(states) & allowed[None]
    prediction = network.apply(variables, jax.vmap(game.observe)(states))
    search_key = jax.random.split(jax.random.split(key, 3)[0], 3)[2]
    logits = normalise_logits(mask_logits(prediction.policy_logits, mask), mask)
    select_root, select = puct_selection(config)
    tree = mctx.search(
        variables,
        search_key,
        root=mctx.RootFnOutput(prior_logits=logits, value=prediction.value, embedding=states),
        recurrent_fn=make_recurrent_fn(game, network_evaluate(game, network)),
        root_action_selection_fn=select_root,
        interior_action_selection_fn=select,
        num_simulations=max_nodes - 1,
        invalid_actions=~mask,
        # The root alone; the simulations come later.
        loop_fn=lambda lower, upper, body, loop: (loop[0], compact(loop[1])),
    )
    has_draws = prediction.value_logits.shape[-1] == 3
    draw = jax.nn.softmax(prediction.value_logits[0])[1] if has_draws else jnp.zeros(())
    return search_key, tree, draw


@functools.partial(
    jax.jit, static_argnames=("game", "network", "config"), donate_argnames=("search",)
)
def _run(
    game: Game,
    network: Network,
    config: SearchConfig,
    variables: Variables,
    search: tuple[Array, mctx.Tree],
    bounds: tuple[Array, Array],
) -> tuple[Array, mctx.Tree]:
    """Runs the simulations from bounds[0] to bounds[1] - 1, in the memory of the given tree."""
    select_root, select = puct_selection(config)
    loop_fn = make_loop_fn(
        variables,
        _compute_states_first(make_recurrent_fn(game, network_evaluate(game, network))),
        select_root=select_root,
        select_interior=select,
    )
    key, tree = loop_fn(*bounds, None, search)
    return key, compact(tree)


def _compute_states_first(recurrent_fn: mctx.RecurrentFn) -> mctx.RecurrentFn:
    """Computes the new states before they are written into the tree.

    For a single game, XLA on a CPU fuses reading the parent's state, the move and writing the
    child. Because that reads and writes the same arrays, it would copy all states first, twice.
    """

    def compute_states_first(*args: Any) -> tuple[mctx.RecurrentFnOutput, Any]:
        output, states = recurrent_fn(*args)
        return output, computed_once(states)[0]

    return compute_states_first
