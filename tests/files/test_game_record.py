"""A game with its history as one value."""

import dataclasses

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.files.game_record import record_from_state, start_game

GAME = make("tic_tac_toe")
BOXES = make("dots_and_boxes", rows=1, columns=2)


def played(*actions, game=GAME):
    record = start_game(game)
    for action in actions:
        record = record.play(action)
    return record


def test_the_start():
    record = start_game(GAME)
    assert (record.num_moves, record.moves) == (0, ())
    now = record.current
    assert (now.mover, now.over, now.returns, now.move, now.moved_by) == (0, False, (0, 0), "", -1)
    assert list(record.legal_moves()) == list(range(9))


def test_positions_are_those_of_the_game():
    record, state = start_game(GAME), GAME.init()
    for action in (4, 0, 2, 6, 3, 5, 1, 7, 8):
        assert record.legal_moves()[action] == GAME.action_to_string(state, action)
        state = GAME.step(state, np.int32(action))
        record = record.play(action)
        np.testing.assert_array_equal(GAME.view(record.current.state), GAME.view(state))
        assert record.current.mover == int(GAME.current_player(state))
    assert record.current.over
    assert record.legal_moves() == {}
    assert record.moves == ("b2", "a1", "c1", "a3", "a2", "c2", "b1", "b3", "c3")


def test_a_record_does_not_change():
    before = played(4)
    after = before.play(0)
    assert before.moves == ("b2",)
    assert after.moves == ("b2", "a1")
    assert after.truncate(1).moves == before.moves
    assert after.truncate(0).current.move == ""


def test_moves_remember_their_players():
    record = played(2, 5, 4, 0, game=BOXES)  # the last move closes a box
    assert [position.moved_by for position in record.positions] == [-1, 0, 1, 0, 1]
    assert [position.mover for position in record.positions] == [0, 1, 0, 1, 1]


def test_a_move_may_have_another_name():
    assert played(4).play(0, "my move").moves == ("b2", "my move")


def test_names_of_a_line_end_with_the_game():
    record = played(0, 3, 1, 4)
    assert record.move_names([5, 2]) == ["c2", "c1"]
    assert record.move_names([2, 5, 8]) == ["c1"]  # the first move wins
    assert record.move_names([]) == []
    assert record.num_moves == 4


@pytest.mark.parametrize("actions", [(), (0, 3, 1)])
def test_a_record_from_any_state(actions):
    state = played(*actions).current.state
    record = record_from_state(GAME, state)
    assert record.num_moves == 0
    assert record.current.mover == len(actions) % 2
    assert record.play(4).moves == ("b2",)


@pytest.mark.parametrize("name", ["tic_tac_toe", "go_5x5"])
def test_moves_played_at_once_are_those_played_one_by_one(name):
    game, rng = make(name), np.random.default_rng(0)
    record = start_game(game)
    while not record.current.over and record.num_moves < 70:
        record = record.play(int(rng.choice(list(record.legal_moves()))))
    actions = [position.action for position in record.positions[1:]]
    whole = start_game(game).play_all(actions, record.moves)
    taken = [*actions[:3], actions[2], *actions[3:]]  # a cell twice
    part = start_game(game).play_all(taken, [*record.moves, ""])
    beyond = start_game(game).play_all([*actions, 0], [*record.moves, "x"])
    for found, moves in ((whole, len(actions)), (part, 3), (beyond, len(actions))):
        assert found.num_moves == moves
        for ours, theirs in zip(found.positions, record.positions, strict=False):
            assert dataclasses.replace(ours, state=0) == dataclasses.replace(theirs, state=0)
            jax.tree.map(np.testing.assert_array_equal, ours.state, theirs.state)
