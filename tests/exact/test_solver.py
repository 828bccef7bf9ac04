import functools
import random
import re

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.errors import UserError
from azjax.exact import state_graph
from azjax.exact.codec import Codec
from azjax.exact.solver import solve
from azjax.exact.state_graph import TooLargeError
from tests.oracles.minimax import Minimax
from tests.oracles.toys import Heap, Ring

solved = functools.lru_cache(lambda name, payoff="returns": solve(make(name), payoff=payoff))


def test_tic_tac_toe_has_the_known_counts_and_values():
    solution = solved("tic_tac_toe")
    assert (solution.num_states, solution.num_terminal) == (5478, 958)
    assert solution.value == 0
    np.testing.assert_array_equal(solution.action_values(np.array([0])), np.zeros((1, 9)))
    # Positions by ply: 9 ways to start, 9*8 to answer, ... 78 full boards at last.
    counts = np.bincount(solution.plies)
    assert list(counts) == [1, 9, 72, 252, 756, 1260, 1520, 1140, 390, 78]


@pytest.mark.parametrize(
    ("name", "margin"),
    [
        ("dots_and_boxes_1x1", -1),
        ("dots_and_boxes_1x2", 0),
        ("dots_and_boxes_1x3", -1),
        ("dots_and_boxes_2x2", 2),
    ],
)
def test_dots_and_boxes_has_the_known_margins(name, margin):
    assert solved(name, "margin").value == margin


def test_results_are_the_margins_signs():
    results, margins = solved("dots_and_boxes_2x2"), solved("dots_and_boxes_2x2", "margin")
    assert results.value == 1
    np.testing.assert_array_equal(results.words, margins.words)
    np.testing.assert_array_equal(results.values, np.sign(margins.values))


@pytest.mark.parametrize(
    ("name", "spiel", "payoff"),
    [
        ("connect_four_4x4", "connect_four(rows=4,columns=4,x_in_row=4)", "returns"),
        (
            "dots_and_boxes_2x2",
            "dots_and_boxes(num_rows=2,num_cols=2,utility_margin=true)",
            "margin",
        ),
    ],
)
def test_values_are_those_of_an_independent_search(name, spiel, payoff):
    """All actions in every position of random games."""
    solution, oracle, rng = solved(name, payoff), Minimax(spiel), random.Random(0)
    seen = 0
    for _ in range(100):
        state, index = oracle.start(), 0
        while not state.is_terminal():
            assert not solution.terminal[index]
            assert solution.movers[index] == state.current_player()
            assert solution.values[index] == oracle.value(state)
            legal = state.legal_actions()
            sign = 1 if state.current_player() == 0 else -1
            expected = np.full(solution.game.num_actions, -np.inf)
            expected[legal] = [sign * oracle.value(state.child(action)) for action in legal]
            np.testing.assert_array_equal(solution.action_values(np.array([index]))[0], expected)
            action = rng.choice(legal)
            state, index = state.child(action), solution.children[index, action]
            seen += 1
        assert solution.terminal[index]
        assert solution.values[index] == state.returns()[0]
    assert seen > 1000


def test_connect_four_4x4_is_a_draw_in_161029_positions():
    solution = solved("connect_four_4x4")
    assert solution.num_states == 161029
    assert solution.value == 0
    assert list(np.bincount(solution.plies)[:3]) == [1, 4, 16]


def test_states_and_lookup_are_inverse():
    solution = solved("tic_tac_toe")
    indices = np.array([0, 17, 5477, 958, 0])
    states = solution.states(indices)
    np.testing.assert_array_equal(solution.lookup(states), indices)
    terminal = jax.vmap(solution.game.is_terminal)(states)
    np.testing.assert_array_equal(solution.terminal[indices], terminal)


def test_lookup_refuses_an_unreachable_state():
    solution = solved("tic_tac_toe")
    states = solution.states(np.array([0, 1]))
    impossible = jax.tree.map(lambda x: x.at[1].set(~x[1]), states)
    with pytest.raises(ValueError, match="not a reachable state of tic_tac_toe"):
        solution.lookup(impossible)


def test_a_mistake_is_a_move_that_gives_value_away():
    solution = solved("tic_tac_toe")
    index = 0
    for action in (0, 1, 3):  # X a1, O b1, X a2: O must block a3
        index = solution.children[index, action]
    here = np.full(9, index)
    mistakes = solution.mistakes(here, np.arange(9))
    # X wins anyway (a1 and a2 threaten a3; a block leaves b2), so that nothing O does costs more.
    assert solution.values[index] == 1
    assert list(np.flatnonzero(mistakes)) == [0, 1, 3]  # illegal ones
    after_block = np.full(9, solution.children[index, 6])
    assert list(np.flatnonzero(~solution.mistakes(after_block, np.arange(9)))) == [4]


def test_ways_of_different_lengths_are_no_obstacle():
    solution = solve(Heap(10))
    heaps = np.asarray(solution.states(np.arange(solution.num_states)).left)
    movers_values = solution.values * (1 - 2.0 * solution.movers)
    np.testing.assert_array_equal(movers_values, np.where(heaps % 3 == 0, -1.0, 1.0))
    assert solution.num_states == 20  # 0 to 8 with either to move, 9 and 10 with one


def test_states_that_share_a_key_are_refused(monkeypatch):
    monkeypatch.setattr(Codec, "key", lambda self, words: jax.numpy.zeros(2, jax.numpy.uint32))
    with pytest.raises(UserError, match="two different states have one key"):
        solve(Heap(13))


def test_a_game_that_can_repeat_is_refused():
    with pytest.raises(UserError, match="ring can repeat a position"):
        solve(Ring())


def test_a_large_game_is_refused_with_the_count_and_the_memory():
    with pytest.raises(UserError, match="connect_four is too large to solve") as refusal:
        solve(make("connect_four"), max_states=10_000)
    message = str(refusal.value)
    # 4263 positions at ply 5 and 16422 at ply 6: the limit is met on the way there.
    assert "states found within 6 plies" in message
    # In total there are 4.5 * 10^12 (Edelkamp & Kissmann, 2008).
    assert re.search(r"about 10\^1[0-4] states, [\d,]+ [TP]B ", message)
    assert "limit is 10,000 states" in message
    assert "\n" not in message


def test_the_memory_limit_counts_too():
    with pytest.raises(UserError, match="too large"):
        solve(make("tic_tac_toe"), max_bytes=100_000)


def test_what_cannot_be_asked_for():
    with pytest.raises(UserError, match=r'payoff must be "returns" or "margin", not .points.'):
        solve(make("tic_tac_toe"), payoff="points")
    with pytest.raises(UserError, match="tic_tac_toe keeps no score"):
        solve(make("tic_tac_toe"), payoff="margin")


def test_progress_is_reported():
    calls = []
    solve(make("tic_tac_toe"), progress=lambda count, plies: calls.append((count, plies)))
    assert calls[0] == (10, 1)
    assert calls[-1] == (5478, 10)


def test_a_game_with_many_actions_is_refused_before_its_states_are_listed(monkeypatch):
    """On an empty 9x9 board, 81 * 80 / 2 positions have two stones, and 81 * 80 * 79 / 2 three."""
    monkeypatch.setattr(state_graph, "_enumerate", None)  # must not be reached
    with pytest.raises(TooLargeError, match="hex_9x9 is too large to solve") as refusal:
        solve(make("hex_9x9"), max_states=10_000)
    message = str(refusal.value)
    assert re.search(r"random games have \d+ different positions after [34] plies", message)
    assert "the limit, 10,000 (" in message
    assert "\n" not in message


def test_many_actions_are_not_many_states(monkeypatch):
    """Random games of a heap repeat its few positions, so that it is solved."""
    monkeypatch.setattr(state_graph, "_MANY_ACTIONS", 1)
    assert solve(Heap(11)).value == 1
