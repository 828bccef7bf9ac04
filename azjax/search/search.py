"""A batched search by Gumbel or PUCT, its exploration options and its result."""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game

from azjax.config import SearchConfig
from azjax.config.own_parts import own_part
from azjax.pytrees import check_array, check_key, check_states
from azjax.search.dirichlet import add_dirichlet_noise
from azjax.search.listed_moves import ListedMoves, has_few_legal_actions
from azjax.search.model import Evaluate, make_recurrent_fn, mask_logits
from azjax.search.policies import gumbel_policy, puct_policy
from azjax.types import Array, Params, State

_TINY = 1e-6


class Exploration(NamedTuple):
    """Randomness at a search's root; none by default."""

    gumbel_scale: Array | float = 0.0
    """Gumbel: scale of the noise, float32 [B] or one number. 1 explores, 0 plays the best move."""
    dirichlet_fraction: Array | float = 0.0
    """PUCT: share of Dirichlet noise in the root's prior, float32 [B] or one number."""
    temperature: Array | float = 0.0
    """PUCT: the move is drawn by visits ** (1 / temperature), float32 [B] or one number. 0 plays
    the most visited move."""


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
    ) -> SearchResult:
        """Searches positions; arguments as in `search`."""


class SearchResult(NamedTuple):
    """The result of searching B positions; values are from the mover's perspective."""

    action: Array  # int32 [B], the move to play, with the search's exploration
    policy: Array  # float32 [B, A], the improved policy: the target to learn
    visits: Array  # int32 [B, A]
    prior: Array  # float32 [B, A], the root's prior with its noise
    action_values: Array  # float32 [B, A], 0 where unvisited
    value: Array  # float32 [B], expected result under the improved policy


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
) -> SearchResult:
    """Searches B positions at once.

    Args:
      game: the game.
      evaluate: maps (params, key, states) to (logits [B, A], value [B]). It need not mask illegal
        actions.
      params: passed to `evaluate`.
      key: PRNG key.
      states: positions [B, ...].
      config: the algorithm and its constants.
      exploration: randomness at the root, none by default. The exploration settings of `config`
        are not read.
      root_logits: logits of your own for the positions themselves, float32 [B, A], in place of
        those of `evaluate`.

    Raises:
      ValueError: the key, the states or the results of `evaluate` have wrong shapes or dtypes.
    """
    if not has_few_legal_actions(game):
        output = search_output(
            game,
            evaluate,
            params,
            key,
            states,
            config=config,
            exploration=exploration,
            root_logits=root_logits,
        )
        return search_result(output)
    check_states(game, states)
    listed = ListedMoves(game)
    positions = jax.vmap(listed.list_moves)(states)
    if root_logits is not None:
        root_logits = listed.logits_of(positions, root_logits)
    output = search_output(
        cast(Game, listed),
        listed.evaluation(evaluate),
        params,
        key,
        positions,
        config=config,
        exploration=exploration,
        root_logits=root_logits,
    )
    return listed.of_all_actions(positions, search_result(output))


def search_of(config: SearchConfig, given: Search | None = None) -> Search:
    """Returns a run's search: the given one, the one that the config names, or azjax's own.

    Raises:
      UserError: the config's name leads nowhere.
    """
    return own_part(config.module, given, key="search.module", argument="search") or search


def check_result(result: SearchResult, batch: int, num_actions: int) -> None:
    """Checks the result of a search while it is traced.

    Raises:
      ValueError: it is no `SearchResult`, or an array has a wrong shape or dtype.
    """
    if not isinstance(result, SearchResult):
        raise ValueError(f"a search must return a SearchResult, not a {type(result).__name__}")
    kinds = {"action": jnp.int32, "visits": jnp.int32}
    for name, array in result._asdict().items():
        shape = (batch,) if name in ("action", "value") else (batch, num_actions)
        check_array(array, shape, kinds.get(name, float), name=f"{name} of the search's result")


def search_result(output: mctx.PolicyOutput) -> SearchResult:
    """Returns what is known of the root's actions after a search by mctx, azjax's or its own.

    The move to play is the output's action.
    """
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
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    states: State,
    *,
    config: SearchConfig,
    exploration: Exploration = _NO_EXPLORATION,
    root_logits: Array | None = None,
) -> mctx.PolicyOutput:
    """Searches B positions and returns mctx's output, with the search tree of each.

    Arguments and errors are those of `search`. The tree is compact, see `tree.py`.
    """
    check_key(key)
    batch = check_states(game, states)
    mask = jax.vmap(game.legal_action_mask)(states)
    search_key, noise_key, evaluate_key = jax.random.split(key, 3)
    logits, value = evaluate(params, evaluate_key, states)
    logits = logits if root_logits is None else root_logits
    _check_evaluation(logits, value, (batch, game.num_actions))
    logits = mask_logits(logits, mask)
    recurrent_fn = make_recurrent_fn(game, evaluate)

    def by_position(number: Array | float) -> Array:
        return jnp.broadcast_to(jnp.asarray(number, logits.dtype), value.shape)[:, None]

    if config.algorithm == "gumbel":
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states)
        scale = by_position(exploration.gumbel_scale)
        return gumbel_policy(params, search_key, root, recurrent_fn, mask, scale, config)
    fraction = by_position(exploration.dirichlet_fraction)
    logits = add_dirichlet_noise(
        noise_key, logits, mask, fraction, total=config.puct.dirichlet_concentration
    )
    root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states)
    temperature = by_position(exploration.temperature)
    return puct_policy(params, search_key, root, recurrent_fn, mask, temperature, config)


def _check_evaluation(logits: Array, value: Array, shape: tuple[int, int]) -> None:
    """Checks the results of an `Evaluate` function, for `shape` = (positions, actions)."""
    for name, array, expected in (("logits", logits, shape), ("value", value, shape[:1])):
        check_array(array, expected, float, name=f"{name} that evaluate returns")
