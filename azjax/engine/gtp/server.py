"""A player as a GTP engine, for Sabaki, Quarry and other clients.

Sources: G. Farneback, "Specification of the Go Text Protocol, version 2", draft 2, 2002; for
`lz-analyze`, Sabaki's guide "Engine Analysis Integration".
"""

import inspect
from collections.abc import Sequence

from azjax.engine.decision import EngineSearch
from azjax.engine.gtp.commands import SEARCHES, commands_for
from azjax.engine.gtp.game import GtpGame, check_game
from azjax.engine.gtp.protocol import GtpError, Reply, Write
from azjax.engine.stdin import TOO_LONG, Lines
from azjax.files.game_record import start_game


def serve_gtp(search: EngineSearch, lines: Lines, write: Write) -> None:
    """Answers commands until `quit` or the end of the input, whatever the commands are.

    Without time settings, a move takes the search's own number of simulations. Each command is
    answered before the next is read, but `lz-analyze` runs until the next line comes. The search is
    compiled at its first use, as clients do not wait long for other answers. If a clock will run,
    it is compiled before, once the command that set the clock is answered.

    Raises:
      UserError: GTP has no such game.
    """
    check_game(search.game)
    game = GtpGame(search, start_game(search.game))
    while (line := lines.next()) is not None:
        if line is TOO_LONG:
            write("? the line is too long\n\n")
            continue
        number, words = _parse(line)
        if not words and not number:
            continue
        if words and words[0] in SEARCHES and game.last is None:
            game = game.warm_up()
        try:
            game = _run(game, Reply(number, lines, write), words)
        except GtpError as error:
            write(f"?{number} {error}\n\n")
        if words == ["quit"]:
            return
        if game.time_control is not None and game.last is None:
            game = game.warm_up()


def _parse(line: str) -> tuple[str, list[str]]:
    """Returns a command's id or "", and its words without comments and control characters."""
    text = line.partition("#")[0].replace("\t", " ")
    words = "".join(c for c in text if c.isprintable()).split()
    has_number = bool(words) and words[0].isascii() and words[0].isdecimal()
    return (words[0], words[1:]) if has_number else ("", words)


def _run(game: GtpGame, reply: Reply, words: Sequence[str]) -> GtpGame:
    name, *arguments = words or [""]
    commands = commands_for(game.game)
    if name not in commands:
        raise GtpError("unknown command")
    try:
        inspect.signature(commands[name]).bind(game, reply, *arguments)
    except TypeError as error:
        raise GtpError(f"syntax error: wrong number of arguments for {name}") from error
    done = commands[name](game, reply, *arguments)
    if isinstance(done, GtpGame):
        return done
    game, answer = done
    reply.answer(answer)
    return game
