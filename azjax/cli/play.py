"""Commands for people who play."""

import dataclasses
import os
import sys
from collections.abc import Callable
from typing import Any

import tyro

from azjax.cli.arguments import parse
from azjax.cli.web import serve
from azjax.errors import UserError


def play(arguments: list[str]) -> None:
    """Play against a run in the terminal: azjax play runs/tic_tac_toe"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: tyro.conf.Positional[str]
        """The opponent: a run directory, as in `azjax eval`; or a game that a player comes with
        azjax for, such as connect_four."""
        side: int | None = None
        """Your seat: 0 moves first, 1 second; drawn by lot if left out."""
        watch: bool = False
        """Let the player play both sides."""
        seed: int = 0
        """Seed of the player's choices."""
        web: bool = False
        """Play in a browser, from a server on this machine."""
        port: int | None = None
        """With --web: the server's port; 8765 or any free one if left out."""
        browser: bool = True
        """With --web: open the page."""

    options = parse(play, Arguments, arguments, "play")
    if options.web:
        if options.side is not None or options.watch:
            raise UserError("--web goes without --side and --watch: the page asks for them")
        serve(options.run, port=options.port, browser=options.browser)
        return
    if options.port is not None or not options.browser:
        raise UserError("--port and --no-browser go with --web")
    if options.side not in (None, 0, 1):
        raise UserError(f"--side {options.side}: 0 (moves first) or 1 is wanted")
    import random

    import jax

    from azjax.play.terminal import play as play_in_terminal
    from azjax.players.load import describe, player_from_spec

    player = player_from_spec(options.run)
    if about := describe(options.run):
        print(about)
    human = None if options.watch else options.side
    if human is None and not options.watch:
        human = random.randint(0, 1)
    play_in_terminal(player.game, player, human=human, key=jax.random.PRNGKey(options.seed))


def gtp(arguments: list[str]) -> None:
    """Be an engine for go programs such as Sabaki: azjax gtp runs/go_9x9"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: tyro.conf.Positional[str]
        """The player, as in `azjax eval`: a run, RUN:SIMULATIONS, RUN@best, a file. A move without
        a clock has that many simulations, as in the run's evaluations if left out."""
        memory: int = 256
        """Megabytes for the search tree; a full tree is as far as a search goes."""

    options = parse(gtp, Arguments, arguments, "gtp")
    if options.memory < 1:
        raise UserError(f"--memory {options.memory}: megabytes above 0 are wanted")
    from azjax.play.gtp.game import require_game
    from azjax.play.gtp.server import serve_gtp
    from azjax.search.anytime import make_thinker

    player = _searching_player(options.run)
    require_game(player.game)
    thinker = make_thinker(player, memory_mb=options.memory)
    serve_gtp(thinker, _standard_input(), _say)


def uci(arguments: list[str]) -> None:
    """Be an engine for chess programs such as Cute Chess: azjax uci runs/chess"""
    _serve_dialect(uci, "uci", arguments)


def usi(arguments: list[str]) -> None:
    """Be an engine for shogi programs such as ShogiGUI: azjax usi runs/shogi"""
    _serve_dialect(usi, "usi", arguments)


def _serve_dialect(command: Callable, name: str, arguments: list[str]) -> None:
    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: tyro.conf.Positional[str]
        """The player, as in `azjax eval`: a run, RUN:SIMULATIONS, RUN@best, a file. A move without
        a limit has that many simulations, as in the run's evaluations if left out."""

    options = parse(command, Arguments, arguments, name)
    from azjax.play.uci.engine import DIALECTS
    from azjax.play.uci.server import require_game, serve_uci
    from azjax.search.anytime import make_thinker

    player = _searching_player(options.run)
    require_game(DIALECTS[name], player.game)
    serve_uci(
        DIALECTS[name],
        player.game,
        lambda megabytes: make_thinker(player, memory_mb=megabytes),
        _standard_input(),
        _say,
    )


def _searching_player(run: str) -> Any:
    from azjax.players.load import player_from_spec
    from azjax.players.network_players import SearchPlayer

    player = player_from_spec(run)
    if not isinstance(player, SearchPlayer):
        raise UserError(f"{run}: a player that searches is wanted, RUN or RUN:SIMULATIONS")
    return player


def _standard_input() -> Any:
    from azjax.play.stdin import Lines

    # Without any standard input, as some services start programs: it has ended at once.
    return Lines(sys.stdin.fileno() if sys.stdin else os.open(os.devnull, os.O_RDONLY))


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
