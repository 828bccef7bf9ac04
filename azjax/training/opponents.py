"""The opponents that a run's league begins with, and checks of them."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import jax
import numpy as np
from azjax_envs import Game

from azjax.config import Config
from azjax.config.custom_parts import given_name
from azjax.errors import UserError
from azjax.network.network import Network, Variables
from azjax.network.nnx_arrays import variable_shapes
from azjax.network.two_headed import TwoHeadedNetwork
from azjax.selfplay.league import league_lanes

_NOT_LAYERS = ("dtype",)  # keys of [network] that may differ


class Opponent(Protocol):
    """What a league needs of a player, such as `azjax.load_player` returns for a network."""

    game: Game
    network: Network
    variables: Variables


def with_opponents(
    config: Config, opponents: Sequence[Any] | None, fraction: float | None = None
) -> Config:
    """Returns the config with the names of opponents that were handed over, and their fraction."""
    league = config.league
    if opponents is not None and len(opponents) != len(league.opponents):
        names = (str(x) if isinstance(x, str | Path) else given_name(x) for x in opponents)
        league = dataclasses.replace(league, opponents=tuple(names))
    if fraction is not None:
        league = dataclasses.replace(league, fraction=fraction)
    return dataclasses.replace(config, league=league)


def stack_opponents(
    game: Game,
    network: Network,
    config: Config,
    opponents: Sequence[Opponent] | None,
    devices: int,
) -> Variables | None:
    """Returns the variables of the opponents, stacked; None if there are none.

    Raises:
      UserError: an opponent is of another game, or its network has other layers; their number is
        not that of the config, or there are too few games for a league.
    """
    league, names = config.league, config.league.opponents
    given = list(opponents or ())
    if len(given) != len(names):
        raise UserError(
            f"league.opponents = {list(names)} must be handed over as players, opponents=[...]; "
            "azjax.train loads them by name"
        )
    lanes = config.selfplay.parallel_games // devices
    if league.plays and not league_lanes(league, lanes):
        raise UserError(
            f"league.fraction = {league.fraction} of {lanes} games on a device is less than one "
            f"game; it must be at least {1 / lanes:.3g}"
        )
    for name, opponent in zip(names, given, strict=True):
        _check(game, network, name, opponent)
    if not given:
        return None
    # On the host, since a player's arrays may lie on other devices than the run's.
    return jax.tree.map(
        lambda *x: np.stack([np.asarray(array) for array in x]), *(x.variables for x in given)
    )


def _check(game: Game, network: Network, name: str, opponent: Any) -> None:
    theirs = getattr(opponent, "network", None)
    if theirs is None or not hasattr(opponent, "variables"):
        raise UserError(
            f"league: opponent {name} has no network; members of a league are networks like the "
            "run's"
        )
    if opponent.game.name != game.name:
        raise UserError(f"league: opponent {name} plays {opponent.game.name}, not {game.name}")
    shapes = jax.tree.map(lambda x: (x.shape, x.dtype), variable_shapes(network))
    same = isinstance(theirs, TwoHeadedNetwork) == isinstance(network, TwoHeadedNetwork)
    if isinstance(theirs, TwoHeadedNetwork) and isinstance(network, TwoHeadedNetwork):
        for key in (field.name for field in dataclasses.fields(network.config)):
            a, b = getattr(theirs.config, key), getattr(network.config, key)
            if a != b and key not in _NOT_LAYERS:
                raise UserError(
                    f"league: opponent {name} has network.{key} = {a!r} and this config {b!r}; "
                    "its layers must be those of the run"
                )
    if not same or jax.tree.map(lambda x: (x.shape, x.dtype), opponent.variables) != shapes:
        raise UserError(f"league: opponent {name} has another network than the run")
