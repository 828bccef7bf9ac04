"""Games that are analysed: the values, the turning points, the lines, and what is refused."""

import dataclasses

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.analysis import analyse as module
from azjax.analysis.analyse import analyse
from azjax.errors import UserError
from azjax.exact.known_values import ExactValues
from azjax.exact.solver import solve
from azjax.files.game_record import replay
from azjax.players.random_player import RandomPlayer
from azjax.search.search import search
from tests.web.sites import untrained

GAME = make("tic_tac_toe")
LOST = ["b2", "a1", "a3", "c2", "b1", "c1", "b3"]  # c2 does not defend c1


@pytest.fixture(scope="module")
def player():
    """Has learned nothing, but searches enough to know the end of a game this small."""
    return with_simulations("tic_tac_toe", 400)


def with_simulations(name, simulations):
    player = untrained(name)
    config = dataclasses.replace(player.config, num_simulations=simulations)
    return dataclasses.replace(player, config=config)


@pytest.fixture(scope="module")
def solution():
    return solve(GAME)


def test_the_turning_points_are_those_of_the_solver(player, solution):
    start = replay(GAME, LOST[:3]).current.state
    found = analyse(GAME, LOST[3:], player, start=start)
    states = jax.tree.map(
        lambda *x: np.stack(x), *(jax.device_get(p.state) for p in found.record.positions[:-1])
    )
    indices = solution.lookup(states)
    actions = np.array([position.action for position in found.record.positions[1:]])
    mistakes = solution.mistakes(indices, actions)
    assert [move.is_mistake for move in found.moves] == mistakes.tolist()
    assert mistakes.any()
    np.testing.assert_allclose(found.values[:-1], solution.values[indices], atol=0.25)
    for index, move in zip(indices, found.moves, strict=True):
        assert solution.optimal_actions(np.array([index]))[0, move.best]


def test_lines_are_legal_and_begin_with_the_best_move(player):
    found = analyse(GAME, LOST, player)
    for move in found.moves:
        record = found.record.truncate(move.number - 1)
        assert record.legal_moves()[move.best] == move.line[0]
        replay(GAME, [*record.moves, *move.line])
    assert max(len(move.line) for move in found.moves) > 2


def test_each_batch_is_searched_like_a_single_one(player, monkeypatch):
    whole = analyse(GAME, LOST, player)
    calls = []
    monkeypatch.setattr(module, "_BATCH", 4)
    parts = analyse(GAME, LOST, player, progress=lambda *numbers: calls.append(numbers))
    assert calls == [(4, 7), (7, 7)]
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-5)


def test_a_game_with_listed_moves_names_its_own_actions():
    player = with_simulations("gardner_chess", 6)
    found = analyse(player.game, ["a2a3", "b4a3"], player)
    for move in found.moves:
        replay(player.game, [*found.record.moves[: move.number - 1], *move.line])


def test_a_search_of_the_users_own_gives_lines_of_one_move(player):
    def own(*arguments, **options):
        return search(*arguments, **options)

    found = analyse(GAME, LOST, dataclasses.replace(player, search=own))
    assert {len(move.line) for move in found.moves} == {1}


def test_exact_values_take_the_place_of_the_searchs(player, solution, monkeypatch):
    class Scorer:
        def action_scores(self, states):
            return 5 * solution.action_values(solution.lookup(states))

    known = ExactValues(
        positions="all", known=lambda s: np.ones(len(s.own), bool), load=Scorer, complete=True
    )
    monkeypatch.setattr(module, "exact_values", lambda game: known)
    found = analyse(GAME, LOST, player)
    assert all(move.exact for move in found.moves)
    assert set(np.abs(found.values)) <= {0.0, 1.0}
    assert {move.loss for move in found.moves} <= {0.0, 0.5, 1.0}


def test_it_prints_a_table_and_draws_itself(player):
    found = analyse(GAME, LOST, player)
    assert "tic_tac_toe" in str(found)
    assert found.turning_points[0].line[0] in str(found)
    assert "srcdoc" in found._repr_html_()
    assert len(found.chances) == len(LOST) + 1


def test_what_cannot_be_analysed(player):
    with pytest.raises(UserError, match="move 2: 'a1' is not legal here"):
        analyse(GAME, ["a1", "a1"], player)
    with pytest.raises(UserError, match="move 6, a3, comes after the end"):
        analyse(GAME, ["a1", "b1", "a2", "b2", "a3", "a3"], player)
    with pytest.raises(UserError, match="has no search"):
        analyse(GAME, [], RandomPlayer(GAME))
    with pytest.raises(UserError, match="plays tic_tac_toe, not connect_four"):
        analyse(make("connect_four"), [], player)
