import dataclasses
import functools

import jax
import numpy as np
import pytest

from azjax.network.results import WIN_DRAW_LOSS, expected_result
from azjax.replay.buffer import add
from azjax.replay.targets import count_turns, project, scan_plies, value_targets
from tests.replay.test_buffer import (
    LANES,
    RING,
    as_transitions,
    empty_transitions,
    new_ring,
    random_transitions,
)

add_jit = jax.jit(add)
STATIC = ("root_value_weight", "max_games", "devices", "results")
find_jit = jax.jit(value_targets, static_argnames=STATIC)
BACKGAMMON = (3.0, 2.0, 1.0, -1.0, -2.0, -3.0)
CUT = (3.0, 1.0, 0.0, -1.0, -3.0)


def chances(value):
    """Returns the chances of a win, a draw and a loss that a value in [-1, 1] stands for."""
    return np.asarray([max(value, 0), 1 - abs(value), max(-value, 0)])


@dataclasses.dataclass
class Reference:
    """The ring as a plain list of plies, oldest first; targets follow by walking forward."""

    plies: list
    own: float

    def outcome(self, age, lane):
        """Returns the target [win, draw, loss] at `age` from the oldest; None if a game goes on."""
        sign = 1.0
        for ply in self.plies[age:]:
            if ply["discount"][lane] == 0:
                result = chances(sign * ply["reward"][lane])
                own = float(self.plies[age]["value"][lane])
                return (1 - self.own) * result + self.own * chances(own)
            sign *= ply["discount"][lane]
        return None

    def last(self, age, lane):
        """Returns (place of the game's last ply, whether its mover is the same)."""
        sign = 1
        for place in range(age, len(self.plies)):
            if self.plies[place]["discount"][lane] == 0:
                return place, sign
            sign *= self.plies[place]["discount"][lane]
        raise AssertionError("the game goes on")

    def later_games(self, place, lane):
        """Returns the number of games, in all lanes, that ended in later plies than `place`."""
        del lane
        return sum((ply["discount"] == 0).sum() for ply in self.plies[place + 1 :])


def test_an_empty_ring_knows_nothing():
    targets = find_jit(new_ring(), root_value_weight=0.0)
    assert not targets.valid.any()
    assert targets.value.shape == targets.valid.shape == (RING, LANES)
    assert np.isfinite(targets.value).all()


@pytest.mark.parametrize("ends", [0.25, 0.03, 1.0])
@pytest.mark.parametrize(("own", "games"), [(0.0, 0), (0.25, 0), (0.5, 6)])
def test_against_plain_lists(ends, own, games):
    """The ring is filled in steps, first in part, then twice around; turns need not alternate."""
    rng = np.random.default_rng(int(100 * ends))
    devices = 2 if games else 1
    replay, reference = new_ring(), Reference([], own)
    seen_known = seen_unknown = seen_old = 0
    for count in range(1, 8):
        rows = random_transitions(rng, 4, ends=ends)
        replay = add_jit(replay, as_transitions(rows))
        reference.plies += [{name: x[t] for name, x in rows.items()} for t in range(4)]
        reference.plies = reference.plies[-RING:]
        found = find_jit(replay, root_value_weight=own, max_games=games, devices=devices)
        assert found.value.dtype == np.float32
        found = jax.tree.map(np.asarray, found)
        oldest = 0 if 4 * count < RING else int(replay.position)
        for age in range(len(reference.plies)):
            place = (oldest + age) % RING
            for lane in range(LANES):
                target = reference.outcome(age, lane)
                known = target is not None and reference.plies[age]["learn"][lane]
                if target is not None:
                    last, side = reference.last(age, lane)
                    if games and reference.later_games(last, lane) >= games // devices:
                        known, seen_old = False, seen_old + 1
                assert found.valid[place, lane] == known
                if known:
                    np.testing.assert_allclose(found.outcome[place, lane], target, atol=1e-5)
                    assert abs(found.value[place, lane] - (target[0] - target[2])) < 1e-5
                    assert found.end[place, lane] == (oldest + last) % RING
                    assert found.side[place, lane] == side
        seen_known += found.valid.sum()
        seen_unknown += (~found.valid[: len(reference.plies)]).sum()
        if 4 * count < RING:
            assert not found.valid[4 * count :].any()
    assert seen_known > 5
    assert seen_unknown > 20
    assert (seen_old > 0) == (games > 0 and ends > 0.1)


def test_a_double_turn_keeps_the_sign():
    """The winner moved twice at the end, after the loser had moved."""
    rows = {name: np.repeat(x, 4, axis=0) for name, x in empty_transitions().items()}
    rows["discount"][:] = np.asarray([-1, -1, 1, 0])[:, None]
    rows["reward"][3] = 1
    targets = find_jit(add_jit(new_ring(), as_transitions(rows)), root_value_weight=0.0)
    np.testing.assert_array_equal(targets.value[:4, 0], [1, -1, 1, 1])
    np.testing.assert_array_equal(targets.side[:4, 0], [1, -1, 1, 1])
    np.testing.assert_array_equal(targets.valid[:, 0], [True] * 4 + [False] * (RING - 4))


def test_a_win_and_a_doubtful_root_are_a_draw_less_often_than_their_mean_value():
    rows = empty_transitions()
    rows["reward"][:], rows["value"][:] = 1.0, -0.2
    rows = {name: np.repeat(x, 4, axis=0) for name, x in rows.items()}  # games of one ply
    targets = find_jit(add_jit(new_ring(), as_transitions(rows)), root_value_weight=0.5)
    np.testing.assert_allclose(targets.outcome[0, 0], [0.5, 0.4, 0.1], atol=1e-4)
    np.testing.assert_allclose(targets.value[0, 0], 0.4, atol=1e-4)


def nearest_two(value, results):
    """Returns the chances of the two results next to a value that have its mean."""
    points, found = np.asarray(results) / results[0], np.zeros(len(results))
    k = int(np.searchsorted(-points, -value, side="right")) - 1  # the least one that is no less
    if k == len(points) - 1:
        found[k] = 1
    else:
        found[k] = (value - points[k + 1]) / (points[k] - points[k + 1])
        found[k + 1] = 1 - found[k]
    return found


@pytest.mark.parametrize("results", [BACKGAMMON, CUT])
def test_a_value_is_the_mean_of_the_two_results_next_to_it(results):
    values = np.concatenate([np.linspace(-1, 1, 41), np.asarray(results) / results[0]])
    values = values.astype(np.float32)
    found = np.asarray(project(values, results))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-6)
    np.testing.assert_allclose(expected_result(found, results), values, atol=1e-6)
    expected = np.stack([nearest_two(value, results) for value in values])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(project(-values, results), found[:, ::-1], atol=1e-6)


@pytest.mark.parametrize("results", [BACKGAMMON, CUT])
@pytest.mark.parametrize("own", [0.0, 0.25])
def test_results_of_points(results, own):
    """Games end with points; the opponent's result is the opposite one."""
    rng = np.random.default_rng(len(results))
    rows = random_transitions(rng, RING, ends=0.3)
    points = rng.choice(np.asarray(results) / results[0], rows["reward"].shape)
    rows["reward"] = np.where(rows["discount"] == 0, points, 0)
    rows["learn"][:] = True
    replay = add_jit(new_ring(), as_transitions(rows))
    found = jax.tree.map(np.asarray, find_jit(replay, root_value_weight=own, results=results))
    plain = jax.tree.map(np.asarray, find_jit(replay, root_value_weight=own))
    assert found.outcome.shape == (RING, LANES, len(results))
    np.testing.assert_array_equal(found.valid, plain.valid)
    seen = 0
    for place, lane in zip(*np.nonzero(found.valid), strict=True):
        sign, t = 1, place
        while rows["discount"][t, lane] != 0:
            sign, t = sign * rows["discount"][t, lane], t + 1
        result = np.asarray(results) / results[0] == sign * rows["reward"][t, lane]
        root = nearest_two(float(rows["value"][place, lane]), results)
        expected = (1 - own) * result + own * root
        np.testing.assert_allclose(found.outcome[place, lane], expected, atol=1e-5)
        seen += 1
    assert seen > RING
    valid = found.valid
    np.testing.assert_allclose(found.value[valid], plain.value[valid], atol=1e-3)


@pytest.mark.parametrize("results", [WIN_DRAW_LOSS, BACKGAMMON])
@pytest.mark.parametrize("size", [1, 2, 37, 64])
@pytest.mark.parametrize(("own", "games"), [(0.0, 0), (0.25, 0), (0.5, 9)])
def test_both_forms_are_equal(size, own, games, results):
    """The share of plies that end a game differs from lane to lane, from none to all."""
    rng = np.random.default_rng(size)
    lanes = 600
    over = rng.random((size, lanes)) < np.linspace(-0.01, 1.01, lanes) ** 3
    plies = (
        (5 - np.arange(size, dtype=np.int32)) % size,
        np.where(over, rng.choice(np.array(results) / results[0], over.shape), 0.0).astype(
            np.float16
        ),
        np.where(over, 0, rng.choice([-1, 1], over.shape)).astype(np.int8),
        rng.uniform(-1, 1, over.shape).astype(np.float16),
    )
    luck = rng.normal(0, 0.1, over.shape).astype(np.float16)
    forms = [
        jax.jit(functools.partial(form, games // 2, own, results))
        for form in (scan_plies, count_turns)
    ]
    assert "while" not in forms[1].lower(*plies).as_text()
    (old, *same), (new, *others) = (form(*plies) for form in forms)
    known = np.cumsum(over, axis=0) > 0
    np.testing.assert_array_equal(new[known], old[known])
    scanned, counted = (np.asarray(form(*plies, luck)[0])[known] for form in forms)
    np.testing.assert_allclose(counted, scanned, atol=1e-5)
    assert np.allclose(scanned, old[known], atol=0.01) == (size == 1)
    for x, y in zip(same, others, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
