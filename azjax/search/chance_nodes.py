"""A game of chance whose search trees have chance nodes between the moves.

A node is a position in which a player is to move, or one before the dice: a chance node. Its edges
are the outcomes. They have columns of their own behind the actions, so a node's logits tell of
which kind it is. Each simulation adds one node of either kind, by one evaluation, and visits to a
chance node are shared by the probabilities, as in `mctx.stochastic_muzero_policy`.

A chance node is evaluated as other nodes are: by the position before its dice. One evaluation so
stands for all outcomes. The network learns such positions besides those after their dice, see
`learning/batch.py`.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game, HasChance

from azjax.pytrees import batch_size, check_array
from azjax.search.descent import Selection
from azjax.search.model import Evaluate, Rules, log_of
from azjax.types import Array, Params, State


@dataclass(frozen=True)
class ChanceNodes:
    """What a search needs of a game: action A + k is outcome k of chance."""

    game: Any  # a game that `HasChance`, or `ListedMoves` of one

    @property
    def name(self) -> str:
        return self.game.name

    @property
    def num_outcomes(self) -> int:
        probabilities = jax.eval_shape(lambda: self.game.chance_probabilities(self.game.init()))
        return probabilities.shape[0]

    @property
    def num_actions(self) -> int:
        return self.game.num_actions + self.num_outcomes

    def init(self, key: Array | None = None) -> State:
        return self.game.init(key)

    def step(self, state: State, action: Array) -> State:
        rolled = self.game.chance_step(state, action - self.game.num_actions)
        moved = self.game.step(state, action)
        is_chance = self.game.is_chance(state)
        return jax.tree.map(lambda x, y: jnp.where(is_chance, x, y), rolled, moved)

    def legal_action_mask(self, state: State) -> Array:
        possible = self.game.chance_probabilities(state) > 0
        legal = self.game.legal_action_mask(state)
        return jnp.concatenate([legal, possible & self.game.is_chance(state)])

    def current_player(self, state: State) -> Array:
        return self.game.current_player(state)

    def is_terminal(self, state: State) -> Array:
        return self.game.is_terminal(state)

    def returns(self, state: State) -> Array:
        return self.game.returns(state)

    def evaluation(self, evaluate: Evaluate) -> Evaluate:
        """Returns an evaluation whose logits are those of actions, then those of outcomes."""

        def evaluate_nodes(params: Params, key: Array, states: Any) -> tuple[Array, Array]:
            shares = jax.vmap(self.game.chance_probabilities)(states)
            logits, value = evaluate(params, key, states)
            shape = (batch_size(states), self.game.num_actions)
            check_array(logits, shape, float, name="logits that evaluate returns")
            check_array(value, shape[:1], float, name="value that evaluate returns")
            return jnp.concatenate([logits, log_of(shares).astype(logits.dtype)], axis=-1), value

        return evaluate_nodes


def with_chance_nodes(
    game: Game, evaluate: Evaluate, *, listed: Any = None
) -> tuple[Rules, Evaluate]:
    """Returns the rules and the evaluation of a search, with chance nodes if the game has dice.

    Args:
      evaluate: the evaluation of positions, also of those before the dice.
      listed: the game's `ListedMoves`, if the search uses them.
    """
    rules = game if listed is None else listed
    if not isinstance(game, HasChance):
        return rules, evaluate
    nodes = ChanceNodes(rules)
    return nodes, nodes.evaluation(evaluate)


def num_outcomes(rules: Rules) -> int:
    """Returns how many of a search's last actions are outcomes of chance."""
    return rules.num_outcomes if isinstance(rules, ChanceNodes) else 0


def with_outcomes(logits: Array, outcomes: int) -> Array:
    """Returns logits [B, A + K] of the actions' logits [B, A]; the K outcomes are impossible."""
    if not outcomes:
        return logits
    lowest = jnp.finfo(logits.dtype).min
    return jnp.pad(logits, ((0, 0), (0, outcomes)), constant_values=lowest)


def result_of_actions(result: Any, outcomes: int) -> Any:
    """Returns a `SearchResult` without the columns of outcomes."""
    if not outcomes:
        return result
    rows = {name: row for name, row in result._asdict().items() if getattr(row, "ndim", 0) == 2}
    return result._replace(**{name: row[:, :-outcomes] for name, row in rows.items()})


def with_chance(selection: Selection, outcomes: int, *, weighted: bool = False) -> Selection:
    """Returns a selection that also knows chance nodes, if the last actions are `outcomes`.

    A chance node takes the outcome with the largest probability / (visits + 1), the first among
    equals. Other nodes, and the root, select by the given rule, which sees the game's actions only.

    Args:
      weighted: whether a chance node's value is the mean of its outcomes' values by their
        probabilities, with its own evaluation for those without visits. Otherwise it is the mean
        by visits, as in mctx.
    """
    if not outcomes:
        return selection

    def at_root(key: Array, tree: mctx.Tree, width: int) -> tuple[Array, Array]:
        return selection.root(key, actions_only(tree, outcomes), width)

    def below(key: Array, tree: mctx.Tree, node: Array, depth: Array) -> Array:
        logits = tree.children_prior_logits[node, -outcomes:]
        due = jax.nn.softmax(logits) / (tree.children_visits[node, -outcomes:] + 1)
        first = tree.num_actions - outcomes
        # Equal up to the rounding of logarithms, which differs from platform to platform.
        most = due >= (1 - _SAME) * jnp.max(due)
        outcome = first + jnp.argmax(most).astype(jnp.int32)
        action = selection.below(key, actions_only(tree, outcomes), node, depth)
        return jnp.where(jnp.any(logits > jnp.finfo(logits.dtype).min), outcome, action)

    return Selection(at_root, below, outcomes if weighted else 0)


_SAME = 1e-5  # relative difference of outcomes that are due alike; web/page/search.js has it, too


def actions_only(tree: mctx.Tree, outcomes: int) -> mctx.Tree:
    """Returns a tree without the last columns of its edges, those of outcomes."""
    if not outcomes:
        return tree

    def cut(edges: Array) -> Array:
        return edges[..., :-outcomes]

    names = (
        "children_index",
        "children_prior_logits",
        "children_visits",
        "children_rewards",
        "children_discounts",
        "children_values",
        "root_invalid_actions",
    )
    tree = tree.replace(**{name: cut(getattr(tree, name)) for name in names})
    return tree.replace(extra_data=jax.tree.map(cut, tree.extra_data))  # Gumbel's noise
