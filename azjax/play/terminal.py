"""Games between a person and a player in a terminal, with hints and undo."""

import builtins
import contextlib
import difflib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np
from azjax_envs import Game, HasScore
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from azjax.chance import read_outcome
from azjax.errors import UserError
from azjax.files import notation
from azjax.files.game_record import GameRecord
from azjax.play.session import PlayResult, Session, start_session
from azjax.play.text import (
    COLOURS,
    ORDINALS,
    board_text,
    has_marks,
    hint_table,
    move_list,
    name_in,
    name_of_player,
    outcome,
    player_in_words,
    points_of,
    result_table,
    sentence,
    who_is_ahead,
)
from azjax.players.base import Analysis, Player
from azjax.players.engines.pool import DECLARED_WIN
from azjax.players.exact import results_in_words

__all__ = ["PlayResult", "play"]

_MAX_ERROR = 300
_MAX_HINTS = 8


def play(
    game: Game,
    player: Player,
    *,
    humans: tuple[int, ...],
    key: jax.Array,
    record: GameRecord | None = None,
    asks_dice: bool = False,
    save: Callable[[Session], None] = lambda session: None,
    console: Console | None = None,
    input: Callable[[str], str] = builtins.input,
) -> PlayResult:
    """Plays games until the person leaves: by `quit`, the end of the input, or Ctrl-C.

    Args:
      player: the opponent; if it has a method `analyse`, it can give hints.
      humans: the seats of people, 0 or 1; both for two people at one board; none to watch the
        player play both sides.
      key: PRNG key for the player's moves.
      record: a game to go on with, which is not over.
      asks_dice: whether people type the rolls of real dice, in a game of chance.
      save: called after every move; a failure to write is told, and the game goes on.
      console: prints everything but the prompt; by default the standard output.
      input: reads a line, given the prompt; raises EOFError at the end of the input.

    Returns:
      The results of the finished games.

    Raises:
      ValueError: `humans` are no seats.
    """
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (gives `input` line editing and a history)
    console, screen, stays = console or Console(), None, True
    try:
        with console.status(f"preparing {player_in_words(player.name)[1]} ..."):
            session = start_session(
                game, player, humans=humans, key=key, record=record, asks_dice=asks_dice
            )
        screen = _Screen(console, session)
        _welcome(screen)
        while stays:
            try:
                save(screen.session)
            except OSError as error:
                screen.print(f"The game is not saved: {error.strerror}.", "red")
            stays = _turn(screen, input)
    except (EOFError, KeyboardInterrupt):
        console.print()
    console.print("Good-bye.")
    return PlayResult() if screen is None else screen.session.result()


@dataclass
class _Screen:
    """The newest session and the console that shows it."""

    console: Console
    session: Session

    def print(self, text: str | Text, style: str = "") -> None:
        text = Text(text, style=style) if isinstance(text, str) else text
        self.console.print(text)


def _welcome(screen: _Screen) -> None:
    session = screen.session
    _, player = player_in_words(session.player.name)
    if session.human is not None:
        seat = ORDINALS[session.human]
        screen.print(f"{session.game.name}: you are the {seat} player against {player}.", "bold")
    elif session.humans:
        screen.print(f"{session.game.name}: two people at one board; hints by {player}.", "bold")
    else:
        screen.print(f"{session.game.name}: {player} plays both sides.", "bold")
    if session.record.num_moves:
        screen.print(f"The game goes on after {session.record.num_moves} moves.", "bold")
    if session.humans:
        screen.print("Type a move, or help for the moves and commands.", "dim")
    _show(screen)


def _turn(screen: _Screen, input: Callable[[str], str]) -> bool:
    """Handles one move of either side or one command; returns False when the person leaves."""
    session = screen.session
    if session.awaits_roll:
        return _ask_roll(screen, input)
    if not session.over and session.current.mover not in session.humans:
        _player_moves(screen)
        return True
    number = notation.next_number(session.record)
    question = f"your move {number}"
    if session.over:
        question = f"Another game? ({', '.join(_afterwards(session))})"
    text = _ask(screen, question, input).strip()
    word = text.lower()
    if session.over:
        word = {"": "new", "y": "new", "yes": "new", "n": "quit", "no": "quit"}.get(word, word)
    elif not text:
        return True
    command = {"?": "help", "q": "quit", "exit": "quit", "score": "eval"}.get(word, word)
    # If a move has the name of a command, the move is played.
    if command in _COMMANDS and word not in map(str.lower, _names(session).values()):
        act, _ = _COMMANDS[command]
        act(screen)
        return command != "quit"
    if session.over:
        screen.print(f"The game is over; you can type: {', '.join(_afterwards(session))}", "red")
        return True
    try:
        action = int(session.game.string_to_action(session.current.state, text))
    except ValueError as error:
        screen.print(_complaint(text, str(error)), "red")
        return True
    seat = ORDINALS[session.current.mover]
    _play(screen, action, f"The {seat} player plays" if session.human is None else "You play")
    return True


def _ask_roll(screen: _Screen, input: Callable[[str], str]) -> bool:
    """Reads a roll or a command; returns False when the person leaves."""
    session = screen.session
    game, state = session.game, session.current.state
    mover = name_in(session, session.current.mover)
    question = "your roll" if mover == "you" else f"the roll of {mover}"
    text = _ask(screen, question, input).strip()
    command = {"?": "help", "q": "quit", "exit": "quit"}.get(text.lower(), text.lower())
    if command in ("hint", "eval", "score"):
        screen.print("Type the roll first.", "yellow")
    elif command in _COMMANDS:
        act, _ = _COMMANDS[command]
        act(screen)
    elif text:
        try:
            screen.session = session.roll(read_outcome(game, state, text))
        except UserError as error:
            screen.print(_complaint(text, str(error)), "red")
        else:
            _show(screen, game.to_string(state))
    return command != "quit"


def _names(session: Session) -> dict[int, str]:
    return notation.shown_moves(session.game, session.current.state)


def _ask(screen: _Screen, question: str, input: Callable[[str], str]) -> str:
    """Reads an answer; `input` would break a long question within its words."""
    if len(question) + 10 <= screen.console.width:
        return input(f"{question} > ")
    screen.print(question)
    return input("> ")


def _complaint(text: str, error: str) -> str:
    """Returns what to print about a text that is neither a move nor a command."""
    if len(error) > _MAX_ERROR:
        error = f"{error[:_MAX_ERROR].rpartition(' ')[0]} ..."
    near = difflib.get_close_matches(text.lower(), _COMMANDS, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    return f"{error}. {hint}Type help for the moves and commands."


def _afterwards(session: Session) -> tuple[str, ...]:
    """Returns the commands that make sense once a game is over."""
    if session.human is not None:
        return ("yes", "swap", "undo", "moves", "quit")
    return ("yes", *(("undo",) if session.humans else ()), "moves", "quit")


def _player_moves(screen: _Screen) -> None:
    session = screen.session
    started = time.perf_counter()
    action, _ = _choose(screen)
    seconds = time.perf_counter() - started
    mover = session.current.mover
    who = sentence(name_in(session, mover))
    if action >= 0:
        _play(screen, action, f"{who} plays", f"({seconds:.2f} s)")
        return
    screen.print(f"{who} {'claims a win' if action == DECLARED_WIN else 'resigns'}.", "bold")
    screen.session = session.play(action)
    screen.print(outcome(screen.session), "bold")


def _play(screen: _Screen, action: int, who_plays: str, remark: str = "") -> None:
    """Plays a move and shows it with the new position."""
    before = screen.session
    screen.session = before.play(action)
    move = notation.shown_move(screen.session.record, screen.session.record.num_moves)
    line = Text(f"\n{who_plays} ").append(move, style=f"bold {COLOURS[before.current.mover]}")
    screen.print(line.append(f"  {remark}" if remark else "", style="dim"))
    _show(screen, before.game.to_string(before.current.state))


def _show(screen: _Screen, before: str = "") -> None:
    """Shows the board, and who is to move or who won."""
    session, now = screen.session, screen.session.current
    board = session.game.to_string(now.state)
    screen.console.print()
    screen.console.print(board_text(board, before), no_wrap=True, crop=False, overflow="ignore")
    screen.console.print()
    if session.over:
        screen.print(outcome(session), "bold")
        _print_score(screen)
        return
    # A board with X and O needs a line that says whose they are.
    mark = f" ({'XO'[now.mover]})" if any(map(has_marks, board.split("\n"))) else ""
    verb = "are" if now.mover == session.human else "is"
    again = " again" if now.moved_by == now.mover else ""
    who = sentence(name_in(session, now.mover))
    dice = f" with a roll of {now.roll}" if now.roll else ""
    what = "roll" if session.awaits_roll else "move"
    screen.print(f"{who}{mark} {verb} to {what}{again}{dice}.", COLOURS[now.mover])


def _print_score(screen: _Screen) -> None:
    session = screen.session
    if isinstance(session.game, HasScore):
        points = np.asarray(session.game.score(session.current.state))
        screen.print(
            f"Points: {', '.join(f'{name_in(session, i)} {points[i]:g}' for i in (0, 1))}."
        )


def _help(screen: _Screen) -> None:
    if screen.session.awaits_roll:
        screen.print("Type the roll of the dice, such as 3 or 6-1.", "bold")
    elif not screen.session.over:
        screen.print("Legal moves:", "bold")
        screen.console.print(Columns(_names(screen.session).values(), padding=(0, 2)))
    screen.print("Commands:", "bold")
    commands = Table.grid(padding=(0, 2))
    for name, (_, what) in _COMMANDS.items():
        commands.add_row(Text(f"  {name}", style="bold"), what)
    screen.console.print(commands)


def _hint(screen: _Screen) -> None:
    session = screen.session
    if session.over:
        screen.print("The game is over: there is no move to suggest.", "yellow")
        return
    action, analysis = _choose(screen)
    names = _names(session)
    if (known := session.move_results()) is not None:
        results = results_in_words(known)
        screen.console.print(result_table(names, results, action))
        screen.print(f"{sentence(name_of_player(session))} would play {names[action]}.")
        return
    if analysis is None:
        who = sentence(name_of_player(session))
        screen.print(f"{who} would play {names[action]}; it gives no reasons.")
        return
    width = screen.console.width
    points = points_of(session.game)
    screen.console.print(hint_table(names, analysis, most=_MAX_HINTS, width=width, points=points))
    if len(names) > _MAX_HINTS:
        screen.print(f"  (the best {_MAX_HINTS} of {len(names)} moves)", "dim")
    _print_who_is_ahead(screen, analysis)


def _eval(screen: _Screen) -> None:
    if screen.session.over:
        screen.print(outcome(screen.session))
    else:
        _print_who_is_ahead(screen, _choose(screen)[1])
    _print_score(screen)


def _undo(screen: _Screen) -> None:
    undone = screen.session.undo()
    if undone is None:
        screen.print("You have no move to take back.", "yellow")
        return
    screen.session = undone
    _show(screen)


def _resign(screen: _Screen) -> None:
    session = screen.session
    if session.over or not session.humans:
        why = "The game is over" if session.over else "You are watching"
        screen.print(f"{why}: there is no game to resign.", "yellow")
        return
    loser = session.current.mover if session.human is None else session.human
    screen.session = session.resign(loser)
    screen.print(outcome(screen.session), "bold")


def _moves(screen: _Screen) -> None:
    screen.print(move_list(screen.session.record))


def _new(screen: _Screen) -> None:
    screen.session = screen.session.new_game()
    so_far = screen.session.earlier
    if screen.session.human is not None and so_far.wins + so_far.draws + so_far.losses:
        tally = f"{so_far.wins} won, {so_far.draws} drawn, {so_far.losses} lost"
        screen.print(f"Your results so far: {tally}.", "dim")
    _show(screen)


def _swap(screen: _Screen) -> None:
    session = screen.session
    if session.human is None:
        why = "Two people play" if session.humans else "You are watching"
        screen.print(f"{why}: there are no sides to swap.", "yellow")
        return
    # A finished game counts for the seat that the person had in it.
    human = 1 - session.human
    session = session.new_game() if session.over else session
    screen.session = replace(session, humans=(human,))
    screen.print(f"You are the {ORDINALS[human]} player now.", "bold")
    _show(screen)


_COMMANDS: dict[str, tuple[Callable[[_Screen], None], str]] = {
    "help": (_help, "show the legal moves and this list (also: ?)"),
    "hint": (_hint, "show the best moves, with the search's visits and values or exact results"),
    "eval": (_eval, "show who is ahead, and the points if the game counts them (also: score)"),
    "undo": (_undo, "take back your last move and the moves after it"),
    "moves": (_moves, "list the moves so far"),
    "new": (_new, "start a new game"),
    "swap": (_swap, "change sides"),
    "resign": (_resign, "give the game up"),
    "quit": (lambda screen: None, "leave (also: Ctrl-C)"),
}


def _choose(screen: _Screen) -> tuple[int, Analysis | None]:
    with screen.console.status(f"{name_of_player(screen.session)} is thinking ..."):
        return screen.session.choose()


def _print_who_is_ahead(screen: _Screen, analysis: Analysis | None) -> None:
    session = screen.session
    name, mover = name_of_player(session), session.current.mover
    if (known := session.move_results()) is not None:
        result = next(iter(results_in_words(known).values()))
        has = "have" if mover == session.human else "has"
        screen.print(f"{sentence(name_in(session, mover))} {has} a {result} under best play.")
        return
    if analysis is None:
        screen.print(f"{sentence(name)} cannot say who is ahead.")
        return
    seats = [name_in(session, seat).replace(name, "itself") for seat in (mover, 1 - mover)]
    ahead = who_is_ahead(float(analysis.value), *seats, points=points_of(session.game))
    screen.print(f"{sentence(name)} sees {ahead}.")
