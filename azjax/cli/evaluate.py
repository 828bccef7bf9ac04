"""Commands that measure: players against players and against exact values, and speeds."""

import dataclasses
import json
import sys
from collections.abc import Callable
from typing import Any

import tyro

from azjax.cli.arguments import parse
from azjax.errors import UserError


def evaluate(arguments: list[str]) -> None:
    """Play a run against another player: azjax eval runs/h --against uct:1000 --games 200"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: tyro.conf.Positional[str]
        """The player: a run directory, RUN:SIMULATIONS, RUN:policy, RUN@best and so on."""
        against: str = "random"
        """The opponent: random, minimax:4, mc:100, uct:1000, exact, another run, or an engine such
        as 'gtp:gnugo --level 3' or 'uci:stockfish?nodes=1000&Skill Level=3'."""
        games: int = 200
        """Games, half from each seat."""
        opening_plies: int = 2
        """Random plies before the players start, the same for both games of a pair."""
        seed: int = 0
        """Seed of openings and players."""
        json: bool = False
        """Print JSON."""

    options = parse(evaluate, Arguments, arguments, "eval")
    _match(options.run, options.against, options)


def match(arguments: list[str]) -> None:
    """Play two runs against each other: azjax match runs/a runs/b --games 400"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        first: tyro.conf.Positional[str]
        """A run directory, as in `azjax eval`."""
        second: tyro.conf.Positional[str]
        """Another one, or any other player."""
        game: str | None = None
        """The game, such as go_9x9, where the first player is no run."""
        games: int = 400
        """Games, half from each seat."""
        opening_plies: int = 2
        """Random plies before the players start, the same for both games of a pair."""
        seed: int = 0
        """Seed of openings and players."""
        json: bool = False
        """Print JSON."""

    options = parse(match, Arguments, arguments, "match")
    from azjax.players.load import names_network

    if options.game is None and not names_network(options.first):
        raise UserError(f"{options.first}: no run is there; other players need --game, their game")
    _match(options.first, options.second, options, game=options.game)


def rate(arguments: list[str]) -> None:
    """Rate all checkpoints of a run on one scale: azjax rate runs/h --anchors random uct:100"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: tyro.conf.Positional[str]
        """The run directory."""
        anchors: tuple[str, ...] = ()
        """Players that do not learn, the first of which has Elo 0; if left out, random, and uct:100
        and uct:1000 where games are short enough."""
        simulations: int | None = None
        """Simulations of the checkpoints; as in the run's evaluations if left out."""
        games: int = 40
        """Games of each match, half from each seat."""
        opening_plies: int = 2
        """Random plies before the players start, the same for both games of a pair."""
        seed: int = 0
        """Seed of openings and players."""
        json: bool = False
        """Print JSON."""

    options = parse(rate, Arguments, arguments, "rate")
    from azjax.devices import use_all_cores

    use_all_cores(say=say_to(options.json))

    from azjax.evaluation.rating import rate_run

    rate_run(**dataclasses.asdict(options))


def report(arguments: list[str]) -> None:
    """Write a run's report card: azjax report runs/h"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: tyro.conf.Positional[str]
        """The run directory, as RUN@best or RUN@CYCLE if another checkpoint is wanted."""
        simulations: int | None = None
        """Simulations of the searching players; as in the run's evaluations if left out."""
        beside: tuple[str, ...] = ("uct:1000",)
        """More players to hold against the exact values."""
        against: tuple[str, ...] = ("random",)
        """Opponents to meet, with search and without."""
        games: int = 200
        """Games against each opponent, half from each seat."""
        opening_plies: int = 2
        """Random plies before the players start, the same for both games of a pair."""
        own_games: int = 128
        """Games of the run with itself, whose positions are a ruler, too; 0 for none."""
        seed: int = 0
        """Seed of openings and players."""
        json: bool = False
        """Print JSON."""

    options = parse(report, Arguments, arguments, "report")
    from azjax.devices import use_all_cores

    use_all_cores(say=say_to(options.json))

    from azjax.evaluation.run_report import report_run

    report_run(**dataclasses.asdict(options))


def solve(arguments: list[str]) -> None:
    """Solve a small game exactly: azjax solve tic_tac_toe"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        game: tyro.conf.Positional[str]
        """A game's name, such as tic_tac_toe or connect_four_4x4."""
        json: bool = False
        """Print JSON."""

    options = parse(solve, Arguments, arguments, "solve")
    from azjax.evaluation.run_report import solve_game

    solve_game(options.game, as_json=options.json)


def bench(arguments: list[str]) -> None:
    """Measure the speed of search, training or the games: azjax bench search"""
    from azjax.bench.games import GamesBenchmark
    from azjax.bench.search import SearchBenchmark
    from azjax.bench.training import TrainingBenchmark

    benchmarks = {"envs": GamesBenchmark, "search": SearchBenchmark, "train": TrainingBenchmark}
    if not arguments or arguments[0] not in benchmarks:
        raise UserError(f"bench: name one of {', '.join(benchmarks)}")
    options = parse(bench, benchmarks[arguments[0]], arguments[1:], f"bench {arguments[0]}")
    options.run()


def _match(first: str, second: str, options: Any, *, game: str | None = None) -> None:
    from azjax.devices import use_all_cores

    use_all_cores(say=say_to(options.json))

    import jax
    from rich.console import Console

    from azjax.evaluation.match import play_match
    from azjax.evaluation.report_table import render_matches
    from azjax.games import game_from_name
    from azjax.players.load import player_from_spec

    player = player_from_spec(first, None if game is None else game_from_name(game))
    opponent = player_from_spec(second, player.game)
    result = play_match(
        player.game,
        player,
        opponent,
        jax.random.PRNGKey(options.seed),
        num_games=options.games,
        opening_plies=options.opening_plies,
    )
    result = dataclasses.replace(result, player_a=first, player_b=second)
    if options.json:
        print(json.dumps(result.to_dict(), indent=2))
    else:
        render_matches(player.game.name, [result], Console())


def say_to(as_json: bool) -> Callable[[str], None]:
    """Remarks go to the terminal, but not between the braces of JSON."""
    return (lambda line: print(line, file=sys.stderr)) if as_json else print
