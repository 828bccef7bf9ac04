"""Games pass Gymnasium's own check of environments."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import available_games, make
from azjax_envs.gymnasium import to_gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

# The other way of rendering is tested below.
pytestmark = pytest.mark.filterwarnings("ignore:.*Not able to test alternative render modes")


def passes(name):
    check_env(to_gymnasium(make(name), render_mode="ansi"))
    check_env(to_gymnasium(make(name), seat=1))


def test_a_small_game_passes():
    passes("tic_tac_toe")


@pytest.mark.parametrize("name", available_games())
def test_every_game_passes(name):
    passes(name)


@pytest.mark.parametrize("seat", [0, 1])
def test_an_opponent_answers(seat):
    """In dots and boxes turns do not alternate; this opponent draws the last free edge."""
    game = make("dots_and_boxes_1x1")

    def last_free(key, states):
        del key
        mask = game.legal_action_mask(type(states)(*(x[0] for x in vars(states).values())))
        return jnp.array([game.num_actions - 1 - jnp.argmax(mask[::-1])])

    env = to_gymnasium(game, opponent=last_free, seat=seat)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == ([1, 1, 1, 1] if seat == 0 else [1, 1, 1, 0])
    np.testing.assert_array_equal(env.action_masks(), info["action_mask"] == 1)
    _, reward, over, cut, info = env.step(0)
    assert (reward, over, cut) == (0.0, False, False)
    assert info["action_mask"].tolist() == ([0, 1, 1, 0] if seat == 0 else [0, 1, 0, 0])
    _, reward, over, cut, _ = env.step(1)
    # The second player closes the box.
    assert (reward, over, cut) == ((-1.0, True, False) if seat == 0 else (1.0, True, False))


def test_observations_are_from_the_seat():
    env = to_gymnasium(make("tic_tac_toe"), seat=1, opponent=lambda key, states: jnp.array([4]))
    observation, _ = env.reset()
    assert observation[1, 1].tolist() == [0, 1]
    observation, reward, over, *_ = env.step(4)  # illegal, so the game is lost
    assert (reward, over) == (-1.0, True)
    assert observation[1, 1].tolist() == [0, 1]


def test_seeds_decide_the_opponent():
    def boards(seed):
        env = to_gymnasium(make("connect_four_4x4"), seat=1, render_mode="ansi")
        env.reset(seed=seed)
        return [env.render(), *(env.step(column) and env.render() for column in (3, 2, 1))]

    assert boards(0) == boards(0)
    assert boards(0) != boards(1)


def test_bad_arguments(monkeypatch):
    with pytest.raises(ValueError, match="seat must be 0 or 1, not 2"):
        to_gymnasium(make("tic_tac_toe"), seat=2)
    with pytest.raises(ValueError, match="render_mode must be None, 'ansi' or 'svg', not 'human'"):
        to_gymnasium(make("tic_tac_toe"), render_mode="human")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "azjax_envs.gymnasium")
    with pytest.raises(ImportError, match="gymnasium is not installed: pip install gymnasium"):
        import azjax_envs.gymnasium  # noqa: F401


def test_reset_comes_first():
    env = to_gymnasium(make("tic_tac_toe"), render_mode="ansi")
    for use in (lambda: env.step(0), env.action_masks, env.render):
        with pytest.raises(ResetNeeded, match=r"tic_tac_toe: call reset\(\) before anything else"):
            use()
