"""Solves a small game exactly: finds every reachable state with `step`, and values it backwards."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance, HasScore
from rich.text import Text

from azjax.errors import UserError
from azjax.exact.codec import Codec, join, pack_all
from azjax.exact.state_graph import Graph, enumerate_states
from azjax.pytrees import first
from azjax.rich_repr import RichRepr
from azjax.types import State


def solve(
    game: Game,
    *,
    start: State | None = None,
    payoff: str = "returns",
    max_states: int = 2_000_000,
    max_bytes: int = 2 << 30,
    progress: Callable[[int, int], None] | None = None,
) -> "Solution":
    """Computes the value of every reachable state under best play of both sides.

    Args:
      game: any game with few reachable states. Turns may follow any order, and a state may be
        reached by paths of different lengths.
      start: states [R, ...], to value only what can be reached from them, such as endgames. None
        for the start of the game.
      payoff: "returns" (+1, 0, -1) or, where the game has `score`, "margin": player 0's points
        minus player 1's at the end.
      progress: called as `progress(states_found, plies)` while states are being found.

    Raises:
      TooLargeError: the game has more states than the limit.
      UserError: a position can repeat, the game does not have this payoff, or it has chance.
    """
    if isinstance(game, HasChance):
        raise UserError(
            f"{game.name} is a game of chance: azjax.exact.chance_solver.solve_chance solves it"
        )
    if payoff not in ("returns", "margin"):
        raise UserError(f'payoff must be "returns" or "margin", not {payoff!r}')
    if payoff == "margin" and not isinstance(game, HasScore):
        raise UserError(f'{game.name} keeps no score: only payoff="returns" is possible')
    graph = enumerate_states(game, payoff, max_states, max_bytes, progress, start)
    values = _value_backwards(game, graph)
    return Solution(**vars(graph), game=game, payoff=payoff, values=values)


@dataclasses.dataclass(frozen=True, eq=False)
class Solution(RichRepr, Graph):
    """A solved game with N states; prints a summary of itself.

    States are in the order of their fewest plies from the start. State 0 is the start, or the first
    of several. `values` are from player 0's perspective in all states, `action_values` from the
    mover's.
    """

    game: Game
    payoff: str
    values: np.ndarray  # float32 [N]

    @property
    def num_states(self) -> int:
        return len(self.values)

    @property
    def num_terminal(self) -> int:
        return int(self.terminal.sum())

    @property
    def value(self) -> float:
        """Value of the start for player 0."""
        return float(self.values[0])

    @property
    def decisions(self) -> np.ndarray:
        """Indices of the states that are not over, int32 [N - num_terminal]."""
        return np.flatnonzero(~self.terminal).astype(np.int32)

    def states(self, indices: np.ndarray) -> State:
        """Returns the states [M, ...] at `indices` [M]."""
        return _unpack(Codec(self.game), self.words[np.asarray(indices)])

    def lookup(self, states: State) -> np.ndarray:
        """Returns the indices of states [M, ...], int32 [M]; each must be reachable."""
        words, keys = jax.tree.map(np.asarray, pack_all(Codec(self.game), states))
        keys = join(keys)
        place = np.minimum(np.searchsorted(self.sorted_keys, keys), self.num_states - 1)
        found = self.order[place]
        if not (self.words[found] == words).all():
            raise ValueError(f"not a reachable state of {self.game.name}")
        return found

    def action_values(self, indices: np.ndarray) -> np.ndarray:
        """Returns the values of all actions in states, int32 [M], under best play afterwards.

        They are float32 [M, num_actions] from the mover's perspective, -inf if illegal.
        """
        children = self.children[indices]
        sign = 1.0 - 2.0 * self.movers[indices].astype(np.float32)
        return np.where(children < 0, -np.inf, sign[:, None] * self.values[children])

    def optimal_actions(self, indices: np.ndarray) -> np.ndarray:
        """Returns the actions that keep the value, bool [M, num_actions]; none at the end."""
        values = self.action_values(indices)
        return (values == values.max(-1, keepdims=True)) & (self.children[indices] >= 0)

    def plies_left(self) -> np.ndarray:
        """Returns the plies to the end if winners hurry and losers delay, int32 [N]; 0 in draws."""
        left = np.where(self.terminal | (self.values == 0), 0, -1).astype(np.int32)
        while (left < 0).any():
            for layer in reversed(np.split(np.arange(len(left)), self.layer_starts[1:])):
                layer = layer[left[layer] < 0]
                children, values = self.children[layer], self.values[layer]
                keeps = (children >= 0) & (self.values[children] == values[:, None])
                theirs = np.where(keeps, left[children], 0)
                ready = ~(keeps & (theirs < 0)).any(-1)
                wins = values * (1 - 2 * self.movers[layer]) > 0
                quick = np.where(keeps, theirs, np.iinfo(np.int32).max).min(-1)
                left[layer[ready]] = 1 + np.where(wins, quick, theirs.max(-1))[ready]
        return left

    def mistakes(self, indices: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Returns whether each action, int32 [M], loses value or is illegal: bool [M]."""
        best = self.optimal_actions(indices)
        return ~best[np.arange(len(best)), np.asarray(actions)]

    def to_dict(self) -> dict[str, object]:
        """Returns the sizes, the start's value and that of each first move, for JSON."""
        key = "value" if self.payoff == "returns" else "margin"
        start = first(self.states(np.array([0])))
        return {
            "game": self.game.name,
            "states": self.num_states,
            "terminal": self.num_terminal,
            key: self.value,
            f"{key}_of_first_moves": {
                self.game.action_to_string(start, action): float(value)
                for action, value in enumerate(self.action_values(np.array([0]))[0])
                if value > -np.inf
            },
        }

    def __rich__(self) -> Text:
        return facts_text(self.to_dict())


def facts_text(facts: dict[str, object]) -> Text:
    """Returns the facts of one or more solutions of a game, a line each."""
    results = {1.0: "the first player wins", 0.0: "a draw", -1.0: "the second player wins"}
    lines = []
    if "value" in facts:
        value = float(str(facts["value"]))
        lines.append(f"{facts['game']}: {results.get(value, value)}")
    for key, value in facts.items():
        if isinstance(value, dict):
            value = "  ".join(f"{move} {worth:+g}" for move, worth in value.items())
        lines.append(f"  {key.replace('_', ' ')}: {value}")
    return Text("\n".join(lines))


def _value_backwards(game: Game, graph: Graph) -> np.ndarray:
    """Returns minimax values, float32 [N]. A state is valued once all its children are.

    States are in layers by their shortest path from the start. A child is usually one layer later,
    so one sweep from the last layer to the first values everything. If paths of different lengths
    lead to a state, a child may be in an earlier layer, and another sweep is needed. A sweep that
    values nothing has met a cycle.
    """
    values = np.where(graph.terminal, graph.payoffs, np.float32(np.nan))
    layers = np.split(np.arange(len(values)), graph.layer_starts[1:])
    layers = [layer[~graph.terminal[layer]] for layer in layers]
    while left := sum(map(len, layers)):
        for depth in reversed(range(len(layers))):
            layer = layers[depth]
            children = graph.children[layer]
            sign = 1.0 - 2.0 * graph.movers[layer].astype(np.float32)
            reached = np.where(children < 0, -np.inf, sign[:, None] * values[children])
            ready = ~np.isnan(reached).any(-1)
            values[layer[ready]] = sign[ready] * reached[ready].max(-1)
            layers[depth] = layer[~ready]
        if sum(map(len, layers)) == left:
            raise UserError(f"{game.name} can repeat a position, so it cannot be valued backwards")
    return values.astype(np.float32)


@functools.partial(jax.jit, static_argnums=0)
def _unpack(codec: Codec, words: np.ndarray) -> State:
    return jax.vmap(codec.unpack)(jnp.asarray(words))
