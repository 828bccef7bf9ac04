"""A search of one position that goes on until it is told to stop.

    thinker = make_thinker(player, memory_mb=256)
    for thinking in keep_thinking(thinker.start(state), seconds=5):
        print(thinking.findings().value)

The tree is PUCT's, also where a run trained with Gumbel, whose search must know beforehand how long
it will be. K calls of n simulations find what one search of K * n finds, bit for bit.
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
from azjax.search.analysis import Findings, read_findings
from azjax.search.loop import make_loop_fn
from azjax.search.model import make_recurrent_fn, mask_logits, network_evaluate
from azjax.search.policies import normalise_logits, puct_selection
from azjax.search.tree import compact, tree_capacity
from azjax.types import Array

MEMORY_MB = 256
_MOST_NODES = 2**16
_CHUNK_S = 0.05  # how long it may take until a word to stop is heard
_FIRST_CHUNK = 4


class NetworkPlayer(Protocol):
    """A player that searches with a network, such as `players.network_players.SearchPlayer`."""

    game: Game
    network: Network
    variables: Variables
    config: SearchConfig


@dataclass(frozen=True)
class Thinker:
    """Starts searches of single positions, all with room for `nodes` positions.

    The room is taken at once and never grows, so that nothing is compiled anew while a clock runs;
    a full tree is as far as a search goes.
    """

    game: Game
    network: Network
    variables: Variables
    config: SearchConfig  # algorithm "puct"; num_simulations where no other limit is given
    nodes: int  # of the tree, the root's included

    def start(self, state: Any, key: Array | None = None, *, among: Sequence[int] = ()) -> Thinking:
        """A tree of nothing but its root: `state`, one position, not over.

        Args:
          state: the position, unbatched.
          key: PRNG key for ties between moves; without one, positions are always thought about
            alike.
          among: legal actions, one of which is to be chosen; all of them, if there are none.
        """
        key = jax.random.PRNGKey(0) if key is None else key
        static = (self.game, self.network, self.config, self.nodes)
        chosen = np.full(self.game.num_actions, not among)
        chosen[list(among)] = True
        key, tree, draw = _start(*static, self.variables, key, state, chosen)
        return Thinking(self, key, tree, simulations=0, draw=float(draw))

    def warm_up(self) -> None:
        """Compiles, so that thinking times are the search's own later."""
        self.start(jax.jit(self.game.init)()).more(1).findings()

    def playing(self, game: Game) -> Thinker:
        """With other rules of a game of the same shape, such as another komi."""
        return replace(self, game=game)


@dataclass(frozen=True)
class Thinking:
    """A search under way. `more` takes its tree over: only the newest one can be used."""

    thinker: Thinker
    key: Array
    tree: mctx.Tree  # of one game, compact
    simulations: int  # so far
    draw: float  # the network's probability of a draw here; 0 where its head knows none

    @property
    def full(self) -> bool:
        return self.simulations >= self.thinker.nodes - 1

    def more(self, simulations: int) -> Thinking:
        """After so many more simulations, or as many as there is room for; they are done when this
        returns."""
        by = self.thinker
        upper = min(self.simulations + simulations, by.nodes - 1)
        # Bounds are arguments: one compiled program serves every number of simulations.
        bounds = np.int32(self.simulations), np.int32(upper)
        static = (by.game, by.network, by.config)
        key, tree = _more(*static, by.variables, (self.key, self.tree), bounds)
        jax.block_until_ready(tree.node_visits)
        return replace(self, key=key, tree=tree, simulations=upper)

    def findings(self) -> Findings:
        """What the search has found so far; the search can go on afterwards."""
        return read_findings(self.tree, self.simulations, self.draw)


def make_thinker(player: NetworkPlayer, *, memory_mb: int = MEMORY_MB) -> Thinker:
    """The player as one who thinks for as long as it is told.

    Args:
      player: one with search, which brings the game, the network and PUCT's constants.
      memory_mb: for the tree, and so how many nodes there is room for; at most 2**16 nodes.
    """
    game = player.game
    nodes = tree_capacity(game, memory_mb * 2**20)
    # The root's prior is left as the network says it, and every visit is the search's own choice.
    config = replace(
        player.config,
        algorithm="puct",
        puct=replace(player.config.puct, forced_playouts=0.0),
    )
    return Thinker(
        game=game,
        network=player.network,
        variables=player.variables,
        config=config,
        nodes=max(2, min(nodes, _MOST_NODES)),
    )


def keep_thinking(
    thinking: Thinking, *, simulations: float = math.inf, seconds: float = math.inf
) -> Iterator[Thinking]:
    """Goes on in steps of about a twentieth of a second; whoever stops listening stops it.

    Args:
      thinking: where to go on.
      simulations: of the whole search, when to end.
      seconds: from now, when to end.

    Yields:
      The search after each step. None at all where a limit is reached already, or the tree is full.
    """
    end = time.monotonic() + seconds
    step = _FIRST_CHUNK
    while not thinking.full and thinking.simulations < simulations:
        began = time.monotonic()
        if began >= end:
            return
        count = int(min(step, simulations - thinking.simulations))
        thinking = thinking.more(count)
        took = time.monotonic() - began
        yield thinking
        # The speed of the last step tells how long the next may be; no step is far longer than the
        # one before, for the first ones may have waited for something else.
        left = max(end - time.monotonic(), 0.0)
        step = max(1, int(min(count * min(_CHUNK_S, left) / took, 2 * count)))


_STATIC = ("game", "network", "config", "nodes")


@functools.partial(jax.jit, static_argnames=_STATIC)
def _start(
    game: Game,
    network: Network,
    config: SearchConfig,
    nodes: int,
    variables: Variables,
    key: Array,
    state: Any,
    chosen: Array,
) -> tuple[Array, mctx.Tree, Array]:
    """(key to go on with, the tree, probability of a draw), with the keys of `search.search`; moves
    that are not `chosen`, bool [A], count as illegal at the root."""
    states = jax.tree.map(lambda x: jnp.asarray(x)[None], state)
    mask = jax.vmap(game.legal_action_mask)(states) & chosen[None]
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
        num_simulations=nodes - 1,
        invalid_actions=~mask,
        # Only the root; the simulations come later.
        loop_fn=lambda lower, upper, body, loop: (loop[0], compact(loop[1])),
    )
    knows_draws = prediction.value_logits.shape[-1] == 3
    draw = jax.nn.softmax(prediction.value_logits[0])[1] if knows_draws else jnp.zeros(())
    return search_key, tree, draw


@functools.partial(
    jax.jit, static_argnames=("game", "network", "config"), donate_argnames=("search",)
)
def _more(
    game: Game,
    network: Network,
    config: SearchConfig,
    variables: Variables,
    search: tuple[Array, mctx.Tree],
    bounds: tuple[Array, Array],
) -> tuple[Array, mctx.Tree]:
    """The simulations from bounds[0] to bounds[1] - 1, in the place of the tree that was given."""
    select_root, select = puct_selection(config)
    loop_fn = make_loop_fn(
        variables,
        _written_apart(make_recurrent_fn(game, network_evaluate(game, network))),
        select_root=select_root,
        select_interior=select,
    )
    key, tree = loop_fn(*bounds, None, search)
    return key, compact(tree)


def _written_apart(recurrent_fn: mctx.RecurrentFn) -> mctx.RecurrentFn:
    """The same, but the new states are in memory before they are written into the tree.

    Of a single game, XLA on a CPU would fuse reading the parent's state, the move and writing the
    child, and as that reads and writes the same arrays, copy all states first, twice.
    """

    def written_apart(*args: Any) -> tuple[mctx.RecurrentFnOutput, Any]:
        output, states = recurrent_fn(*args)
        return output, computed_once(states)[0]

    return written_apart
