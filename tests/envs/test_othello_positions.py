"""Othello by positions: passes, ends, directions, mistakes, planes, drawing and texts."""

import random

import jax
import numpy as np
import pytest
from azjax_envs import make

from tests.oracles.othello import BLACK, PASS, WHITE, Position
from tests.oracles.othello_boards import actions_of, choice_of, discs, place

GAME = make("othello")
SMALL = make("othello_4x4")


def test_wiped_out(play_line):
    """In the shortest game, White has no disc after nine moves."""
    before = play_line(GAME, _line("e6 f4 e3 f6 g5 d6 e7 f5"))
    assert not GAME.is_terminal(before)
    after = GAME.step(before, GAME.string_to_action(before, "c5"))
    assert GAME.is_terminal(after)
    assert GAME.score(after).tolist() == [13, 0]
    assert GAME.returns(after).tolist() == [1, -1]
    assert not GAME.legal_action_mask(after).any()
    assert GAME.current_player(after) == 1
    with pytest.raises(ValueError, match="the game is over"):
        GAME.string_to_action(after, "pass")


def test_pass_is_the_only_action_where_there_is_no_place(play_line):
    line, position = _find(lambda position: position.legal() == [PASS])
    state = play_line(SMALL, line)
    assert np.flatnonzero(SMALL.legal_action_mask(state)).tolist() == [16]
    assert SMALL.string_to_action(state, "Pass") == 16
    assert int(SMALL.view(state)[16]) == 1
    after = SMALL.step(state, 16)
    assert SMALL.current_player(after) == 1 - SMALL.current_player(state)
    assert discs(SMALL, after) == position.text()
    assert int(SMALL.view(after)[16]) == 0
    for cell in range(16):
        assert SMALL.is_terminal(SMALL.step(state, cell))


def test_same_player_again_and_again(play_line):
    """One player passes twice, before and after a single move of the other."""
    line, _ = _find(lambda p: p.legal() == [PASS], lambda p: True, lambda p: p.legal() == [PASS])
    state = play_line(SMALL, line)
    movers = []
    for _ in range(3):
        movers.append(int(SMALL.current_player(state)))
        state = SMALL.step(state, np.flatnonzero(SMALL.legal_action_mask(state))[0])
    assert movers in ([0, 1, 0], [1, 0, 1])


def test_neither_can_move_though_cells_are_empty(play_line):
    line, position = _find(
        lambda p: p.is_over() and len(p.board) < 16 and p.count(BLACK) and p.count(WHITE)
    )
    state = play_line(SMALL, line)
    assert SMALL.is_terminal(state)
    assert not SMALL.legal_action_mask(state).any()
    assert SMALL.score(state).tolist() == [position.count(BLACK), position.count(WHITE)]
    assert SMALL.returns(state)[0] == np.sign(position.margin())
    for action in (0, 16, 17):
        _assert_same(SMALL.step(state, action), state)


def test_all_eight_directions_at_once():
    text = """
        O..O..O.
        .X.X.X..
        ..XXX...
        OXX.XXXO
        ..XXX...
        .X.X.X..
        O..O..O.
        ........
    """
    state = place(GAME, text, WHITE)
    after = GAME.step(state, GAME.string_to_action(state, "d4"))
    reference = Position.read(text, WHITE)
    assert discs(GAME, after) == reference.after((3, 3)).text()
    assert GAME.score(after).tolist() == [0, 26]
    assert GAME.is_terminal(after)


def test_lines_do_not_run_around_the_edge():
    text = """
        ......OX
        X.......
        .......O
        OX......
        ........
        ........
        .......X
        O.......
    """
    for turn in (BLACK, WHITE):
        state = place(GAME, text, turn)
        assert np.flatnonzero(GAME.legal_action_mask(state)).tolist() == actions_of(
            Position.read(text, turn)
        )


def test_illegal_action_loses_though_ahead():
    state = place(GAME, "XXXXXXO." + "\n........" * 7, BLACK)
    lost = GAME.step(state, 64)
    assert GAME.score(lost).tolist() == [6, 1]
    assert GAME.returns(lost).tolist() == [-1, 1]


def test_ownership_is_the_movers(play_line):
    state = play_line(GAME, _line("d3"))
    owned = np.asarray(GAME.ownership(state)).reshape(8, 8)
    assert np.argwhere(owned == 1).tolist() == [[4, 4]]
    assert np.argwhere(owned == -1).tolist() == [[2, 3], [3, 3], [3, 4], [4, 3]]
    assert GAME.score(state).tolist() == [4, 1]


def _line(text):
    return [8 * (int(name[1]) - 1) + "abcdefgh".index(name[0]) for name in text.split()]


def _find(*wanted):
    """Returns the actions of a random 4x4 game to positions that pass the tests, and the first."""
    chance = random.Random(0)
    while True:
        positions, line = [Position(4)], []
        while not positions[-1].is_over():
            line.append(chance.choice(actions_of(positions[-1])))
            positions.append(positions[-1].after(choice_of(positions[-1], line[-1])))
        for start in range(len(positions) - len(wanted) + 1):
            if all(test(positions[start + i]) for i, test in enumerate(wanted)):
                return line[:start], positions[start]


def _assert_same(state, other):
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(other), strict=True):
        assert a == b
