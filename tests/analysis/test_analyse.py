"""Games that are analysed: the values, the turning points, the lines, and what is refused."""

import dataclasses

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.analysis import analyse as module
from azjax.analysis import position_search
from azjax.analysis.analyse import analyse
from azjax.analysis.game_analysis import AnalysedMove, GameAnalysis
from azjax.errors import UserError
from azjax.exact.known_values import ExactValues
from azjax.exact.solver import solve
from azjax.files.game_record import replay
from azjax.players.load import load_player
from azjax.players.random_player import RandomPlayer
from azjax.search.search import search
from tests.players.engines.programs import scripted
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
    monkeypatch.setattr(position_search, "BATCH", 4)
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


HEX = make("hex", size=5)  # whose first positions have no exact values
CHESS = make("chess")


@pytest.fixture
def judge(tmp_path):
    """Returns a function that starts a scripted engine."""
    engines = []

    def start(protocol, behaviour):
        game = HEX if protocol == "gtp" else CHESS
        engines.append(
            load_player(scripted(protocol, behaviour, tmp_path / "notes", "?timeout=9"), game=game)
        )
        return engines[-1]

    yield start
    for engine in engines:
        engine.close()


def test_an_engine_with_chances_judges(judge):
    """It always expects 3/4 of the points for the mover, so every other move than its own loses."""
    found = analyse(HEX, ["a1", "b1", "b3"], judge("gtp", "analyses"))
    np.testing.assert_allclose(found.values, [0.5, -0.5, 0.5, -0.5])
    assert [move.loss for move in found.moves] == [0, 0, 0.5]
    assert found.moves[2].line == ("c1", "d1")
    assert "judged by gtp:" in str(found)
    assert "75% -> 25%" in str(found)
    assert found.unscored == ()


def test_an_engine_that_names_moves_alone_tells_how_often_it_agrees(judge):
    found = analyse(HEX, ["a1", "b1", "b3"], judge("gtp", "well"))
    assert np.isnan(found.values).all()
    assert [move.is_other for move in found.moves] == [False, False, True]
    assert found.turning_points == ()
    text = " ".join(str(found).split())
    assert "which names moves without chances" in text
    assert "it would have played 1 of 2 moves of red and 1 of 1 moves of blue" in text
    assert found.comment(found.moves[0]).endswith(": the judge would play this, too")
    assert found.comment(found.moves[2]).endswith(": the judge would play c1")
    assert "%" not in str(found)
    assert '"value":null' in found.page()
    assert "NaN" not in found.page()


def test_engines_of_chess_judge_games_from_any_position(judge):
    start = CHESS.from_fen("4k3/pp6/8/8/8/8/4PP2/4K3 w - - 0 1")
    found = analyse(CHESS, ["e2e4", "e8e7"], judge("uci", "well"), start=start)
    assert found.values == (0, 0, 0)
    assert [move.line for move in found.moves] == [("Kd1",), ("a5",)]


@pytest.mark.parametrize(("behaviour", "value"), [("resign", -1.0), ("win", 1.0)])
def test_an_engine_that_ends_the_game_is_sure_of_it(judge, behaviour, value):
    found = analyse(HEX, ["b2"], judge("gtp", behaviour))
    np.testing.assert_allclose(found.values, [value, -value])
    assert found.moves[0].loss == 0


@pytest.mark.parametrize(
    ("protocol", "behaviour", "start", "message"),
    [
        ("uci", "illegal", None, "the engine played 'e2e5', which is illegal in this position"),
        ("gtp", "illegal", None, "the engine played 'a9', which is illegal in this position"),
        ("uci", "die", None, "it ended when it was sent"),
        ("gtp", "well", ["a1"], "GTP engines need the game from its start"),
    ],
)
def test_engines_that_cannot_judge(judge, protocol, behaviour, start, message):
    engine = judge(protocol, behaviour)
    state = replay(engine.game, start).current.state if start else None
    with pytest.raises(UserError, match=message) as error:
        analyse(engine.game, [], engine, start=state)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("mistakes", "footer"), [(12, ""), (14, "12 of 14 turning points")])
def test_the_table_says_how_many_turning_points_it_leaves_out(mistakes, footer):
    record = replay(make("go_5x5"), [f"{column}{row}" for row in range(1, 5) for column in "ABCDE"])
    values = (0.0,) * (record.num_moves + 1)
    moves = [
        AnalysedMove(i + 1, i % 2, name, 0, ("B2",), 0.2 if i < mistakes else 0.0, False, ())
        for i, name in enumerate(record.moves)
    ]
    text = str(GameAnalysis(record, "search:8", values, tuple(moves)))
    assert text.count("50% -> 50%") == 12
    assert footer in text
    assert (" of 1" in text) == bool(footer)


def test_what_cannot_be_analysed(player):
    with pytest.raises(UserError, match="move 2: 'a1' is not legal here"):
        analyse(GAME, ["a1", "a1"], player)
    with pytest.raises(UserError, match="move 6, a3, comes after the end"):
        analyse(GAME, ["a1", "b1", "a2", "b2", "a3", "a3"], player)
    with pytest.raises(UserError, match=r"has no search .* or an engine"):
        analyse(GAME, [], RandomPlayer(GAME))
    with pytest.raises(UserError, match="plays tic_tac_toe, not connect_four"):
        analyse(make("connect_four"), [], player)
