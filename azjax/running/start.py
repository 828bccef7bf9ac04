"""The first state of a run: random weights, or the network of another player."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from azjax_envs import Game

from azjax.config import Config, NetworkConfig
from azjax.errors import UserError
from azjax.network import (
    Network,
    TwoHeadedNetwork,
    Variables,
    check_first_predictions,
    resolve_network,
)
from azjax.players.load import START_FILE, saved_player
from azjax.players.spec import parse_network
from azjax.players.weights_file import SavedPlayer, load_saved, save_player
from azjax.selfplay import first_league
from azjax.sharding import local
from azjax.training import Trainer, TrainState

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


class Member(NamedTuple):
    """An opponent of a league."""

    game: Game
    network: Network
    variables: Variables


def read_opponents(
    opponents: Sequence[Any], game: Game, config: Config, network: Network | None = None
) -> tuple[Any, ...]:
    """Returns the opponents of a league, of which some may be named, as in `read_start`.

    Raises:
      UserError: there is no such player, it has no network, or it plays another game.
    """

    def read(spec: str | Path) -> Member:
        rule = "a member of a league is a network alone"
        parsed = parse_network(spec, use="play with", rule=rule)
        own = resolve_network(game, config.network, network) if config.network.module else network
        saved = saved_player(parsed, game=game, network=own)
        theirs = resolve_network(game, saved.config.network, own, owner=str(spec))
        return Member(game, theirs, saved.variables)

    return tuple(read(x) if isinstance(x, str | Path) else x for x in opponents)


def save_opponents(run_dir: Path, config: Config, opponents: Sequence[Any]) -> None:
    """Writes the opponents into files of the run, from which it begins."""
    for number, opponent in enumerate(opponents):
        file = opponent_file(run_dir, number)
        file.parent.mkdir(exist_ok=True)
        save_player(file, config, opponent.variables)


def opponent_file(run_dir: Path, number: int) -> Path:
    """Returns where a run keeps one of its first opponents."""
    return run_dir / "opponents" / f"{number + 1}.safetensors"


def first_state(trainer: Trainer, run_dir: Path) -> TrainState:
    """Returns the state before the first cycle.

    If the run directory has a player to start from, its network takes the place of random weights.
    """
    state = trainer.init(jax.random.PRNGKey(trainer.config.seed))
    file, league = run_dir / START_FILE, trainer.config.league
    if not isinstance(trainer.network, TwoHeadedNetwork):
        check_first_predictions(trainer.network, trainer.game, local(state.acting))

    def read(file: Path) -> Variables:
        return load_saved(file, game=trainer.game, network=trainer.network).variables

    if file.is_file():
        state = with_network(state, read(file))
    if state.league is not None and (file.is_file() or league.opponents):
        members = [read(opponent_file(run_dir, i)) for i in range(len(league.opponents))]
        given = jax.tree.map(lambda *x: np.stack(x), *members) if members else None
        first = first_league(league, local(state.acting), given)
        placed = jax.tree.map(lambda x, y: jax.device_put(x, y.sharding), first, state.league)
        state = dataclasses.replace(state, league=placed)
    return state


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
