"""A batched search by Gumbel or PUCT, its exploration options and its result."""

import functools
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game

from azjax.config import SearchConfig
from azjax.config.custom_parts import resolve_custom
from azjax.pytrees import check_array, check_key, check_states
from azjax.search.chance_nodes import (
    num_outcomes,
    result_of_actions,
    with_chance_nodes,
    with_outcomes,
)
from azjax.search.listed_moves import ListedMoves, has_few_legal_actions
from azjax.search.model import Evaluate, Rules, make_recurrent_fn, mask_logits
from azjax.search.policies import Exploration, Positions, SearchKeys, Steps, make_algorithm
from azjax.search.tree import CompactTree, compact
from azjax.types import Array, Params, State

_TINY = 1e-6


_NO_EXPLORATION = Exploration()


class Search(Protocol):
    """A search of B positions at once: `search`, or a function of your own in its place."""

    def __call__(
        self,
        game: Game,
        evaluate: Evaluate,
        params: Params,
        key: Array,
        states: State,
        *,
        config: SearchConfig,
        exploration: Exploration,
    ) -> "SearchResult":
        """Searches positions; arguments as in `search`."""


class TreeNodes(NamedTuple):
    """The search trees of B positions: node 0 is the root, and each simulation added one node.

    Where a position has few legal moves, places without a node lie between the others: they have no
    visits. In a game of chance, action A + k is outcome k, where A is the number of actions.
    """

    states: State  # [B, N, ...]
    parents: Array  # int32 [B, N], -1 at the root
    actions: Array  # int32 [B, N], the move from the parent, -1 at the root
    rewards: Array  # float32 [B, N], of that move, for its mover
    discounts: Array  # float32 [B, N], factor of the node's value for that mover: -1, 0 or 1
    evaluations: Array  # float32 [B, N], values by `evaluate`
    visits: Array  # int32 [B, N], evaluations in the node and below it
    values: Array  # float32 [B, N], their mean, from the perspective of the mover there


class SearchResult(NamedTuple):
    """The result of searching B positions; values are from the mover's perspective."""

    action: Array  # int32 [B], the move to play, with the search's exploration
    policy: Array  # float32 [B, A], the improved policy: the target to learn
    visits: Array  # int32 [B, A]
    prior: Array  # float32 [B, A], the root's prior with its noise
    action_values: Array  # float32 [B, A], 0 where unvisited
    value: Array  # float32 [B], expected result under the improved policy
    learn: Array | None = None  # bool [B], whether self-play learns from it; None: always


def search(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    states: State,
    *,
    config: SearchConfig,
    exploration: Exploration = _NO_EXPLORATION,
    root_logits: Array | None = None,
    steps: Steps = "rounds",
) -> SearchResult:
    """Searches B positions at once.

    Args:
      evaluate: maps (params, key, states) to (logits [B, A], value [B]). It need not mask illegal
        actions.
      params: passed to `evaluate`.
      states: positions [B, ...]. In a game of chance the dice are rolled, see `draw_chance`.
      exploration: randomness at the root, none by default. The exploration settings of `config`
        are not read.
      root_logits: logits of your own for the positions themselves, float32 [B, A], in place of
        those of `evaluate`.
      steps: "rounds" makes a round of Gumbel's sequential halving in each step, with mctx's visits
        but for positions with one legal move. "single" makes one simulation in each step, as mctx
        does, and "fixed" no more steps than a position needs that has all considered actions.
        "anytime" is the search of azjax's players and engines; see `azjax.search.policies.Steps`.

    Raises:
      ValueError: the key, the states or the results of `evaluate` have wrong shapes or dtypes.
    """
    result, _ = search_with_tree(
        game,
        evaluate,
        params,
        key,
        states,
        config=config,
        exploration=exploration,
        root_logits=root_logits,
        steps=steps,
    )
    return result


def search_with_tree(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    states: State,
    *,
    config: SearchConfig,
    exploration: Exploration = _NO_EXPLORATION,
    root_logits: Array | None = None,
    allowed: Array | None = None,
    steps: Steps = "rounds",
) -> tuple[SearchResult, TreeNodes]:
    """Searches B positions at once, as `search` does, and returns the trees besides.

    Arguments and errors are those of `search`, and `allowed`: the actions to choose from in the
    positions themselves, bool [B, A], at least two that are legal. Under `jit`, trees that nobody
    reads cost nothing.

    Example:
        ```python
        result, tree = search_with_tree(game, evaluate, params, key, states, config=config)
        depth_one = tree.parents == 0  # bool [B, N]
        ```
    """
    check_states(game, states)
    find = functools.partial(
        search_output,
        params=params,
        key=key,
        config=config,
        exploration=exploration,
        steps=steps,
    )
    listed = ListedMoves(game) if has_few_legal_actions(game) else None
    if listed is not None:
        evaluate = listed.evaluation(evaluate)
        states = jax.vmap(listed.list_moves)(states)
        if root_logits is not None:
            root_logits = listed.logits_of(states, root_logits)
        if allowed is not None:
            allowed = jnp.take_along_axis(allowed, states.actions.astype(jnp.int32), axis=-1)
    rules, evaluate = with_chance_nodes(game, evaluate, listed=listed)
    if root_logits is not None:
        root_logits = with_outcomes(root_logits, num_outcomes(rules))
    if allowed is not None:
        allowed = jnp.pad(allowed, ((0, 0), (0, num_outcomes(rules))))
    output = find(rules, evaluate, states=states, root_logits=root_logits, allowed=allowed)
    result, nodes = search_result(output), tree_nodes(compact(output.search_tree))
    result = result_of_actions(result, num_outcomes(rules))
    if listed is not None:
        result, nodes = listed.of_all_actions(states, result), listed.of_all_nodes(nodes)
    return result, nodes


def tree_nodes(tree: CompactTree) -> TreeNodes:
    """Returns the nodes of compact trees."""
    return TreeNodes(
        states=tree.embeddings,
        parents=tree.parents,
        actions=tree.action_from_parent,
        rewards=tree.rewards,
        discounts=tree.discounts,
        evaluations=tree.raw_values,
        visits=tree.node_visits,
        values=tree.node_values,
    )


def resolve_search(config: SearchConfig, given: Search | None = None) -> Search:
    """Returns a run's search: the given one, the one that the config names, or azjax's own."""
    return resolve_custom(config.module, given, key="search.module", argument="search") or search


def check_result(result: SearchResult, batch: int, num_actions: int) -> None:
    """Raises a ValueError if a search's result is no `SearchResult` of the right arrays."""
    if not isinstance(result, SearchResult):
        raise ValueError(f"a search must return a SearchResult, not a {type(result).__name__}")
    kinds = {"action": jnp.int32, "visits": jnp.int32, "learn": jnp.bool_}
    for name, array in result._asdict().items():
        if name == "learn" and array is None:
            continue
        shape = (batch,) if name in ("action", "value", "learn") else (batch, num_actions)
        check_array(array, shape, kinds.get(name, float), name=f"{name} of the search's result")


def search_result(output: mctx.PolicyOutput) -> SearchResult:
    """Returns what is known of the root's actions after a search by mctx, azjax's or its own."""
    tree = output.search_tree
    summary = tree.summary()
    visits = summary.visit_counts.astype(jnp.int32)
    prior = jax.nn.softmax(tree.children_prior_logits[:, tree.ROOT_INDEX])
    action_values = jnp.where(visits > 0, summary.qvalues, 0.0)
    policy = output.action_weights
    tried = jnp.where(visits > 0, policy, 0.0)
    weight = jnp.sum(tried, axis=-1)
    mean = jnp.sum(tried * action_values, axis=-1) / jnp.maximum(weight, _TINY)
    return SearchResult(
        action=output.action.astype(jnp.int32),
        policy=policy,
        visits=visits,
        prior=prior,
        action_values=action_values,
        value=jnp.where(weight > _TINY, mean, summary.value),
    )


def search_output(
    game: Rules,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    states: State,
    *,
    config: SearchConfig,
    exploration: Exploration = _NO_EXPLORATION,
    root_logits: Array | None = None,
    allowed: Array | None = None,
    steps: Steps = "rounds",
) -> mctx.PolicyOutput:
    """Searches B positions and returns mctx's output, with the search tree of each.

    Arguments and errors are those of `search_with_tree`. The trees' `extra_data` is a
    `tree.CompactTree`.
    """
    check_key(key)
    keys = SearchKeys(*jax.random.split(key, 3))
    mask = jax.vmap(game.legal_action_mask)(states)
    mask = mask if allowed is None else mask & allowed
    logits, value = evaluate(params, keys.evaluate, states)
    logits = logits if root_logits is None else root_logits
    check_array(logits, mask.shape, float, name="logits that evaluate returns")
    check_array(value, mask.shape[:1], float, name="value that evaluate returns")
    root = mctx.RootFnOutput(prior_logits=mask_logits(logits, mask), value=value, embedding=states)
    recurrent_fn = make_recurrent_fn(game, evaluate)
    positions = Positions(params, recurrent_fn, root, mask, num_outcomes(game))
    algorithm = make_algorithm(config)
    return algorithm.search(positions, keys, exploration, steps=steps)
