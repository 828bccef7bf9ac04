"""A player as a UCI engine for chess clients such as Cute Chess, or as a USI engine for shogi.

Sources: S. Meyer-Kahlen, "Description of the universal chess interface (UCI)", 2006; T. Romstad,
"The Universal Shogi Interface", 2007.
"""

import functools
import importlib.metadata
import re
from collections.abc import Sequence
from dataclasses import replace

from azjax_envs import Game

from azjax.engine.anytime import MEMORY_MB
from azjax.engine.search_reuse import warm_up
from azjax.engine.stdin import TOO_LONG, Lines
from azjax.engine.uci.engine import START, EngineState, MakeSearch, Write, check_game
from azjax.engine.uci.go import go
from azjax.engine.uci.position import read_position
from azjax.files.game_record import start_game
from azjax.players.engines.uci_games import Dialect

_MAX_MB = 2**16
_MAX_LINES = 500
_MAX_THREADS = 1024  # one does the work, whatever clients set


def serve_uci(
    dialect: Dialect, game: Game, make_search: MakeSearch, lines: Lines, write: Write
) -> None:
    """Runs commands until `quit` or the end of the input, whatever the commands are.

    An invalid command is answered by an `info string` and changes nothing. After an invalid
    position there is none, and `go` finds no move. A `go` without a limit takes the player's own
    number of simulations.

    Some commands, such as `position`, cannot run during a search. They wait for the end of a search
    with a limit, and end a search without one. So does the end of the input.

    `make_search` returns a search whose tree takes the given megabytes. It is called before the
    first search, and again when the client has changed the megabytes.

    Raises:
      UserError: the dialect has no such game.
    """
    check_game(dialect, game)
    engine = EngineState(dialect, game, functools.lru_cache(1)(make_search), lines, write)
    while (line := lines.next()) is not None:
        words = line.split()
        if line is TOO_LONG:
            engine.report_error("the line is too long")
            engine = replace(engine, client_game=None)  # it may have been a position
        elif words == ["quit"]:
            return
        elif words[:1] == ["go"]:
            engine = go(engine, words[1:], _run)
        elif words:
            engine = _run(engine, words)


def _run(engine: EngineState, words: Sequence[str]) -> EngineState:
    """Runs a command other than `go` and `quit`."""
    name, *rest = words
    if name == engine.dialect.name:
        _introduce(engine)
    elif name == "isready":
        engine = _warm_up(engine)
        engine.write("readyok\n")
    elif name == "setoption":
        return _set_option(engine, rest)
    elif name == f"{engine.dialect.name}newgame":
        return replace(engine, client_game=START)
    elif name == "position":
        try:
            client_game = read_position(engine.game, engine.dialect, rest, engine.position())
        except ValueError as error:
            engine.report_error(f"position: {error}")
            return replace(engine, client_game=None)
        if client_game.remark:
            engine.report_error(f"position: {client_game.remark}")
        return replace(engine, client_game=client_game)
    elif name not in ("stop", "ponderhit", "debug", "gameover", "register"):
        engine.report_error(f"unknown command {name}")
    return engine


def _warm_up(engine: EngineState) -> EngineState:
    """Compiles all that a move may need before a clock runs; once for each size of the tree."""
    if engine.last is not None:
        return engine
    game, dialect = engine.game, engine.dialect
    start = start_game(game)

    def prepare() -> None:
        text = dialect.write(game, start.current.state)
        read_position(game, dialect, [dialect.notation, *text.split()], None)

    last = warm_up(engine.search, start, lambda x: start.move_names([x.action]), prepare)
    return replace(engine, last=last)


def _introduce(engine: EngineState) -> None:
    dialect, variant = engine.dialect, engine.dialect.variants[engine.game.name]
    options = [
        f"{dialect.prefix}Hash type spin default {MEMORY_MB} min 1 max {_MAX_MB}",
        f"{dialect.prefix}Ponder type check default false",
        f"{dialect.prefix}MultiPV type spin default 1 min 1 max {_MAX_LINES}",
        f"Threads type spin default 1 min 1 max {_MAX_THREADS}",
    ]
    if dialect.name == "uci":
        options.append(f"UCI_Variant type combo default {variant} var {variant}")
        options.append("UCI_ShowWDL type check default false")
    name = f"azjax {importlib.metadata.version('azjax')} {engine.game.name}"
    lines = [f"id name {name}", "id author the azjax project"]
    lines += [f"option name {option}" for option in options]
    engine.write("\n".join([*lines, f"{dialect.name}ok", ""]))


def _set_option(engine: EngineState, words: Sequence[str]) -> EngineState:
    """Sets `name NAME value VALUE`; names may contain spaces, in upper or lower case."""
    name, _, value = " ".join(words).removeprefix("name ").partition(" value ")
    name, value = name.strip(), value.strip()
    dialect, variant = engine.dialect, engine.dialect.variants[engine.game.name]
    memory, lines, ponder = (f"{dialect.prefix}{each}" for each in ("Hash", "MultiPV", "Ponder"))
    numbers = {memory: _MAX_MB, lines: _MAX_LINES, "Threads": _MAX_THREADS}
    known = {
        **{option: f"a whole number from 1 to {most}" for option, most in numbers.items()},
        **dict.fromkeys((ponder, "UCI_ShowWDL"), "true or false"),
        f"{dialect.name.upper()}_Variant": variant,
    }
    option = next((option for option in known if option.lower() == name.lower()), None)
    if option is None:
        engine.report_error(f"there is no option {name}; the options are {', '.join(known)}")
        return engine
    if option in numbers:
        fits = re.fullmatch("[0-9]{1,9}", value) and 1 <= int(value) <= numbers[option]
    else:
        fits = value.lower() in known[option].split(" or ")
    if not fits:
        engine.report_error(f"option {option} must be {known[option]}")
    elif option == memory:
        return replace(engine, megabytes=int(value), last=None)
    elif option == lines:
        return replace(engine, num_lines=int(value))
    elif option == "UCI_ShowWDL":
        return replace(engine, shows_wdl=value.lower() == "true")
    return engine
