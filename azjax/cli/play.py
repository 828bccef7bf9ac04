"""The commands that play: `play`, `gtp`, `uci` and `usi`."""

import contextlib
import dataclasses
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from azjax.cli.arguments import GameOption, PlayerArgument, TrustOption, game_of, parse
from azjax.cli.web import serve
from azjax.errors import UserError, printable

if TYPE_CHECKING:
    from azjax_envs import Game

    from azjax.engine.stdin import Lines
    from azjax.players.base import Player


def play(arguments: list[str]) -> None:
    """Play against a player in the terminal: azjax play connect_four

    The name of a game stands for the best player of it that there is.
    """

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: PlayerArgument
        """The opponent: a game such as connect_four, a run, or any player, as in `azjax eval`."""
        game: GameOption = None
        """The game, such as chess or go_9x9, if the player has no network."""
        against: Literal["human"] | None = None
        """human: two people play at one board, and the player only gives hints."""
        side: int | None = None
        """Your seat: 0 moves first, 1 second; if left out, random, or whose turn it is."""
        watch: bool = False
        """Let the player play both sides."""
        save: Path | None = None
        """A new file for the games: .sgf (go), .pgn (chess), .csa (shogi), .mat (backgammon), or
        moves as text."""
        resume: Path | None = None
        """A file whose last game goes on, as --save and other programs write it."""
        dice: Literal["ask"] | None = None
        """ask: you type the rolls of real dice; otherwise the program rolls."""
        seed: int = 0
        """Seed of the player's choices, and of the dice."""
        web: bool = False
        """Play in a browser, from a server on this machine: needs pip install "azjax[serve]"."""
        port: int | None = None
        """With --web: the server's port; 8765 or any free port if left out."""
        browser: bool = True
        """With --web: open the page in a browser."""
        trust: TrustOption = False

    options = parse(play, Arguments, arguments, "play")
    if options.web:
        names = ("side", "watch", "against", "game", "save", "resume", "dice")
        names = tuple(name for name in names if (name, options.run) != ("game", "exact"))
        if any(getattr(options, name) not in (None, False) for name in names):
            raise UserError(
                f"--web cannot be combined with --{', --'.join(names[:-1])} or --{names[-1]}: "
                "choose the sides on the page of a player with a network"
            )
        serve(
            options.run,
            port=options.port,
            browser=options.browser,
            trust=options.trust,
            game=options.game,
        )
        return
    if options.port is not None or not options.browser:
        raise UserError("--port and --no-browser need --web")
    if options.side not in (None, 0, 1):
        raise UserError(f"--side {options.side}: must be 0 (moves first) or 1")
    if options.against and (options.watch or options.side is not None):
        raise UserError("--against human: two people play both sides; leave --side and --watch out")
    import random

    import jax
    from azjax_envs import HasChance
    from rich.console import Console
    from rich.text import Text

    from azjax.play.game_file import GameFile, resume_game
    from azjax.play.terminal import play as play_in_terminal
    from azjax.players.load import with_game

    player, about = _load(options.run, options.game, trust=options.trust)
    if options.dice and not isinstance(player.game, HasChance):
        raise UserError(f"--dice {options.dice}: {player.game.name} has no dice")
    played = resume_game(options.resume, player.game) if options.resume else None
    record = played.record if played else None
    if played and played.ends_early:
        print(printable(f"{played.where}: {played.ends_early}"), file=sys.stderr)
    if record is not None:
        player = with_game(player, record.game)  # with the file's komi
    save = GameFile(options.save, player.game).save if options.save else lambda session: None
    if about:
        first, _, details = about.partition("\n")
        Console().print(Text.assemble((first, "bold"), (f"\n{details}" if details else "", "dim")))
    seat = options.side
    if seat is None:
        seat = random.choice((0, 1)) if record is None else record.current.mover
    humans = (0, 1) if options.against else () if options.watch else (seat,)
    play_in_terminal(
        player.game,
        player,
        humans=humans,
        key=jax.random.PRNGKey(options.seed),
        record=record,
        asks_dice=options.dice == "ask",
        save=save,
    )


def _load(run: str, game: str | None, *, trust: bool) -> "tuple[Player, str]":
    """Returns a player, or the best one of a game, and what to say about it."""
    from azjax.players.load import best_player, describe, load_player

    best = None if game else best_player(run)
    if best is not None:
        spec, about = best
        return load_player(spec, game=run), about
    rules = game_of(run, game)
    return load_player(run, game=rules, trust=trust), describe(run, trust=trust)


@dataclasses.dataclass(frozen=True)
class _Engine:
    """Arguments of all commands that run an engine."""

    run: PlayerArgument
    """The player, as in `azjax eval`: RUN, RUN:SIMULATIONS, a file, a game, uct:1000."""
    game: GameOption = None
    """The game, such as chess or go_9x9, if the player has no network."""
    trust: TrustOption = False


def gtp(arguments: list[str]) -> None:
    """Run a player as an engine for Go clients such as Sabaki: azjax gtp go_9x9

    Without a clock, a move takes as many simulations as the run's evaluations, or SIMULATIONS.
    """

    @dataclasses.dataclass(frozen=True)
    class Arguments(_Engine):
        memory: int = 256
        """Megabytes for the search tree; when it is full, the search stops."""

    options = parse(gtp, Arguments, arguments, "gtp")
    if options.memory < 1:
        raise UserError(f"--memory {options.memory}: must be at least 1 megabyte")
    from azjax.engine.gtp.game import check_game
    from azjax.engine.gtp.server import serve_gtp
    from azjax.engine.player_search import make_engine_search

    player = _start_engine(options, check_game)
    serve_gtp(make_engine_search(player, memory_mb=options.memory), _standard_input(), _write)


def uci(arguments: list[str]) -> None:
    """Run a player as an engine for chess clients such as Cute Chess: azjax uci gardner_chess

    Without a limit, a move takes as many simulations as the run's evaluations, or SIMULATIONS.
    """
    _serve_dialect(uci, "uci", arguments)


def usi(arguments: list[str]) -> None:
    """Run a player as an engine for shogi clients such as ShogiGUI: azjax usi shogi

    Without a limit, a move takes as many simulations as the run's evaluations, or SIMULATIONS.
    """
    _serve_dialect(usi, "usi", arguments)


def _serve_dialect(command: Callable[[list[str]], None], name: str, arguments: list[str]) -> None:
    options = parse(command, _Engine, arguments, name)
    from azjax.engine.player_search import make_engine_search
    from azjax.engine.uci.engine import check_game
    from azjax.engine.uci.server import serve_uci
    from azjax.players.engines.uci_games import DIALECTS

    player = _start_engine(options, functools.partial(check_game, DIALECTS[name]))
    serve_uci(
        DIALECTS[name],
        player.game,
        lambda megabytes: make_engine_search(player, memory_mb=megabytes),
        _standard_input(),
        _write,
    )


def _start_engine(options: _Engine, check_game: "Callable[[Game], None]") -> "Player":
    """Returns an engine's player, after its card was written to standard error.

    JAX computes in the thread that asks for it. On a busy machine another thread would have to wait
    for a core, again and again, while the clock runs.
    """
    import jax

    from azjax.chance import require_no_chance
    from azjax.engine.player_search import make_engine_search

    jax.config.update("jax_cpu_enable_async_dispatch", False)  # before anything is computed
    player, card = _load(options.run, options.game, trust=options.trust)
    require_no_chance(player.game)
    check_game(player.game)
    make_engine_search(player)  # says now whether there is one
    if card:
        with contextlib.suppress(OSError):  # where nobody reads it, the engine plays on
            print(card, file=sys.stderr, flush=True)
    return player


def _standard_input() -> "Lines":
    from azjax.engine.stdin import Lines

    # Some services start programs without a standard input; then the input has ended at once.
    return Lines(sys.stdin.fileno() if sys.stdin else os.open(os.devnull, os.O_RDONLY))


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
