"""Games as environments of PettingZoo (https://pettingzoo.farama.org), which this module needs."""

from typing import Any

import numpy as np

from azjax_envs import host
from azjax_envs.game import Game, observation_bounds

try:
    from gymnasium.error import ResetNeeded
    from gymnasium.spaces import Box, Dict, Discrete, Space
    from pettingzoo import AECEnv
except ImportError:
    raise ImportError("pettingzoo is not installed: pip install pettingzoo") from None


def to_pettingzoo(
    game: Game, *, max_cycles: int | None = None, render_mode: str | None = None
) -> "PettingZooGame":
    """Returns a game as an `AECEnv` with the agents "player_0" and "player_1".

    An observation is a dictionary of "observation", float32 as in `observation_shape`, and
    "action_mask", int8 [num_actions], which is zero for the agent who is not to move. An illegal
    action loses. The environment rolls the dice of a game of chance, by the seed of `reset`.

    Args:
      max_cycles: the number of moves of each player after which a game is truncated.
      render_mode: "ansi" for text, "svg" for an SVG document.
    """
    return PettingZooGame(game, max_cycles, render_mode)


class PettingZooGame(AECEnv):
    """A game as an `AECEnv`; `to_pettingzoo` makes it."""

    def __init__(self, game: Game, max_cycles: int | None, render_mode: str | None):
        host.require_mode(render_mode)
        self.game, self.max_cycles, self.render_mode = game, max_cycles, render_mode
        self.metadata = {"name": game.name, "render_modes": [*host.RENDER_MODES], "render_fps": 1}
        self.possible_agents = ["player_0", "player_1"]
        low, high = observation_bounds(game)
        self.observation_spaces, self.action_spaces = {}, {}
        for agent in self.possible_agents:
            planes = Box(low, high, game.observation_shape, np.float32)
            mask = Box(0, 1, (game.num_actions,), np.int8)
            self.observation_spaces[agent] = Dict({"observation": planes, "action_mask": mask})
            self.action_spaces[agent] = Discrete(game.num_actions)
        self._random = np.random.default_rng()
        self._current: host.Position | None = None

    def observation_space(self, agent: str) -> Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self.agents = self.possible_agents[:]
        self.infos = {agent: {} for agent in self.agents}
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._plies = 0
        self._show(host.start(self.game, self._draw()))

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        player = self.possible_agents.index(agent)
        is_mover = self._position.player == player
        mask = self._position.mask * np.int8(is_mover)
        return {"observation": self._position.observations[player], "action_mask": mask}

    def step(self, action: int | None) -> None:
        self._position  # noqa: B018  # there is one
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        if action is None:
            raise ValueError(f"{self.agent_selection} must play an action, not None")
        self._cumulative_rewards[self.agent_selection] = 0.0
        self._plies += 1
        self._show(host.step(self.game, self._position, action))
        self.rewards = dict(zip(self.agents, self._position.returns.tolist(), strict=True))
        self._accumulate_rewards()

    def render(self) -> str | None:
        return host.render(self.game, self._position, self.render_mode)

    def close(self) -> None:
        """Does nothing: nothing is open."""

    @property
    def _position(self) -> host.Position:
        if self._current is None:
            raise ResetNeeded(f"{self.game.name}: call reset() before anything else")
        return self._current

    def _draw(self) -> int:
        return int(self._random.integers(2**31))

    def _show(self, position: host.Position) -> None:
        position = host.roll(self.game, position, self._draw)
        over = bool(position.over)
        cut = not over and self.max_cycles is not None and self._plies >= 2 * self.max_cycles
        self._current = position
        self.terminations = dict.fromkeys(self.agents, over)
        self.truncations = dict.fromkeys(self.agents, cut)
        self.agent_selection = self.possible_agents[int(position.player)]
