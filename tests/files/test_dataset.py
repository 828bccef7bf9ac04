"""Recorded games as examples: positions, moves and results."""

from collections import Counter

import jax
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.game import legal_actions

import azjax
from azjax.compact_states import restore_unobserved
from azjax.errors import UserError
from azjax.files.dataset import load_dataset
from azjax.files.game_record import replay, start_game
from azjax.replay.auxiliary import final_points
from azjax.replay.buffer import unpack_policy
from azjax.replay.custom_targets import RunTargets
from azjax.runs.recorded_games import count_games
from tests.oracles.dice import recorded_games

GO = "(;GM[1]SZ[5]KM[0.5]{result};B[cc];W[bb];B[];W[])"


def random_record(game, seed):
    rng, record = np.random.default_rng(seed), start_game(game)
    while not record.current.over:
        record = record.play(int(rng.choice(legal_actions(game, record.current.state))), "")
    return record


@pytest.mark.parametrize("name", ["tic_tac_toe", "dots_and_boxes_1x2"])
def test_examples_are_the_positions_of_the_games(name, tmp_path):
    game = make(name)
    records = [random_record(game, seed) for seed in range(70)]
    data = azjax.dataset(game, records)
    assert (len(data), data.num_games) == (sum(x.num_moves for x in records), 70)
    policies = unpack_policy(data.sample.transitions.policy, game.num_actions)
    extra = data.with_targets(game, RunTargets((final_points(game),))).sample.targets
    at = 0
    for number, record in enumerate(records):
        for before, after in zip(record.positions, record.positions[1:], strict=False):
            row = data.rows(np.array([at]))
            states = restore_unobserved(game, row.transitions.states)
            seen, expected = game.observe(take_first(states)), game.observe(before.state)
            np.testing.assert_array_equal(seen, expected)
            assert policies[at].argmax() == after.action
            assert policies[at].sum() == 1
            result = record.current.returns[before.mover]
            assert row.outcome[0].tolist() == [result > 0, result == 0, result < 0]
            assert data.games[at] == number
            if name.startswith("dots"):
                points = np.asarray(game.score(record.current.state))
                share = (points[before.mover] - points[1 - before.mover]) / points.sum()
                assert extra["score"][at] == pytest.approx(share, abs=1e-3)
            at += 1
    data.save(tmp_path / "games.npz")
    again = load_dataset(game, tmp_path / "games.npz")
    jax.tree.map(np.testing.assert_array_equal, again.sample, data.sample)
    with pytest.raises(UserError, match=r"games\.npz: its examples are not of connect_four"):
        load_dataset(make("connect_four"), tmp_path / "games.npz")
    assert count_games(tmp_path) == 70
    learned, held = data.split(0.1, seed=0)
    assert (learned.num_games, held.num_games) == (63, 7)
    assert len(learned) + len(held) == len(data)


@pytest.mark.parametrize("name", ["tic_tac_toe", "hypergammon"])
def test_repeats_of_held_out_games_are_not_learned(name):
    game = make(name)
    if name == "hypergammon":
        records = recorded_games(game, jax.random.key(0), 16, 150)
    else:
        records = [random_record(game, seed) for seed in range(8)]
    data = azjax.dataset(game, [records[i] for i in (0, 1, 2, 1, 3, 4, 5, 1, 6, 0, 7)])
    assert data.originals.tolist() == [0, 1, 2, 1, 4, 5, 6, 1, 8, 0, 10]
    numbers = set()
    for seed in range(6):
        learned, held = (Counter(actions_of(part)) for part in data.split(0.5, seed))
        assert (len(learned), len(held), held.total()) == (4, 4, 4)
        assert Counter(actions_of(data)) - learned >= held
        assert all(actions_of(data).count(game) == count for game, count in learned.items())
        assert not learned.keys() & held.keys()
        numbers.add(learned.total())
    assert len(numbers) > 1  # repeats are on both sides


def actions_of(data):
    """Returns the games of a dataset, as their actions."""
    policies = np.asarray(data.sample.transitions.policy)
    return [tuple(policies[data.games == i].argmax(-1)) for i in range(data.num_games)]


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 cut off", b"no archive"])
def test_damaged_examples_are_named(data, tmp_path):
    file = tmp_path / "games.npz"
    file.write_bytes(data)
    with pytest.raises(UserError, match=r"games\.npz: damaged"):
        load_dataset(make("tic_tac_toe"), file)
    assert count_games(tmp_path) == 0


def take_first(states):
    return jax.tree.map(lambda x: x[0], states)


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        *(("a.sgf", GO.format(result=f"RE[{x}]"), 1) for x in ("B+R", "B+3.5", "b+")),
        ("a.sgf", "(;SZ[5]RE[W+T];B[cc])", -1),
        ("a.sgf", "(;SZ[5]RE[0];B[cc])", 0),
        ("a.sgf", "(;SZ[5]RE[Void];B[cc])", None),
        ("a.pgn", "1. e4 e5 1-0", 1),
        ("a.pgn", '[Result "0-1"]\n\n1. e4 *', None),
        ("a.pgn", "1. e4 e5 1/2-1/2", 0),
        ("a.pgn", "1. e4 e5 *", None),
        ("a.csa", "PI\n+\n+7776FU\n%TORYO", 1),  # White gives up
        ("a.kif", "手数----指手\n1 ７六歩(77)\n2 ３四歩(33)\n3 投了\n", -1),
        ("a.kif", "手数----指手\n1 ７六歩(77)\n2 中断\n", None),
    ],
)
def test_results_of_files(name, text, result, tmp_path):
    (tmp_path / name).write_text(text)
    (played,) = azjax.read_games(tmp_path / name)
    assert played.error == ""
    assert played.result == result


def test_what_is_left_out(tmp_path):
    game = make("tic_tac_toe")
    whole, part = replay(game, [0, 3, 1, 4, 2]), replay(game, [0, 3])
    (tmp_path / "a.txt").write_text("a1 a2 a1\nz\n")
    games = [
        *azjax.read_games(tmp_path / "a.txt", game),
        whole,
        part,
        random_record(make("hex_3x3"), 0),
    ]
    data = azjax.dataset(game, games)
    assert data.num_games == 1
    assert repr(data) == "<Dataset of 5 positions, games: 1; games left out: 4, files unread: 0>"
    names = [line.removeprefix(f"{tmp_path / 'a.txt'}, ") for line in data.left_out]
    assert names[0] == "game 1: it has no result"
    assert names[1].startswith("game 2: move 1: 'z' is not legal here")
    assert names[2:] == ["game 4: it has no result", "game 5: it is of hex_3x3, not tic_tac_toe"]
    with pytest.raises(UserError, match="no game of tic_tac_toe to learn from: game 1: it has no"):
        azjax.dataset(game, [part])


def test_a_file_tells_values_of_positions(tmp_path):
    """A run mixes them with the results, as it does with the values of its own searches."""
    texts = "f3 {[%eval -1]} e5 g4 {[%eval #-1]} Qh4# 0-1", "e4 e5 1/2-1/2"
    (tmp_path / "a.pgn").write_text("\n\n".join(f'[Event "?"]\n\n1. {x}\n' for x in texts))
    game, told = make("chess"), 2 / (1 + np.exp(-0.368208)) - 1
    data = azjax.dataset(game, azjax.read_games(tmp_path / "a.pgn"))
    values = data.sample.transitions.value
    np.testing.assert_allclose(values, [-1, told, -1, 1, 0, 0], atol=1e-3)
    assert data.sample.transitions.reward.tolist() == [0, 0, 0, 1, 0, 0]
    results = data.sample.outcome
    assert results.argmax(-1).tolist() == [2, 0, 2, 0, 1, 1]
    plain = data.with_targets(game, RunTargets(()))
    np.testing.assert_array_equal(plain.sample.outcome, results)
    mixed = data.with_targets(game, RunTargets(()), root_value_weight=0.75).sample.outcome
    assert mixed.dtype == results.dtype
    np.testing.assert_array_equal(mixed[[0, 2, 3, 4, 5]], results[[0, 2, 3, 4, 5]])
    np.testing.assert_allclose(mixed[1], [0.25 + 0.75 * told, 0.75 * (1 - told), 0], atol=1e-3)
