"""A whole AlphaZero in one file, made of azjax's parts: copy it and change what you like.

    python examples/minimal.py

It learns connect four on a board of 4 x 5 cells. Four seeds train at the same time, in about a
minute on two CPU cores. `train_step` is one pure function from a training state to the next:
self-play with Gumbel search, value targets, gradient steps. `jax.vmap` maps it over the seeds, and
`jax.jit` compiles the whole of it.

`azjax train` is the same idea with a replay buffer, checkpoints, evaluations, several devices and
the methods that `docs/methods.md` lists.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from azjax_envs import auto_reset, init_batch, make, random_action

from azjax.config import NetworkConfig, SearchConfig
from azjax.matches import match_scores
from azjax.network import Variables, make_network
from azjax.players.network_players import SearchPlayer
from azjax.players.random_player import RandomPlayer
from azjax.pytrees import take
from azjax.search import Exploration, mask_logits, network_evaluate, search
from azjax.types import Array, Metrics, State

# All that is static: the game, the network's architecture, the search, and the sizes of arrays.
GAME = make("connect_four_4x5")
NETWORK = make_network(
    GAME, NetworkConfig(architecture="mlp", blocks=2, channels=128, value_hidden=64, norm="layer")
)
EVALUATE = network_evaluate(GAME, NETWORK)
SEARCH = SearchConfig(algorithm="gumbel", num_simulations=16)
SEEDS, STEPS, STEPS_PER_REPORT = 4, 100, 20
GAMES, PLIES, UPDATES, BATCH = 128, 20, 20, 256
RANDOM_MOVES = 0.3  # share of random moves in self-play, so that it visits many positions
EVALUATION_PAIRS, EVALUATION_SEARCH = 200, replace(SEARCH, num_simulations=64)
OPTIMIZER = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.adamw(optax.cosine_decay_schedule(3e-3, STEPS * UPDATES, alpha=0.02)),
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TrainState:
    """Everything that training carries from step to step."""

    variables: Variables
    optimizer_state: optax.OptState
    games: State  # [GAMES, ...], games in progress
    key: Array


class Plies(NamedTuple):
    """What self-play records of every ply, [PLIES, GAMES, ...]."""

    states: State
    policy: Array  # float32 [A], the search's improved policy
    reward: Array  # float32, the game's result for the mover, 0 unless the game ended
    discount: Array  # float32, -1 where the opponent is next, 1 where the mover is, 0 at the end


def init(key: Array) -> TrainState:
    """Returns the state before the first step: a random network and new games."""
    key, network_key, games_key = jax.random.split(key, 3)
    variables = NETWORK.init(network_key)
    games = init_batch(GAME, games_key, GAMES)
    return TrainState(variables, OPTIMIZER.init(variables["params"]), games, key)


def self_play(variables: Variables, games: State, key: Array) -> tuple[State, Plies]:
    """Plays `PLIES` plies of every game. A game that ends starts again.

    Returns:
      The games in progress, and the record of their plies.
    """

    def ply(states: State, key: Array) -> tuple[State, Plies]:
        search_key, random_key, choice_key, reset_key = jax.random.split(key, 4)
        explore = Exploration(gumbel_scale=1.0)  # the search's own randomness
        found = search(
            GAME, EVALUATE, variables, search_key, states, config=SEARCH, exploration=explore
        )
        any_legal = random_action(random_key, jax.vmap(GAME.legal_action_mask)(states))
        wander = jax.random.bernoulli(choice_key, RANDOM_MOVES, (GAMES,))
        action = jnp.where(wander, any_legal, found.action)
        mover = jax.vmap(GAME.current_player)(states)
        step = jax.vmap(auto_reset(GAME))
        after, returns, done = step(states, action, jax.random.split(reset_key, GAMES))
        same_mover = jax.vmap(GAME.current_player)(after) == mover  # players may move twice
        discount = jnp.where(done, 0.0, jnp.where(same_mover, 1.0, -1.0))
        reward = returns[jnp.arange(GAMES), mover]
        return after, Plies(states, found.policy, reward, discount)

    return jax.lax.scan(ply, games, jax.random.split(key, PLIES))


def value_targets(plies: Plies, last_value: Array) -> Array:
    """Returns the result of every ply's game for the player who moved, float32 [PLIES, GAMES].

    Args:
      plies: the record of self-play.
      last_value: the network's values of the games in progress, float32 [GAMES]. They replace the
        results of games that have not ended.
    """

    def back(target: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, discount = step
        target = reward + discount * target
        return target, target

    return jax.lax.scan(back, last_value, (plies.reward, plies.discount), reverse=True)[1]


def loss(
    params: Variables, stats: Variables, states: State, policy: Array, value: Array
) -> tuple[Array, Metrics]:
    """Returns AlphaZero's loss: the policy's cross-entropy plus the value's squared error."""
    variables = {"params": params, "stats": stats}
    prediction = NETWORK.apply(variables, jax.vmap(GAME.observe)(states))
    mask = jax.vmap(GAME.legal_action_mask)(states)
    logits = mask_logits(prediction.policy_logits, mask)
    policy_loss = jnp.mean(optax.softmax_cross_entropy(logits, policy))
    value_loss = jnp.mean((prediction.value - value) ** 2)
    metrics = {"policy_loss": policy_loss, "value_loss": value_loss}
    return policy_loss + value_loss, metrics


def train_step(state: TrainState) -> tuple[TrainState, Metrics]:
    """Plays games against itself, then makes gradient steps on the positions of these games."""
    key, play_key, value_key, draw_key = jax.random.split(state.key, 4)
    games, plies = self_play(state.variables, state.games, play_key)
    _, last_value = EVALUATE(state.variables, value_key, games)
    examples = (plies.states, plies.policy, value_targets(plies, last_value))
    examples = jax.tree.map(lambda x: x.reshape(PLIES * GAMES, *x.shape[2:]), examples)
    stats = state.variables["stats"]

    def update(carry: tuple, rows: Array) -> tuple[tuple, Metrics]:
        params, optimizer_state = carry
        gradient, metrics = jax.grad(loss, has_aux=True)(params, stats, *take(examples, rows))
        changes, optimizer_state = OPTIMIZER.update(gradient, optimizer_state, params)
        return (optax.apply_updates(params, changes), optimizer_state), metrics

    rows = jax.random.randint(draw_key, (UPDATES, BATCH), 0, PLIES * GAMES)
    carry = (state.variables["params"], state.optimizer_state)
    (params, optimizer_state), metrics = jax.lax.scan(update, carry, rows)
    variables = {"params": params, "stats": stats}
    return TrainState(variables, optimizer_state, games, key), jax.tree.map(jnp.mean, metrics)


def score_against_random(variables: Variables, key: Array) -> Array:
    """Returns the share of points against random play, half of the games from each seat."""
    player = SearchPlayer(game=GAME, network=NETWORK, variables=variables, config=EVALUATION_SEARCH)
    scores, _, _ = match_scores(GAME, player, RandomPlayer(GAME), key, EVALUATION_PAIRS, 0)
    return jnp.mean(scores)


def main() -> Array:
    """Trains all seeds, prints their progress, and returns their final scores, float32 [SEEDS]."""
    started = time.perf_counter()
    init_key, score_key = jax.random.split(jax.random.key(0))
    states = jax.jit(jax.vmap(init))(jax.random.split(init_key, SEEDS))
    step = jax.jit(jax.vmap(train_step))
    score = jax.jit(jax.vmap(score_against_random, in_axes=(0, None)))
    scores = jnp.zeros(SEEDS)
    for number in range(1, STEPS + 1):
        states, metrics = step(states)
        if number % STEPS_PER_REPORT == 0:
            scores = score(states.variables, score_key)
            losses = "  ".join(f"{name} {x.mean():.3f}" for name, x in metrics.items())
            by_seed = " ".join(f"{x:.1%}" for x in scores)
            seconds = time.perf_counter() - started
            print(f"{seconds:4.0f} s  step {number:3}  {losses}  score {by_seed}", flush=True)
    print(f"final score against random play: {scores.mean():.1%}, the mean of {SEEDS} seeds")
    return scores


if __name__ == "__main__":
    main()
