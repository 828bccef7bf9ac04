"""Random positions, adjustable networks, and searches that are compiled once for all tests."""

import functools
import os

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from azjax_envs import init_batch

from azjax.config import GumbelConfig, PUCTConfig, SearchConfig
from azjax.search.model import make_recurrent_fn, mask_logits
from azjax.search.policies import Exploration, Positions, SearchKeys, make_algorithm
from azjax.search.search import search

GAMES = ["tic_tac_toe", "connect_four", "dots_and_boxes_2x2"]
POLICIES = ["gumbel", "puct"]
BATCH = 128
SIMULATIONS = 24
CONSIDERED = 6


@functools.partial(jax.jit, static_argnums=(0, 2))
def random_positions(game, key, count):
    """Returns `count` positions, each from a random ply of its own random game, ends included."""

    def ply(states, key):
        logits = mask_logits(
            jnp.zeros((count, game.num_actions)), jax.vmap(game.legal_action_mask)(states)
        )
        moved = jax.vmap(game.step)(states, jax.random.categorical(key, logits))
        return moved, (moved, jax.vmap(game.is_terminal)(states))

    key, stop_key = jax.random.split(key)
    start = init_batch(game, key, count)
    _, (after, over) = jax.lax.scan(ply, start, jax.random.split(key, game.max_steps))
    length = jnp.sum(~over, axis=0)
    stop = jax.random.randint(stop_key, (count,), 0, length + 1)
    return jax.tree.map(
        lambda first, later: jnp.concatenate([first[None], later])[stop, jnp.arange(count)],
        start,
        after,
    )


def flat_params(game, *, value=0.0, illegal=0.0):
    """Returns a network with equal logits and a constant value, given before its tanh."""
    inputs = int(np.prod(game.observation_shape))
    return {
        "policy": jnp.zeros((inputs, game.num_actions), jnp.float32),
        "value": jnp.zeros(inputs, jnp.float32),
        "bias": jnp.asarray(value, jnp.float32),
        "illegal": jnp.asarray(illegal, jnp.float32),
    }


def random_params(game, key, *, scale=1.0, value=0.0, illegal=0.0):
    """Returns a random network, linear in the observation, whose logits scale with `scale`."""
    policy_key, value_key = jax.random.split(key)
    flat = flat_params(game, value=value, illegal=illegal)
    return flat | {
        "policy": scale * jax.random.normal(policy_key, flat["policy"].shape),
        "value": 0.5 * jax.random.normal(value_key, flat["value"].shape),
    }


def make_evaluate(game):
    """Returns an evaluation that adds params["illegal"] to the logits of illegal moves."""

    def evaluate(params, key, states):
        del key
        seen = jax.vmap(game.observe)(states).reshape(-1, np.prod(game.observation_shape))
        illegal = ~jax.vmap(game.legal_action_mask)(states)
        logits = seen @ params["policy"] + params["illegal"] * illegal
        return logits, jnp.tanh(seen @ params["value"] + params["bias"])

    return evaluate


def config_of(game, policy):
    """Returns a config with fewer considered actions than there are, for sequential halving."""
    return SearchConfig(
        algorithm=policy,
        num_simulations=SIMULATIONS,
        # mctx's own values in one game, other values in the other games.
        gumbel=GumbelConfig(
            max_considered_actions=CONSIDERED,
            value_scale=0.1 if game.name == "tic_tac_toe" else 0.25,
            rescale_values=game.name != "connect_four",
        ),
        puct=PUCTConfig(pb_c_init=1.25 if game.name == "tic_tac_toe" else 2.0),
    )


@functools.lru_cache
def compiled_policy(game, policy, *, steps="single", config=None):
    """Returns our search: (params, key, states, gumbel scale [B, 1]) -> mctx's output with tree."""
    config, evaluate = config or config_of(game, policy), make_evaluate(game)

    def run(params, key, states, scale):
        logits, value, mask = _root(game, evaluate, params, states)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states)
        exploration = Exploration(gumbel_scale=scale[:, 0], temperature=1.0)
        keys = SearchKeys(tree=key, noise=key, evaluate=key)
        positions = Positions(params, make_recurrent_fn(game, evaluate), root, mask)
        algorithm = make_algorithm(config)
        return algorithm.search(positions, keys, exploration, steps=steps)

    return _compile(run)


@functools.lru_cache
def compiled_stock(game, policy, loop_fn_of=None, config=None):
    """Returns the same search by mctx, with its own loop or with `loop_fn_of(params, ...)`."""
    config, evaluate = config or config_of(game, policy), make_evaluate(game)
    recurrent_fn = make_recurrent_fn(game, evaluate)

    def run(params, key, states, scale):
        logits, value, mask = _root(game, evaluate, params, states)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states)
        options = {"invalid_actions": ~mask}
        if loop_fn_of:
            options["loop_fn"] = loop_fn_of(params, recurrent_fn)
        arguments = (params, key, root, recurrent_fn, config.num_simulations)
        if policy == "gumbel":
            return mctx.gumbel_muzero_policy(
                *arguments,
                **options,
                qtransform=functools.partial(
                    mctx.qtransform_completed_by_mix_value,
                    value_scale=config.gumbel.value_scale,
                    rescale_values=config.gumbel.rescale_values,
                ),
                max_num_considered_actions=min(
                    config.gumbel.max_considered_actions, game.num_actions
                ),
                gumbel_scale=scale,
            )
        return mctx.muzero_policy(
            *arguments,
            **options,
            qtransform=functools.partial(mctx.qtransform_by_min_max, min_value=-1.0, max_value=1.0),
            dirichlet_fraction=0.0,
            pb_c_init=config.puct.pb_c_init,
            pb_c_base=config.puct.pb_c_base,
        )

    return _compile(run)


@functools.lru_cache
def compiled_search(game, policy, simulations):
    """Returns `search` of (params, key, states, gumbel scale [B], noise fraction [B])."""
    config, evaluate = SearchConfig(policy, simulations), make_evaluate(game)

    def run(params, key, states, scale, fraction):
        return search(
            game,
            evaluate,
            params,
            key,
            states,
            config=config,
            exploration=Exploration(scale, fraction, temperature=1.0),  # as mctx draws moves
        )

    return _compile(run)


def forget() -> None:
    """Drops all compiled searches, which would be traced again once JAX's caches are cleared."""
    for compiled in (compiled_search, compiled_policy, compiled_stock):
        compiled.cache_clear()


def _compile(run):
    """Compiles once for all seeds, without optimisation: compiling takes longer than searching.

    Searches that must be equal to the last bit keep the fusions that XLA's flags leave out in
    `make test`, because the others do not round alike in different programs.
    """
    options = {"xla_backend_optimization_level": 0}
    if "xla_cpu_use_fusion_emitters" in os.environ.get("XLA_FLAGS", ""):  # which jax 0.12 lacks
        options["xla_cpu_use_fusion_emitters"] = True
    traced = []

    def once(*arguments):
        assert not traced, "the search was traced more than once"
        traced.append(True)
        return run(*arguments)

    return jax.jit(once, compiler_options=options)


@functools.partial(jax.jit, static_argnums=0)
def describe_nodes(game, tree):
    """Returns each node's legal mask [B, N, A], end, mover and player 0's result [B, N]."""

    def one(state):
        return (
            game.legal_action_mask(state),
            game.is_terminal(state),
            game.current_player(state),
            game.returns(state)[0],
        )

    return jax.vmap(jax.vmap(one))(tree.embeddings)


def _root(game, evaluate, params, states):
    logits, value = evaluate(params, None, states)
    mask = jax.vmap(game.legal_action_mask)(states)
    return mask_logits(logits, mask), value, mask
