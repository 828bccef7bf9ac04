"""Bitboards agree with plain numpy boards."""

import numpy as np
import pytest
from azjax_envs.bitboard import Lanes, any_bit, count_bits

SIZES = [(7, 7), (3, 5), (5, 32), (10, 11), (1, 1)]


def flat(lanes, words):
    return np.asarray(lanes.unpack(words)).reshape(-1)


@pytest.mark.parametrize(("count", "width"), SIZES)
def test_words_hold_the_board(count, width):
    lanes = Lanes(count, width)
    board = np.random.default_rng(0).random((count, width)) < 0.5
    words = lanes.constant(board)
    assert len(words) == lanes.num_words
    np.testing.assert_array_equal(lanes.unpack(words), board)
    np.testing.assert_array_equal(lanes.column(words, width - 1), board[:, width - 1])
    assert count_bits(words) == board.sum()
    assert any_bit(words) == board.any()
    assert not any_bit(lanes.empty())


@pytest.mark.parametrize(("count", "width"), SIZES)
def test_move_down(count, width):
    lanes = Lanes(count, width)
    board = np.random.default_rng(1).random((count, width)) < 0.5
    words = tuple(map(np.uint32, lanes.constant(board)))
    for distance in {0, 1, width - 1, width, width + 1, count * width - 1, count * width + 40}:
        wanted = np.append(board.reshape(-1)[distance:], np.zeros(distance, bool))[: board.size]
        np.testing.assert_array_equal(flat(lanes, lanes.move(words, distance)), wanted)


@pytest.mark.parametrize(("count", "width"), SIZES)
def test_move_up(count, width):
    """A move upwards may leave bits beyond the board; only bits on the board are compared."""
    lanes = Lanes(count, width)
    board = np.random.default_rng(2).random((count, width)) < 0.5
    words = tuple(map(np.uint32, lanes.constant(board)))
    for distance in {0, 1, width, width + 1, count * width - 1, count * width + 40}:
        wanted = np.append(np.zeros(distance, bool), board.reshape(-1))[: board.size]
        np.testing.assert_array_equal(flat(lanes, lanes.move(words, -distance)), wanted)


def test_one():
    lanes = Lanes(10, 11)
    for lane in range(10):
        board = np.asarray(lanes.unpack(lanes.one(np.int32(lane), np.int32(lane))))
        assert np.argwhere(board).tolist() == [[lane, lane]]
    for lane in (-1, 10, 2**31 - 1, -(2**31)):
        assert not any_bit(lanes.one(np.int32(lane)))


@pytest.mark.parametrize("length", range(1, 8))
def test_runs(length):
    lanes = Lanes(10, 9)
    for run in range(1, 8):
        board = np.zeros((10, 9), bool)
        board[2 : 2 + run, 3] = True
        words = lanes.constant(board)
        assert bool(lanes.has_run(words, step=9, length=length)) == (run >= length)
