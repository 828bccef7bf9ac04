"""What a person is shown of a game: the coloured board, who is ahead, a player's hints."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from azjax.players.base import Analysis

COLOURS = ("bright_cyan", "bright_yellow")
"""Of the seats, and of the marks X and O by which boards show the seats' pieces."""

_EVEN = 0.1
_LEADS = ((0.35, "slightly ahead"), (0.65, "ahead"), (0.9, "far ahead"))


def board_text(board: str, before: str = "") -> Text:
    """A board in colours.

    Args:
      board: what `Game.to_string` drew.
      before: the board before the last move; where it differs, the new one stands out.
    """
    text = Text(no_wrap=True)
    # A board of another shape is no drawing of the same game.
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
    """Whether a line of a board shows the first player's pieces as X or the second's as O.

    Where there are other letters, they all are coordinates, or pieces of other kinds.
    """
    letters = {letter for letter in line if letter.isalpha()}
    return bool(letters) and letters <= {"X", "O"}


def who_is_ahead(value: float, mover: str, other: str) -> str:
    """A value in [-1, 1] seen by the player to move, in words.

    Args:
      value: 1 if the mover wins.
      mover: the player to move, as in "sees you ahead".
      other: the opponent.
    """
    leader, size = (mover, value) if value >= 0 else (other, -value)
    if size < _EVEN:
        return f"an even game: win chance {win_chance(value)} for {mover}"
    lead = next((words for bound, words in _LEADS if size < bound), "winning")
    return f"{leader} {lead}: win chance {win_chance(size)}"


def win_chance(value: float) -> str:
    """A value in [-1, 1] as the share of the points to be expected, a draw counted half."""
    return f"{(1 + min(max(value, -1.0), 1.0)) / 2:.0%}"


def hint_table(names: dict[int, str], analysis: Analysis, *, most: int) -> Table:
    """The best moves by the search's visits, its choice first.

    Args:
      names: the legal actions.
      analysis: of one position, without the batch axis.
      most: how many moves to show at most.
    """
    chosen = int(analysis.action)
    visits, policy = np.asarray(analysis.visits), np.asarray(analysis.policy)
    ranked = sorted(names, key=lambda a: (a == chosen, visits[a], policy[a]), reverse=True)
    table = Table(header_style="bold", box=SIMPLE_HEAD)
    for title in ("move", "visits", "search", "prior", "value", "win chance"):
        table.add_column(title, justify="left" if title == "move" else "right")
    for action in ranked[:most]:
        value = float(analysis.action_values[action])
        seen = visits[action] > 0
        table.add_row(
            names[action],
            f"{visits[action]:,}",
            f"{policy[action]:.1%}",
            f"{analysis.prior[action]:.1%}",
            f"{value:+.2f}" if seen else "-",
            win_chance(value) if seen else "-",
            style="bold green" if action == chosen else "" if seen else "dim",
        )
    return table


def move_list(moves: Sequence[tuple[int, str]]) -> Text:
    """The moves of a game, (seat, name) each, numbered and in the seats' colours."""
    if not moves:
        return Text("No move has been made yet.", style="dim")
    text = Text()
    for number, (seat, move) in enumerate(moves, 1):
        text.append(f"{number}.", style="dim")
        # Lines break between moves, not after a number.
        text.append(f"\N{NO-BREAK SPACE}{move}", style=COLOURS[seat]).append("  ")
    return text
