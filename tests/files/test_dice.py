"""Files with games of dice: lists of moves with rolls."""

import itertools
import random

import jax
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.game import possible_results

import azjax
from azjax.chance import read_outcome
from azjax.compact_states import restore_unobserved
from azjax.errors import UserError
from azjax.files.dataset import load_dataset
from azjax.play.game_file import GameFile, resume_game
from azjax.play.session import start_session
from azjax.players.random_player import RandomPlayer


def session_of(game, **options):
    return start_session(game, RandomPlayer(game), humans=(0, 1), key=jax.random.key(3), **options)


@pytest.mark.parametrize("name", ["ur_2", "hypergammon"])
def test_games_come_back(name, tmp_path):
    game, path, chance = make(name), tmp_path / "evening.txt", random.Random(1)
    session, file = session_of(game), GameFile(path, game)
    for _ in range(12):
        session = session.play(chance.choice(list(session.record.legal_moves())))
        file.save(session)
        if chance.random() < 0.2:
            session = session.undo()
            file.save(session)
    wanted = session.record
    resumed = resume_game(path, game)
    assert not resumed.ends_early
    found = resumed.record
    assert found.moves == wanted.moves
    assert [x.roll for x in found.positions] == [x.roll for x in wanted.positions]
    assert [x.mover for x in found.positions] == [x.mover for x in wanted.positions]
    jax.tree.map(np.testing.assert_array_equal, found.current.state, wanted.current.state)
    (read,) = azjax.read_games(path)  # which names its game
    assert read.record.moves == wanted.moves
    again = session_of(game, record=found).record
    assert again.moves == wanted.moves
    assert not again.awaits_roll
    while not session.over:
        session = session.play(chance.choice(list(session.record.legal_moves())))
    file.save(session)
    (read,) = azjax.read_games(path, game)
    assert read.record.current.over
    assert read.record.current.returns == session.current.returns


GOOD = "3-1: 24/21 23/22 6-5: 24/18 23/18"


@pytest.mark.parametrize(
    ("line", "moves", "problem"),
    [
        (GOOD, 4, ""),
        ("31: 24/21, 23/22, 5-6: 24/18 23/18 0-1", 4, ""),
        (f"{GOOD} 1-1:", 4, ""),
        ("3-1: 24/21", 1, ""),  # cut within a turn
        (f"{GOOD[:-1]}", 3, "move 4: '23/1' is not legal here; legal: "),
        (f"{GOOD[:-8]}", 2, "move 3: '24/' is not legal here; legal: "),
        ("3-1: 24/21 23/22 6-5", 2, "move 3: a roll must stand before '6-5', as in '6-1: 13/7'"),
        ("3-1: 24/21 23/21", 1, "move 2: '23/21' is not legal here; legal: 21/20, 22/21, 23/22; "),
        (
            "3-1: 24/21 5-1: 24/23",
            1,
            "move 2: '5-1:' is a roll, and no dice are to be rolled there",
        ),
        (f"{GOOD} 7-1: 18/11", 4, "move 5: '7-1' is no roll here; rolls are 2-1, 3-1, 4-1, 5-1, "),
        ("3-3: 24/21", 0, "move 1: '3-3' is no roll here; rolls are 2-1, 3-1, "),
        ("24/21 24/23", 0, "move 1: a roll must stand before '24/21'"),
        (": 24/21", 0, "move 1: '' is no roll here"),
        ("3-1:", 0, "it has no moves"),
    ],
)
def test_lines(line, moves, problem, tmp_path):
    path = tmp_path / "games.txt"
    path.write_text(f"# hypergammon\n{line}\n")
    (played,) = azjax.read_games(path)
    if moves == 0:
        assert played.record is None
        assert played.error.startswith(problem)
        assert "\n" not in played.error
    else:
        assert played.record.num_moves == moves
        assert played.ends_early.startswith(problem)
        assert bool(played.ends_early) == bool(problem)
        assert "\n" not in played.ends_early


def test_a_roll_where_there_are_no_dice(tmp_path):
    path = tmp_path / "games.txt"
    path.write_text("# tic_tac_toe\na1 3: b2\n")
    (played,) = azjax.read_games(path)
    assert played.record.moves == ("a1",)
    assert played.ends_early == (
        "move 2: '3:' is a roll, and no dice are to be rolled there; the move before it is read"
    )


def test_names_of_rolls():
    game = make("backgammon")
    first = game.init()
    names = {"6-1": 4, "61": 4, " 1-6": 4, "1 6": 4, "5-6": 14}
    assert {text: read_outcome(game, first, text) for text in names} == names
    for wrong in ("", "-", "6", "6-6", "611", "six"):
        with pytest.raises(UserError, match="is no roll here; rolls are 2-1, 3-1"):
            read_outcome(game, first, wrong)
    ur = make("ur_1")
    assert [read_outcome(ur, ur.init(), str(n)) for n in range(5)] == [0, 1, 2, 3, 4]


def test_backgammon_is_saved_as_a_match_file(tmp_path):
    with pytest.raises(UserError, match=r"games of backgammon are saved as \.mat, or as lists"):
        GameFile(tmp_path / "a.sgf", make("backgammon"))
    game, chance = make("hypergammon"), random.Random(3)
    session = start_session(game, RandomPlayer(game), humans=(0, 1), key=jax.random.key(3))
    file = GameFile(tmp_path / "a.mat", game)
    while not session.over:
        session = session.play(chance.choice(list(session.record.legal_moves())))
        file.save(session)
    (played,) = azjax.read_games(tmp_path / "a.mat", game)
    assert played.record.moves == session.record.moves
    assert played.record.current.returns == session.record.current.returns
    assert 3 * played.record.current.returns[0] == pytest.approx(played.result)


@pytest.mark.parametrize("name", ["ur_1", "hypergammon"])
def test_positions_after_rolls_are_examples(name, tmp_path):
    """A file of two games: what was seen, what was played, and by how many points it was won."""
    game, chance = make(name), random.Random(2)
    for seed in range(2):
        session = start_session(
            game, RandomPlayer(game), humans=(0, 1), key=jax.random.key(seed + 5)
        )
        file = GameFile(tmp_path / f"{seed}.txt", game)
        while not session.over:
            session = session.play(chance.choice(list(session.record.legal_moves())))
        file.save(session)
    files = sorted(tmp_path.glob("*.txt"))
    records = [played.record for played in azjax.read_games(files)]
    data = azjax.dataset(game, azjax.read_games(files))
    assert (len(data), data.num_games) == (sum(x.num_moves for x in records), 2)
    rows = data.rows(np.arange(len(data)))
    states = restore_unobserved(game, rows.transitions.states)
    legal = np.asarray(jax.jit(jax.vmap(game.legal_action_mask))(states))
    step, observe = jax.jit(game.step), jax.jit(game.observe)
    seen = np.asarray(jax.jit(jax.vmap(game.observe))(states))
    decisions = [
        (place and record.positions[place - 1], before, after.action, record.current)
        for record in records
        for place, (before, after) in enumerate(itertools.pairwise(record.positions))
    ]
    results, dice = possible_results(game), rows.transitions.before_dice
    earlier = np.asarray(jax.jit(jax.vmap(game.observe))(restore_unobserved(game, dice.states)))
    for number, (last, before, action, end) in enumerate(decisions):
        result = end.returns[before.mover]
        unrolled = step(last.state, before.action) if last else before.state
        np.testing.assert_array_equal(earlier[number], observe(unrolled))
        assert dice.same_mover[number] == (game.current_player(unrolled) == before.mover)
        assert not game.is_chance(before.state)
        np.testing.assert_array_equal(seen[number], observe(before.state))
        assert legal[number, action]
        assert rows.transitions.policy[number].argmax() == action
        told = [x / results[0] == pytest.approx(result) for x in results]
        assert rows.outcome[number].tolist() == told
    data.save(tmp_path / "games.npz")
    again = load_dataset(game, tmp_path / "games.npz")
    jax.tree.map(np.testing.assert_array_equal, again.sample, data.sample)
    np.testing.assert_array_equal(again.games, data.games)


def test_a_game_of_dice_without_an_end_is_left_out(tmp_path):
    (tmp_path / "games.txt").write_text(f"# hypergammon\n{GOOD}\n")
    with pytest.raises(UserError, match=r"no game of hypergammon to learn .* it has no result"):
        azjax.dataset(make("hypergammon"), azjax.read_games(tmp_path / "games.txt"))
