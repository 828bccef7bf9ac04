"""Games between a person and a player in a terminal, with hints and undo."""

from __future__ import annotations

import builtins
import contextlib
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.game import legal_actions
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from azjax.play.words import COLOURS, board_text, has_marks, hint_table, move_list, who_is_ahead
from azjax.players.base import Analysis, Player

Array = jax.Array

_LONGEST_ERROR = 300
_MOST_HINTS = 8


@dataclass(frozen=True)
class PlayResult:
    """What came of the finished games, from the person's seat; the first player's when watching."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    moves: tuple[str, ...] = ()  # of the last game, finished or not


def play(
    game: Game,
    player: Player,
    *,
    human: int | None,
    key: Array,
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
    if human not in (None, 0, 1):
        raise ValueError(f"human must be 0 (first to move), 1, or None to watch, not {human!r}")
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (gives `input` line editing and a history)
    session = _Session(game, player, console or Console(), human, key)
    try:
        session = _prepare(session)
        while (after := _turn(session, input)) is not None:
            session = after
    except (EOFError, KeyboardInterrupt):
        session.console.print()
    session.say("Good-bye.")
    return session.result()


@dataclass(frozen=True)
class _Position:
    """A position of the game at hand, and the move that led to it."""

    state: Any
    mover: int
    over: bool
    returns: tuple[float, float]
    move: str = ""
    by: int = -1  # the seat that played `move`; -1 at the start


@dataclass(frozen=True)
class _Session:
    """All there is at the table. Commands return what it becomes."""

    game: Game
    player: Player
    console: Console
    human: int | None
    key: Array  # replaced with every move of the player's
    path: tuple[_Position, ...] = ()  # the game at hand, from its start
    earlier: PlayResult = PlayResult()  # the finished games before it

    @property
    def now(self) -> _Position:
        return self.path[-1]

    def name(self, seat: int) -> str:
        if self.human is None:
            return ("first player", "second player")[seat]
        return "you" if seat == self.human else self.player.name

    def say(self, text: str | Text, style: str = "") -> None:
        text = Text(text, style=style) if isinstance(text, str) else text
        self.console.print(text, soft_wrap=True)

    def result(self) -> PlayResult:
        result = replace(self.earlier, moves=tuple(p.move for p in self.path[1:]))
        if not self.path or not self.now.over:
            return result
        mine = self.now.returns[self.human or 0]
        field = "wins" if mine > 0 else "losses" if mine < 0 else "draws"
        return replace(result, **{field: getattr(result, field) + 1})

    def board(self) -> str:
        return self.game.to_string(self.now.state)

    def legal(self) -> dict[int, str]:
        """The legal actions and their names."""
        state = self.now.state
        return {a: self.game.action_to_string(state, a) for a in legal_actions(self.game, state)}

    def consult(self, key: Array) -> tuple[int, Analysis | None]:
        """The player's move here, and what it thinks of the position if it says."""
        run = _consult_jit if self.player.jittable else _consult
        return jax.device_get(run(self.player, key, self.now.state))


def _prepare(session: _Session) -> _Session:
    """The first game. Compiles, so that thinking times are the player's own."""
    with session.console.status(f"preparing {session.player.name} ..."):
        session = replace(session, path=(_start(session.game, session.key),))
        if session.player.jittable:
            session.consult(session.key)
    against = "watch both sides" if session.human is None else "you play"
    session.say(f"{session.game.name}: {against} {session.player.name}.", "bold")
    session.say("Type a move, or help for the moves and commands.", "dim")
    return _show(session)


def _turn(session: _Session, input: Callable[[str], str]) -> _Session | None:
    """One move of one side, or one command; None where the person leaves."""
    if not session.now.over and session.now.mover != session.human:
        return _player_moves(session)
    if session.now.over:
        prompt = "Another game? (yes, swap, undo, moves, quit) > "
    else:
        prompt = f"your move {len(session.path)} > "
    text = input(prompt).strip()
    word = text.lower()
    if session.now.over:
        word = {"": "new", "y": "new", "yes": "new", "n": "quit", "no": "quit"}.get(word, word)
    elif not text:
        return session
    command = {"?": "help", "q": "quit", "exit": "quit", "score": "eval"}.get(word, word)
    # A move may be called what a command is called: there the move counts.
    if command in _COMMANDS and word not in map(str.lower, session.legal().values()):
        return _COMMANDS[command](session)
    if session.now.over:
        session.say("The game is over: yes, swap, undo, moves, score or quit?", "red")
        return session
    try:
        action = session.game.string_to_action(session.now.state, text)
    except ValueError as error:
        message = str(error)
        if len(message) > _LONGEST_ERROR:
            message = f"{message[:_LONGEST_ERROR]}... (help lists all)"
        session.say(message, "red")
        return session
    return _play(session, int(action), "You play")


def _player_moves(session: _Session) -> _Session:
    key, move_key = jax.random.split(session.key)
    started = time.perf_counter()
    with session.console.status(f"{session.player.name} is thinking ..."):
        action, _ = session.consult(move_key)
    seconds = time.perf_counter() - started
    watching = session.human is None
    who = f"The {session.name(session.now.mover)}" if watching else session.player.name
    return _play(replace(session, key=key), int(action), f"{who} plays", f"({seconds:.2f} s)")


def _play(session: _Session, action: int, who_plays: str, remark: str = "") -> _Session:
    """Plays a move, and shows it and what it leads to."""
    now, before = session.now, session.board()
    move = session.game.action_to_string(now.state, action)
    after = replace(_step(session.game, now.state, action), move=move, by=now.mover)
    session = replace(session, path=(*session.path, after))
    announcement = Text(f"\n{who_plays} ").append(move, style=f"bold {COLOURS[now.mover]}")
    session.say(announcement.append(f"  {remark}", style="dim"))
    return _show(session, before)


def _show(session: _Session, before: str = "") -> _Session:
    """The board, and who is to move or who won."""
    board, now = session.board(), session.now
    session.console.print()
    session.console.print(board_text(board, before), no_wrap=True, crop=False, overflow="ignore")
    session.console.print()
    if now.over:
        session.say(_outcome(session), "bold")
        _say_score(session)
        return session
    # Once X and O are to be seen, it helps to know whose they are.
    mark = f" ({'XO'[now.mover]})" if any(map(has_marks, board.split("\n"))) else ""
    again = " again" if now.by == now.mover else ""
    if session.human is None:
        line = f"The {session.name(now.mover)}{mark} is to move{again}."
    elif now.mover == session.human:
        line = f"You{mark} are to move{again}."
    else:
        line = f"{session.player.name}{mark} is to move{again}."
    session.say(line, COLOURS[now.mover])
    return session


def _outcome(session: _Session) -> str:
    returns, moves = session.now.returns, len(session.path) - 1
    if returns[0] == returns[1]:
        return f"A draw after {moves} moves."
    winner = int(returns[1] > returns[0])
    name = session.name(winner)
    if session.human is None:
        return f"The {name} wins after {moves} moves."
    return f"{'You win' if winner == session.human else f'{name} wins'} after {moves} moves."


def _say_score(session: _Session) -> None:
    if hasattr(session.game, "score"):
        points = np.asarray(session.game.score(session.now.state))
        session.say(f"Points: {', '.join(f'{session.name(i)} {points[i]:g}' for i in (0, 1))}.")


def _help(session: _Session) -> _Session:
    if not session.now.over:
        session.say("Legal moves:", "bold")
        session.console.print(Columns(session.legal().values(), padding=(0, 2)))
    for name, command in _COMMANDS.items():
        session.say(
            Text(f"  {name:6}", style="bold").append(f"{command.__doc__}", style="not bold")
        )
    return session


def _hint(session: _Session) -> _Session:
    """the moves that the search likes best, with its visits"""
    if session.now.over:
        session.say("The game is over: there is nothing to choose.", "yellow")
        return session
    action, analysis = _opinion(session)
    names = session.legal()
    if analysis is None:
        session.say(f"{session.player.name} would play {names[action]}, and does not say why.")
        return session
    session.console.print(hint_table(names, analysis, most=_MOST_HINTS))
    if len(names) > _MOST_HINTS:
        session.say(f"and {len(names) - _MOST_HINTS} other moves", "dim")
    _say_who_is_ahead(session, analysis)
    return session


def _eval(session: _Session) -> _Session:
    """who is ahead, and the points where the game counts them (also: score)"""
    if session.now.over:
        session.say(_outcome(session))
    else:
        _, analysis = _opinion(session)
        _say_who_is_ahead(session, analysis)
    _say_score(session)
    return session


def _undo(session: _Session) -> _Session:
    """take back your last move, and what was played since"""
    mine = [i for i, p in enumerate(session.path) if i and p.by == session.human]
    if not mine:
        session.say("There is no move of yours to take back.", "yellow")
        return session
    return _show(replace(session, path=session.path[: mine[-1]]))


def _moves(session: _Session) -> _Session:
    """the moves so far"""
    session.say(move_list(session.game, [(p.by, p.move) for p in session.path[1:]]))
    return session


def _new(session: _Session) -> _Session:
    """begin a new game"""
    earlier = session.result()
    if session.now.over:
        tally = f"{earlier.wins} won, {earlier.draws} drawn, {earlier.losses} lost"
        session.say(f"\nSo far: {tally}." if session.human is not None else "", "dim")
    key, start_key = jax.random.split(session.key)
    return _show(
        replace(session, earlier=earlier, key=key, path=(_start(session.game, start_key),))
    )


def _swap(session: _Session) -> _Session:
    """change sides"""
    if session.human is None:
        session.say("You are watching: there are no sides to swap.", "yellow")
        return session
    if session.now.over:  # counted from the seat it was played from
        session = _new(session)
    session = replace(session, human=1 - session.human)
    session.say(f"You are the {('first', 'second')[session.human]} player now.", "bold")
    return session


def _quit(session: _Session) -> None:
    """leave"""


_COMMANDS: dict[str, Callable[[_Session], _Session | None]] = {
    "help": _help,
    "hint": _hint,
    "eval": _eval,
    "undo": _undo,
    "moves": _moves,
    "new": _new,
    "swap": _swap,
    "quit": _quit,
}
_help.__doc__ = "this list and the legal moves (also: ?)"


def _opinion(session: _Session) -> tuple[int, Analysis | None]:
    """What the player thinks here; the same if asked twice."""
    with session.console.status(f"{session.player.name} is thinking ..."):
        action, analysis = session.consult(jax.random.split(session.key)[1])
    return int(action), analysis


def _say_who_is_ahead(session: _Session, analysis: Analysis | None) -> None:
    name, mover = session.player.name, session.now.mover
    if analysis is None:
        session.say(f"{name} does not say who is ahead.")
    else:
        words = who_is_ahead(float(analysis.value), session.name(mover), session.name(1 - mover))
        session.say(f"{name} sees: {words}.")


def _consult(player: Player, key: Array, state: Any) -> tuple[Array, Analysis | None]:
    """The player's move in one position, and its analysis where it has one: one call for both."""
    states = jax.tree.map(lambda x: x[None], state)
    if hasattr(player, "analyse"):
        analysis = jax.tree.map(lambda x: x[0], player.analyse(key, states))
        return analysis.action, analysis
    return player(key, states)[0], None


_consult_jit = jax.jit(_consult)


def _start(game: Game, key: Array) -> _Position:
    return _look(*_start_jit(game, key))


def _step(game: Game, state: Any, action: int) -> _Position:
    return _look(*_step_jit(game, state, np.int32(action)))


@functools.partial(jax.jit, static_argnums=0)
def _start_jit(game: Game, key: Array) -> tuple[Any, tuple[Array, ...]]:
    state = game.init(key)
    return state, _facts(game, state)


@functools.partial(jax.jit, static_argnums=0)
def _step_jit(game: Game, state: Any, action: Array) -> tuple[Any, tuple[Array, ...]]:
    state = game.step(state, action)
    return state, _facts(game, state)


def _facts(game: Game, state: Any) -> tuple[Array, ...]:
    return game.current_player(state), game.is_terminal(state), game.returns(state)


def _look(state: Any, facts: tuple[Array, ...]) -> _Position:
    mover, over, returns = jax.device_get(facts)
    return _Position(state, int(mover), bool(over), (float(returns[0]), float(returns[1])))
