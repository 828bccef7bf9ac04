"""A whole AlphaZero in one file, made of azjax's parts: copy it and change what you like.

    python examples/minimal.py

It learns connect four on a board of 4 x 5 cells. Four seeds train at the same time, in about a
minute on two CPU cores. `train_cycle` is one pure function from a training state to the next:
self-play with Gumbel search into a ring of plies, the games' results as targets, gradient steps.
`jax.vmap` maps it over the seeds, and `jax.jit` compiles the whole of it.

`azjax/training/cycle.py` is the same algorithm in the same words. `azjax train` adds checkpoints,
evaluations, several devices and the methods that `docs/methods.md` lists.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from azjax_envs import init_batch, make

from azjax.config import NetworkConfig, SearchConfig
from azjax.matches import match_scores
from azjax.network import Variables, make_network
from azjax.players.network_players import SearchPlayer
from azjax.players.random_player import RandomPlayer
from azjax.pytrees import where
from azjax.replay import Replay, Ring, Sample, Targets, Transition, expected_result
from azjax.rollouts import play_randomly
from azjax.search import Exploration, mask_logits, network_evaluate, search, transition
from azjax.types import Array, Metrics, State

# All that is static: the game, the network's architecture, the search, and the sizes of arrays.
GAME = make("connect_four_4x5")
NETWORK = make_network(
    GAME, NetworkConfig(architecture="mlp", blocks=2, channels=128, value_hidden=64, norm="layer")
)
EVALUATE = network_evaluate(GAME, NETWORK)
SEARCH = SearchConfig(algorithm="gumbel", num_simulations=16)
SEEDS, CYCLES, CYCLES_PER_REPORT = 4, 100, 20
GAMES, PLIES, UPDATES, BATCH = 128, 20, 20, 256
RING, CAPACITY = Ring(), 2 * PLIES  # it keeps this many plies of each game
OPENING_PLIES, SAMPLED_PLIES = 8, 14  # random plies at most; plies in which moves are sampled
EVALUATION_PAIRS, EVALUATION_SEARCH = 200, replace(SEARCH, num_simulations=64)
OPTIMIZER = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.adamw(optax.cosine_decay_schedule(3e-3, CYCLES * UPDATES, alpha=0.02)),
)


class Games(NamedTuple):
    """The games in progress."""

    states: State  # [GAMES, ...]
    plies: Array  # int32 [GAMES], plies so far, with the opening's


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TrainState:
    """Everything that training carries from cycle to cycle."""

    variables: Variables
    optimizer_state: optax.OptState
    games: Games
    replay: Replay  # the last CAPACITY plies of every game, [CAPACITY, GAMES, ...]
    key: Array
    cycle: Array  # int32 []


def init(key: Array) -> TrainState:
    """Returns the state before the first cycle: a random network, new games, an empty ring."""
    run_key, network_key, games_key = jax.random.split(key, 3)
    variables = NETWORK.init(network_key)
    games = start_games(games_key)
    _, plies = jax.eval_shape(play_plies, variables, run_key, games)
    ply = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), plies)
    replay = RING.init(ply, CAPACITY)
    optimizer_state = OPTIMIZER.init(variables["params"])
    return TrainState(variables, optimizer_state, games, replay, run_key, jnp.int32(0))


def start_games(key: Array) -> Games:
    """Returns new games, each after an opening of 0 to OPENING_PLIES random plies."""
    start_key, length_key, move_key = jax.random.split(key, 3)
    starts = init_batch(GAME, start_key, GAMES)
    plies = jax.random.randint(length_key, (GAMES,), 0, OPENING_PLIES + 1)
    return Games(*play_randomly(GAME, move_key, starts, plies, most=OPENING_PLIES))


def train_cycle(state: TrainState) -> tuple[TrainState, Metrics]:
    """Plays games against itself, then makes gradient steps on positions of finished games."""
    play_key, learn_key = jax.random.split(jax.random.fold_in(state.key, state.cycle))
    state = self_play(state, play_key)
    # A target is the result of the game, carried back to each of its positions.
    targets = RING.targets(state.replay, root_value_weight=0.0, max_games=0)
    state, losses = learn(state, targets, learn_key)
    return replace(state, cycle=state.cycle + 1), losses


def self_play(state: TrainState, key: Array) -> TrainState:
    """Plays PLIES plies of all games, and adds them to the ring."""
    games, transitions = play_plies(state.variables, key, state.games)
    return replace(state, games=games, replay=RING.add(state.replay, transitions))


def play_plies(variables: Variables, key: Array, games: Games) -> tuple[Games, Transition]:
    """Returns the games after PLIES plies, and these plies, [PLIES, GAMES, ...]."""
    start_key, ply_key = jax.random.split(key)
    starts = start_games(start_key)  # of the games that begin when others have ended

    def ply(games: Games, key: Array) -> tuple[Games, Transition]:
        explore = (games.plies < SAMPLED_PLIES).astype(jnp.float32)
        result = search(
            *(GAME, EVALUATE, variables, key, games.states),
            config=SEARCH,
            exploration=Exploration(gumbel_scale=explore),
        )
        move = jax.vmap(lambda state, action: transition(GAME, state, action))
        # The reward is the game's result for the mover, 0 before the end. The discount is -1 where
        # the opponent moves next, 1 where the mover moves again, and 0 at the end.
        states, reward, discount = move(games.states, result.action)
        done = jax.vmap(GAME.is_terminal)(states)
        new = Transition(
            states=games.states,
            policy=result.policy.astype(jnp.float16),
            reward=reward.astype(jnp.float16),
            discount=discount.astype(jnp.int8),
            value=result.value.astype(jnp.float16),
            learn=jnp.ones(GAMES, bool),
        )
        return where(done, starts, Games(states, games.plies + 1)), new

    return jax.lax.scan(ply, games, jax.random.split(ply_key, PLIES))


def learn(state: TrainState, targets: Targets, key: Array) -> tuple[TrainState, Metrics]:
    """Makes the updates of a cycle."""
    drawn = RING.sample(state.replay, targets, key, UPDATES * BATCH)
    samples = jax.tree.map(lambda x: x.reshape(UPDATES, BATCH, *x.shape[1:]), drawn)
    params, stats = state.variables["params"], state.variables["stats"]

    def update(carry: tuple, sample: Sample) -> tuple[tuple, Metrics]:
        params, optimizer_state = carry
        gradient, metrics = jax.grad(loss, has_aux=True)(params, stats, sample)
        changes, optimizer_state = OPTIMIZER.update(gradient, optimizer_state, params)
        return (optax.apply_updates(params, changes), optimizer_state), metrics

    (params, rule), losses = jax.lax.scan(update, (params, state.optimizer_state), samples)
    state = replace(state, variables={"params": params, "stats": stats}, optimizer_state=rule)
    return state, jax.tree.map(jnp.mean, losses)


def loss(params: Variables, stats: Variables, sample: Sample) -> tuple[Array, Metrics]:
    """Returns AlphaZero's loss: the policy's cross-entropy plus the value's squared error."""
    states, policy = sample.transitions.states, sample.transitions.policy
    prediction = NETWORK.apply({"params": params, "stats": stats}, jax.vmap(GAME.observe)(states))
    mask = jax.vmap(GAME.legal_action_mask)(states)
    logits = mask_logits(prediction.policy_logits, mask)
    policy_loss = jnp.mean(optax.softmax_cross_entropy(logits, policy.astype(jnp.float32)))
    value_loss = jnp.mean((prediction.value - expected_result(sample.outcome)) ** 2)
    return policy_loss + value_loss, {"policy_loss": policy_loss, "value_loss": value_loss}


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
    cycle = jax.jit(jax.vmap(train_cycle))
    score = jax.jit(jax.vmap(score_against_random, in_axes=(0, None)))
    scores = jnp.zeros(SEEDS)
    for number in range(1, CYCLES + 1):
        states, losses = cycle(states)
        if number % CYCLES_PER_REPORT == 0:
            scores = score(states.variables, score_key)
            means = "  ".join(f"{name} {x.mean():.3f}" for name, x in losses.items())
            by_seed = " ".join(f"{x:.1%}" for x in scores)
            seconds = time.perf_counter() - started
            print(f"{seconds:4.0f} s  cycle {number:3}  {means}  score {by_seed}", flush=True)
    print(f"final score against random play: {scores.mean():.1%}, the mean of {SEEDS} seeds")
    return scores


if __name__ == "__main__":
    main()
