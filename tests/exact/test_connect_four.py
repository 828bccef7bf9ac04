"""The solver of connect four, held against other programs and against the enumerated game."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.connect_four import ConnectFour
from bitbully import BitBully, Board

from azjax.errors import UserError
from azjax.evaluation.position_suites import GameSuites
from azjax.exact import known_values
from azjax.exact.known_values import exact_values
from azjax.exact.solver import solve
from azjax.players.exact import exact_player
from azjax.pytrees import take

GAME = make("connect_four")


@pytest.fixture(scope="module")
def solver():
    return solver_of(GAME)


def solver_of(game):
    # numba compiles the solver when it is imported, which takes seconds.
    from azjax.exact.connect_four import ConnectFourSolver

    return ConnectFourSolver(game)


def play(game, lines):
    """Returns the states after lines of moves from the start, stacked."""
    step, states = jax.jit(game.step), []
    for line in lines:
        state = game.init()
        for action in line:
            state = step(state, action)
        states.append(state)
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


@pytest.mark.parametrize("plies", [(0, 7), (14, 99)])
def test_all_scores_are_those_of_the_scored_positions(solver, plies):
    # The files were made with another solver. Positions of 8 to 13 plies take longest.
    for suite in GameSuites(GAME).fixed:
        rows = np.flatnonzero((suite.plies >= plies[0]) & (suite.plies <= plies[1]))[::5]
        assert len(rows) > 50 or plies[0] == 0
        scores = solver.action_scores(take(suite.states, rows))
        np.testing.assert_array_equal(scores, suite.action_scores[rows])


def test_openings_and_later_positions_have_the_scores_of_bitbully(solver):
    rng, other = np.random.default_rng(0), BitBully()
    lines = [[3, 3, 3, 3, 3], [6, 0, 6], [0, 1, 2, 3, 4, 5, 6, 6, 5]]
    for plies in [1, 2, 3, 4, 5, 6, 7, 9, *range(13, 30)]:
        line = []
        while len(line) < plies:
            column = int(rng.integers(7))
            # Full columns do not count, and a game that ends begins anew.
            if line.count(column) < 6:
                line = [] if Board([*line, column]).is_game_over() else [*line, column]
        lines.append(line)
    scores = solver.action_scores(play(GAME, lines))
    for line, row in zip(lines, scores, strict=True):
        expected = other.score_all_moves(Board(line))
        assert {c: s for c, s in enumerate(row) if np.isfinite(s)} == expected, line


def test_a_search_finds_the_scores_of_the_table_of_openings(solver):
    openings = solver._openings
    lines = [[3, 2, 3, 3, 4, 2, 4, 4], [0, 6, 1, 5, 6, 0, 3, 3], [2, 2, 2, 2, 4, 4, 4, 4]]
    for own, taken in zip(*solver.bitboards(play(GAME, lines)), strict=True):
        assert openings.score(own, taken, 8) == solver._score(own, taken, 8)


@pytest.mark.parametrize("size", [(4, 4), (3, 5)])
def test_small_boards_have_the_results_of_the_enumerated_game(size):
    game = ConnectFour(*size)
    solution = solve(game)
    rows = np.random.default_rng(0).choice(solution.decisions, 300, replace=False)
    found = solver_of(game).action_scores(solution.states(rows))
    results = np.where(np.isfinite(found), np.sign(found), -np.inf)
    np.testing.assert_array_equal(results, solution.action_values(rows))


def test_the_first_player_wins_by_the_centre_alone(solver):
    start = jax.tree.map(lambda x: jnp.asarray(x)[None], GAME.init())
    np.testing.assert_array_equal(solver.action_scores(start), [[-2, -1, 0, 1, 0, -1, -2]])


def test_boards_that_do_not_fit_are_refused():
    for game in (ConnectFour(7, 8), ConnectFour(6, 9), ConnectFour(6, 7, 5)):
        with pytest.raises(ValueError, match="does not fit"):
            solver_of(game)
        assert exact_values(game) is None


def test_the_exact_player_plays_a_best_move_and_survives_the_end(solver):
    player = exact_player(GAME)
    lines = [[3], [3, 1, 1, 3], [0, 1, 0, 1, 0, 1, 0]]  # the last one is over
    actions = player(jax.random.key(0), play(GAME, lines))
    best = solver.action_scores(play(GAME, lines[:2]))
    assert actions.shape == (3,)
    assert actions.dtype == np.int32
    for row, action in zip(best, actions[:2], strict=True):
        assert row[action] == row.max()


def test_equally_good_moves_are_all_played():
    player = exact_player(GAME)
    states = play(GAME, [[3, 3, 3, 3, 3]] * 40)
    scores = BitBully().score_all_moves(Board([3, 3, 3, 3, 3]))
    best = {column for column, score in scores.items() if score == max(scores.values())}
    assert set(player(jax.random.key(0), states).tolist()) == best


def test_own_games_are_judged_near_their_end():
    class Leftmost:
        game, jittable, name = GAME, True, "leftmost"

        def __call__(self, key, states):
            return jnp.argmax(jax.vmap(GAME.legal_action_mask)(states), -1).astype(jnp.int32)

    jax.tree_util.register_static(Leftmost)
    suite = GameSuites(GAME).of_own_games(Leftmost(), jax.random.key(0), 8)
    assert suite.num_positions > 0
    assert suite.plies.min() >= 16
    assert set(suite.results) <= {-1.0, 0.0, 1.0}


def test_what_to_install_is_named(monkeypatch):
    monkeypatch.setattr(known_values.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r'connect_four needs pip install "azjax\[exact\]"'):
        exact_player(GAME)
    values = exact_values(GAME)
    assert not values.complete
    assert not values.known(play(GAME, [[3]])).any()
    # No game is played for positions that nobody could judge.
    assert GameSuites(GAME).of_own_games(None, jax.random.key(0), 2) is None


def test_games_alone_and_reports_of_other_games_do_not_import_numba():
    code = "import sys, azjax.players.exact, azjax.evaluation.report; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.lower()) is False


def test_plies_to_the_end_are_those_of_the_enumerated_game():
    game = make("connect_four_4x4")
    solution = solve(game)
    rows = np.random.default_rng(0).choice(solution.decisions, 300, replace=False)
    states = solution.states(rows)
    solver = solver_of(game)
    results, plies = exact_player(game, solution).move_results(states)
    scores = solver.action_scores(states)
    np.testing.assert_array_equal(results, np.where(np.isinf(scores), scores, np.sign(scores)))
    np.testing.assert_array_equal(plies, solver.plies_left(states, scores))
    assert np.unique(plies).size > 5
