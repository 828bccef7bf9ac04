"""The command `analyse`."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from azjax.cli.arguments import FileArgument, TrustOption, parse
from azjax.errors import UserError, printable

if TYPE_CHECKING:
    from azjax.players.base import Player


_STRONGER = {
    "chess": "uci:stockfish?nodes=20000",
    "gardner_chess": "uci:fairy-stockfish?nodes=20000",
    "shogi": "usi:fairy-stockfish?nodes=20000",
}
"""Engines that judge better than a beginner."""


def analyse(arguments: list[str]) -> None:
    """Find the turning points of games: azjax analyse game.sgf --player go_9x9:400

    Every position is searched, by a network or an engine such as "uci:stockfish?nodes=20000". Next
    to FILE a page is written that steps through the game, and SGF or PGN with comments and the
    better lines. In a game of dice each move is judged after its roll.
    """

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        file: FileArgument
        """Games in SGF (go, backgammon), PGN (chess), CSA or KIF (shogi), or .mat (backgammon); or
        moves, a game a line."""
        player: str = ""
        """Judges: RUN, RUN:SIMULATIONS, a file, an engine, exact (small games of dice)."""
        game: str = ""
        """The game of a list of moves, if the player does not know it."""
        simulations: int = 400
        """Simulations per position, unless the player names them."""
        out: Path | None = None
        """Folder of the new files; that of FILE if left out."""
        trust: TrustOption = False

    options = parse(analyse, Arguments, arguments, "analyse")
    if options.simulations < 1:
        raise UserError(f"--simulations {options.simulations}: must be at least 1")
    from rich.console import Console
    from rich.progress import Progress

    from azjax.analysis.analyse import analyse as search_game
    from azjax.analysis.annotated_files import new_files, write_analysis
    from azjax.files.read import game_of_file, open_games
    from azjax.players.engines.pool import EnginePlayer
    from azjax.players.exact import ExactChancePlayer
    from azjax.players.network_players import SearchPlayer

    file: Path = options.file
    if not file.is_file():
        raise UserError(f"{file}: there is no such file")
    game = options.game or game_of_file(file)
    player = _player(options.player, game, options.simulations, trust=options.trust)
    if not isinstance(player, SearchPlayer | EnginePlayer | ExactChancePlayer):
        raise UserError(
            f"{options.player}: must be a player with a search, RUN or RUN:SIMULATIONS, or an "
            'engine such as "uci:stockfish?nodes=20000"'
        )
    folder = file.parent if options.out is None else options.out
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder")
    games = open_games(file, player.game)
    if not games:
        raise UserError(f"{file}: it holds no game")
    console, failed = Console(), 0
    for number, read in enumerate(games, 1):
        where = f"{file}, game {number}" if len(games) > 1 else str(file)
        stem = f"{file.stem}-{number}" if len(games) > 1 else file.stem
        try:
            new_files(folder / f"{stem}.analysed", file.suffix)  # before the search
            played = read()
            if played.record is None:
                raise UserError(played.error)
            for line in filter(None, (played.remark, played.ends_early)):
                print(printable(f"{where}: {line}"), file=sys.stderr)
            mine = dataclasses.replace(player, game=played.record.game)  # with the file's komi
            with Progress(console=Console(file=sys.stderr), transient=True) as bar:
                task = bar.add_task("searching", total=None)
                analysis = search_game(
                    played.record.game,
                    played.record,
                    mine,
                    progress=lambda done, count: bar.update(task, completed=done, total=count),  # noqa: B023
                )
            console.print(analysis)
            new = write_analysis(analysis, played, folder / f"{stem}.analysed", file.suffix)
        except UserError as error:
            if len(games) == 1:
                raise UserError(f"{where}: {error}") from error
            failed += 1
            print(printable(f"{where}: {error}"), file=sys.stderr)
            continue
        for path in new:
            print(path)
    if failed == len(games):
        raise UserError(f"{file}: no game could be analysed")


def _player(spec: str, game: str | None, simulations: int, *, trust: bool) -> "Player":
    """Returns the player that a user named, or the one that comes with azjax for a game."""
    from azjax_envs import HasChance

    from azjax.games import game_from_name
    from azjax.players.load import load_player
    from azjax.players.spec import NetworkSpec, parse_spec
    from azjax.players.weights_file import load_saved, pretrained

    if not spec and game is None:
        raise UserError("a list of moves needs --player, such as connect_four:400, or --game")
    if not spec and game is not None and game not in pretrained():
        rules = game_from_name(game)  # a game that does not exist is told first
        perfect = ", or exact for a small game" if isinstance(rules, HasChance) else ""
        raise UserError(
            f"no player of {game} comes with azjax: give one of your own with --player{perfect}"
        )
    parsed = parse_spec(spec or game or "")
    if not isinstance(parsed, NetworkSpec):
        if game is None:
            raise UserError(f"{spec} does not know the game of a list of moves: give --game")
        return load_player(parsed, game=game, trust=trust)
    # A network knows its game, whose komi may be another one than that of the file.
    given = parsed.how != "search" or parsed.simulations is not None
    player = load_player(parsed, simulations=None if given else simulations, trust=trust)
    if parsed.source == "file" and (
        why := load_saved(parsed.path, trust=trust).describe("beginner")
    ):
        better = _STRONGER.get(player.game.name, "an engine")
        line = f'the judge {parsed.text} is a beginner, {why}; a better one is --player "{better}"'
        print(printable(line), file=sys.stderr)
    return player
