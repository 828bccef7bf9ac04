"""The command line. Thin: what it calls can be imported; a user's mistake is one line, exit 2."""

import contextlib
import dataclasses
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import tyro

from azjax.errors import UserError

PROGRAM = "azjax"


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns the exit code: 0, or 2 after a user's mistake."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_usage())
        return 0
    name, rest = arguments[0], arguments[1:]
    try:
        if name not in COMMANDS:
            raise UserError(f"unknown command {name}; commands: {', '.join(COMMANDS)}")
        COMMANDS[name](rest)
    except UserError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0


def train(arguments: list[str]) -> None:
    """Train a player from a config file: azjax train configs/tic_tac_toe.toml"""
    from azjax.config import Config
    from azjax.config_file import load_config
    from azjax.devices import Hosts, join_hosts, use_all_cores

    config, rest = None, arguments
    if arguments and not arguments[0].startswith("-"):
        config, rest = load_config(arguments[0]), arguments[1:]

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        config: Annotated[Config, tyro.conf.arg(name="")] = dataclasses.field(
            default_factory=lambda: config or Config()
        )
        run_dir: Path | None = None
        """Where the run is kept; runs/NAME of the config file if left out."""
        hosts: Annotated[Hosts, tyro.conf.arg(name="")] = dataclasses.field(default_factory=Hosts)

    options = _parse(Arguments, rest, "train CONFIG")
    if config is None:
        raise UserError("train: name a config file, such as configs/tic_tac_toe.toml")
    run_dir = options.run_dir or Path("runs") / Path(arguments[0]).stem
    join_hosts(options.hosts)
    use_all_cores(splits=_splits(options.config), processes=options.hosts.num_processes or 1)

    from azjax.training import train as run

    run(options.config, run_dir)


def resume(arguments: list[str]) -> None:
    """Continue a run from its newest intact checkpoint: azjax resume runs/tic_tac_toe"""
    from azjax.devices import Hosts, join_hosts, use_all_cores
    from azjax.players.load import load_run_config

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run_dir: tyro.conf.Positional[Path]
        """The run directory."""
        hosts: Annotated[Hosts, tyro.conf.arg(name="")] = dataclasses.field(default_factory=Hosts)

    options = _parse(Arguments, arguments, "resume")
    config = load_run_config(options.run_dir)
    join_hosts(options.hosts)
    use_all_cores(splits=_splits(config), processes=options.hosts.num_processes or 1)

    from azjax.training import resume as run

    run(options.run_dir)


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

    options = _parse(Arguments, arguments, "eval")
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

    options = _parse(Arguments, arguments, "match")
    if options.game is None and not Path(re.split("[:@]", options.first)[0]).is_dir():
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

    options = _parse(Arguments, arguments, "rate")
    from azjax.devices import use_all_cores

    use_all_cores(say=_say(options.json))

    from azjax.rating import rate_run

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
        """Opponents to meet."""
        games: int = 200
        """Games against each opponent, half from each seat."""
        opening_plies: int = 0
        """Random plies before the players start, the same for both games of a pair."""
        own_games: int = 128
        """Games of the run with itself, whose positions are a ruler, too; 0 for none."""
        seed: int = 0
        """Seed of openings and players."""
        json: bool = False
        """Print JSON."""

    options = _parse(Arguments, arguments, "report")
    from azjax.devices import use_all_cores

    use_all_cores(say=_say(options.json))

    from azjax.report_card import report_run

    report_run(**dataclasses.asdict(options))


def solve(arguments: list[str]) -> None:
    """Solve a small game exactly: azjax solve tic_tac_toe"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        game: tyro.conf.Positional[str]
        """A game's name, such as tic_tac_toe or connect_four_4x4."""
        json: bool = False
        """Print JSON."""

    options = _parse(Arguments, arguments, "solve")
    from azjax.report_card import solve_game

    solve_game(options.game, as_json=options.json)


def play(arguments: list[str]) -> None:
    """Play against a run in the terminal: azjax play runs/tic_tac_toe"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: tyro.conf.Positional[str]
        """The opponent: a run directory, as in `azjax eval`."""
        side: int | None = None
        """Your seat: 0 moves first, 1 second; drawn by lot if left out."""
        watch: bool = False
        """Let the player play both sides."""
        seed: int = 0
        """Seed of the player's choices."""

    options = _parse(Arguments, arguments, "play")
    if options.side not in (None, 0, 1):
        raise UserError(f"--side {options.side}: 0 (moves first) or 1 is wanted")
    import random

    import jax

    from azjax.play.terminal import play as play_in_terminal
    from azjax.players.load import player_from_spec

    player = player_from_spec(options.run)
    human = None if options.watch else options.side
    if human is None and not options.watch:
        human = random.randint(0, 1)
    play_in_terminal(player.game, player, human=human, key=jax.random.PRNGKey(options.seed))


def bench(arguments: list[str]) -> None:
    """Measure the speed of search, training or the games: azjax bench search"""
    from azjax.benchmark import BENCHMARKS

    kinds = ", ".join(BENCHMARKS)
    if not arguments or arguments[0] not in BENCHMARKS:
        raise UserError(f"bench: name one of {kinds}")
    options = _parse(BENCHMARKS[arguments[0]], arguments[1:], f"bench {arguments[0]}")
    options.run()


COMMANDS: dict[str, Callable[[list[str]], None]] = {
    "train": train,
    "resume": resume,
    "eval": evaluate,
    "match": match,
    "report": report,
    "rate": rate,
    "solve": solve,
    "play": play,
    "bench": bench,
}


def _match(first: str, second: str, options: Any, *, game: str | None = None) -> None:
    from azjax.devices import use_all_cores

    use_all_cores(say=_say(options.json))

    import jax
    from rich.console import Console

    from azjax.arena.match import play_match
    from azjax.arena.table import render_matches
    from azjax.players.load import game_from_name, player_from_spec

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


def _say(as_json: bool) -> Callable[[str], None]:
    """Remarks go to the terminal, but not between the braces of JSON."""
    return (lambda line: print(line, file=sys.stderr)) if as_json else print


def _splits(config: Any) -> tuple[int, ...]:
    """The numbers of a config that are split over devices."""
    gated = (config.gate.games // 2,) if config.selfplay.parameters == "gated" else ()
    return (config.selfplay.games, config.learning.batch_size, *gated)


def _parse(kind: type, arguments: list[str], name: str) -> Any:
    """The arguments as an instance of `kind`; what tyro says of a mistake becomes one line."""
    captured = io.StringIO()
    try:
        with contextlib.redirect_stderr(captured):
            return tyro.cli(
                kind,
                args=arguments,
                prog=f"{PROGRAM} {name}",
                description=COMMANDS[name.split()[0]].__doc__,
            )
    except SystemExit as error:
        if not error.code:
            raise
        text = re.sub(r"[─│╭╮╰╯]+", " ", captured.getvalue())
        text = re.sub(r"For full helptext,.*", "", text, flags=re.DOTALL)
        raise UserError(" ".join(text.split())) from None


def _usage() -> str:
    lines = [f"usage: {PROGRAM} COMMAND ...   ({PROGRAM} COMMAND --help tells more)", ""]
    for name, command in COMMANDS.items():
        lines.append(f"  {name:<8} {(command.__doc__ or '').splitlines()[0]}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
