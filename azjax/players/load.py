"""Players from their spellings: runs, files, built-in players and external engines."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import jax
from azjax_envs import Game

from azjax.config import Config, PlayerConfig, SearchConfig, load_config, shipped_configs
from azjax.errors import UserError, printable
from azjax.exact.known_values import exact_values
from azjax.games import game_from_name, resolve_game
from azjax.keys import first_keys
from azjax.network import Network, Variables
from azjax.players.base import Player
from azjax.players.card import run_metadata
from azjax.players.compact_weights import Precision
from azjax.players.engines.gtp import gtp_player
from azjax.players.engines.uci import uci_player
from azjax.players.exact import exact_player
from azjax.players.minimax import MinimaxPlayer
from azjax.players.monte_carlo import MonteCarloPlayer
from azjax.players.network_players import (
    PolicyPlayer,
    SearchPlayer,
    ValuePlayer,
    player_search_config,
)
from azjax.players.random_player import RandomPlayer
from azjax.players.spec import (
    CONFIG_FILE,
    BuiltinSpec,
    Checkpoint,
    EngineSpec,
    NetworkSpec,
    PlayerSpec,
    is_game,
    parse_network,
    parse_spec,
)
from azjax.players.uct import UCTPlayer
from azjax.players.weights_file import SavedPlayer, load_saved, pretrained, save_player
from azjax.search import Search, resolve_search
from azjax.search import search as azjax_search

if TYPE_CHECKING:  # Orbax and Flax take half a second: they are imported where a player needs them
    from azjax.runs.checkpoint import Checkpoints

START_FILE = "start.safetensors"
"""A run's copy of the player whose network it began with, where there is one."""

_BUILTIN: dict[str, Callable[[Game, int], Player]] = {
    "random": lambda game, _: RandomPlayer(game),
    "exact": lambda game, _: exact_player(game),
    "minimax": MinimaxPlayer,
    "mc": MonteCarloPlayer,
    "uct": UCTPlayer,
}
_LONG_GAME = 400  # plies; a hundred simulations of such games take a second or two
_SOLVED_AT_ONCE = 12  # plies


def warn_on_stderr(line: str) -> None:
    """Prints a warning to standard error, because standard output may be JSON."""
    print(printable(line), file=sys.stderr)


def load_player(
    spec: str | Path | PlayerSpec,
    *,
    game: Game | str | None = None,
    network: Network | None = None,
    search: Search | None = None,
    simulations: int | None = None,
    checkpoint: Checkpoint | None = None,
    trust: bool = False,
    warn: Callable[[str], None] = warn_on_stderr,
) -> Player:
    """Loads the player that a text names, in any spelling that the command line knows.

    Args:
      spec: a run directory ("runs/a", "runs/a@best:64", "runs/a:policy"), a player's file
        ("four.safetensors"), the game of a player that comes with azjax ("connect_four"), a
        built-in player ("random", "uct:1000", "minimax:4", "mc:100", "exact"), or an engine
        ("gtp:gnugo --level 3", "uci:stockfish?nodes=1000"). See `azjax.players.spec.parse_spec`.
      game: the game to play, or its name. A network knows the name of its game; a game that cannot
        be made from a name must be given. All other players need a game.
      network: the network of a run or a file, if it is the user's own and no name leads to it.
      search: the search of a run or a file, in place of the one that `[search] module` names. One
        that was an object in Python must be handed over here. Without it azjax's own search plays,
        and a line says so.
      simulations: simulations per move of a network with search, instead of the number in `spec`.
        By default a run's player searches as in the run's evaluations.
      checkpoint: "newest", "best" (by the run's evaluations) or a cycle, instead of the one in
        `spec`.
      trust: let a player's file import the modules of its game, its network and its search, if it
        names any. This can run any code. A run directory is taken to be your own, and may always do
        so.
      warn: called with a line about each checkpoint that is broken and skipped, and about a search
        that is not used.

    Returns:
      The player. A network of bfloat16 computes in float32 on CPUs where that is faster.

    Raises:
      UserError: there is no such player or checkpoint, it plays another game, or it needs `trust`.
    """
    if not isinstance(spec, NetworkSpec | BuiltinSpec | EngineSpec):
        spec = parse_spec(spec)
    game = game_from_name(game) if isinstance(game, str) else game
    if isinstance(spec, NetworkSpec):
        spec = replace(
            spec,
            simulations=spec.simulations if simulations is None else simulations,
            checkpoint=spec.checkpoint if checkpoint is None else checkpoint,
        )
        return _network_player(spec, game, network, search, trust, warn)
    if network is not None or search is not None:
        raise UserError(f"{spec.text}: only runs and files take a network or a search")
    if simulations is not None or checkpoint is not None:
        raise UserError(f"{spec.text}: only runs and files take simulations and checkpoints here")
    if game is None:
        raise UserError(f"player {spec.text!r} works for any game, so its game must be given")
    if isinstance(spec, BuiltinSpec):
        return _BUILTIN[spec.kind](game, spec.number)
    if spec.protocol == "gtp":
        return gtp_player(spec, game)
    return uci_player(spec, game)


def with_game(player: Player, game: Game) -> Player:
    """Returns a player for another game of the same shapes, such as go with another komi."""
    if player.game == game:
        return player
    # Values of the old game would be wrong.
    return exact_player(game) if player.name == "exact" else replace(player, game=game)  # type: ignore[type-var]


def best_player(name: str) -> tuple[str, str] | None:
    """Returns the best player of a game of which no trained one comes with azjax.

    It is its spelling and what to say about it; None if `name` is that of a player or a run, or
    of nothing.
    """
    if not is_game(name) or name in pretrained() or os.path.isdir(name):
        return None
    game = game_from_name(name)
    values = exact_values(game)
    spec = "uct:1000" if game.max_steps <= _LONG_GAME else "uct:100"
    if game.max_steps <= _SOLVED_AT_ONCE or (values and values.complete and not values.missing):
        spec = "exact"
    config = name if name in shipped_configs() else "CONFIG"
    return spec, (
        f"No trained player of {name} comes with azjax, so this is the best other one, {spec}. "
        f"azjax train {config} trains one."
    )


def untrained_player(
    run_dir: str | Path,
    *,
    game: Game | None = None,
    network: Network | None = None,
    search: Search | None = None,
    simulations: int | None = None,
    warn: Callable[[str], None] = warn_on_stderr,
) -> SearchPlayer:
    """Returns the player of a run's untrained network: the control of every measurement.

    By default it has the number of simulations of the run's evaluations.
    """
    config = load_run_config(run_dir)
    game, network = _own(config, game, network, run_dir)
    return SearchPlayer(
        game=game,
        network=network,
        variables=jax.jit(network.init)(first_keys(jax.random.PRNGKey(config.seed)).network),
        config=player_search_config(config.player, simulations),
        search=_own_search(config.search, search, owner=str(run_dir), trust=True, warn=warn),
    )


def load_run_config(run_dir: str | Path) -> Config:
    """Loads the config of a run directory.

    Raises:
      UserError: there is no run.
    """
    file = Path(os.path.expanduser(run_dir)) / CONFIG_FILE
    if not file.is_file():
        raise UserError(f"{run_dir}: there is no run ({CONFIG_FILE} is missing)")
    return load_config(file)


def load_network(
    run_dir: str | Path,
    *,
    game: Game | None = None,
    network: Network | None = None,
    checkpoint: Checkpoint = "newest",
    warn: Callable[[str], None] = warn_on_stderr,
) -> tuple[Game, Network, Variables]:
    """Loads a run's game, its network and trained variables, on this process's first device.

    Args:
      checkpoint: "newest", "best" (by the run's evaluations) or a cycle.
      warn: called with a line about each checkpoint that is broken and skipped.

    Raises:
      UserError: there is no run, or no such intact checkpoint.
    """
    from azjax.network import variable_shapes
    from azjax.runs.checkpoint import Checkpoints

    run_dir = Path(run_dir)
    game, network = _own(load_run_config(run_dir), game, network, run_dir)
    device = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    shapes = variable_shapes(network)
    abstract = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), shapes
    )
    with Checkpoints(run_dir, read_only=True) as checkpoints:
        cycle = _best(run_dir, checkpoints) if checkpoint == "best" else checkpoint
        cycle = None if cycle == "newest" else cycle
        return game, network, checkpoints.restore_variables(abstract, cycle, warn=warn)


def export_player(
    spec: str | Path,
    path: str | Path,
    *,
    game: Game | None = None,
    network: Network | None = None,
    dtype: Precision = "compact",
    trust: bool = False,
) -> None:
    """Writes the player of a run, RUN@best or RUN@CYCLE, or of another file, into a single file.

    Args:
      dtype: of the weights, see `azjax.save_player`.
      trust: as in `load_player`.

    Raises:
      UserError: there is no such player or checkpoint, it needs `trust`, or the file exists.
    """
    parsed = parse_network(spec, use="export", rule="a file holds a network alone")
    saved = saved_player(parsed, game=game, network=network, trust=trust)
    save_player(path, saved.config, saved.variables, saved.metadata, dtype=dtype)


def saved_player(
    spec: NetworkSpec,
    *,
    game: Game | None = None,
    network: Network | None = None,
    trust: bool = False,
) -> SavedPlayer:
    """Returns what the file of a player, or of a run's checkpoint, holds or would hold.

    Raises:
      UserError: there is no such file, run or checkpoint.
    """
    if spec.source == "file":
        return load_saved(spec.path, game=game, network=network, trust=trust)
    config, cycle = load_run_config(spec.path), checkpoint_cycle(spec)
    _, _, variables = load_network(
        spec.path, game=game, network=network, checkpoint=spec.checkpoint
    )
    start, before = spec.path / START_FILE, ""
    if start.is_file():
        before = load_saved(start, game=game, network=network).describe("training")
    metadata = run_metadata(spec.path, cycle, config.player, before=before)
    return SavedPlayer(config.player, variables, metadata)


def checkpoint_cycle(run: NetworkSpec) -> int | None:
    """Returns the cycle of a run's checkpoint; None if there is no checkpoint."""
    from azjax.runs.checkpoint import Checkpoints

    with Checkpoints(run.path, read_only=True) as checkpoints:
        if run.checkpoint == "newest":
            return max(checkpoints.cycles(), default=None)
        return _best(run.path, checkpoints) if run.checkpoint == "best" else run.checkpoint


def describe(spec: str | Path, *, trust: bool = False, in_short: bool = False) -> str:
    """Describes the network in a player's file and its strength; "" for all other players.

    `spec` and `trust` are as in `load_player`. `in_short` gives sentences for visitors.
    """
    parsed = parse_spec(spec)
    if not isinstance(parsed, NetworkSpec) or parsed.source != "file":
        return ""
    return load_saved(parsed.path, trust=trust).describe("short" if in_short else "card")


def _network_player(
    spec: NetworkSpec,
    game: Game | None,
    network: Network | None,
    search: Search | None,
    trust: bool,
    warn: Callable[[str], None],
) -> SearchPlayer | PolicyPlayer | ValuePlayer:
    from azjax.network import in_fast_arithmetic

    if spec.source == "run":
        config = load_run_config(spec.path).player
        game, network, variables = load_network(
            spec.path, game=game, network=network, checkpoint=spec.checkpoint, warn=warn
        )
    else:
        if spec.checkpoint != "newest":
            raise UserError(f"{spec.text}: only runs have checkpoints; a file holds one player")
        saved = load_saved(spec.path, game=game, network=network, trust=trust)
        config, variables = saved.config, saved.variables
        game, network = _own(config, game, network, spec.text)
    network = in_fast_arithmetic(network)
    if spec.how == "search":
        trust |= spec.source == "run"
        return SearchPlayer(
            game=game,
            network=network,
            variables=variables,
            config=player_search_config(config, spec.simulations),
            search=_own_search(config.search, search, owner=spec.text, trust=trust, warn=warn),
        )
    kind = PolicyPlayer if spec.how == "policy" else ValuePlayer
    return kind(game=game, network=network, variables=variables)


def _own(
    config: Config | PlayerConfig, game: Game | None, network: Network | None, owner: str | Path
) -> tuple[Game, Network]:
    """Returns a config's game and network, or the user's own instead."""
    from azjax.network import resolve_network

    game = resolve_game(config.game, game, owner=str(owner))
    return game, resolve_network(game, config.network, network, owner=str(owner))


def _own_search(
    config: SearchConfig,
    search: Search | None,
    *,
    owner: str,
    trust: bool,
    warn: Callable[[str], None],
) -> Search:
    """Returns a player's search: the given one, the one that its config names, or azjax's own."""
    name, instead = config.module, "azjax's own search plays instead"
    if search is None and name and ":" not in name:
        warn(f"{owner}: its search {name} was an object in Python, search=...; {instead}")
        return azjax_search
    if search is None and name and not trust:
        allowed = "--trust (in Python: trust=True)"
        warn(f"{owner}: its search {name} is imported only with {allowed}; {instead}")
        return azjax_search
    try:
        return resolve_search(config, search)
    except UserError as error:
        raise UserError(f"{owner}: {error}") from error


def _best(run_dir: Path, checkpoints: "Checkpoints") -> int:
    cycle = checkpoints.best()
    if cycle is None:
        raise UserError(f"{run_dir}@best: no checkpoint was evaluated; {run_dir} is the newest one")
    return cycle
