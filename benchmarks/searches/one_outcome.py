"""A search of a game of chance without chance nodes, as a naive port has it.

Each move leads to one outcome of the dice, which is drawn once for each edge of the tree. So the
search plans for dice that it knows. `benchmarks/ablations.py ur` compares it with chance nodes.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game
from azjax_envs.sampling import mix_bits

from azjax.chance import roll
from azjax.config import SearchConfig
from azjax.search import Evaluate, Exploration, SearchResult
from azjax.search import search as azjax_search
from azjax.types import Array, Params, State

frozen = dataclass(frozen=True)


@jax.tree_util.register_dataclass
@frozen
class Drawn:
    """A position, and the random bits that decide the dice after each of its moves."""

    state: Any
    word: Array  # uint32 []


@frozen
class OneOutcome:
    """The rules of a game of chance whose moves roll the dice, by the bits in the state.

    It does not have the methods of chance, so the search takes it for a game without.
    """

    game: Any

    @property
    def name(self) -> str:
        return self.game.name

    @property
    def num_actions(self) -> int:
        return self.game.num_actions

    def legal_action_mask(self, state: Drawn) -> Array:
        return self.game.legal_action_mask(state.state)

    def current_player(self, state: Drawn) -> Array:
        return self.game.current_player(state.state)

    def is_terminal(self, state: Drawn) -> Array:
        return self.game.is_terminal(state.state)

    def returns(self, state: Drawn) -> Array:
        return self.game.returns(state.state)

    def init(self, key: Array | None = None) -> Drawn:
        return Drawn(self.game.init(key), jnp.uint32(0))

    def step(self, state: Drawn, action: Array) -> Drawn:
        word = mix_bits(state.word ^ mix_bits(action.astype(jnp.uint32) + 1))
        return Drawn(roll(self.game, word, self.game.step(state.state, action)), word)


def search(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    states: State,
    *,
    config: SearchConfig,
    exploration: Exploration,
) -> SearchResult:
    """Searches as `azjax.search.search` does, but with one outcome after each move."""

    def evaluate_drawn(params: Params, key: Array, states: Drawn) -> tuple[Array, Array]:
        return evaluate(params, key, states.state)

    batch = jax.tree.leaves(states)[0].shape[0]
    words = jax.random.bits(jax.random.fold_in(key, 9), (batch,), jnp.uint32)
    find = functools.partial(azjax_search, config=config, exploration=exploration)
    return find(OneOutcome(game), evaluate_drawn, params, key, Drawn(states, words))
