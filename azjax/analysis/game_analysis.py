"""The analysis of one game: chances by move, and the moves that changed them."""

import functools
import html
import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from azjax_envs import Game, HasChance
from azjax_envs.game import HasPlayerNames, HasWinningCells
from rich.console import Group
from rich.table import Table
from rich.text import Text

from azjax.files import notation
from azjax.files.game_record import GameRecord
from azjax.play.text import points_of
from azjax.rich_repr import RichRepr
from azjax.types import Array, State
from azjax.web.page import render_review
from azjax.web.page_data import describe_moves, title_of

MISTAKE = 0.1
"""A move that gives up at least this share of the points is a turning point.

So is one that gives up this part of a point in a game that counts points, such as backgammon.
"""
_MOST_IN_TABLE = 12
_UNNAMED = ("first", "second")


@dataclass(frozen=True)
class AnalysedMove:
    """A move of the game beside the best one that the judge found."""

    number: int  # from 1
    mover: int  # 0 or 1
    move: str  # as people write it, such as "Nf3" in chess
    best: int  # the action of the better move, or of this one
    line: tuple[str, ...]  # how the game would go on with it
    loss: float  # the share of the points that it gave up, from 0 to 1; NaN: see `is_other`
    exact: bool  # whether exact values judge it
    visits: tuple[tuple[int, int], ...]  # (action, visits) of the moves tried most
    roll: str = ""  # the dice that were rolled before it; "" if a move before used them, too
    forced: bool = False  # whether the roll left no choice
    points: float = 0.0  # of the greatest result, in a game that counts points; 0 in others

    @property
    def is_mistake(self) -> bool:
        """Whether the move is a turning point."""
        return self.loss >= MISTAKE or self.lost_points >= MISTAKE

    @property
    def lost_points(self) -> float:
        """The points that it gave up, in a game that counts points; 0 in others."""
        return 2 * self.points * self.loss

    @property
    def is_other(self) -> bool:
        """Whether the judge would have played another move, without saying how much it matters."""
        return math.isnan(self.loss)


@dataclass(frozen=True, eq=False)
class GameAnalysis(RichRepr):
    """The analysis of a game of P moves; prints a table, and draws itself in a notebook."""

    record: GameRecord
    player: str  # the judge, such as search:400 or uci:stockfish
    values: tuple[float, ...]
    """Before each move and at the end, [P + 1], for player 0, in [-1, 1]; NaN where the judge is an
    engine that names moves alone."""
    moves: tuple[AnalysedMove, ...]  # [P]

    @property
    def game(self) -> Game:
        """The game."""
        return self.record.game

    @property
    def chances(self) -> tuple[float, ...]:
        """The share of the points that the first player can expect, [P + 1], from 0 to 1."""
        return tuple((1 + value) / 2 for value in self.values)

    @property
    def turning_points(self) -> tuple[AnalysedMove, ...]:
        """The moves that gave up at least a tenth of the points, worst first."""
        mistakes = (move for move in self.moves if move.is_mistake)
        return tuple(sorted(mistakes, key=lambda move: -move.loss))

    @property
    def error_rates(self) -> tuple[float, float]:
        """What each player gave up in a move with a choice on average, a share of the points.

        It is NaN for a player without such a move, or if the judge names moves alone. In a game
        that counts points, a share of 1 is twice the points of the greatest result.
        """
        chosen = [[m.loss for m in self.moves if m.mover == p and not m.forced] for p in (0, 1)]
        first, second = (sum(losses) / len(losses) if losses else math.nan for losses in chosen)
        return first, second

    @property
    def unscored(self) -> tuple[AnalysedMove, ...]:
        """The moves of which the judge tells only whether it would have played them."""
        return tuple(m for m in self.moves if math.isnan(self.values[m.number - 1]))

    @property
    def player_names(self) -> tuple[str, str]:
        """What the two sides are called."""
        return self.game.player_names if isinstance(self.game, HasPlayerNames) else _UNNAMED

    def comment(self, move: AnalysedMove) -> str:
        """Returns a line about a move, for people: "black 62% -> 41%; better e5 d4 c3".

        In a game of dice it begins with the roll.
        """
        if move in self.unscored:
            own = self._line(move) if move.is_other else "this, too"
            return f"{self.player_names[move.mover]}: the judge would play {own}"
        roll = notation.roll_of(self.record, move.number)
        text = f"{roll}: " if roll else ""
        text += f"{self.player_names[move.mover]} {self._change(move)}"
        if move.exact:
            text += " (exact)"
        if move.is_mistake:
            text += f"; better {self._line(move)}"
        elif move.is_other:
            text += f"; the judge would play {self._line(move)}"
        return text

    def _line(self, move: AnalysedMove) -> str:
        state = self.record.positions[move.number - 1].state
        return " ".join(notation.numbered(self.game, state, move.line))

    def result(self) -> str:
        """Returns how the game ended."""
        last = self.record.current
        if not last.over:
            return f"not over after {len(self.moves)} moves"
        if last.returns[0] == last.returns[1]:
            return f"a draw after {len(self.moves)} moves"
        return f"{self.player_names[last.returns[1] > 0]} won after {len(self.moves)} moves"

    def _change(self, move: AnalysedMove) -> str:
        if isinstance(self.game, HasChance):
            return self._change_by_move(move)
        shares = self.chances[move.number - 1 : move.number + 1]
        shares = (1 - x if move.mover else x for x in shares)
        return " -> ".join("?" if math.isnan(x) else f"{100 * x:.0f}%" for x in shares)

    def _change_by_move(self, move: AnalysedMove) -> str:
        """Returns what the move changed, without the roll after it."""
        value = self.values[move.number - 1] * (-1 if move.mover else 1)
        after = value - 2 * move.loss
        if math.isnan(after):
            return "?"
        if move.points:
            return f"{move.points * value:+.2f} -> {move.points * after:+.2f} points"
        return f"{50 * (1 + value):.0f}% -> {50 * (1 + after):.0f}%"

    def _errors(self) -> str:
        """Returns what each player gave up a move."""
        points = points_of(self.game)
        known = [
            (name, f"{2 * points * rate:.3f} points" if points else f"{100 * rate:.1f}%")
            for name, rate in zip(self.player_names, self.error_rates, strict=True)
            if not math.isnan(rate)
        ]
        told = ", ".join(f"{name} {rate}" for name, rate in known)
        return f"; errors per move with a choice: {told}" if told else ""

    def _headline(self) -> str:
        """Returns the result, the judge and, where that gives no chances, how often it agrees.

        In a game of chance it also has the error rates.
        """
        text = f"{self.result()}; judged by {self.player}"
        if isinstance(self.game, HasChance):
            return text + self._errors()
        if not self.unscored:
            return text
        agreed = [
            f"{sum(not move.is_other for move in moves)} of {len(moves)} moves of {side}"
            for mover, side in enumerate(name.partition(",")[0] for name in self.player_names)
            if (moves := [move for move in self.unscored if move.mover == mover])
        ]
        names = f"{text}, which names moves without chances"
        return f"{names}; it would have played {' and '.join(agreed)}"

    def __rich__(self) -> Text | Group:
        headline = Text(f"{self.game.name}, {self._headline()}")
        others = tuple(move for move in self.unscored if move.is_other)
        listed = self.turning_points or others
        if not listed and not self.unscored:
            least = "a tenth of a point" if points_of(self.game) else "a tenth of the points"
            return Text(f"{headline}\nno move gave up {least}")
        shown = sorted(listed[:_MOST_IN_TABLE], key=lambda move: move.number)
        table = Table(box=None, padding=(0, 2, 0, 0))
        names = ("move", "", "judge") if listed is others else ("move", "", "chances", "better")
        for column in names:
            table.add_column(column)
        for move in shown:
            change = self._change(move) + " exact" * move.exact
            table.add_row(
                notation.numbered_move(self.record, move.number),
                self.player_names[move.mover],
                *([] if listed is others else [change]),
                self._line(move),
            )
        parts = [headline, table]
        if len(shown) < len(listed):
            kind = (
                "moves with another choice, the first"
                if listed is others
                else ("turning points, the worst")
            )
            parts.append(Text(f"{len(shown)} of {len(listed)} {kind}; the page shows all"))
        return Group(*parts)

    def _rolled(self, i: int) -> str:
        """Returns what was rolled in a position, in words; "" if nothing was."""
        now = self.record.positions[i]
        return f"{self.player_names[now.mover]} rolled {now.roll}" if now.roll else ""

    def page(self, title: str | None = None) -> str:
        """Returns an HTML document that steps through the game; it needs no network.

        By default its heading is the game's name.
        """
        moves = [None, *self.moves, None]
        pages = [self._described(i, *moves[i : i + 2]) for i in range(len(self.values))]
        return render_review(
            self.game,
            title=title or title_of(self.game),
            about=self._headline(),
            setup={"pages": pages, "players": list(self.player_names)},
        )

    def _described(
        self, i: int, came: AnalysedMove | None, move: AnalysedMove | None
    ) -> dict[str, Any]:
        """Returns a position for the page, between the move that led there and the next one."""
        position = self.record.positions[i]
        shown = {move.best, *(action for action, _ in move.visits)} if move else set()
        view, won = jax.device_get(_facts(self.game, position.state))
        return {
            "player": position.mover,
            "view": view.tolist(),
            "winning": np.flatnonzero(won).tolist(),
            "moves": describe_moves(self.game, position.state, sorted(shown)),
            "over": position.over,
            "value": None if math.isnan(self.values[i]) else round(self.values[i], 4),
            "last": position.action if came else None,
            "visits": move.visits if move else [],
            "best": move.best if move and (move.is_mistake or move.is_other) else None,
            "name": (f"{came.roll}: {came.move}" if came.roll else came.move) if came else None,
            "rolled": self._rolled(i),
            "numbered": notation.numbered_move(self.record, came.number) if came else None,
            "comment": self.comment(came) if came else "",
            "mistake": bool(came and came.is_mistake),
        }

    def _repr_html_(self) -> str:
        document = html.escape(self.page(), quote=True)
        return f'<iframe srcdoc="{document}" style="width:100%;height:640px;border:0"></iframe>'


@functools.partial(jax.jit, static_argnums=0)
def _facts(game: Game, state: State) -> tuple[Array, Array]:
    """Returns the codes of the cells, and which of them won."""
    view = game.view(state)
    return view, game.winning_cells(state) if isinstance(game, HasWinningCells) else view < 0
