"""Games as environments of Gymnasium (https://gymnasium.farama.org), which this module needs."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import Array

from azjax_envs import host
from azjax_envs.game import Game, observation_bounds
from azjax_envs.sampling import random_action

try:
    import gymnasium
except ImportError:
    raise ImportError("gymnasium is not installed: pip install gymnasium") from None


Opponent = Callable[[Array, Any], Any]
"""(PRNG key, states [1, ...]) -> actions [1]."""


def to_gymnasium(
    game: Game, *, opponent: Opponent | None = None, seat: int = 0, render_mode: str | None = None
) -> "GymnasiumGame":
    """Returns a game as a `gymnasium.Env` for one player, whom an opponent answers.

    Observations are those of the player's seat. `info["action_mask"]`, int8 [num_actions], and the
    method `action_masks` tell the legal actions; an illegal one loses. The reward is the result.
    The environment rolls the dice of a game of chance, by the seed of `reset`.

    Args:
      opponent: who answers, such as `functools.partial(azjax.act, player)`; at random by default.
      seat: 0 to move first, 1 to move second.
      render_mode: "ansi" for text, "svg" for an SVG document.
    """
    return GymnasiumGame(game, opponent, seat, render_mode)


class GymnasiumGame(gymnasium.Env):
    """A game as a `gymnasium.Env`; `to_gymnasium` makes it."""

    def __init__(self, game: Game, opponent: Opponent | None, seat: int, render_mode: str | None):
        host.require_mode(render_mode)
        if seat not in (0, 1):
            raise ValueError(f"seat must be 0 or 1, not {seat!r}")
        self.game, self.seat, self.render_mode = game, seat, render_mode
        self.opponent = opponent or jax.jit(
            lambda key, states: random_action(key, jax.vmap(game.legal_action_mask)(states))
        )
        self.metadata = {"render_modes": [*host.RENDER_MODES], "render_fps": 1}
        low, high = observation_bounds(game)
        self.observation_space = gymnasium.spaces.Box(low, high, game.observation_shape, np.float32)
        self.action_space = gymnasium.spaces.Discrete(game.num_actions)
        self._current: host.Position | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        super().reset(seed=seed)
        return self._answer(host.start(self.game, self._draw()))

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, np.ndarray]]:
        observation, info = self._answer(host.step(self.game, self._position, action))
        reward, over = float(self._position.returns[self.seat]), bool(self._position.over)
        return observation, reward, over, False, info

    def action_masks(self) -> np.ndarray:
        """Returns which actions are legal, bool [num_actions], as sb3-contrib asks for it."""
        return self._position.mask.astype(bool)

    def render(self) -> str | None:
        return host.render(self.game, self._position, self.render_mode)

    @property
    def _position(self) -> host.Position:
        if self._current is None:
            raise gymnasium.error.ResetNeeded(
                f"{self.game.name}: call reset() before anything else"
            )
        return self._current

    def _answer(self, position: host.Position) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Lets the opponent move until the player is to move or the game is over."""
        position = host.roll(self.game, position, self._draw)
        while not position.over and position.player != self.seat:
            states = jax.tree.map(lambda leaf: np.asarray(leaf)[None], position.state)
            action = np.asarray(self.opponent(jax.random.key(self._draw()), states)).item()
            position = host.roll(self.game, host.step(self.game, position, action), self._draw)
        self._current = position
        return position.observations[self.seat], {"action_mask": position.mask}

    def _draw(self) -> int:
        return int(self.np_random.integers(2**31))
