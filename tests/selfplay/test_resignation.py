import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.selfplay import resignation
from azjax.selfplay.resignation import GameMinima, ResignationStats
from tests import tiny


def stats_from(values, not_lost):
    """Returns statistics of players by their lowest values, some of whom did not lose."""
    games = len(values)
    minima = GameMinima(
        lowest=jnp.stack([jnp.asarray(values, jnp.float32), jnp.ones(games)], -1),
        disabled=jnp.ones(games, bool),
    )
    result = jnp.where(jnp.asarray(not_lost), 0.0, -1.0)
    return resignation.stats_of_finished(
        minima, jnp.ones(games, bool), jnp.stack([result, -result], -1)
    )


def threshold(stats, error=0.05):
    return tuple(map(float, resignation.resignation_threshold(stats, false_positive_rate=error)))


def test_nobody_resigns_without_statistics():
    assert threshold(resignation.initial_stats())[0] == -2
    few = stats_from(np.full(19, -0.95), np.zeros(19, bool))
    assert threshold(few)[0] == -2


def test_the_threshold_is_the_highest_that_keeps_the_share():
    """Nobody below -0.9 avoids the loss, one in ten up to -0.5, and one in two above."""
    rng = np.random.default_rng(0)
    values = rng.uniform(-1, 0, 20_000)
    chance = np.where(values < -0.9, 0.0, np.where(values < -0.5, 0.1, 0.5))
    back = rng.random(20_000) < chance
    stats = stats_from(values, back)
    for error in (0.01, 0.05, 0.08, 0.2):
        below, share = threshold(stats, error)
        assert share <= error
        hit = values < below
        np.testing.assert_allclose(share, back[hit].mean(), atol=1e-6)
        assert back[values < below + 0.0101].mean() > error - 2e-3  # one bin higher is too high
    assert threshold(stats, 0.5)[0] == 0


def test_only_games_without_resignation_count():
    minima = GameMinima(
        lowest=jnp.asarray([[-0.5, 0.2], [-0.5, 0.2], [-0.995, -0.015]]),
        disabled=jnp.asarray([True, False, True]),
    )
    done = jnp.asarray([True, True, True])
    result = jnp.asarray([[-1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    stats = resignation.stats_of_finished(minima, done, result)
    assert np.flatnonzero(stats.players).tolist() == [0, 50, 98]
    assert np.flatnonzero(stats.not_lost).tolist() == [0]
    nothing = resignation.stats_of_finished(minima, ~done, result)
    assert not nothing.players.any()


def test_the_lowest_value_is_each_players_own():
    minima = GameMinima(lowest=jnp.ones((2, 2)), disabled=jnp.ones(2, bool))
    for mover, value in [([0, 1], [-0.5, 0.25]), ([1, 1], [0.75, -0.125]), ([0, 0], [-0.25, 0.0])]:
        minima = resignation.update_minima(minima, jnp.asarray(mover), jnp.asarray(value))
    np.testing.assert_array_equal(minima.lowest, [[-0.5, 0.75], [0.0, -0.125]])


def test_old_statistics_decay():
    old, new = (ResignationStats(jnp.full(100, n), jnp.full(100, n / 2)) for n in (3.0, 5.0))
    both = resignation.decay_and_add(old, new)
    np.testing.assert_allclose(both.players, 5 + 0.5 * 3)
    np.testing.assert_allclose(both.not_lost, both.players / 2)


@pytest.mark.parametrize("devices", [1, 2])
def test_players_resign_in_training(devices):
    """If statistics allow it, games end as soon as a value is low, unless this is disabled."""
    trainer = tiny.trainer(
        devices, selfplay={"resign_false_positive_rate": 0.9, "resign_disabled_fraction": 0.5}
    )
    state = tiny.start(trainer)
    sure = ResignationStats(players=jnp.full(100, 1e6), not_lost=jnp.zeros(100))
    state = jax.tree.map(lambda x: x, state)
    state = type(state)(**vars(state) | {"resignation": jax.device_put(sure, state.key.sharding)})
    state, metrics = trainer.cycle(state)
    assert metrics["selfplay/resign_threshold"] == 0
    assert 0 < metrics["selfplay/resigned_fraction"] < 1
    rows = jax.device_get(state.replay.transitions)
    written = slice(0, 8)
    low = rows.value[written] < 0
    over = rows.discount[written] == 0
    lost = over & (rows.reward[written] == -1)
    assert (
        lost <= low
    ).all()  # a player who resigns had a value below 0; nobody else loses by moving
    assert lost.sum() == np.rint(
        metrics["selfplay/resigned_fraction"] * metrics["selfplay/games_finished"]
    )
    assert (low & ~over).any()  # in the games without resignation
