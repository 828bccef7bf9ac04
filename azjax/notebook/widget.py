"""An opponent in a notebook: a board to click on."""

import re
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from azjax_envs import Game
from azjax_envs.game import HasClicks, clicks_of

from azjax.errors import UserError
from azjax.files.notation import numbered, roll_of, shown_move, shown_moves
from azjax.notebook.board_drawing import style_codes
from azjax.play.session import Session, start_session
from azjax.play.text import outcome, points_of, who_is_ahead
from azjax.players.base import Analysis, Player
from azjax.pytrees import expand, first
from azjax.types import Array


class Opponent(anywidget.AnyWidget):
    """A board with a status line, the player's opinion, and buttons; see `opponent`.

    The browser sends `{"do": "play", "action": a}`, `{"do": "undo"}` and `{"do": "new"}`, and draws
    the contents of `shown`.
    """

    _esm = Path(__file__).with_name("widget.js")
    _css = Path(__file__).with_name("widget.css")
    board = traitlets.Unicode().tag(sync=True)  # the empty board, SVG
    shown = traitlets.Dict().tag(sync=True)  # everything that changes, see `_show`

    def __init__(self, session: Session):
        super().__init__(board=session.game.svg_board())
        self._session = session
        self._analysis: Analysis | None = None  # of the player's last move
        clickable = re.findall(r'data-action="(\d+)"', self.board)
        self._clickable = frozenset(map(int, clickable))
        self.on_msg(self._on_message)
        self._answer()

    @property
    def session(self) -> Session:
        """The current game, and the results of earlier ones."""
        return self._session

    def play(self, move: str) -> None:
        """Plays a move of the person, by its name, as if it had been clicked.

        Raises:
          ValueError: the move is not legal; the message lists the legal ones.
        """
        state = self._session.current.state
        action = int(self._session.game.string_to_action(state, move))
        self._act({"do": "play", "action": action})

    def undo(self) -> None:
        """Takes back the person's last move and the moves after it, if there are any."""
        self._act({"do": "undo"})

    def new_game(self) -> None:
        """Starts another game."""
        self._act({"do": "new"})

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict):
            self._act(content)

    def _act(self, content: dict[str, Any]) -> None:
        session, command = self._session, content.get("do")
        if command == "new":
            self._session, self._analysis = session.new_game(), None
        elif command == "undo":
            self._session, self._analysis = session.undo() or session, None
        elif command == "play" and content.get("action") in self._legal_moves():
            self._session = session.play(content["action"])
        # Anything else is a click that came too late and changes nothing.
        self._answer()

    def _legal_moves(self) -> dict[int, str]:
        """Returns the person's legal moves; none if it is not their turn."""
        now = self._session.current
        is_turn = not self._session.over and now.mover == self._session.human
        return shown_moves(self._session.game, now.state) if is_turn else {}

    def _moves(self) -> list[str]:
        record = self._session.record
        names = [shown_move(record, number) for number in range(1, record.num_moves + 1)]
        names = numbered(record.game, record.positions[0].state, names)
        rolls = [f"{position.roll}: " if position.roll else "" for position in record.positions]
        return [f"{roll}{name}" for roll, name in zip(rolls, names, strict=False)]

    def _answer(self) -> None:
        """Plays the player's moves until the person is to move, and shows each position."""
        while True:
            session = self._session
            if session.over or session.current.mover == session.human:
                break
            self._show(f"{session.player.name} is thinking{_dice(session)} ...", busy=True)
            try:
                action, self._analysis = session.choose()
            except UserError as error:  # an external engine failed
                self._show(str(error))
                return
            self._session = session.play(action)
        again = " again" if session.current.moved_by == session.human else ""
        self._show(outcome(session) if session.over else f"Your move{again}{_dice(session)}.")

    def _show(self, status: str, *, busy: bool = False) -> None:
        session = self._session
        legal = self._legal_moves()
        codes = first(style_codes(session.game, expand(session.current.state)))
        self.shown = {
            "codes": np.asarray(codes).tolist(),
            "legal": list(legal),
            **self._other_moves(legal),
            "status": status,
            "value": _opinion(session, self._analysis),
            "moves": " ".join(self._moves()),
            "undo": session.undo() is not None,
            "busy": busy,
        }

    def _other_moves(self, legal: dict[int, str]) -> dict[str, list[list[Any]]]:
        """Returns the moves that are not one click on a part of the board.

        They are two clicks, [action, first cell, second cell, name], or a button, [action, name].
        """
        game = self._session.game
        others = {a: name for a, name in legal.items() if a not in self._clickable}
        if not others or not isinstance(game, HasClicks):
            return {"clicks": [], "buttons": [list(move) for move in others.items()]}
        cells = clicks_of(game, self._session.current.state)[:, :2].tolist()
        drawn = {a: name for a, name in others.items() if cells[a][0] >= 0}
        return {
            "clicks": [[a, *cells[a], name] for a, name in drawn.items()],
            "buttons": [[a, name] for a, name in others.items() if a not in drawn],
        }


def opponent(game: Game, player: Player, *, key: Array, human: int = 0) -> Opponent:
    """Returns a board on which to play against `player` by clicking.

    Args:
      player: the opponent; if it has a method `analyse`, it says who is ahead.
      key: PRNG key of the player's moves, and of the dice in a game of chance.
      human: the person's seat, 0 or 1; 0 moves first.
    """
    if human not in (0, 1):
        raise UserError(f"human = {human!r}: must be 0 (moves first) or 1")
    return Opponent(start_session(game, player, humans=(human,), key=key))


def _opinion(session: Session, analysis: Analysis | None) -> str:
    """Returns the player's opinion at its last move; "" if the game is over or it has none."""
    if analysis is None or session.current.over:
        return ""
    name, points = session.player.name, points_of(session.game)
    ahead = who_is_ahead(float(analysis.value), "itself", "you", points=points)
    return f"{name} sees {ahead}."


def _dice(session: Session) -> str:
    """Returns the roll that is to be played, in words; "" in a game without dice."""
    roll = roll_of(session.record, session.record.num_moves + 1)
    return f" with a roll of {roll}" if roll else ""
