"""A game whose actions are numbers in the list of a position's legal moves.

Chess has 4,672 actions, of which at most 218 are legal in a position. A search tree has arrays with
a number for each action of each node, and each step down computes such rows. With lists they are
20 times smaller. The list of a position is kept with its state.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasFewLegalActions

from azjax.pytrees import check_array
from azjax.search.model import Evaluate
from azjax.types import Array, Params, State

_WORD = 32  # bits
_NOWHERE = 2**31 - 1  # an index that no array has


def has_few_legal_actions(game: Game) -> bool:
    """Returns whether lists of legal moves are much shorter than the list of all actions."""
    return isinstance(game, HasFewLegalActions) and 2 * game.max_legal_actions < game.num_actions


class ListedState(NamedTuple):
    """A state and its legal actions."""

    state: Any
    actions: Array  # int16 or int32 [K], ascending; zeros after the last
    count: Array  # int32 [], number of legal actions


@dataclass(frozen=True)
class ListedMoves:
    """What a search needs of a game, with actions 0 to K - 1: numbers in the position's list."""

    game: Any  # HasFewLegalActions

    @property
    def name(self) -> str:
        return self.game.name

    @property
    def num_actions(self) -> int:
        return self.game.max_legal_actions

    def init(self, key: Array | None = None) -> ListedState:
        return self.list_moves(self.game.init(key))

    def list_moves(self, state: State) -> ListedState:
        mask = self.game.legal_action_mask(state)
        actions, count = legal_actions(mask, self.num_actions)
        kind = jnp.int16 if self.game.num_actions <= 2**15 else jnp.int32
        return ListedState(state, actions.astype(kind), count)

    def step(self, state: ListedState, action: Array) -> ListedState:
        return self.list_moves(self.game.step(state.state, state.actions[action]))

    def legal_action_mask(self, state: ListedState) -> Array:
        return jnp.arange(self.num_actions) < state.count

    def is_chance(self, state: ListedState) -> Array:
        return self.game.is_chance(state.state)

    def chance_probabilities(self, state: ListedState) -> Array:
        return self.game.chance_probabilities(state.state)

    def chance_step(self, state: ListedState, outcome: Array) -> ListedState:
        return self.list_moves(self.game.chance_step(state.state, outcome))

    def current_player(self, state: ListedState) -> Array:
        return self.game.current_player(state.state)

    def is_terminal(self, state: ListedState) -> Array:
        return self.game.is_terminal(state.state)

    def returns(self, state: ListedState) -> Array:
        return self.game.returns(state.state)

    def evaluation(self, evaluate: Evaluate) -> Evaluate:
        """Returns an evaluation of listed states: the logits [B, K] of the listed actions."""

        def evaluate_listed(params: Params, key: Array, states: Any) -> tuple[Array, Array]:
            logits, value = evaluate(params, key, states.state)
            return self.logits_of(states, logits), value

        return evaluate_listed

    def logits_of(self, states: Any, logits: Array) -> Array:
        """Returns the logits [B, K] of the listed actions, of those of all actions [B, A]."""
        shape = (len(states.actions), self.game.num_actions)
        check_array(logits, shape, float, name="logits that evaluate returns")
        return jnp.take_along_axis(logits, states.actions.astype(jnp.int32), axis=-1)

    def of_all_actions(self, states: Any, result: Any) -> Any:
        """Returns a `SearchResult` of the game's own actions, of one of listed actions."""

        def spread(row: Array) -> Array:
            empty = jnp.zeros((len(row), self.game.num_actions), row.dtype)
            return empty.at[rows, places].set(row, mode="drop")

        actions = states.actions.astype(jnp.int32)
        listed = jax.vmap(self.legal_action_mask)(states)
        rows, places = jnp.arange(len(actions))[:, None], jnp.where(listed, actions, _NOWHERE)
        chosen = jnp.take_along_axis(actions, result.action[:, None], axis=-1)[:, 0]
        wide = {
            name: spread(row)
            for name, row in result._asdict().items()
            if getattr(row, "ndim", 0) == 2
        }
        return result._replace(action=chosen, **wide)

    def of_all_nodes(self, nodes: Any) -> Any:
        """Returns `TreeNodes` of the game's own actions, of those of listed actions."""
        rows, above = jnp.arange(len(nodes.parents))[:, None], jnp.maximum(nodes.parents, 0)
        moves = nodes.states.actions[rows, above, jnp.maximum(nodes.actions, 0)].astype(jnp.int32)
        # Outcomes of chance come after the actions.
        outcome = nodes.actions - self.num_actions
        moves = jnp.where(outcome >= 0, outcome + self.game.num_actions, moves)
        actions = jnp.where(nodes.actions >= 0, moves, nodes.actions)
        return nodes._replace(states=nodes.states.state, actions=actions)


def legal_actions(mask: Array, size: int) -> tuple[Array, Array]:
    """Returns the first `size` actions of a mask, bool [A].

    There is no loop and no scatter. Sums over words of 32 actions tell which word holds the n-th
    action, and counts of bits where it is in the word. Returns (actions int32 [K], ascending, zeros
    after the last; their number int32 []).
    """
    padded = jnp.pad(mask, (0, -len(mask) % _WORD)).reshape(-1, _WORD)
    bits = np.uint32(1) << np.arange(_WORD, dtype=np.uint32)
    words = jnp.sum(padded * bits[None], axis=-1, dtype=jnp.uint32)
    counts = jax.lax.population_count(words).astype(jnp.int32)
    until = np.tri(len(counts), dtype=np.bool_)  # the words up to each one
    ends = jnp.sum(jnp.where(until, counts[None], 0), axis=-1)
    numbers = jnp.arange(size)
    word = jnp.sum(ends[None] <= numbers[:, None], axis=-1)
    word = jnp.minimum(word, len(counts) - 1)
    bit = _bit_of(words[word], numbers - (ends - counts)[word])
    return jnp.where(numbers < ends[-1], _WORD * word + bit, 0), jnp.minimum(ends[-1], size)


def _bit_of(words: Array, rank: Array) -> Array:
    """Returns the place of the set bit that has `rank` lower ones, int32, for each word."""
    place = jnp.zeros_like(rank)
    for width in (16, 8, 4, 2, 1):
        lower = words & np.uint32((1 << width) - 1)
        count = jax.lax.population_count(lower).astype(jnp.int32)
        above = rank >= count
        place += jnp.where(above, width, 0)
        rank -= jnp.where(above, count, 0)
        words = jnp.where(above, words >> np.uint32(width), lower)
    return place
