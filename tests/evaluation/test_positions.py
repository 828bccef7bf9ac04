import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.evaluation.positions import positions_of_games, random_positions
from azjax.exact.solver import solve
from tests.oracles.players import HostLowest, Lowest

GAME = make("tic_tac_toe")


def _texts(states):
    rows = range(len(jax.tree.leaves(states)[0]))
    return [GAME.to_string(jax.tree.map(lambda x, i=i: x[i], states)) for i in rows]


def test_random_games_meet_different_positions_of_all_plies():
    states, plies = random_positions(GAME, jax.random.key(0), num_games=256)
    solution = solve(GAME)
    indices = solution.lookup(states)
    assert len(set(indices)) == len(indices) == len(plies)
    np.testing.assert_array_equal(plies, solution.plies[indices])
    assert not solution.terminal[indices].any()
    assert list(plies) == sorted(plies)
    counts = np.bincount(plies)
    assert list(counts[:2]) == [1, 9]
    assert (counts[2:] > 20).all()
    assert len(counts) == 9
    again, _ = random_positions(GAME, jax.random.key(0), num_games=256)
    np.testing.assert_array_equal(solution.lookup(again), indices)


@pytest.mark.parametrize("player", [Lowest(GAME), HostLowest(GAME, [])])
def test_a_deterministic_player_without_openings_plays_one_game(player):
    states, plies = positions_of_games(
        GAME, player, jax.random.key(0), num_games=8, opening_plies=0
    )
    # X and O take turns from cell 0 on; X wins with the seventh move.
    assert list(plies) == list(range(7))
    state, expected = GAME.init(), []
    for cell in range(7):
        expected.append(GAME.to_string(state))
        state = GAME.step(state, cell)
    assert GAME.is_terminal(state)
    assert _texts(states) == expected


def test_openings_are_random_and_of_all_lengths():
    """The first moves of a game are its opening; from there on the player moves."""
    states, plies = positions_of_games(
        GAME, Lowest(GAME), jax.random.key(1), num_games=200, opening_plies=2
    )
    texts = _texts(states)
    assert len(set(texts)) == len(texts)
    # Openings of one ply reach all nine cells; those of two, many replies.
    assert np.sum(plies == 0) == 1
    assert np.sum(plies == 1) == 9
    assert np.sum(plies == 2) > 30
