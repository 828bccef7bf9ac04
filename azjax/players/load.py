"""Players out of run directories, and any player named in text."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
from azjax_envs import Game, make

from azjax.checkpoint import Checkpoints
from azjax.config import Config
from azjax.config_file import load_config
from azjax.errors import UserError
from azjax.network import Network, Variables
from azjax.players.network import PolicyPlayer, SearchPlayer, ValuePlayer
from azjax.players.parse import ENGINES, parse_player
from azjax.train_state import first_variables

CONFIG_FILE = "config.toml"
RUN_FORMS = "RUN, RUN:SIMULATIONS, RUN:policy, RUN:value, each also as RUN@CYCLE or RUN@best"


def _say(line: str) -> None:
    """To standard error: standard output may be JSON."""
    print(line, file=sys.stderr)


def make_game(config: Config) -> Game:
    """The game that a config names.

    Raises:
      UserError: there is no such game, or it does not take these options.
    """
    return game_from_name(config.game.name, **dict(config.game.options))


def game_from_name(name: str, **options: Any) -> Game:
    """`azjax_envs.make`, whose complaints become a UserError."""
    try:
        return make(name, **options)
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(str(error)) from error


def load_run_config(run_dir: str | Path) -> Config:
    """The config of a run directory. UserError where there is no run."""
    file = Path(run_dir) / CONFIG_FILE
    if not file.is_file():
        raise UserError(f"{run_dir}: no run is there ({CONFIG_FILE} is missing)")
    return load_config(file)


def load_player(
    run_dir: str | Path,
    *,
    simulations: int | None = None,
    checkpoint: int | str = "newest",
    warn: Callable[[str], None] = _say,
) -> SearchPlayer:
    """The trained player of a run: search without noise.

    Args:
      run_dir: a run directory.
      simulations: simulations for a move; None for as many as the run trained with.
      checkpoint: "newest", "best" (by the run's evaluations) or a cycle.
      warn: told of checkpoints that are broken and passed over.

    Raises:
      UserError: there is no run, or no such intact checkpoint.
    """
    config = load_run_config(run_dir)
    game, network, variables = load_network(run_dir, checkpoint=checkpoint, warn=warn)
    search = config.search
    if simulations is not None:
        search = replace(search, num_simulations=simulations)
    return SearchPlayer(game=game, network=network, variables=variables, config=search)


def untrained_player(run_dir: str | Path, *, simulations: int | None = None) -> SearchPlayer:
    """The player that a run began with: the control of every measurement."""
    config = load_run_config(run_dir)
    game = make_game(config)
    network = Network(game.observation_shape, game.num_actions, config.network)
    search = config.search
    if simulations is not None:
        search = replace(search, num_simulations=simulations)
    key = jax.random.PRNGKey(config.seed)
    variables = jax.jit(functools.partial(first_variables, network))(key)
    return SearchPlayer(game=game, network=network, variables=variables, config=search)


def load_network(
    run_dir: str | Path,
    *,
    checkpoint: int | str = "newest",
    warn: Callable[[str], None] = _say,
) -> tuple[Game, Network, Variables]:
    """The game, the network and its trained variables, on this process's first device."""
    run_dir = Path(run_dir)
    config = load_run_config(run_dir)
    game = make_game(config)
    network = Network(game.observation_shape, game.num_actions, config.network)
    device = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    shapes = jax.eval_shape(network.init, jax.ShapeDtypeStruct((2,), "uint32"))
    abstract = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), shapes
    )
    with Checkpoints(run_dir, read_only=True) as checkpoints:
        cycle: int | None = None
        if checkpoint == "best":
            cycle = checkpoints.best()
        elif checkpoint != "newest":
            cycle = int(checkpoint)
        return game, network, checkpoints.restore_variables(abstract, cycle, warn=warn)


def player_from_spec(spec: str, game: Game | None = None) -> Any:
    """Any player named in text: a run directory or a player that needs none.

    Args:
      spec: "runs/a", "runs/a:64" (simulations), "runs/a:policy", "runs/a:value", "runs/a@best",
        "runs/a@200:64", or what `parse_player` takes.
      game: the game it is to play; None if the spec is a run, which knows its own.

    Raises:
      UserError: nothing is named so, or the run is of another game.
    """
    place, _, how = spec.partition(":")
    directory, _, checkpoint = place.partition("@")
    if not Path(directory).is_dir():
        if game is None:
            raise UserError(f"{spec}: no run is there")
        if place in ENGINES:
            return parse_player(spec, game)
        try:
            return parse_player(spec, game)
        except UserError as error:
            raise UserError(f"{error}; or a run directory: {RUN_FORMS}") from error
    if checkpoint and checkpoint != "best" and not checkpoint.isdecimal():
        raise UserError(f"{spec}: after @ comes a cycle or best; {RUN_FORMS}")
    load = functools.partial(load_network, directory, checkpoint=checkpoint or "newest")
    if how in ("policy", "value"):
        kind = PolicyPlayer if how == "policy" else ValuePlayer
        own_game, network, variables = load()
        player = kind(game=own_game, network=network, variables=variables)
    elif how == "" or (how.isdecimal() and int(how) > 0):
        player = load_player(
            directory, simulations=int(how) if how else None, checkpoint=checkpoint or "newest"
        )
    else:
        raise UserError(f"{spec}: after : comes a number of simulations, policy or value")
    if game is not None and player.game != game:
        raise UserError(f"{spec} plays {player.game.name}, not {game.name}")
    return player
