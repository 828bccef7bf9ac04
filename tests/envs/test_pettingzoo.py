"""Games pass PettingZoo's own tests of environments."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from azjax_envs import available_games, make
from azjax_envs.pettingzoo import PettingZooGame, to_pettingzoo
from gymnasium.error import ResetNeeded
from pettingzoo.test import api_test, max_cycles_test, seed_test
from pettingzoo.utils.conversions import aec_to_parallel

# PettingZoo lists its own board games as exceptions to these by name.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}:UserWarning")
    for text in (
        "Observation is not a NumPy array",
        "Observation space for each agent probably should be",
        "Observation numpy array is all zeros",
        "The base environment .* does not have a `state_space`",
    )
]


GAMES = [make("go_9x9" if name == "go" else name) for name in available_games()]


class Lenient(PettingZooGame):
    """Plays a legal action in place of an illegal one, because the test below knows no masks."""

    def step(self, action):
        if (
            action is not None
            and not (mask := self.observe(self.agent_selection)["action_mask"])[action]
        ):
            action = int(np.flatnonzero(mask)[action % mask.sum()]) if mask.any() else None
        super().step(action)


def passes(game):
    """Asserts that a game passes the tests of PettingZoo."""

    def cut(max_cycles):
        env = Lenient(game, max_cycles, None)
        env.metadata["is_parallelizable"] = True
        for seed, agent in enumerate(env.possible_agents):
            env.action_space(agent).seed(4 + seed)  # with these, no game ends within eight moves
        return env

    api_test(to_pettingzoo(game), 100)
    seed_test(lambda: to_pettingzoo(game), 50)
    # Turns must alternate in the last test.
    if game.name not in ("backgammon", "hypergammon", "mancala", "ur"):
        parallel = SimpleNamespace(
            env=cut, parallel_env=lambda **size: aec_to_parallel(cut(**size))
        )
        max_cycles_test(parallel)


def test_a_small_game_passes():
    passes(make("tic_tac_toe"))


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_every_game_passes(game):
    passes(game)


def test_a_game_is_played_masked_and_rewarded():
    env = to_pettingzoo(make("tic_tac_toe"), render_mode="ansi")
    env.reset(seed=0)
    for action in (4, 0, 2, 1):
        assert env.observe(env.agent_selection)["action_mask"][action] == 1
        env.step(action)
    assert env.agent_selection == "player_0"
    first, second = (env.observe(agent) for agent in env.agents)
    assert np.flatnonzero(first["action_mask"]).tolist() == [3, 5, 6, 7, 8]
    assert not second["action_mask"].any()
    np.testing.assert_array_equal(first["observation"], second["observation"][..., ::-1])
    assert env.render() == "   a b c\n1  O O X\n2  . X .\n3  . . ."
    env.step(6)
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}


def test_an_illegal_action_loses():
    env = to_pettingzoo(make("tic_tac_toe"), render_mode="svg")
    env.reset()
    env.step(4)
    env.step(4)
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.render().startswith("<svg")


def test_bad_arguments(monkeypatch):
    with pytest.raises(ValueError, match="render_mode must be None, 'ansi' or 'svg', not 'human'"):
        to_pettingzoo(make("tic_tac_toe"), render_mode="human")
    env = to_pettingzoo(make("tic_tac_toe"))
    env.reset()
    with pytest.raises(ValueError, match="player_0 must play an action, not None"):
        env.step(None)
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "azjax_envs.pettingzoo")
    with pytest.raises(ImportError, match="pettingzoo is not installed: pip install pettingzoo"):
        import azjax_envs.pettingzoo  # noqa: F401


def test_reset_comes_first():
    env = to_pettingzoo(make("tic_tac_toe"), render_mode="ansi")
    for use in (lambda: env.step(0), lambda: env.observe("player_0"), env.render):
        with pytest.raises(ResetNeeded, match=r"tic_tac_toe: call reset\(\) before anything else"):
            use()
