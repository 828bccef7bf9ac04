import dataclasses
import functools

import jax
import numpy as np
import pytest

from azjax.replay.buffer import add
from azjax.replay.targets import count_turns, scan_plies, value_targets
from tests.replay.test_buffer import (
    LANES,
    RING,
    as_transitions,
    empty_transitions,
    new_ring,
    random_transitions,
)

add_jit = jax.jit(add)
find_jit = jax.jit(value_targets, static_argnames=("root_value_weight", "max_games", "devices"))


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


@pytest.mark.parametrize("size", [1, 2, 37, 64])
@pytest.mark.parametrize(("own", "games"), [(0.0, 0), (0.25, 0), (0.5, 9)])
def test_both_forms_are_equal(size, own, games):
    """The share of plies that end a game differs from lane to lane, from none to all."""
    rng = np.random.default_rng(size)
    lanes = 600
    over = rng.random((size, lanes)) < np.linspace(-0.01, 1.01, lanes) ** 3
    plies = (
        (5 - np.arange(size, dtype=np.int32)) % size,
        np.where(over, rng.choice([-1.0, 0.0, 1.0], over.shape), 0.0).astype(np.float16),
        np.where(over, 0, rng.choice([-1, 1], over.shape)).astype(np.int8),
        rng.uniform(-1, 1, over.shape).astype(np.float16),
    )
    forms = [
        jax.jit(functools.partial(form, games // 2, own)) for form in (scan_plies, count_turns)
    ]
    assert "while" not in forms[1].lower(*plies).as_text()
    (old, *same), (new, *others) = (form(*plies) for form in forms)
    known = np.cumsum(over, axis=0) > 0
    np.testing.assert_array_equal(new[known], old[known])
    for x, y in zip(same, others, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
