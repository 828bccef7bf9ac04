"""Games between a person and a player in a terminal, with hints and undo."""

from __future__ import annotations

import builtins
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np
from azjax_envs import Game
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from azjax.play.session import PlayResult, Session, open_session
from azjax.play.text import COLOURS, board_text, has_marks, hint_table, move_list, who_is_ahead
from azjax.players.base import Analysis, Player

__all__ = ["PlayResult", "play"]

_LONGEST_ERROR = 300
_MOST_HINTS = 8
_ORDINALS = ("first", "second")


def play(
    game: Game,
    player: Player,
    *,
    human: int | None,
    key: jax.Array,
    console: Console | None = None,
    input: Callable[[str], str] = builtins.input,
) -> PlayResult:
    """Plays games until the person leaves: by `quit`, the end of the input, or Ctrl-C.

    Args:
      game: the game.
      player: the opponent; where it has a method `analyse`, it gives hints, too.
      human: the person's seat, 0 or 1; None to watch the player play both.
      key: PRNG key for the player's moves.
      console: where everything but the prompt is printed.
      input: asks for a line, given the prompt; raises EOFError at the end.

    Raises:
      ValueError: `human` is no seat.
    """
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (gives `input` line editing and a history)
    console = console or Console()
    result = PlayResult()
    try:
        with console.status(f"preparing {player.name} ..."):
            session = open_session(game, player, human=human, key=key)
        table = _Table(console, session)
        _welcome(table)
        while table is not None:
            result = table.session.result()
            table = _turn(table, input)
    except (EOFError, KeyboardInterrupt):
        console.print()
    console.print("Good-bye.")
    return result


@dataclass(frozen=True)
class _Table:
    """The session and where it is shown."""

    console: Console
    session: Session

    def say(self, text: str | Text, style: str = "") -> None:
        text = Text(text, style=style) if isinstance(text, str) else text
        self.console.print(text, soft_wrap=True)

    def at(self, session: Session) -> _Table:
        return replace(self, session=session)


def _name(session: Session, seat: int) -> str:
    """Who sits there, within a sentence."""
    if session.human is None:
        return f"the {_ORDINALS[seat]} player"
    return "you" if seat == session.human else session.player.name


def _sentence(text: str) -> str:
    """Begins with a capital, unless with a player's name."""
    return text[0].upper() + text[1:] if text.startswith(("you", "the ")) else text


def _welcome(table: _Table) -> None:
    session = table.session
    if session.human is None:
        table.say(f"{session.game.name}: {session.player.name} plays both sides.", "bold")
    else:
        seat = _ORDINALS[session.human]
        table.say(
            f"{session.game.name}: you are the {seat} player against {session.player.name}.", "bold"
        )
        table.say("Type a move, or help for the moves and commands.", "dim")
    _show(table)


def _turn(table: _Table, input: Callable[[str], str]) -> _Table | None:
    """One move of one side, or one command; None where the person leaves."""
    session = table.session
    if not session.now.over and session.now.mover != session.human:
        return _player_moves(table)
    if session.now.over:
        prompt = f"Another game? ({', '.join(_afterwards(session))}) > "
    else:
        prompt = f"your move {len(session.path)} > "
    text = input(prompt).strip()
    word = text.lower()
    if session.now.over:
        word = {"": "new", "y": "new", "yes": "new", "n": "quit", "no": "quit"}.get(word, word)
    elif not text:
        return table
    command = {"?": "help", "q": "quit", "exit": "quit", "score": "eval"}.get(word, word)
    # A move may be called what a command is called: there the move counts.
    if command in _COMMANDS and word not in map(str.lower, session.legal().values()):
        act, _ = _COMMANDS[command]
        return act(table)
    if session.now.over:
        table.say(f"The game is over; now you can say: {', '.join(_afterwards(session))}", "red")
        return table
    try:
        action = int(session.game.string_to_action(session.now.state, text))
    except ValueError as error:
        message = str(error)
        if len(message) > _LONGEST_ERROR:
            message = f"{message[:_LONGEST_ERROR]}... (help lists all)"
        table.say(message, "red")
        return table
    return _played(table, action, "You play")


def _afterwards(session: Session) -> tuple[str, ...]:
    """What is sensible to say once a game is over."""
    if session.human is None:
        return ("yes", "moves", "quit")
    return ("yes", "swap", "undo", "moves", "quit")


def _player_moves(table: _Table) -> _Table:
    session = table.session
    started = time.perf_counter()
    action, _ = _opinion(table)
    seconds = time.perf_counter() - started
    who = _sentence(_name(session, session.now.mover))
    return _played(table, action, f"{who} plays", f"({seconds:.2f} s)")


def _played(table: _Table, action: int, who_plays: str, remark: str = "") -> _Table:
    """Plays a move, and shows it and what it leads to."""
    before = table.session
    table = table.at(before.played(action))
    move = table.session.now.move
    line = Text(f"\n{who_plays} ").append(move, style=f"bold {COLOURS[before.now.mover]}")
    table.say(line.append(f"  {remark}" if remark else "", style="dim"))
    _show(table, before.game.to_string(before.now.state))
    return table


def _show(table: _Table, before: str = "") -> None:
    """The board, and who is to move or who won."""
    session, now = table.session, table.session.now
    board = session.game.to_string(now.state)
    table.console.print()
    table.console.print(board_text(board, before), no_wrap=True, crop=False, overflow="ignore")
    table.console.print()
    if now.over:
        table.say(_outcome(session), "bold")
        _say_score(table)
        return
    # Once X and O are to be seen, it helps to know whose they are.
    mark = f" ({'XO'[now.mover]})" if any(map(has_marks, board.split("\n"))) else ""
    verb = "are" if now.mover == session.human else "is"
    again = " again" if now.by == now.mover else ""
    who = _sentence(_name(session, now.mover))
    table.say(f"{who}{mark} {verb} to move{again}.", COLOURS[now.mover])


def _outcome(session: Session) -> str:
    returns, moves = session.now.returns, len(session.path) - 1
    if returns[0] == returns[1]:
        return f"A draw after {moves} moves."
    winner = int(returns[1] > returns[0])
    verb = "win" if winner == session.human else "wins"
    return f"{_sentence(_name(session, winner))} {verb} after {moves} moves."


def _say_score(table: _Table) -> None:
    session = table.session
    if hasattr(session.game, "score"):
        points = np.asarray(session.game.score(session.now.state))
        table.say(f"Points: {', '.join(f'{_name(session, i)} {points[i]:g}' for i in (0, 1))}.")


def _help(table: _Table) -> _Table:
    if not table.session.now.over:
        table.say("Legal moves:", "bold")
        table.console.print(Columns(table.session.legal().values(), padding=(0, 2)))
    table.say("Commands:", "bold")
    for name, (_, what) in _COMMANDS.items():
        table.say(Text(f"  {name:7}", style="bold").append(what, style="not bold"))
    return table


def _hint(table: _Table) -> _Table:
    session = table.session
    if session.now.over:
        table.say("The game is over: there is nothing to choose.", "yellow")
        return table
    action, analysis = _opinion(table)
    names = session.legal()
    if analysis is None:
        table.say(f"{session.player.name} would play {names[action]}, and does not say why.")
        return table
    table.console.print(hint_table(names, analysis, most=_MOST_HINTS))
    if len(names) > _MOST_HINTS:
        table.say(f"  (the best {_MOST_HINTS} of {len(names)} moves)", "dim")
    _say_who_is_ahead(table, analysis)
    return table


def _eval(table: _Table) -> _Table:
    if table.session.now.over:
        table.say(_outcome(table.session))
    else:
        _say_who_is_ahead(table, _opinion(table)[1])
    _say_score(table)
    return table


def _undo(table: _Table) -> _Table:
    undone = table.session.undone()
    if undone is None:
        table.say("There is no move of yours to take back.", "yellow")
        return table
    table = table.at(undone)
    _show(table)
    return table


def _moves(table: _Table) -> _Table:
    table.say(move_list([(p.by, p.move) for p in table.session.path[1:]]))
    return table


def _new(table: _Table) -> _Table:
    table = table.at(table.session.new_game())
    so_far = table.session.earlier
    if table.session.human is not None and so_far.wins + so_far.draws + so_far.losses:
        tally = f"{so_far.wins} won, {so_far.draws} drawn, {so_far.losses} lost"
        table.say(f"You so far: {tally}.", "dim")
    _show(table)
    return table


def _swap(table: _Table) -> _Table:
    session = table.session
    if session.human is None:
        table.say("You are watching: there are no sides to swap.", "yellow")
        return table
    # A finished game counts for the seat it was played from.
    over = session.now.over
    session = session.new_game() if over else session
    table = table.at(replace(session, human=1 - session.human))
    table.say(f"You are the {_ORDINALS[table.session.human]} player now.", "bold")
    _show(table)
    return table


def _quit(table: _Table) -> None:
    """Nothing is left to do."""


_COMMANDS: dict[str, tuple[Callable[[_Table], _Table | None], str]] = {
    "help": (_help, "this list, and the legal moves (also: ?)"),
    "hint": (_hint, "the best moves, with the visits of the search and what it thinks of them"),
    "eval": (_eval, "who is ahead, and the points where the game counts them (also: score)"),
    "undo": (_undo, "take back your last move and what was played since"),
    "moves": (_moves, "the moves so far"),
    "new": (_new, "begin a new game"),
    "swap": (_swap, "change sides"),
    "quit": (_quit, "leave (also: Ctrl-C)"),
}


def _opinion(table: _Table) -> tuple[int, Analysis | None]:
    with table.console.status(f"{table.session.player.name} is thinking ..."):
        return table.session.opinion()


def _say_who_is_ahead(table: _Table, analysis: Analysis | None) -> None:
    session = table.session
    name, mover = session.player.name, session.now.mover
    if analysis is None:
        table.say(f"{name} does not say who is ahead.")
        return
    seats = [_name(session, seat).replace(name, "itself") for seat in (mover, 1 - mover)]
    table.say(f"{name} sees {who_is_ahead(float(analysis.value), *seats)}.")
