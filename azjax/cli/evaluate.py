"""The commands that measure: matches, ratings, reports, exact values and speed."""

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import tyro

from azjax.cli.arguments import (
    GameArgument,
    GameOption,
    PlayerArgument,
    RunArgument,
    TrustOption,
    game_of,
    parse,
    summary,
)
from azjax.errors import UserError

_FIRST_LINE_S = 1.0
_LINE_EVERY_S = 10.0
_UNLIMITED = 1000  # columns


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Output:
    seed: int = 0
    """Seed of the openings and the players."""
    json: bool = False
    """Print JSON."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Shared(_Output):
    """Options of all commands that play matches."""

    opening_plies: int = 2
    """Random plies before the players start, the same for both games of a pair."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _OfReport(_Output):
    """The same options of a report."""

    opening_plies: int | None = None
    """Random plies before the players start, the same for both games of a pair; by default 2, or
    none in a game whose states are all known."""


_SharedArgument = Annotated[_Shared, tyro.conf.arg(name="")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Match:
    """Options of the commands that play one match."""

    game: GameOption = None
    """The game, such as go_9x9, if the player has no network."""
    games: int = 200
    """Number of games, half from each seat."""
    trust: TrustOption = False
    shared: _SharedArgument = dataclasses.field(default_factory=_Shared)


def evaluate(arguments: list[str]) -> None:
    """Play a run against another player: azjax eval runs/h --against uct:1000 --games 200"""

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Arguments(_Match):
        run: PlayerArgument
        """The player: a run directory, RUN:SIMULATIONS, RUN:policy, RUN@best and so on."""
        against: str = "random"
        """The opponent: random, minimax:4, mc:100, uct:1000, exact, another run, or an engine such
        as 'gtp:gnugo --level 3' or 'uci:stockfish?nodes=1000&Skill Level=3'."""

    options = parse(evaluate, Arguments, arguments, "eval")
    _match(options.run, options.against, options)


def match(arguments: list[str]) -> None:
    """Play two runs against each other: azjax match runs/a runs/b --games 400"""

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Arguments(_Match):
        first: PlayerArgument
        """A player, as in `azjax eval`."""
        second: PlayerArgument
        """Its opponent: a run or any other player."""
        games: int = 400
        """Number of games, half from each seat."""

    options = parse(match, Arguments, arguments, "match")
    _match(options.first, options.second, options)


def rate(arguments: list[str]) -> None:
    """Rate all checkpoints of a run on one scale: azjax rate runs/h --anchors random uct:100"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: RunArgument
        """The run directory."""
        anchors: tuple[str, ...] = ()
        """Fixed players, the first of which has Elo 0. By default random, and uct:100 and uct:1000
        if games are short enough."""
        simulations: int | None = None
        """Simulations of the checkpoints; by default as in the run's evaluations."""
        games: int = 40
        """Number of games of each match, half from each seat."""
        shared: _SharedArgument = dataclasses.field(default_factory=_Shared)

    options = parse(rate, Arguments, arguments, "rate")
    from azjax.devices import use_all_cores

    use_all_cores(say=say_to(options.shared.json))

    from azjax.evaluation.rating import rate_run, save_rating

    with _status(options.shared.json) as progress:
        rating = rate_run(**_settings(options), progress=progress)
    save_rating(rating, options.run)
    _print(rating, rating.to_dict(), options.shared.json)


def report(arguments: list[str]) -> None:
    """Measure a run on exact values and in matches: azjax report runs/h"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: RunArgument
        """The run directory, or another checkpoint: RUN@best, RUN@CYCLE."""
        simulations: tuple[int, ...] = ()
        """Simulations of the searching players, one number or several; by default as in the run's
        evaluations. The first one also plays the matches."""
        baselines: tuple[str, ...] = ("uct:1000",)
        """Baselines to measure on the same positions."""
        against: tuple[str, ...] = ("random",)
        """Opponents of the run's player and of its raw policy."""
        games: int = 200
        """Number of games against each opponent, half from each seat."""
        own_games: int = 128
        """Number of games of the run against itself, to measure all players on their positions."""
        shared: Annotated[_OfReport, tyro.conf.arg(name="")] = dataclasses.field(
            default_factory=_OfReport
        )

    options = parse(report, Arguments, arguments, "report")
    from azjax.devices import use_all_cores

    use_all_cores(say=say_to(options.shared.json))

    from azjax.evaluation.run_report import report_run, save_report

    with _status(options.shared.json) as progress:
        result = report_run(**_settings(options), progress=progress)
    save_report(result, options.run)
    _print(result, result.to_dict(), options.shared.json)


def solve(arguments: list[str]) -> None:
    """Solve a small game exactly: azjax solve tic_tac_toe"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        game: GameArgument
        """A game's name, such as tic_tac_toe or connect_four_4x4."""
        json: bool = False
        """Print JSON."""

    options = parse(solve, Arguments, arguments, "solve")
    from azjax_envs import HasChance, HasScore

    from azjax.exact import solver
    from azjax.exact.chance_solver import solve_chance
    from azjax.exact.state_graph import TooLargeError
    from azjax.games import game_from_name

    game = game_from_name(options.game)
    started = time.perf_counter()
    facts: dict[str, object] = {}
    payoffs = ("returns", "margin") if isinstance(game, HasScore) else ("returns",)
    try:
        with _status(options.json) as progress:

            def show(found: int, plies: int) -> None:
                progress(f"{found:,} states, depth {plies}")

            if isinstance(game, HasChance):
                facts |= solve_chance(game, progress=show).to_dict()
            for payoff in () if facts else payoffs:
                facts |= solver.solve(game, payoff=payoff, progress=show).to_dict()
    except TooLargeError as error:
        small = "tic_tac_toe, connect_four_4x4, dots_and_boxes_2x2 and ur_3"
        raise UserError(f"{error}; {small} are small enough") from error
    facts["seconds"] = round(time.perf_counter() - started, 2)
    _print(solver.facts_text(facts), facts, options.json)


def bench(arguments: list[str]) -> None:
    """Measure search, training or games: azjax bench search"""
    from azjax.bench.games import GamesBenchmark
    from azjax.bench.search import SearchBenchmark
    from azjax.bench.training import TrainingBenchmark

    benchmarks = {
        "envs": GamesBenchmark,
        "search": SearchBenchmark,
        "train": TrainingBenchmark,
    }
    if arguments and arguments[0] in ("-h", "--help"):
        print("usage: azjax bench NAME ...   (azjax bench NAME --help shows its options)\n")
        for name, kind in benchmarks.items():
            print(f"  {name:<8} {summary(kind)}".rstrip())
        return
    if not arguments or arguments[0] not in benchmarks:
        raise UserError(f"bench needs the name of a benchmark: {', '.join(benchmarks)}")
    options = parse(bench, benchmarks[arguments[0]], arguments[1:], f"bench {arguments[0]}")
    options.run()


def _match(first: str, second: str, options: Any) -> None:
    rules = game_of(first, options.game)
    from azjax.devices import use_all_cores

    shared, trust = options.shared, options.trust
    use_all_cores(say=say_to(shared.json))

    import jax

    from azjax.evaluation.match import play_match
    from azjax.evaluation.match_result import MatchTable
    from azjax.evaluation.position_suites import quick_results
    from azjax.players.load import load_player

    with _status(shared.json) as progress:
        player = load_player(first, game=rules, trust=trust)
        opponent = load_player(second, game=player.game, trust=trust)
        result = play_match(
            player.game,
            player,
            opponent,
            jax.random.PRNGKey(shared.seed),
            num_games=options.games,
            opening_plies=shared.opening_plies,
            results=quick_results(player.game),
            progress=progress,
        )
    result = dataclasses.replace(result, player_a=first, player_b=second)
    _print(MatchTable((result,), player.game.name), result.to_dict(), shared.json)


def _settings(options: Any) -> dict[str, Any]:
    """Returns the options by name, as the function takes them whose command this is."""
    every = vars(options) | vars(options.shared)
    return {name: value for name, value in every.items() if name not in ("shared", "json")}


def say_to(as_json: bool) -> Callable[[str], None]:
    """Returns a function that prints a remark, to standard error if the output is JSON."""
    return (lambda line: print(line, file=sys.stderr)) if as_json else print


@contextmanager
def _status(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Yields a function that shows a line while the command works, on standard error.

    A terminal shows the newest line. A pipe gets one after a second, then one every ten seconds.
    """
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if quiet:
        yield lambda line: None
    elif console.is_terminal:
        with console.status("starting") as status:
            yield lambda line: status.update(escape(line))
    else:
        due = time.monotonic() + _FIRST_LINE_S

        def show(line: str) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + _LINE_EVERY_S
                print(line, file=sys.stderr)

        yield show


def _print(result: object, figures: dict[str, object], as_json: bool) -> None:
    """Prints a result, or its figures as JSON; outside of a terminal, as wide as it needs."""
    from rich.console import Console

    if as_json:
        print(json.dumps(figures, indent=2))
        return
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=_UNLIMITED)
    console.print(result)
