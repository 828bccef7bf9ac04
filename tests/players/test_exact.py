import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.errors import UserError
from azjax.evaluation.match import play_match
from azjax.evaluation.report import report
from azjax.exact.solver import solve
from azjax.players.exact import exact_player, find_rows
from azjax.players.random_player import RandomPlayer

GAME = make("tic_tac_toe")


@pytest.fixture(scope="module")
def solution():
    return solve(GAME)


def test_plays_every_move_that_keeps_the_value_and_no_other(solution):
    decisions = solution.decisions
    states = solution.states(decisions)
    act = jax.jit(exact_player(GAME, solution).__call__)
    played = np.zeros((len(decisions), 9), bool)
    for key in jax.random.split(jax.random.key(0), 60):
        played[np.arange(len(decisions)), np.asarray(act(key, states))] = True
    optimal = solution.optimal_actions(decisions)
    assert not (played & ~optimal).any()
    assert (played == optimal).mean() > 0.99


LINES = (0b111, 0b111000, 0b111000000, 0b1001001, 0b10010010, 0b100100100, 0b100010001, 0b1010100)


@functools.cache
def searched(own, theirs):
    """Returns the mover's result, and the plies to the end if winners hurry and losers delay."""
    if any(line & theirs == line for line in LINES):
        return -1, 0
    found = []
    for cell in range(9):
        if not (own | theirs) >> cell & 1:
            result, plies = searched(theirs, own | 1 << cell)
            found.append((-result, plies + 1))
    if not found:
        return 0, 0
    return max(found, key=lambda each: (each[0], -each[0] * each[1]))


def test_the_results_of_moves_are_those_of_a_plain_search(solution):
    rows = solution.decisions
    states = solution.states(rows)
    results, plies = jax.jit(lambda p, s: p.move_results(s))(exact_player(GAME, solution), states)
    planes = np.asarray(jax.vmap(GAME.observe)(states)).reshape(len(rows), 9, 2).astype(int)
    boards = (planes << np.arange(9)[:, None]).sum(1)
    for (own, theirs), found, left in zip(boards.tolist(), results, plies, strict=True):
        for cell in range(9):
            if (own | theirs) >> cell & 1:
                expected = -np.inf, 0
            else:
                result, after = searched(theirs, own | 1 << cell)
                expected = -result, after + 1 if result else 0
            assert (found[cell], left[cell]) == expected


def test_results_from_a_table_have_no_plies():
    game = make("dots_and_boxes_2x2")
    player, solution = exact_player(game), solve(game)
    states = solution.states(solution.decisions)
    results, plies = player.move_results(states)
    np.testing.assert_array_equal(results, solution.action_values(solution.decisions))
    assert not np.any(plies)


def test_finds_every_state_and_only_those(solution):
    player = exact_player(GAME, solution)
    keys = jnp.asarray(player.keys)
    place, found = find_rows(player.keys, keys)
    np.testing.assert_array_equal(place, np.arange(5478))
    assert found.all()
    near = keys + jnp.array([[0, 1]], jnp.uint32)
    place, found = find_rows(player.keys, near)
    assert found.sum() == 0
    ends = jnp.array([[0, 0], [0xFFFFFFFF, 0xFFFFFFFF]], jnp.uint32)
    assert not find_rows(player.keys, ends)[1].any()


def test_an_unreachable_position_still_gets_a_legal_move(solution):
    player = exact_player(GAME, solution)
    empty = GAME.init()
    # Three marks of the player to move and none of the opponent's.
    marks = jnp.asarray(0b000_101_010, jnp.uint16)
    state = type(empty)(own=marks, taken=marks, lost=empty.lost)
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (50, *x.shape)), state)
    actions = set(np.asarray(player(jax.random.key(0), states)))
    assert actions == {0, 2, 4, 6, 7, 8}


def test_a_large_game_has_no_exact_player():
    with pytest.raises(UserError, match="too large"):
        exact_player(make("connect_four"), solve(make("connect_four"), max_states=2000))


def test_a_board_too_large_to_enumerate_is_played_from_a_table():
    """In dots and boxes 3x3 the second player wins against any play."""
    game = make("dots_and_boxes_3x3")
    match = play_match(
        game, RandomPlayer(game), exact_player(game), jax.random.key(0), num_games=128
    )
    assert match.as_first == (0, 0, 64)
    assert match.losses > 120  # random play does not keep the win


def test_the_table_player_plays_every_best_move_and_no_other():
    game = make("dots_and_boxes_2x2")
    solution = solve(game, payoff="margin")
    decisions = solution.decisions
    states = solution.states(decisions)
    act = jax.jit(exact_player(game).__call__)
    played = np.zeros((len(decisions), game.num_actions), bool)
    for key in jax.random.split(jax.random.key(1), 40):
        played[np.arange(len(decisions)), np.asarray(act(key, states))] = True
    optimal = solution.optimal_actions(decisions)
    assert not (played & ~optimal).any()
    assert (played == optimal).mean() > 0.98


def test_a_report_measures_it():
    """An array of the name of a method that other players have would be called."""
    player = exact_player(make("tic_tac_toe"))
    card = report(player.game, [player], num_games=2)
    assert (card.players[0].mistakes, card.players[0].values) == (0, ())
