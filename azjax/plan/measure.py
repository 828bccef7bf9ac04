"""Measures on this machine what a compiled cycle does not tell: repetitions that depend on data.

They are counted over real games of the config, searched by a player that comes with azjax if there
is one of this game, otherwise by a small untrained network. Trained networks search deeper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import jax
from azjax_envs import Game

from azjax.config import Config, NetworkConfig
from azjax.errors import UserError
from azjax.network.two_headed import make_network
from azjax.plan.counting import Counts, count
from azjax.plan.hlo import Frame
from azjax.plan.regions import Assumed, Region
from azjax.players.load import load_player
from azjax.players.network_players import SearchPlayer
from azjax.search.model import Evaluate, network_evaluate
from azjax.selfplay.openings import read_openings, start_games
from azjax.selfplay.selfplay import play_plies
from azjax.types import Array, Params

SIMULATION_LOOP = "loop_fn"  # the function that repeats simulations, in `search/loop.py`
PLY_LOOP = "play_plies"  # and plies, in `selfplay/selfplay.py`
UPDATE_LOOP = "learn"  # and updates, in `training/cycle.py`


@dataclass(frozen=True)
class MeasuredRuns:
    """How often the loops and branches of a training cycle run."""

    config: Config
    counts: dict[int, Counts]  # by simulations of the search
    searched_by: str = ""  # the network that was used
    games: int = 0
    assumed: Assumed = field(default_factory=Assumed)

    def _counts(self, inside: tuple[float, ...]) -> list[Counts]:
        here = [self.counts[int(times)] for times in inside[::-1] if int(times) in self.counts]
        return [*here, *self.counts.values()]

    def trips(self, frames: tuple[Frame, ...], inside: tuple[float, ...]) -> tuple[float, str]:
        """Returns the config's updates of a cycle, or what was counted at a loop's line."""
        if frames and frames[0].function.split(".")[-1] == UPDATE_LOOP:
            return self.config.learning.updates_per_cycle, "known"
        for counts in self._counts(inside):
            if (repetitions := counts.repetitions(frames)) is not None:
                return repetitions, "measured"
        return self.assumed.trips(frames, inside)

    def branches(
        self, frames: tuple[Frame, ...], regions: list[Region], inside: tuple[float, ...]
    ) -> tuple[list[float], str]:
        """Returns the share of full searches, or what was counted at a condition's line."""
        if len(regions) == 2 and all(region.loops(SIMULATION_LOOP) for region in regions):
            full = full_plies(self.config) / self.config.selfplay.plies_per_cycle
            larger = regions[1].launches > regions[0].launches
            return [1 - full, full] if larger else [full, 1 - full], "known"
        for counts in self._counts(inside):
            if (shares := counts.shares(frames, len(regions))) is not None:
                return shares, "measured"
        return self.assumed.branches(frames, regions, inside)


def full_plies(config: Config) -> int:
    """Returns how many plies of a cycle get a full search."""
    return round(config.selfplay.full_search_fraction * config.selfplay.plies_per_cycle)


def evaluations(config: Config) -> int:
    """Returns how often self-play of a cycle evaluates a position of each game."""
    plies, full = config.selfplay.plies_per_cycle, full_plies(config)
    fast = (plies - full) * config.selfplay.fast_simulations
    return plies + full * config.search.num_simulations + fast


def measure_runs(
    config: Config, game: Game, *, games: int = 64, plies: int = 4, opening_plies: int = 24
) -> MeasuredRuns:
    """Plays some plies of real games on this machine, and counts the loops' repetitions.

    Args:
      config: the run.
      game: its game.
      games: games at once, at most the config's. A batched loop ends with its last game, so more
        games count more repetitions.
      plies: plies of each game, after its random opening.
      opening_plies: games open with 0 to at least this many random plies, where they are long.
    """
    games = min(games, config.selfplay.parallel_games)
    evaluate, variables, name = _player(game, config)
    opening_plies = max(config.selfplay.opening_plies, min(opening_plies, game.max_steps // 2))
    played = replace(
        config,
        replay=replace(config.replay, min_positions=1, capacity_plies=plies),
        selfplay=replace(
            config.selfplay,
            parallel_games=games,
            plies_per_cycle=plies,
            opening_plies=opening_plies,
            full_search_fraction=1.0,
        ),
    )
    file = config.selfplay.openings
    openings = read_openings(game, file) if file else None

    def play(simulations: int) -> Counts:
        search = replace(played.search, num_simulations=simulations)

        def run(variables: Params, key: Array) -> object:
            key, start_key = jax.random.split(key)
            started = start_games(game, start_key, games, played.selfplay, openings)
            settings = replace(played, search=search)
            return play_plies(game, evaluate, variables, key, started, settings, openings=openings)

        return count(run, variables, jax.random.PRNGKey(config.seed))

    sizes = {config.search.num_simulations}
    if full_plies(config) < config.selfplay.plies_per_cycle:
        sizes.add(config.selfplay.fast_simulations)
    return MeasuredRuns(config, {size: play(size) for size in sorted(sizes)}, name, games)


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
