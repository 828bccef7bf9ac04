import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.selfplay import resignation
from azjax.selfplay.resignation import Evidence, Prospects
from tests import tiny


def evidence_from(values, not_lost):
    """Of players by their lowest values, some of whom did not lose."""
    games = len(values)
    prospects = Prospects(
        lowest=jnp.stack([jnp.asarray(values, jnp.float32), jnp.ones(games)], -1),
        played_out=jnp.ones(games, bool),
    )
    result = jnp.where(jnp.asarray(not_lost), 0.0, -1.0)
    return resignation.evidence_of(
        prospects, jnp.ones(games, bool), jnp.stack([result, -result], -1)
    )


def threshold(evidence, error=0.05):
    return tuple(map(float, resignation.threshold(evidence, error=error)))


def test_nobody_resigns_without_evidence():
    assert threshold(resignation.no_evidence())[0] == -2
    few = evidence_from(np.full(19, -0.95), np.zeros(19, bool))
    assert threshold(few)[0] == -2


def test_the_threshold_is_the_highest_that_keeps_the_share():
    """Below -0.9 nobody came back; between there and -0.5 one in ten, and above one in two."""
    lots = np.random.default_rng(0)
    values = lots.uniform(-1, 0, 20_000)
    chance = np.where(values < -0.9, 0.0, np.where(values < -0.5, 0.1, 0.5))
    back = lots.random(20_000) < chance
    evidence = evidence_from(values, back)
    for error in (0.01, 0.05, 0.08, 0.2):
        below, share = threshold(evidence, error)
        assert share <= error
        hit = values < below
        np.testing.assert_allclose(share, back[hit].mean(), atol=1e-6)
        assert back[values < below + 0.0101].mean() > error - 2e-3  # one bin higher is too high
    assert threshold(evidence, 0.5)[0] == 0


def test_only_games_that_were_played_out_tell():
    prospects = Prospects(
        lowest=jnp.asarray([[-0.5, 0.2], [-0.5, 0.2], [-0.995, -0.015]]),
        played_out=jnp.asarray([True, False, True]),
    )
    done = jnp.asarray([True, True, True])
    result = jnp.asarray([[-1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    evidence = resignation.evidence_of(prospects, done, result)
    assert np.flatnonzero(evidence.players).tolist() == [0, 50, 98]
    assert np.flatnonzero(evidence.not_lost).tolist() == [0]
    nothing = resignation.evidence_of(prospects, ~done, result)
    assert not nothing.players.any()


def test_the_lowest_value_is_each_players_own():
    prospects = Prospects(lowest=jnp.ones((2, 2)), played_out=jnp.ones(2, bool))
    for mover, value in [([0, 1], [-0.5, 0.25]), ([1, 1], [0.75, -0.125]), ([0, 0], [-0.25, 0.0])]:
        prospects = resignation.after_search(prospects, jnp.asarray(mover), jnp.asarray(value))
    np.testing.assert_array_equal(prospects.lowest, [[-0.5, 0.75], [0.0, -0.125]])


def test_old_evidence_fades():
    old, new = (Evidence(jnp.full(100, n), jnp.full(100, n / 2)) for n in (3.0, 5.0))
    both = resignation.remember(old, new)
    np.testing.assert_allclose(both.players, 5 + 0.5 * 3)
    np.testing.assert_allclose(both.not_lost, both.players / 2)


@pytest.mark.parametrize("devices", [1, 2])
def test_players_resign_in_training(devices):
    """With all evidence saying so, all games but those played out end as soon as a value is low."""
    trainer = tiny.trainer(
        devices, selfplay={"resign_false_positive_rate": 0.9, "resign_disabled_fraction": 0.5}
    )
    state = tiny.start(trainer)
    sure = Evidence(players=jnp.full(100, 1e6), not_lost=jnp.zeros(100))
    state = jax.tree.map(lambda x: x, state)
    state = type(state)(**vars(state) | {"evidence": jax.device_put(sure, state.key.sharding)})
    state, metrics = trainer.cycle(state)
    assert metrics["resign/below"] == 0
    assert 0 < metrics["resign/share"] < 1
    rows = jax.device_get(state.replay.rows)
    written = slice(0, 8)
    low = rows.value[written] < 0
    over = rows.discount[written] == 0
    lost = over & (rows.reward[written] == -1)
    assert (lost <= low).all()  # who resigns had a value below 0, and nobody else loses by moving
    assert lost.sum() == np.rint(metrics["resign/share"] * metrics["games_finished"])
    assert (low & ~over).any()  # in the games that are played out
