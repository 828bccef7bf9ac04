import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.config import NetworkConfig
from azjax.errors import UserError
from azjax.learning.loss import masked_squared_error
from azjax.learning.symmetries import random_symmetries
from azjax.network.two_headed import TwoHeadedNetwork
from azjax.replay.auxiliary import FinalPoints
from azjax.replay.targets import value_targets
from tests import tiny

BOXES = {
    "game": {"name": "dots_and_boxes_2x2"},
    "network": {"auxiliary": ["score", "ownership"]},
    "replay": {"capacity_plies": 32},
    "search": {"num_simulations": 2},
}


@functools.lru_cache
def played():
    """Returns a trainer's game, its replay buffer after some cycles, and the targets, in numpy."""
    trainer = tiny.trainer(1, **BOXES)
    state = tiny.start(trainer)
    for _ in range(4):
        state, metrics = trainer.cycle(state)
    return trainer, state, metrics


def test_targets_are_the_final_boxes_from_each_movers_perspective():
    """Follows the moves from each stored position to the game's last state."""
    trainer, state, _ = played()
    game, transitions = trainer.game, state.replay.transitions
    targets = value_targets(state.replay, root_value_weight=0.0)
    size, lanes = transitions.reward.shape
    known = np.flatnonzero(np.asarray(targets.valid))
    extra = jax.device_get(trainer.targets(game, state.replay, targets).extra)
    found = {name: x.reshape(size * lanes, *x.shape[2:])[known] for name, x in extra.items()}
    mover = np.asarray(jax.vmap(jax.vmap(game.current_player))(transitions.states))
    last = jax.tree.map(
        lambda x: x[np.asarray(targets.end).reshape(-1)[known], known % lanes], transitions.states
    )
    # In the last position every legal move ends the game; the recorded result belongs to one.
    after = jax.vmap(lambda s: jax.vmap(functools.partial(game.step, s))(jnp.arange(12)))(last)
    legal = np.asarray(jax.vmap(game.legal_action_mask)(last))
    assert (legal.sum(-1) == 1).all()  # one edge is left
    end = jax.tree.map(lambda x: np.asarray(x)[np.arange(len(known)), legal.argmax(-1)], after)
    points = np.asarray(jax.vmap(game.score)(end))
    owners = np.asarray(
        jax.vmap(game.ownership)(end)
    )  # from the perspective of the last state's player
    viewer = np.asarray(jax.vmap(game.current_player)(end))
    me = mover.reshape(-1)[known]
    margin = (points[np.arange(len(me)), me] - points[np.arange(len(me)), 1 - me]) / 4
    np.testing.assert_allclose(found["score"], margin, atol=1e-3)
    owned = found["ownership"].reshape(len(known), -1)
    np.testing.assert_array_equal(owned, np.where(viewer == me, 1, -1)[:, None] * owners)
    np.testing.assert_array_equal(
        np.sign(np.round(margin, 3)), np.sign(targets.value.reshape(-1)[known])
    )
    assert len(known) > 100
    assert {-1, 0, 1} == set(np.unique(owned))
    assert size == 32


def test_losses_of_auxiliary_targets_are_reported():
    _, _, metrics = played()
    assert 0 < metrics["train/score_loss"] < 2
    assert 0 < metrics["train/ownership_loss"] < 1
    weighted = 0.5 * (metrics["train/score_loss"] + metrics["train/ownership_loss"])
    rest = metrics["train/policy_loss"] + metrics["train/value_loss"]
    np.testing.assert_allclose(metrics["train/loss"], rest + weighted, rtol=1e-5)


def test_resigned_games_have_no_terminal_targets():
    game = make("dots_and_boxes_2x2")
    final = FinalPoints(("score", "ownership"))
    states = jax.vmap(lambda _: game.init())(jnp.arange(2))
    recorded = final.record(game, jnp.zeros(2, jnp.int32), states, jnp.asarray([True, False]))
    assert np.isnan(recorded["score"]).tolist() == [False, True]
    assert (recorded["ownership"][0] == 0).all()
    assert (recorded["ownership"][1] == 127).all()


def test_errors_are_over_what_is_known():
    target = jnp.asarray([1.0, jnp.nan, -1.0])
    assert masked_squared_error(jnp.asarray([0.5, 9.0, -1.0]), target) == 0.125
    assert masked_squared_error(jnp.zeros(3), jnp.full(3, jnp.nan)) == 0
    gradient = jax.grad(masked_squared_error)(jnp.asarray([0.5, 9.0, -1.0]), target)
    np.testing.assert_allclose(gradient, [-0.5, 0, 0])


def test_owners_turn_with_the_board():
    game = make("dots_and_boxes_2x2")
    grid = jnp.arange(25.0)
    shown = random_symmetries(
        game,
        jax.random.key(0),
        jnp.broadcast_to(grid.reshape(1, 5, 5, 1), (64, 5, 5, 5)),
        jnp.zeros((64, 12)),
        jnp.ones((64, 12), bool),
        {"owners": jnp.broadcast_to(grid.reshape(5, 5), (64, 5, 5))},
    )
    owners = shown[3]["owners"]
    np.testing.assert_array_equal(owners, shown[0][..., 0])
    assert len(np.unique(np.asarray(owners), axis=0)) == 8


@pytest.mark.parametrize(
    ("name", "auxiliary", "message"),
    [
        ("tic_tac_toe", ["score"], "tic_tac_toe has no score; it must be an empty list"),
        ("mancala", ["ownership"], "mancala has no ownership; it has score"),
    ],
)
def test_what_a_game_lacks_is_refused(name, auxiliary, message):
    with pytest.raises(UserError, match=message):
        tiny.trainer(1, game={"name": name}, network={"auxiliary": auxiliary})


def test_a_score_is_between_minus_one_and_one():
    config = NetworkConfig(blocks=1, channels=4, value_hidden=4, auxiliary=("ownership", "score"))
    network = TwoHeadedNetwork((5, 5, 5), 12, config)
    variables = network.init(jax.random.key(0))
    prediction = network.apply(variables, 9 * jax.random.normal(jax.random.key(1), (3, 5, 5, 5)))
    shapes = {name: x.shape for name, x in prediction.extra.items()}
    assert shapes == {"score": (3,), "ownership": (3, 5, 5)}
    for head in prediction.extra.values():
        assert (np.abs(head) <= 1).all()
