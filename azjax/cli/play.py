"""The commands that play: `play`, `gtp`, `uci` and `usi`."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from azjax.cli.arguments import PlayerArgument, parse
from azjax.cli.web import load_search_player, serve
from azjax.errors import UserError

if TYPE_CHECKING:
    from azjax.play.stdin import Lines


def play(arguments: list[str]) -> None:
    """Play against a run in the terminal: azjax play runs/tic_tac_toe"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: PlayerArgument
        """The opponent: a run, as in `azjax eval`, or a pretrained game such as connect_four."""
        side: int | None = None
        """Your seat: 0 moves first, 1 second; random if left out."""
        watch: bool = False
        """Let the player play both sides."""
        seed: int = 0
        """Seed of the player's choices."""
        web: bool = False
        """Play in a browser, from a server on this machine."""
        port: int | None = None
        """With --web: the server's port; 8765 or any free port if left out."""
        browser: bool = True
        """With --web: open the page in a browser."""
        trust: bool = False
        """Let a player's file import its own game, if it names one. This can run any code."""

    options = parse(play, Arguments, arguments, "play")
    if options.web:
        if options.side is not None or options.watch:
            raise UserError(
                "--web cannot be combined with --side or --watch: choose the side on the page"
            )
        serve(options.run, port=options.port, browser=options.browser, trust=options.trust)
        return
    if options.port is not None or not options.browser:
        raise UserError("--port and --no-browser need --web")
    if options.side not in (None, 0, 1):
        raise UserError(f"--side {options.side}: must be 0 (moves first) or 1")
    import random

    import jax
    from rich.console import Console
    from rich.text import Text

    from azjax.play.terminal import play as play_in_terminal
    from azjax.players.load import describe, load_player

    player = load_player(options.run, trust=options.trust)
    if about := describe(options.run, trust=options.trust):
        Console().print(Text(about))
    human = None if options.watch else options.side
    if human is None and not options.watch:
        human = random.randint(0, 1)
    play_in_terminal(player.game, player, human=human, key=jax.random.PRNGKey(options.seed))


def gtp(arguments: list[str]) -> None:
    """Run a player as an engine for Go clients such as Sabaki: azjax gtp runs/go_9x9

    Without a clock, a move takes as many simulations as the run's evaluations, or SIMULATIONS.
    """

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: PlayerArgument
        """The player, as in `azjax eval`: RUN, RUN:SIMULATIONS, RUN@best, or a file."""
        memory: int = 256
        """Megabytes for the search tree; when it is full, the search stops."""
        trust: bool = False
        """Let a player's file import its own game, if it names one. This can run any code."""

    options = parse(gtp, Arguments, arguments, "gtp")
    if options.memory < 1:
        raise UserError(f"--memory {options.memory}: must be at least 1 megabyte")
    from azjax.play.gtp.game import check_game
    from azjax.play.gtp.server import serve_gtp
    from azjax.search.anytime import make_anytime_search

    _compute_in_this_thread()
    player = load_search_player(options.run, trust=options.trust)
    check_game(player.game)
    _print_card(options.run, trust=options.trust)
    search = make_anytime_search(player, memory_mb=options.memory)
    serve_gtp(search, _standard_input(), _write)


def uci(arguments: list[str]) -> None:
    """Run a player as an engine for chess clients such as Cute Chess: azjax uci runs/chess

    Without a limit, a move takes as many simulations as the run's evaluations, or SIMULATIONS.
    """
    _serve_dialect(uci, "uci", arguments)


def usi(arguments: list[str]) -> None:
    """Run a player as an engine for shogi clients such as ShogiGUI: azjax usi runs/shogi

    Without a limit, a move takes as many simulations as the run's evaluations, or SIMULATIONS.
    """
    _serve_dialect(usi, "usi", arguments)


def _serve_dialect(command: Callable[[list[str]], None], name: str, arguments: list[str]) -> None:
    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: PlayerArgument
        """The player, as in `azjax eval`: RUN, RUN:SIMULATIONS, RUN@best, or a file."""
        trust: bool = False
        """Let a player's file import its own game, if it names one. This can run any code."""

    options = parse(command, Arguments, arguments, name)
    from azjax.play.uci.engine import DIALECTS, check_game
    from azjax.play.uci.server import serve_uci
    from azjax.search.anytime import make_anytime_search

    _compute_in_this_thread()
    player = load_search_player(options.run, trust=options.trust)
    check_game(DIALECTS[name], player.game)
    _print_card(options.run, trust=options.trust)
    serve_uci(
        DIALECTS[name],
        player.game,
        lambda megabytes: make_anytime_search(player, memory_mb=megabytes),
        _standard_input(),
        _write,
    )


def _print_card(run: str, *, trust: bool) -> None:
    """Prints a player's card to standard error, because standard output is the protocol's."""
    from azjax.players.load import describe

    card = describe(run, trust=trust)
    if card:
        with contextlib.suppress(OSError):  # where nobody reads it, the engine plays on
            print(card, file=sys.stderr, flush=True)


def _compute_in_this_thread() -> None:
    """Lets JAX compute in the thread that asks for it; before anything is computed.

    On a busy machine another thread would have to wait for a core, again and again, while the
    clock runs.
    """
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)


def _standard_input() -> "Lines":
    from azjax.play.stdin import Lines

    # Some services start programs without a standard input; then the input has ended at once.
    return Lines(sys.stdin.fileno() if sys.stdin else os.open(os.devnull, os.O_RDONLY))


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
