"""Solve a small game exactly: every reachable state from its own `step`, valued backwards."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasScore

from azjax.errors import UserError
from azjax.exact.codec import Codec, join
from azjax.exact.state_graph import Graph, enumerate_states


def solve(
    game: Game,
    *,
    start=None,
    payoff: str = "returns",
    max_states: int = 2_000_000,
    max_bytes: int = 2 << 30,
    progress: Callable[[int, int], None] | None = None,
) -> "Solution":
    """The value of every state that can be reached, under best play of both sides.

    Args:
      game: any game whose reachable states are few; turns may follow any order, and a state may
        be reached by ways of different lengths.
      start: batched states [R, ...], to value only what can be reached from these: endgames. None
        for the game's own start.
      payoff: "returns" (+1, 0, -1) or, where the game has `score`, "margin": player 0's points
        minus player 1's at the end.
      max_states: refuse once more states than this are found.
      max_bytes: refuse once the tables would take more memory than this.
      progress: called as `progress(states_found, plies)` while states are being found.

    Raises:
      UserError: the game is too large (with the count reached and an estimate of the memory it
        would take), a position can repeat, or the payoff is unknown to the game.
    """
    if payoff not in ("returns", "margin"):
        raise UserError(f'payoff is "returns" or "margin", not {payoff!r}')
    if payoff == "margin" and not isinstance(game, HasScore):
        raise UserError(f'{game.name} keeps no score: only payoff="returns" is possible')
    graph = enumerate_states(game, payoff, max_states, max_bytes, progress, start)
    values = _value_backwards(game, graph)
    order = np.argsort(graph.keys)
    return Solution(
        game=game,
        payoff=payoff,
        salt=graph.salt,
        words=graph.words,
        sorted_keys=graph.keys[order],
        order=order.astype(np.int32),
        children=graph.children,
        movers=graph.movers,
        terminal=graph.terminal,
        plies=graph.plies,
        values=values,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Solution:
    """A solved game. N states, in order of the fewest plies from the start; state 0 is the start,
    or where there are several, the first of them.

    `values` are player 0's whoever is to move; `action_values` are the mover's.
    """

    game: Game
    payoff: str
    salt: int
    words: np.ndarray  # uint32 [N, W], the states packed by `Codec(game, salt)`
    sorted_keys: np.ndarray  # uint64 [N]
    order: np.ndarray  # int32 [N], the state of each sorted key
    children: np.ndarray  # int32 [N, num_actions], -1 where an action is illegal
    movers: np.ndarray  # int8 [N]
    terminal: np.ndarray  # bool [N]
    plies: np.ndarray  # int32 [N], the fewest plies from the start
    values: np.ndarray  # float32 [N]

    @property
    def num_states(self) -> int:
        return len(self.values)

    @property
    def num_terminal(self) -> int:
        return int(self.terminal.sum())

    @property
    def value(self) -> float:
        """Player 0's value of the start."""
        return float(self.values[0])

    @property
    def decisions(self) -> np.ndarray:
        """The states where somebody is to move, int32 [N - num_terminal]."""
        return np.flatnonzero(~self.terminal).astype(np.int32)

    def states(self, indices: np.ndarray):
        """The states at `indices` [M], as one batched state."""
        return _unpack(Codec(self.game, self.salt), self.words[np.asarray(indices)])

    def lookup(self, states) -> np.ndarray:
        """The index of each of a batch of states, int32 [M]. ValueError if one is unreachable."""
        words, keys = jax.tree.map(np.asarray, _pack(Codec(self.game, self.salt), states))
        keys = join(keys)
        place = np.minimum(np.searchsorted(self.sorted_keys, keys), self.num_states - 1)
        found = self.order[place]
        if not (self.words[found] == words).all():
            raise ValueError(f"not a reachable state of {self.game.name}")
        return found

    def action_values(self, indices: np.ndarray) -> np.ndarray:
        """What each action leads to, seen by the mover: float32 [M, num_actions], -inf if illegal.

        Under the payoff "returns" and best play afterwards.
        """
        children = self.children[indices]
        sign = 1.0 - 2.0 * self.movers[indices].astype(np.float32)
        return np.where(children < 0, -np.inf, sign[:, None] * self.values[children])

    def optimal_actions(self, indices: np.ndarray) -> np.ndarray:
        """The actions that keep the value, bool [M, num_actions]; none at the end."""
        values = self.action_values(indices)
        return (values == values.max(-1, keepdims=True)) & (self.children[indices] >= 0)

    def mistakes(self, indices: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Whether each action gives value away (or is illegal), bool [M]."""
        best = self.optimal_actions(indices)
        return ~best[np.arange(len(best)), np.asarray(actions)]


def _value_backwards(game: Game, graph: Graph) -> np.ndarray:
    """Minimax values, float32 [N]. A state is valued once all its children are.

    States come in layers by their shortest way from the start. A child usually lies one layer
    on, so one sweep from the last layer to the first values everything; where a state can be
    reached by ways of different lengths a child may lie earlier, and another sweep is needed.
    A sweep that values nothing has met a cycle.
    """
    values = np.where(graph.terminal, graph.payoffs, np.float32(np.nan))
    layers = np.split(np.arange(len(values)), graph.layer_starts[1:])
    layers = [layer[~graph.terminal[layer]] for layer in layers]
    while left := sum(map(len, layers)):
        for depth in reversed(range(len(layers))):
            layer = layers[depth]
            children = graph.children[layer]
            sign = 1.0 - 2.0 * graph.movers[layer].astype(np.float32)
            seen = np.where(children < 0, -np.inf, sign[:, None] * values[children])
            ready = ~np.isnan(seen).any(-1)
            values[layer[ready]] = sign[ready] * seen[ready].max(-1)
            layers[depth] = layer[~ready]
        if sum(map(len, layers)) == left:
            raise UserError(f"{game.name} can repeat a position, so it cannot be valued backwards")
    return values.astype(np.float32)


@functools.partial(jax.jit, static_argnums=0)
def _pack(codec: Codec, states):
    words = jax.vmap(codec.pack)(states)
    return words, jax.vmap(codec.key)(words)


@functools.partial(jax.jit, static_argnums=0)
def _unpack(codec: Codec, words: np.ndarray):
    return jax.vmap(codec.unpack)(jnp.asarray(words))
