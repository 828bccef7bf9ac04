"""Moves of several games that are played at once, compared with moves played one by one."""

import dataclasses

import jax
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.game import legal_actions
from azjax_envs.go import Go

from azjax.compact_states import drop_unobserved
from azjax.files import played_positions
from azjax.files.game_record import GameRecord, start_game
from azjax.files.played_positions import LANES, Line, play_together


def random_record(game, seed, most):
    rng, record = np.random.default_rng(seed), start_game(game)
    for _ in range(most):
        if record.current.over:
            break
        record = record.play(int(rng.choice(legal_actions(game, record.current.state))))
    return record


def line_of(record, *, rules=None, more=0):
    """Returns the moves of a record, and after them `more` times one that is not legal."""
    game, legal = record.game, record.legal_moves()
    wrong = next((a for a in range(game.num_actions) if a not in legal), 0)
    actions = [position.action for position in record.positions[1:]]
    wanted = [*actions, *[wrong] * more]
    names = [*record.moves, *[""] * more]
    return Line(game, rules or game, record.positions[:1], wanted, names)


def assert_same(found, record):
    assert len(found) == len(record.positions)
    for ours, theirs in zip(found, record.positions, strict=True):
        assert dataclasses.replace(ours, state=0) == dataclasses.replace(theirs, state=0)
        jax.tree.map(np.testing.assert_array_equal, ours.state, theirs.state)


@pytest.mark.parametrize("name", ["tic_tac_toe", "go_5x5", "dots_and_boxes_1x2"])
def test_games_played_together_are_those_played_alone(name):
    """Games of many lengths, with illegal moves and moves after the end, in two loops."""
    game = make(name)
    records = [random_record(game, seed, most=1 + 3 * (seed % 20)) for seed in range(LANES + 3)]
    lines = [line_of(record, more=number % 3) for number, record in enumerate(records)]
    assert any(record.current.over for record in records)
    assert not all(record.current.over for record in records)
    for positions, record in zip(play_together(lines)(), records, strict=True):
        assert positions.last is positions[-1] is positions[len(positions) - 1]
        assert_same(positions, record)
        played = GameRecord(game, positions)
        assert played.moves == record.moves
        for ours, theirs in zip(played.stacked(), record.stacked(), strict=True):
            jax.tree.map(np.testing.assert_array_equal, ours, theirs)


def test_games_without_a_legal_move_do_not_disturb_the_others():
    game = make("tic_tac_toe")
    start, record = start_game(game), random_record(game, 0, most=4)
    lines = [line_of(start), line_of(record), line_of(record)._replace(before=record.positions)]
    first, second, third = play_together(lines)()  # the third plays where stones are
    assert first is third is None
    assert_same(second, record)


def test_states_of_games_played_together_are_kept_without_what_only_rules_need():
    record = random_record(make("go_5x5"), 1, most=9)
    (positions,) = play_together([line_of(record)])()
    expected = drop_unobserved(record.game, record.positions[3].state)
    kept = jax.tree.map(lambda x: x[3], positions.states)
    jax.tree.map(np.testing.assert_array_equal, kept, expected)
    assert positions.states.history is None
    assert positions[3].state.history.shape == record.current.state.history.shape


def test_one_program_plays_games_of_all_komis_and_lengths():
    rules = Go(size=5, komi=7.5)
    records = [random_record(Go(size=5, komi=komi), 4, most=60) for komi in (-30, 0.5, 30)]
    lines = [line_of(x, rules=rules) for x in records] + [line_of(start_game(rules), more=1)]
    play_together(lines[:1])()
    before = played_positions._play._cache_size()
    found = play_together(lines)()
    assert played_positions._play._cache_size() == before
    assert found[0][-1].over
    results = [positions[-1].returns for positions in found[:3]]
    assert results == [record.current.returns for record in records]
    assert results[0] == (1, -1)
    assert results[2] == (-1, 1)


def test_moves_beyond_the_longest_game_take_no_memory(monkeypatch):
    play, shapes = played_positions._play, []

    def watched(game, states, actions, sizes, **options):
        shapes.append(actions.shape)
        return play(game, states, actions, sizes, **options)

    monkeypatch.setattr(played_positions, "_play", watched)
    game = make("tic_tac_toe")
    assert start_game(game).play_all([4] * 1000, ["b2"] * 1000).moves == ("b2",)
    record = random_record(game, 0, most=9)
    (positions,) = play_together([line_of(record, more=1000)])()
    assert_same(positions, record)
    assert shapes[:2] == [(9, 1), (9, LANES)]
