"""Measures on this machine what a compiled cycle does not tell: repetitions that depend on data.

They are counted over real games of the config, searched by a player that comes with azjax if there
is one of this game, otherwise by a small untrained network. Trained networks search deeper.
"""

from dataclasses import replace

import jax
from azjax_envs import Game

from azjax.config import Config, NetworkConfig
from azjax.errors import UserError
from azjax.network.two_headed import make_network
from azjax.plan.operations import full_plies
from azjax.players.load import load_player
from azjax.players.network_players import SearchPlayer
from azjax.search.model import Evaluate, network_evaluate
from azjax.selfplay.openings import read_openings, start_games
from azjax.selfplay.selfplay import draw_full_search_mask, play_plies
from azjax.types import Array, Params
from benchmarks.kernels.counting import Runs, count


def assumed_runs(config: Config) -> Runs:
    """Returns what a config says of its cycle's loops and branches; all else is assumed."""
    full = full_plies(config) / config.selfplay.plies_per_cycle
    updates = config.learning.updates_per_cycle
    return Runs(known={("updates", "while"): updates, ("search", "cond"): [1 - full, full]})


def measure_runs(
    config: Config, game: Game, *, games: int = 64, plies: int = 4, opening_plies: int = 24
) -> Runs:
    """Plays some plies of real games on this machine, and counts the loops' repetitions.

    Args:
      games: games at once, at most the config's. A batched loop ends with its last game, so more
        games count more repetitions.
      plies: plies of each game, after its random opening.
      opening_plies: games open with 0 to at least this many random plies, where they are long.
    """
    games = min(games, config.selfplay.parallel_games)
    evaluate, variables, name = _player(game, config)
    opening_plies = max(config.selfplay.opening_plies, min(opening_plies, game.max_steps // 2))
    has_fast_searches = full_plies(config) < config.selfplay.plies_per_cycle
    played = replace(
        config,
        replay=replace(config.replay, min_positions=1, capacity_plies=plies),
        selfplay=replace(
            config.selfplay,
            parallel_games=games,
            plies_per_cycle=plies,
            opening_plies=opening_plies,
            full_search_fraction=0.5 if has_fast_searches else 1.0,
        ),
    )
    file = config.selfplay.openings
    openings = read_openings(game, file) if file else None

    def play(variables: Params, key: Array) -> object:
        key, start_key, mask_key = jax.random.split(key, 3)
        started = start_games(game, start_key, games, played.selfplay, openings)
        return play_plies(
            *(game, evaluate, variables, key, started, played),
            openings=openings,
            full_search_mask=draw_full_search_mask(mask_key, played.selfplay),
        )

    counted = count(play, variables, jax.random.PRNGKey(config.seed))
    return replace(counted, known=assumed_runs(config).known, games=games, searched_by=name)


def _player(game: Game, config: Config) -> tuple[Evaluate, Params, str]:
    """Returns an evaluation of the game, its parameters, and what it is."""
    try:
        player = load_player(game.name, game=game)
    except UserError:
        player = None
    if isinstance(player, SearchPlayer):
        name = f"the player {game.name} that comes with azjax"
        return network_evaluate(game, player.network), player.variables, name
    small = NetworkConfig(architecture="mlp", blocks=1, channels=16, value_head="wdl")
    network = make_network(game, small)
    variables = jax.jit(network.init)(jax.random.PRNGKey(config.seed))
    return network_evaluate(game, network), variables, "a small untrained network"
