"""Players out of run directories, and any player named in text."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
from azjax_envs import Game

from azjax.config import Config, SearchConfig
from azjax.config.toml import load_config
from azjax.errors import UserError
from azjax.games import make_game
from azjax.network.network import Network, Variables, first_variables, make_network
from azjax.players.network_players import PolicyPlayer, SearchPlayer, ValuePlayer, played_search
from azjax.players.spec import ENGINES, parse_player
from azjax.players.weights_file import (
    SUFFIX,
    SavedPlayer,
    about_run,
    load_saved,
    pretrained,
    save_player,
)
from azjax.runs.checkpoint import Checkpoints

CONFIG_FILE = "config.toml"
RUN_FORMS = "RUN, RUN:SIMULATIONS, RUN:policy, RUN:value, each also as RUN@CYCLE or RUN@best"


def _say(line: str) -> None:
    """To standard error: standard output may be JSON."""
    print(line, file=sys.stderr)


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
      simulations: simulations for a move; None for as many as the run's evaluations have.
      checkpoint: "newest", "best" (by the run's evaluations) or a cycle.
      warn: told of checkpoints that are broken and passed over.

    Raises:
      UserError: there is no run, or no such intact checkpoint.
    """
    config = load_run_config(run_dir)
    game, network, variables = load_network(run_dir, checkpoint=checkpoint, warn=warn)
    search = played_search(config, simulations)
    return SearchPlayer(game=game, network=network, variables=variables, config=search)


def untrained_player(run_dir: str | Path, *, simulations: int | None = None) -> SearchPlayer:
    """The player that a run began with: the control of every measurement."""
    config = load_run_config(run_dir)
    game = make_game(config)
    network = make_network(game, config.network)
    search = played_search(config, simulations)
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
    network = make_network(game, config.network)
    device = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    shapes = jax.eval_shape(network.init, jax.ShapeDtypeStruct((2,), "uint32"))
    abstract = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), shapes
    )
    with Checkpoints(run_dir, read_only=True) as checkpoints:
        cycle: int | None = None
        if checkpoint == "best":
            cycle = _best(run_dir, checkpoints)
        elif checkpoint != "newest":
            cycle = int(checkpoint)
        return game, network, checkpoints.restore_variables(abstract, cycle, warn=warn)


def player_from_spec(spec: str, game: Game | None = None) -> Any:
    """Any player named in text: a run directory or a player that needs none.

    Args:
      spec: "runs/a", "runs/a:64" (simulations), "runs/a:policy", "runs/a:value", "runs/a@best",
        "runs/a@200:64"; a player's file, "a.safetensors", or the game of one that comes with azjax,
        "connect_four", in place of the run; or what `parse_player` takes.
      game: the game it is to play; None if the spec names a network, which knows its own.

    Raises:
      UserError: nothing is named so, or the run is of another game.
    """
    place, _, how = spec.partition(":")
    loaded = _find(place)
    if loaded is None:
        if game is None:
            raise UserError(f"{spec}: no run is there{_pretrained_advice()}")
        if place in ENGINES:
            return parse_player(spec, game)
        try:
            return parse_player(spec, game)
        except UserError as error:
            raise UserError(f"{error}; or a run directory: {RUN_FORMS}") from error
    own_game, network, variables, search = loaded
    if game is not None and own_game != game:
        raise UserError(f"{spec} plays {own_game.name}, not {game.name}")
    if how in ("policy", "value"):
        kind = PolicyPlayer if how == "policy" else ValuePlayer
        return kind(game=own_game, network=network, variables=variables)
    if how.isdecimal() and int(how) > 0:
        search = replace(search, num_simulations=int(how))
    elif how:
        raise UserError(f"{spec}: after : comes a number of simulations, policy or value")
    return SearchPlayer(game=own_game, network=network, variables=variables, config=search)


def export_player(run: str, path: str | Path) -> None:
    """Writes the player of a run, RUN, RUN@best or RUN@CYCLE, into a file of its own.

    Raises:
      UserError: there is no such run or checkpoint, or the file is there already.
    """
    directory, checkpoint = _run_and_checkpoint(run)
    config, cycle = load_run_config(directory), checkpoint_cycle(run)
    _, _, variables = load_network(directory, checkpoint=checkpoint)
    save_player(path, config, variables, about_run(directory, cycle))


def checkpoint_cycle(run: str) -> int | None:
    """The cycle that RUN, RUN@best or RUN@CYCLE names; None where there is no such checkpoint."""
    directory, checkpoint = _run_and_checkpoint(run)
    with Checkpoints(directory, read_only=True) as checkpoints:
        if checkpoint == "newest":
            return max(checkpoints.cycles(), default=None)
        return _best(directory, checkpoints) if checkpoint == "best" else int(checkpoint)


def _best(run_dir: Path, checkpoints: Checkpoints) -> int:
    cycle = checkpoints.best()
    if cycle is None:
        raise UserError(f"{run_dir}@best: no checkpoint was evaluated; {run_dir} is the newest one")
    return cycle


def names_network(spec: str) -> bool:
    """Whether a spec names a trained network, which knows its game: by a run, a file, or a game."""
    place = spec.partition(":")[0]
    directory = place.partition("@")[0]
    return Path(directory).is_dir() or place.endswith(SUFFIX) or place in pretrained()


def describe(spec: str) -> str:
    """Which network a file holds, or comes with azjax, and how strong it is; "" for a run."""
    place = spec.partition(":")[0]
    saved = None if Path(place.partition("@")[0]).is_dir() else saved_player(place)
    return saved.describe() if saved else ""


def saved_player(place: str) -> SavedPlayer | None:
    """The player that a file holds, or that comes with azjax for the game of that name."""
    if place.endswith(SUFFIX):
        return load_saved(place)
    return load_saved(pretrained()[place]) if place in pretrained() else None


def _find(place: str) -> tuple[Game, Network, Variables, SearchConfig] | None:
    """A trained network by its run directory, its file, or its game; None where none is."""
    if Path(place.partition("@")[0]).is_dir():
        directory, checkpoint = _run_and_checkpoint(place)
        network = load_network(directory, checkpoint=checkpoint)
        return *network, played_search(load_run_config(directory))
    saved = saved_player(place)
    if saved is None:
        return None
    game = make_game(saved.config)
    network = make_network(game, saved.config.network)
    return game, network, saved.variables, played_search(saved.config)


def _run_and_checkpoint(place: str) -> tuple[Path, str]:
    """RUN, RUN@best or RUN@CYCLE as a directory, and "newest", "best" or a cycle."""
    directory, _, checkpoint = place.partition("@")
    if checkpoint and checkpoint != "best" and not checkpoint.isdecimal():
        raise UserError(f"{place}: after @ comes a cycle or best; {RUN_FORMS}")
    return Path(directory), checkpoint or "newest"


def _pretrained_advice() -> str:
    names = ", ".join(pretrained())
    return f"; players that come with azjax: {names}" if names else ""
