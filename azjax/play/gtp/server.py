"""A player as a GTP engine, for Sabaki, Quarry and other programs that speak it.

Sources: G. Farneback, "Specification of the Go Text Protocol, version 2", draft 2, 2002; for
`lz-analyze`, Sabaki's guide "Engine Analysis Integration".
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from azjax.play.gtp.commands import INTRODUCTION, commands_of
from azjax.play.gtp.game import Refusal, Table, open_table
from azjax.play.gtp.protocol import Say, Talk
from azjax.play.stdin import TOO_LONG, Lines
from azjax.search.anytime import Thinker


def serve_gtp(thinker: Thinker, lines: Lines, say: Say) -> None:
    """Answers commands until `quit` or the end of the input, whatever the commands are.

    Without time settings a move has the thinker's number of simulations. Each command is answered
    before the next is read, but `lz-analyze` ends with it. The first that touches the board waits
    for the search to be compiled.

    Args:
      thinker: who plays.
      lines: the commands.
      say: takes what is to be written at once.

    Raises:
      UserError: the game is none for GTP.
    """
    table, cold = open_table(thinker), True
    while (line := lines.next()) is not None:
        if line is TOO_LONG:
            say("? the line is too long\n\n")
            continue
        number, words = _parse(line)
        if not words and not number:
            continue
        # Before the board is touched, and no sooner: programs do not wait long for a name.
        if cold and words and words[0] in commands_of(table.game).keys() - INTRODUCTION.keys():
            table.thinker.warm_up()
            cold = False
        talk = Talk(number, lines, say)
        try:
            table = _obey(table, talk, words)
        except Refusal as refusal:
            say(f"?{number} {refusal}\n\n")
        if words == ["quit"]:
            return


def _parse(line: str) -> tuple[str, list[str]]:
    """A command's id, or nothing, and its words, without comments and control characters."""
    text = line.partition("#")[0].replace("\t", " ")
    words = "".join(c for c in text if c.isprintable()).split()
    has_number = bool(words) and words[0].isascii() and words[0].isdecimal()
    return (words[0], words[1:]) if has_number else ("", words)


def _obey(table: Table, talk: Talk, words: Sequence[str]) -> Table:
    name, *arguments = words or [""]
    known = commands_of(table.game)
    if name not in known:
        raise Refusal("unknown command")
    try:
        inspect.signature(known[name]).bind(table, talk, *arguments)
    except TypeError as error:
        raise Refusal("syntax error: another number of arguments is wanted") from error
    return known[name](table, talk, *arguments)
