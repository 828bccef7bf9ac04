"""Games as games of OpenSpiel (https://openspiel.readthedocs.io), which this module needs."""

import functools
import re
from typing import Any

import jax
import numpy as np

from azjax_envs import host
from azjax_envs.game import Game, HasChance

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError:
    raise ImportError("open_spiel is not installed: pip install open_spiel") from None


def to_openspiel(game: Game) -> pyspiel.Game:
    """Returns a game as a `pyspiel.Game`, and registers it under its `short_name`.

    Observations from the seat of `player` have the shape (height, width, channels). Unlike here, an
    illegal action is an error. A game with a random start always has the start of seed 0. Dice are
    explicit chance nodes.
    """
    return _game_class(game)()


@functools.cache
def _game_class(game: Game) -> type[pyspiel.Game]:
    """Returns the class of a game, which `pyspiel.load_game` then finds by its short name."""
    # With all options, so that two games have two names.
    name = re.sub(r"\W+", "_", f"azjax_{game.name}_{game!r}").strip("_")
    outcomes = 0
    if isinstance(game, HasChance):
        states = jax.eval_shape(game.init)
        outcomes = jax.eval_shape(game.chance_probabilities, states).shape[0]
    modes = pyspiel.GameType.ChanceMode
    kind = pyspiel.GameType(
        short_name=name,
        long_name=game.name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=modes.EXPLICIT_STOCHASTIC if outcomes else modes.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={},
    )
    info = pyspiel.GameInfo(
        num_distinct_actions=game.num_actions,
        max_chance_outcomes=outcomes,
        num_players=2,
        min_utility=-1.0,
        max_utility=1.0,
        utility_sum=0.0,
        max_game_length=game.max_steps,
    )

    class SpielGame(pyspiel.Game):
        def __init__(self, params: dict[str, Any] | None = None):
            super().__init__(kind, info, params or {})

        def new_initial_state(self, state: Any = None) -> "SpielState":
            return SpielState(self)

        def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
            if iig_obs_type is None or not iig_obs_type.perfect_recall:
                return Observer(game, params)
            return IIGObserverForPublicInfoGame(iig_obs_type, params)

    class SpielState(pyspiel.State):
        def __init__(self, spiel_game: SpielGame):
            super().__init__(spiel_game)
            self._move_to(host.start(game))

        def _move_to(self, position: host.Position) -> None:
            self.position, self.chance = position, host.chance_of(game, position)

        def current_player(self) -> int:
            if self.position.over:
                return pyspiel.PlayerId.TERMINAL
            chance = self.chance is not None
            return pyspiel.PlayerId.CHANCE if chance else int(self.position.player)

        def chance_outcomes(self) -> list[tuple[int, float]]:
            chance = [] if self.chance is None else self.chance.tolist()
            return [(outcome, share) for outcome, share in enumerate(chance) if share > 0]

        def is_terminal(self) -> bool:
            return bool(self.position.over)

        def returns(self) -> list[float]:
            return self.position.returns.tolist()

        def _legal_actions(self, player: int) -> list[int]:
            return np.flatnonzero(self.position.mask).tolist()

        def _apply_action(self, action: int) -> None:
            if isinstance(game, HasChance) and self.chance is not None:
                if action not in dict(self.chance_outcomes()):
                    raise ValueError(f"outcome {action} is not possible in {game.name} here")
                self._move_to(host.chance_step(game, self.position, action))
                return
            if action not in self._legal_actions(self.current_player()):
                raise ValueError(f"action {action} is not legal in {game.name} here")
            self._move_to(host.step(game, self.position, action))

        def _action_to_string(self, player: int, action: int) -> str:
            if player == pyspiel.PlayerId.CHANCE and isinstance(game, HasChance):
                return game.outcome_to_string(self.position.state, action)
            return game.action_to_string(self.position.state, action)

        def __str__(self) -> str:
            return game.to_string(self.position.state)

    pyspiel.register_game(kind, SpielGame)
    return SpielGame


class Observer:
    """What a player sees, as OpenSpiel's observers give it."""

    def __init__(self, game: Game, params: Any):
        if params:
            raise ValueError(f"observations have no parameters, so not {params!r}")
        shape = game.observation_shape
        self.tensor = np.zeros(int(np.prod(shape)), np.float32)
        self.dict = {"observation": self.tensor.reshape(shape)}

    def set_from(self, state: Any, player: int) -> None:
        self.dict["observation"][:] = state.position.observations[player]

    def string_from(self, state: Any, player: int) -> str:
        return str(state)
