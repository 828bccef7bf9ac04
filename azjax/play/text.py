"""A game as text in a terminal: the coloured board, who is ahead, hints, the moves."""

from itertools import zip_longest

import numpy as np
from azjax_envs import Game, HasResults
from azjax_envs.game import possible_results
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from azjax.files.game_record import GameRecord
from azjax.files.notation import numbered_moves
from azjax.play.session import Session
from azjax.players.base import Analysis

ORDINALS = ("first", "second")
COLOURS = ("bright_cyan", "bright_yellow")
"""The colours of the two players, and of their marks X and O."""

_EVEN = 0.1
_LEADS = ((0.35, "slightly ahead"), (0.65, "ahead"), (0.9, "far ahead"))

_KINDS = {  # what a player is called, and what its number counts
    "search": ("the network", "simulation", "simulations"),
    "policy": ("the network without search", "", ""),
    "value": ("the network one move ahead", "", ""),
    "uct": ("the UCT player", "simulation", "simulations"),
    "mc": ("the Monte Carlo player", "playout", "playouts"),
    "minimax": ("the minimax player", "ply", "plies"),
    "random": ("the random player", "", ""),
    "exact": ("the perfect player", "", ""),
}


def board_text(board: str, before: str = "") -> Text:
    """Returns a board in colours; what has changed since the one `before` is highlighted."""
    text = Text(no_wrap=True)
    # Boards of different shapes cannot be compared.
    old = before.split("\n") if before.count("\n") == board.count("\n") else []
    for line, old_line in zip_longest(board.split("\n"), old, fillvalue=""):
        marks = has_marks(line)
        for now, was in zip_longest(line, old_line, fillvalue=" "):
            style = f"bold {COLOURS['XO'.index(now)]}" if marks and now in "XO" else ""
            style = "dim" if now == "." else style
            if old and now != was and now != " ":
                style += " reverse"
            text.append(now, style=style)
        text.append("\n")
    text.rstrip()
    return text


def has_marks(line: str) -> bool:
    """Returns whether a line of a board shows pieces as X (first player) and O (second player).

    If a line has other letters, all its letters are coordinates or pieces of other kinds.
    """
    letters = {letter for letter in line if letter.isalpha()}
    return bool(letters) and letters <= {"X", "O"}


def player_in_words(name: str) -> tuple[str, str]:
    """Returns what a player is called: in a sentence, and with its strength.

    "search:64" is ("the network", "the network, 64 simulations").
    """
    kind, _, number = name.partition(":")
    called, one, many = _KINDS.get(kind, (name, "", ""))
    if not one or not number.isdecimal():
        return called, called
    return called, f"{called}, {int(number):,} {one if int(number) == 1 else many}"


def name_of_player(session: Session) -> str:
    """Returns how a sentence calls the player."""
    return player_in_words(session.player.name)[0]


def name_in(session: Session, seat: int) -> str:
    """Returns how a sentence calls who has that seat."""
    if session.human is None:
        return f"the {ORDINALS[seat]} player"
    return "you" if seat == session.human else name_of_player(session)


def sentence(text: str) -> str:
    """Returns the text with a capital first letter, unless it begins with a player's name."""
    return text[0].upper() + text[1:] if text.startswith(("you", "the ")) else text


def outcome(session: Session) -> str:
    """Returns who has won a game that is over, and how."""
    winner, count = session.winner, session.record.num_moves
    moves = f"{count} move{'s' * (count != 1)}"
    if winner is None:
        return f"A draw after {moves}."
    if session.loser in session.humans and session.loser == session.current.mover:
        loser = sentence(name_in(session, session.loser))
        return f"{loser} resigned after {moves}: {name_in(session, winner)} wins."
    verb = "win" if winner == session.human else "wins"
    won = round(points_of(session.game) * abs(session.current.returns[0]), 6)
    points = f"{won:g} point{'s' * (won != 1)} " if won else ""
    return f"{sentence(name_in(session, winner))} {verb} {points}after {moves}."


def points_of(game: Game) -> float:
    """Returns the most points that a game can bring; 0 if it counts none."""
    return possible_results(game)[0] if isinstance(game, HasResults) else 0.0


def who_is_ahead(value: float, mover: str, other: str, *, points: float = 0.0) -> str:
    """Returns a value in words, such as "you ahead: win chance 75%".

    Args:
      value: expected result from the mover's perspective, in [-1, 1].
      mover: what to call the player to move, as `other` the opponent.
      points: of the value 1, in a game that counts points; 0 in others.
    """
    leader, size = (mover, value) if value >= 0 else (other, -value)
    if points:
        expected = f"{points * size:.2f} points a game expected"
        who = "an even game" if points * size < _EVEN else f"{leader} ahead"
        return f"{who}: {expected}"
    if size < _EVEN:
        return f"an even game: win chance {win_chance(value)} for {mover}"
    lead = next((words for bound, words in _LEADS if size < bound), "winning")
    return f"{leader} {lead}: win chance {win_chance(size)}"


def win_chance(value: float) -> str:
    """Returns a value in [-1, 1] as a percentage of points; a draw counts half a point."""
    return f"{(1 + min(max(value, -1.0), 1.0)) / 2:.0%}"


def hint_table(
    names: dict[int, str],
    analysis: Analysis,
    *,
    most: int,
    width: int = 80,
    points: float = 0.0,
) -> Table:
    """Returns a table of the most visited moves, the player's choice first.

    Args:
      names: those of the legal actions.
      analysis: analysis of one position, without the batch axis.
      most: the largest number of moves to show.
      width: characters on a line; the least important columns are left out if they do not fit.
      points: as for `who_is_ahead`.
    """
    chosen = int(analysis.action)
    visits, policy = np.asarray(analysis.visits), np.asarray(analysis.policy)
    ranked = sorted(names, key=lambda a: (a == chosen, visits[a], policy[a]), reverse=True)[:most]
    visited = [a for a in ranked if visits[a]]
    values = {a: float(analysis.action_values[a]) for a in visited}
    columns = {
        "move": [names[a] for a in ranked],
        "visits": [f"{visits[a]:,}" for a in ranked],
        "search": [f"{policy[a]:.1%}" for a in ranked],
        "prior": [f"{analysis.prior[a]:.1%}" for a in ranked],
        "value": [f"{values[a]:+.2f}" if a in values else "-" for a in ranked],
        "win\nchance": [win_chance(values[a]) if a in values else "-" for a in ranked],
    }
    if points:
        del columns["win\nchance"], columns["value"]
        columns["points"] = [f"{points * values[a]:+.2f}" if a in values else "-" for a in ranked]
    for unimportant in ("prior", "search", "value"):
        if unimportant in columns and _width(columns) > width:
            del columns[unimportant]
    table = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in columns:
        table.add_column(title, justify="left" if title == "move" else "right", no_wrap=True)
    for action, *cells in zip(ranked, *columns.values(), strict=True):
        style = "bold green" if action == chosen else "" if action in values else "dim"
        table.add_row(*cells, style=style)
    return table


def result_table(names: dict[int, str], results: dict[int, str], chosen: int) -> Table:
    """Returns a table of moves, best first, with their results in words; `chosen` is the advice."""
    table = Table(header_style="bold", box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("move", no_wrap=True)
    table.add_column("result under best play")
    for action, result in results.items():
        table.add_row(names[action], result, style="bold green" if action == chosen else "")
    return table


def _width(columns: dict[str, list[str]]) -> int:
    """Returns the width of a table with three spaces between its columns."""
    widths = (max(map(len, [*title.split("\n"), *cells])) for title, cells in columns.items())
    return sum(widths) + 3 * (len(columns) - 1)


def move_list(record: GameRecord) -> Text:
    """Returns the moves of a game, numbered and in the players' colours."""
    if not record.num_moves:
        return Text("No moves yet.", style="dim")
    text = Text()
    for position, move in zip(record.positions[1:], numbered_moves(record), strict=True):
        number, space, name = move.rpartition(" ")
        # Lines break between moves, never after a number.
        text.append(f"{number}\N{NO-BREAK SPACE}" if space else "", style="dim")
        text.append(name, style=COLOURS[position.moved_by]).append("  ")
    return text
