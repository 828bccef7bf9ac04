"""The first state of a run: random weights, or the network of another player."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
from azjax_envs import Game

from azjax.config import Config, NetworkConfig
from azjax.errors import UserError
from azjax.network.network import Network, Variables
from azjax.network.own_network import check_first_predictions
from azjax.network.two_headed import TwoHeadedNetwork
from azjax.players.load import START_FILE, saved_player
from azjax.players.spec import parse_network
from azjax.players.weights_file import SavedPlayer, load_saved
from azjax.sharding import local
from azjax.training.state import TrainState
from azjax.training.trainer import Trainer

_NOT_WEIGHTS = ("dtype",)  # keys of [network] that may differ


def read_start(
    spec: str | Path, game: Game, config: Config, network: Network | None = None
) -> SavedPlayer:
    """Reads the player whose network a run is to begin with.

    `spec` is a run, RUN@best, RUN@CYCLE, a player's file, or the name of one that comes with azjax.
    `network` is the run's, if it is the user's own.

    Raises:
      UserError: there is no such player, it plays another game, or its network has other layers.
    """
    parsed = parse_network(spec, use="start from", rule="a run starts from a network alone")
    saved = saved_player(parsed, game=game, network=network)
    if network is not None:
        return saved  # whose arrays are those of this network
    for key in (field.name for field in dataclasses.fields(NetworkConfig)):
        theirs, ours = getattr(saved.config.network, key), getattr(config.network, key)
        if theirs != ours and key not in _NOT_WEIGHTS:
            raise UserError(
                f"{spec} has network.{key} = {theirs!r} and this config {ours!r}; a run can only "
                "start from a network with the same layers"
            )
    return saved


def first_state(trainer: Trainer, run_dir: Path) -> TrainState:
    """Returns the state before the first cycle.

    If the run directory has a player to start from, its network takes the place of random weights.
    """
    state = trainer.init(jax.random.PRNGKey(trainer.config.seed))
    file = run_dir / START_FILE
    if not isinstance(trainer.network, TwoHeadedNetwork):
        check_first_predictions(trainer.network, trainer.game, local(state.acting))
    if not file.is_file():
        return state
    saved = load_saved(file, game=trainer.game, network=trainer.network)
    return with_network(state, saved.variables)


def with_network(state: TrainState, variables: Variables) -> TrainState:
    """Returns a first state with another network: as the learner's and the gated one."""

    def in_place_of(old: Variables) -> Variables:
        # Each place has arrays of its own, since a cycle overwrites the state that it is given.
        return jax.tree.map(
            lambda new, x: jax.device_put(np.array(new), x.sharding), variables, old
        )

    learner = state.learner
    return dataclasses.replace(
        state,
        learner=dataclasses.replace(learner, variables=in_place_of(learner.variables)),
        gated=None if state.gated is None else in_place_of(state.gated),
    )
