"""Networks whose value is a distribution over the results of a game."""

import azjax_envs
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import azjax
from azjax.config import NetworkConfig
from azjax.errors import UserError
from azjax.learning.batch import make_batch
from azjax.network.custom_network import resolve_network
from azjax.network.two_headed import make_network
from azjax.replay import Ring
from tests import tiny
from tests.network.own_networks import Dense

GAME = azjax_envs.make("hypergammon")
RESULTS = np.array([3, 2, 1, -1, -2, -3])
CHANGES = {
    "game": {"name": "hypergammon"},
    "network": {"value_head": "results"},
    "search": {"num_simulations": 2},
    "selfplay": {"parallel_games": 32, "plies_per_cycle": 16},
    "replay": {"capacity_plies": 128, "min_positions": 64},
    "learning": {"batch_size": 64, "updates_per_cycle": 8, "learning_rate": 0.01},
    "evaluation": {"every": 0},
}


def test_a_value_is_the_expected_result():
    network = make_network(GAME, NetworkConfig(**TOWER))
    variables = network.init(jax.random.key(0))
    # Larger weights than those of a new network, whose six results are nearly equally likely.
    last = variables["params"]["value"]
    last["bias"] = jnp.asarray([-2.0, 1.0, 0.0, 0.3, 2.0, -1.0])
    states = azjax_envs.init_batch(GAME, jax.random.key(1), 8)
    prediction = network.apply(variables, jax.jit(jax.vmap(GAME.observe))(states))
    assert prediction.value_logits.shape == (8, 6)
    chances = np.asarray(jax.nn.softmax(prediction.value_logits), np.float64)
    np.testing.assert_allclose(prediction.value, chances @ RESULTS / 3, atol=1e-6)
    assert abs(prediction.value).max() > 0.1


TOWER = {
    "architecture": "mlp",
    "blocks": 1,
    "channels": 16,
    "value_hidden": 16,
    "norm": "none",
    "value_head": "results",
}


def test_a_game_without_such_results_is_refused():
    message = (
        'network.value_head = "results": tic_tac_toe has no other results than win, draw and loss; '
        'use "wdl"'
    )
    with pytest.raises(UserError) as error:
        make_network(azjax_envs.make("tic_tac_toe"), NetworkConfig(**TOWER))
    assert str(error.value) == message
    own = azjax.flax_network(lambda rngs: Dense(GAME, rngs=rngs))
    with pytest.raises(UserError, match=r"value_logits of 2 positions must be float32 \[2, 6\]"):
        resolve_network(GAME, NetworkConfig(value_head="results"), own)


def test_hypergammon_learns_chances_of_its_results(tmp_path):
    trainer = tiny.trainer(**CHANGES)
    state = tiny.start(trainer)
    losses = []
    for _ in range(24):
        state, metrics = trainer.cycle(state)
        losses.append(float(metrics["train/value_loss"]))
    ring = Ring.of(GAME.results)
    targets = ring.targets(state.replay, root_value_weight=0.0, max_games=0)
    outcome = np.asarray(targets.outcome)[np.asarray(targets.valid)]
    assert outcome.shape[0] > 500
    np.testing.assert_array_equal(outcome.sum(-1), 1)
    assert (outcome.sum(0) > 0).all()
    # What is learned is better than the same chances for all positions.
    shares = outcome.mean(0)
    constant = -np.sum(shares * np.log(shares))
    assert np.nanmean(losses[-4:]) < min(constant, np.log(6)) - 0.02
    sample = ring.sample(state.replay, targets, jax.random.key(0), 512)
    batch = make_batch(GAME, jax.random.key(0), sample, symmetries=False)
    assert batch.results == GAME.results
    prediction = trainer.network.apply(state.learner.variables, batch.observations)
    chances = np.asarray(jax.nn.softmax(prediction.value_logits))
    results = np.asarray(targets.value)[np.asarray(targets.valid)]
    correlation = np.corrcoef(prediction.value, np.asarray(batch.outcome) @ RESULTS / 3)[0, 1]
    assert correlation > 0.2
    np.testing.assert_allclose(prediction.value, chances @ RESULTS / 3, atol=1e-6)
    assert set(np.round(3 * results).astype(int)) == set(RESULTS)


def test_a_player_of_results_is_saved_and_plays(tmp_path):
    config = tiny.config(**CHANGES)
    variables = make_network(GAME, config.network).init(jax.random.key(2))
    azjax.save_player(tmp_path / "gammon.safetensors", config, variables, dtype="float32")
    player = azjax.load_player(tmp_path / "gammon.safetensors")
    states = azjax_envs.init_batch(GAME, jax.random.key(1), 4)
    seen = jax.jit(jax.vmap(GAME.observe))(states)
    np.testing.assert_array_equal(
        player.network.apply(player.variables, seen).value_logits,
        make_network(GAME, config.network).apply(variables, seen).value_logits,
    )
    actions = azjax.act(player, jax.random.key(0), states)
    legal = jax.jit(jax.vmap(GAME.legal_action_mask))(states)
    assert all(row[action] for row, action in zip(legal, actions, strict=True))
