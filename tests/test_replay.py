import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.replay import Row, append, draw_indices, empty_replay, take, value_targets

RING, LANES, ACTIONS = 12, 5, 3


@dataclasses.dataclass
class Reference:
    """The ring as a plain list of plies, oldest first, and results by walking forward."""

    plies: list

    def target(self, age, lane):
        """(result for the mover, whether it is known) of the ply `age` places from the oldest."""
        sign = 1.0
        for ply in self.plies[age:]:
            if ply["discount"][lane] == 0:
                return sign * ply["reward"][lane], True
            assert ply["reward"][lane] == 0
            sign *= ply["discount"][lane]
        return None, False


def random_rows(lots, plies, *, ends):
    """Plies of games that end with probability `ends`, numbered by their state."""
    over = lots.random((plies, LANES)) < ends
    return {
        "states": lots.integers(0, 1 << 30, (plies, LANES)),
        "policy": lots.dirichlet(np.ones(ACTIONS), (plies, LANES)),
        "reward": np.where(over, lots.choice([-1.0, 0.0, 1.0], (plies, LANES)), 0.0),
        "discount": np.where(over, 0, lots.choice([-1, 1], (plies, LANES), p=[0.6, 0.4])),
    }


def as_row(rows):
    return Row(
        states={"board": jnp.asarray(rows["states"], jnp.int32)},
        policy=jnp.asarray(rows["policy"], jnp.float16),
        reward=jnp.asarray(rows["reward"], jnp.float16),
        discount=jnp.asarray(rows["discount"], jnp.int8),
    )


def new_ring():
    shapes = jax.eval_shape(lambda: jax.tree.map(lambda x: x[0], as_row(no_rows())))
    return empty_replay(shapes, RING)


def no_rows():
    return {
        "states": np.zeros((1, LANES)),
        "policy": np.zeros((1, LANES, ACTIONS)),
        "reward": np.zeros((1, LANES)),
        "discount": np.zeros((1, LANES)),
    }


append_jit, value_targets_jit, take_jit = map(jax.jit, (append, value_targets, take))


def test_empty_ring_knows_nothing():
    replay = new_ring()
    targets, known = value_targets_jit(replay)
    assert not known.any()
    assert targets.shape == known.shape == (RING, LANES)
    assert np.isfinite(targets).all()
    assert replay.rows.states["board"].shape == (RING, LANES)
    assert replay.rows.policy.dtype == jnp.float16
    assert replay.rows.discount.dtype == jnp.int8


@pytest.mark.parametrize("ends", [0.25, 0.03, 1.0])
def test_ring_and_targets_against_plain_lists(ends):
    """Filled in steps, partly at first and then twice round; turns need not alternate."""
    lots = np.random.default_rng(int(100 * ends))
    replay, reference = new_ring(), Reference([])
    seen_known = seen_unknown = 0
    for count in range(1, 8):
        rows = random_rows(lots, 4, ends=ends)
        replay = append_jit(replay, as_row(rows))
        reference.plies += [{name: x[t] for name, x in rows.items()} for t in range(4)]
        reference.plies = reference.plies[-RING:]
        assert replay.filled == len(reference.plies) == min(4 * count, RING)
        assert replay.position == 4 * count % RING
        targets, known = map(np.asarray, value_targets_jit(replay))
        assert targets.dtype == np.float32
        oldest = 0 if 4 * count < RING else int(replay.position)
        for age, ply in enumerate(reference.plies):
            place = (oldest + age) % RING
            np.testing.assert_array_equal(replay.rows.states["board"][place], ply["states"])
            np.testing.assert_array_equal(
                replay.rows.policy[place], ply["policy"].astype(np.float16)
            )
            for lane in range(LANES):
                target, is_known = reference.target(age, lane)
                assert known[place, lane] == is_known
                assert not is_known or targets[place, lane] == target
        seen_known += known.sum()
        seen_unknown += (~known[: len(reference.plies)]).sum()
        if 4 * count < RING:
            assert not known[4 * count :].any()
    assert seen_known > 20
    assert (seen_unknown > 20) == (ends < 1)


def test_a_double_turn_keeps_the_sign():
    """The winner moved twice at the end, after the loser had moved."""
    rows = no_rows()
    rows = {name: np.repeat(x, 4, axis=0) for name, x in rows.items()}
    rows["discount"][:] = np.asarray([-1, -1, 1, 0])[:, None]
    rows["reward"][3] = 1
    targets, known = value_targets_jit(append_jit(new_ring(), as_row(rows)))
    np.testing.assert_array_equal(targets[:4, 0], [1, -1, 1, 1])
    np.testing.assert_array_equal(known[:, 0], [True] * 4 + [False] * (RING - 4))


def test_append_needs_a_divisor():
    rows = {name: np.repeat(x, 5, axis=0) for name, x in no_rows().items()}
    with pytest.raises(ValueError, match="5 plies at a time do not divide a ring of 12"):
        append(new_ring(), as_row(rows))


def test_draws_are_uniform_over_what_is_known():
    lots = np.random.default_rng(0)
    known = lots.random((RING, LANES)) < 0.4
    known[0, 0] = known[-1, -1] = True  # both ends of the ring
    draws = 60_000
    indices = jax.jit(draw_indices, static_argnums=2)(
        jax.random.key(0), jnp.asarray(known), (3, draws // 3)
    )
    assert indices.shape == (3, draws // 3)
    assert indices.dtype == jnp.int32
    counts = np.bincount(np.asarray(indices).ravel(), minlength=known.size).reshape(known.shape)
    assert not counts[~known].any()
    expected = draws / known.sum()
    chi2 = ((counts[known] - expected) ** 2 / expected).sum()
    freedom = known.sum() - 1
    assert chi2 < freedom + 5 * np.sqrt(2 * freedom)
    # The rows of the draw differ: they are the batches of different updates.
    assert (np.asarray(indices[0]) != np.asarray(indices[1])).any()


def test_draws_from_one_or_nothing():
    only = jnp.zeros((RING, LANES), bool).at[7, 3].set(True)
    draw = jax.jit(draw_indices, static_argnums=2)
    np.testing.assert_array_equal(draw(jax.random.key(1), only, (64,)), 7 * LANES + 3)
    np.testing.assert_array_equal(draw(jax.random.key(1), ~only & False, (64,)) >= RING * LANES, 0)


def test_take_reads_what_was_written():
    rows = random_rows(np.random.default_rng(1), RING, ends=0.3)
    replay = append_jit(new_ring(), as_row(rows))
    places = [(0, 0), (3, 4), (RING - 1, LANES - 1), (3, 4), (7, 1)]
    taken = take_jit(replay, jnp.asarray([t * LANES + lane for t, lane in places]))
    expected = jax.tree.map(lambda x: jnp.stack([x[t, lane] for t, lane in places]), as_row(rows))
    chex.assert_trees_all_equal(taken, expected)
