"""Games pass OpenSpiel's own test, and its search plays them."""

import sys

import numpy as np
import pyspiel
import pytest
from azjax_envs import available_games, make
from azjax_envs.openspiel import to_openspiel
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import mcts


def passes(name):
    pyspiel.random_sim_test(to_openspiel(make(name)), num_sims=1, serialize=True, verbose=False)


def test_a_small_game_passes():
    passes("tic_tac_toe")


@pytest.mark.parametrize("name", available_games())
def test_every_game_passes(name):
    passes("go_9x9" if name == "go" else name)


def test_a_game_is_played():
    game = to_openspiel(make("tic_tac_toe"))
    state = game.new_initial_state()
    for action in (4, 0, 8):
        state.apply_action(action)
    assert str(state) == "   a b c\n1  O . .\n2  . X .\n3  . . X"
    texts = [state.action_to_string(action) for action in state.legal_actions()]
    assert texts == ["b1", "c1", "a2", "c2", "a3", "b3"]
    first, second = (np.reshape(state.observation_tensor(p), (3, 3, 2)) for p in (0, 1))
    assert np.argwhere(first[..., 0]).tolist() == np.argwhere(second[..., 1]).tolist()
    assert np.argwhere(first[..., 0]).tolist() == [[1, 1], [2, 2]]
    with pytest.raises(ValueError, match="action 4 is not legal in tic_tac_toe here"):
        state.apply_action(4)
    copy = state.clone()
    copy.apply_action(1)
    assert (state.history(), copy.history()) == ([4, 0, 8], [4, 0, 8, 1])
    state.apply_action(2)
    state.apply_action(6)
    state.apply_action(1)
    assert state.is_terminal()
    assert state.returns() == [-1.0, 1.0]


def test_their_search_finds_the_win():
    game = to_openspiel(make("tic_tac_toe"))
    state = game.new_initial_state()
    for action in (0, 3, 1, 4):
        state.apply_action(action)
    random = np.random.RandomState(0)
    bot = mcts.MCTSBot(game, 1.4, 50, mcts.RandomRolloutEvaluator(1, random), random_state=random)
    assert bot.step(state) == 2
    environment = rl_environment.Environment(game)
    assert environment.reset().observations["legal_actions"][0] == list(range(9))


def test_games_with_other_options_have_other_names():
    games = [to_openspiel(make("hex_3x3", swap=swap)) for swap in (False, True)]
    names = [game.get_type().short_name for game in games]
    assert [pyspiel.load_game(name).num_distinct_actions() for name in names] == [9, 10]


def test_without_openspiel(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "azjax_envs.openspiel")
    with pytest.raises(ImportError, match="open_spiel is not installed: pip install open_spiel"):
        import azjax_envs.openspiel  # noqa: F401
