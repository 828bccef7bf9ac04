"""AlphaZero by the recipe of pgx's example, on pgx's games and stock mctx, in code of our own.

The recipe (https://github.com/sotetsuk/pgx/tree/main/examples/alphazero): in each iteration new
games are played for a fixed number of plies, with `mctx.gumbel_muzero_policy` at every ply, and
games that end start again. The value target is the game's result. Games that have not ended teach
no value. Then all positions are shuffled, and each is learned from once, by Adam at 1e-3. Two
things are other than there: the network is the one that all contestants share, and shuffling
stays on the device, which is faster.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import optax
import pgx
from azjax_envs import make
from pgx.experimental import auto_reset
from setting import Setting, Work

from azjax.network.network import Network, Variables
from azjax.pytrees import take
from azjax.sharding import AXIS, EVERYWHERE, SPLIT, make_mesh, shard
from azjax.types import Array

LEARNING_RATE = 1e-3
ENV = pgx.make("connect_four")


class Ply(NamedTuple):
    """The record of one ply of B games."""

    observation: Array  # float32 [B, 6, 7, 2]
    policy: Array  # float32 [B, 7]
    reward: Array  # float32 [B], for the player who moved
    discount: Array  # float32 [B]
    terminated: Array  # bool [B]


class Samples(NamedTuple):
    """Positions to learn from."""

    observation: Array
    policy: Array
    value: Array  # float32 [B], the game's result for the mover
    has_value: Array  # bool [B], the game has ended


class PgxLoop:
    """pgx's recipe at the given sizes, on one device for each core."""

    def __init__(self, setting: Setting) -> None:
        check_observations()
        self._network = network = setting.make_network()
        self._optimizer = optax.adam(LEARNING_RATE)
        self._key = jax.random.PRNGKey(setting.seed)
        self._variables = jax.jit(network.init)(self._key)
        self._opt_state = jax.jit(self._optimizer.init)(self._variables["params"])
        self._setting, mesh = setting, make_mesh()
        play = functools.partial(
            self_play, network, setting.games // mesh.size, setting.plies, setting.simulations
        )
        learn = functools.partial(update, network, self._optimizer)
        self._play = jax.jit(shard(play, mesh, (EVERYWHERE, SPLIT), SPLIT))
        # XLA's CPU backend needs one call to be complete before the next one begins.
        self._learn = jax.jit(
            shard(learn, mesh, (EVERYWHERE, EVERYWHERE, SPLIT), (EVERYWHERE, EVERYWHERE))
        )
        self._shuffle = jax.jit(functools.partial(shuffle, setting.batch))
        self._devices = mesh.size

    def iterate(self) -> Work:
        self._key, play_key, order_key = jax.random.split(self._key, 3)
        keys = jax.random.split(play_key, self._devices)
        samples = jax.block_until_ready(self._play(self._variables, keys))
        for batch in self._shuffle(order_key, samples):
            self._variables, self._opt_state = jax.block_until_ready(
                self._learn(self._variables, self._opt_state, batch)
            )
        positions = self._setting.games * self._setting.plies
        return Work(positions, positions * self._setting.simulations)

    def trained(self) -> tuple[Network, Variables]:
        return self._network, self._variables


def self_play(
    network: Network, games: int, plies: int, simulations: int, variables: Variables, keys: Array
) -> Samples:
    """Plays new games on one device, and returns its positions, [games * plies, ...]."""
    start_key, play_key = jax.random.split(keys[0])
    restart = jax.vmap(auto_reset(ENV.step, ENV.init))

    def ply(states: Any, key: Array) -> tuple[Any, Ply]:
        search_key, restart_key = jax.random.split(key)
        observation = states.observation.astype(jnp.float32)
        prediction = network.apply(variables, observation)
        found = mctx.gumbel_muzero_policy(
            variables,
            search_key,
            mctx.RootFnOutput(
                prior_logits=prediction.policy_logits, value=prediction.value, embedding=states
            ),
            functools.partial(expand, network),
            simulations,
            invalid_actions=~states.legal_action_mask,
            qtransform=mctx.qtransform_completed_by_mix_value,
            gumbel_scale=1.0,
        )
        mover = states.current_player
        states = restart(states, found.action, jax.random.split(restart_key, games))
        return states, Ply(
            observation=observation,
            policy=found.action_weights,
            reward=states.rewards[jnp.arange(games), mover],
            discount=jnp.where(states.terminated, 0.0, -1.0),
            terminated=states.terminated,
        )

    start = jax.vmap(ENV.init)(jax.random.split(start_key, games))
    record = jax.lax.scan(ply, start, jax.random.split(play_key, plies))[1]

    def back(value: Array, ply: Ply) -> tuple[Array, Array]:
        value = ply.reward + ply.discount * value
        return value, value

    value = jax.lax.scan(back, jnp.zeros(games), record, reverse=True)[1]
    ended = jnp.cumsum(record.terminated[::-1], axis=0)[::-1] >= 1
    samples = Samples(record.observation, record.policy, value, ended)
    return jax.tree.map(lambda x: x.reshape(plies * games, *x.shape[2:]), samples)


def expand(
    network: Network, variables: Variables, key: Array, action: Array, states: Any
) -> tuple[mctx.RecurrentFnOutput, Any]:
    """Plays a move of the search in pgx's rules, and evaluates where it leads."""
    del key
    mover = states.current_player
    states = jax.vmap(ENV.step)(states, action)
    prediction = network.apply(variables, states.observation.astype(jnp.float32))
    logits = prediction.policy_logits
    logits = logits - jnp.max(logits, axis=-1, keepdims=True)
    logits = jnp.where(states.legal_action_mask, logits, jnp.finfo(logits.dtype).min)
    output = mctx.RecurrentFnOutput(
        reward=states.rewards[jnp.arange(mover.shape[0]), mover],
        discount=jnp.where(states.terminated, 0.0, -1.0),
        prior_logits=logits,
        value=jnp.where(states.terminated, 0.0, prediction.value),
    )
    return output, states


def shuffle(batch: int, key: Array, samples: Samples) -> list[Samples]:
    """Splits all positions into batches at random; what fills no batch is left out."""
    count = samples.value.shape[0] // batch
    order = jax.random.permutation(key, samples.value.shape[0])[: count * batch]
    return [take(samples, rows) for rows in order.reshape(count, batch)]


def update(
    network: Network,
    optimizer: optax.GradientTransformation,
    variables: Variables,
    opt_state: optax.OptState,
    batch: Samples,
) -> tuple[Variables, optax.OptState]:
    """Makes one update on this device's share of a batch."""

    def loss(params: Any) -> tuple[Array, Any]:
        prediction, stats = network.apply_train(
            variables | {"params": params},
            batch.observation,
            jax.random.key(0),  # no dropout
        )
        policy = optax.softmax_cross_entropy(prediction.policy_logits, batch.policy)
        value = optax.l2_loss(prediction.value, batch.value) * batch.has_value
        return jnp.mean(policy) + jnp.mean(value), stats

    gradient, stats = jax.grad(loss, has_aux=True)(variables["params"])
    gradient = jax.lax.pmean(gradient, AXIS)
    changes, opt_state = optimizer.update(gradient, opt_state)
    return {"params": optax.apply_updates(variables["params"], changes), "stats": stats}, opt_state


def check_observations() -> None:
    """Stops unless pgx shows positions as azjax does, so that its networks play in azjax."""
    game = make("connect_four")
    state, other = game.init(), ENV.init(jax.random.PRNGKey(0))
    step, step_other = jax.jit(game.step), jax.jit(ENV.step)
    for action in (3, 3, 2, 4, 4, 0, 6, 3, 5, 1):
        ours = np.asarray(game.observe(state))
        if not np.array_equal(ours, np.asarray(other.observation, np.float32)):
            raise SystemExit("peers: pgx's observations of connect four differ from azjax's")
        state, other = step(state, action), step_other(other, action)
