"""Players with a trained network: by its policy, by its value, or with search."""

import functools
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import PlayerConfig, SearchConfig
from azjax.network import Network, Prediction, Variables
from azjax.players.base import Analysis, register_player
from azjax.pytrees import check_states
from azjax.search import (
    Algorithm,
    Exploration,
    Search,
    SearchResult,
    TreeNodes,
    make_algorithm,
    mask_logits,
    network_evaluate,
    search,
    search_with_tree,
    transition,
)
from azjax.types import Array, State, static


@dataclass(frozen=True, eq=False)  # hashed by identity, because arrays have no hash
class _NetworkPlayer:
    game: Game = static()
    network: Network = static()
    variables: Variables

    def predict(self, states: State) -> Prediction:
        """Returns the network's predictions for states [B, ...]."""
        return self.network.apply(self.variables, jax.vmap(self.game.observe)(states))

    def best(self, states: State, scores: Array) -> Array:
        """Returns the legal actions with the highest scores [B, A], int32 [B]."""
        mask = jax.vmap(self.game.legal_action_mask)(states)
        return jnp.argmax(mask_logits(scores, mask), axis=-1).astype(jnp.int32)


@register_player
@dataclass(frozen=True, eq=False)
class PolicyPlayer(_NetworkPlayer):
    """A player of the legal move with the highest probability in the network's policy."""

    name = "policy"

    def __call__(self, key: Array, states: State) -> Array:
        del key
        check_states(self.game, states)
        return self.best(states, self.predict(states).policy_logits)

    def values(self, key: Array, states: State) -> Array:
        """Returns the value head's values of states [B, ...], float32 [B]; the key is ignored."""
        del key
        check_states(self.game, states)
        return self.predict(states).value


@register_player
@dataclass(frozen=True, eq=False)
class ValuePlayer(_NetworkPlayer):
    """A player of the move to the position that the value head values best, one ply deep.

    In a game of chance that is the position before the dice.
    """

    name = "value"

    def __call__(self, key: Array, states: State) -> Array:
        del key
        check_states(self.game, states)
        move = jax.vmap(functools.partial(transition, self.game))
        legal = jax.vmap(self.game.legal_action_mask)(states)
        rows, legal_first = jnp.arange(len(legal)), jnp.argsort(~legal, axis=-1, stable=True)

        def look(looked: tuple[Array, Array]) -> tuple[Array, Array]:
            number, values = looked
            actions = legal_first[:, number]
            after, reward, discount = move(states, actions)
            value = reward + discount * self.predict(after).value
            return number + 1, values.at[rows, actions].set(value)

        # One legal action at a time: all at once would need num_actions times the memory.
        looked = jnp.int32(0), jnp.zeros(legal.shape)
        most = legal.sum(-1).max(initial=0)
        _, values = jax.lax.while_loop(lambda looked: looked[0] < most, look, looked)
        return self.best(states, values)


@register_player
@dataclass(frozen=True, eq=False)
class SearchPlayer(_NetworkPlayer):
    """AlphaZero: a search guided by the network, without noise.

    Without a search of the user's own, it plays the moves that engines and pages play with the same
    number of simulations; see `azjax.engine.anytime`.
    """

    config: SearchConfig = static()
    search: Search = static(default=search, repr=False)

    @property
    def name(self) -> str:
        return f"search:{self.config.num_simulations}"

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm of azjax's own search."""
        return make_algorithm(self.config)

    @property
    def has_custom_search(self) -> bool:
        """Whether it searches by a function of the user's own, which shows no tree."""
        return self.search is not search

    def __call__(self, key: Array, states: State) -> Array:
        return self.analyse(key, states).action

    def values(self, key: Array, states: State) -> Array:
        """Returns the values of the chosen moves in states [B, ...], float32 [B]."""
        return self.analyse(key, states).value

    def analyse(self, key: Array, states: State) -> Analysis:
        """Searches states [B, ...]."""
        if not self.has_custom_search:
            return self.analyse_with_tree(key, states)[0]
        evaluate = network_evaluate(self.game, self.network)
        result = self.search(
            self.game,
            evaluate,
            self.variables,
            key,
            states,
            config=self.config,
            exploration=Exploration(),
        )
        return _with_value_of_move(result)

    def analyse_with_tree(
        self, key: Array, states: State, *, allowed: Array | None = None
    ) -> tuple[Analysis, TreeNodes]:
        """Searches states [B, ...] by azjax's own search, and returns the trees besides.

        Args:
          allowed: the actions to choose from there, bool [B, A]; None for all legal ones.
        """
        result, nodes = search_with_tree(
            self.game,
            network_evaluate(self.game, self.network),
            self.variables,
            key,
            states,
            config=self.config,
            allowed=allowed,
            steps="anytime",
        )
        return _with_value_of_move(result), nodes


def _with_value_of_move(result: SearchResult) -> SearchResult:
    """Returns a result with the values of the moves; mean values would include bad moves."""
    value = jnp.take_along_axis(result.action_values, result.action[:, None], axis=1)[:, 0]
    return result._replace(value=value)


def player_search_config(config: PlayerConfig, simulations: int | None = None) -> SearchConfig:
    """Returns a player's search, with this number of simulations if one is given."""
    if simulations is None:
        return config.search
    return replace(config.search, num_simulations=simulations)
