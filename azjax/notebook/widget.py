"""An opponent to play against by clicking at the board."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anywidget
import jax
import numpy as np
import traitlets
from azjax_envs import Game
from azjax_envs.game import clicks_of, has_clicks

from azjax.errors import UserError
from azjax.notebook.boards import style_codes
from azjax.play.session import Session, open_session
from azjax.play.text import who_is_ahead
from azjax.players.base import Analysis, Player
from azjax.types import Array


class Opponent(anywidget.AnyWidget):
    """A board, whose turn it is, what the player thinks of it, and buttons; see `opponent`.

    The browser sends `{"do": "play", "action": a}`, `{"do": "undo"}` and `{"do": "new"}`, and draws
    whatever `shown` says.
    """

    _esm = Path(__file__).with_name("widget.js")
    _css = Path(__file__).with_name("widget.css")
    board = traitlets.Unicode().tag(sync=True)  # the empty one, SVG
    shown = traitlets.Dict().tag(sync=True)  # all that changes, see `_show`

    def __init__(self, session: Session):
        super().__init__(board=session.game.svg_board())
        self._session = session
        self._analysis: Analysis | None = None  # of the player's last move
        drawn = re.findall(r'data-action="(\d+)"', self.board)
        self._drawn = frozenset(map(int, drawn))
        self.on_msg(self._on_message)
        self._answer()

    @property
    def session(self) -> Session:
        """The game at hand."""
        return self._session

    def play(self, move: str) -> None:
        """The person's move, named as the game names it, as if it had been clicked.

        Raises:
          ValueError: it is not legal; says what is.
        """
        game, now = self._session.game, self._session.now
        self._act({"do": "play", "action": int(game.string_to_action(now.state, move))})

    def undo(self) -> None:
        """Takes back the person's last move and what came after it, if there is one."""
        self._act({"do": "undo"})

    def new_game(self) -> None:
        self._act({"do": "new"})

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict):
            self._act(content)

    def _act(self, content: dict[str, Any]) -> None:
        session, what = self._session, content.get("do")
        if what == "new":
            self._session, self._analysis = session.new_game(), None
        elif what == "undo":
            self._session, self._analysis = session.undone() or session, None
        elif what == "play" and content.get("action") in self._legal():
            self._session = session.played(content["action"])
        # Anything else is a click that comes too late, and changes nothing.
        self._answer()

    def _legal(self) -> dict[int, str]:
        """The person's moves; none where it is not their turn."""
        now = self._session.now
        mine = not now.over and now.mover == self._session.human
        return self._session.legal() if mine else {}

    def _answer(self) -> None:
        """Plays for the player until the person is to move, and shows each position."""
        while not self._session.now.over and self._session.now.mover != self._session.human:
            self._show(f"{self._session.player.name} is thinking ...", busy=True)
            try:
                action, self._analysis = self._session.opinion()
            except UserError as error:  # an engine that broke down
                self._show(str(error))
                return
            self._session = self._session.played(action)
        self._show(_status(self._session))

    def _show(self, status: str, *, busy: bool = False) -> None:
        session = self._session
        legal = self._legal()
        states = jax.tree.map(lambda x: x[None], session.now.state)
        self.shown = {
            "codes": np.asarray(style_codes(session.game, states))[0].tolist(),
            "legal": list(legal),
            **self._means(legal),
            "status": status,
            "value": _opinion(session, self._analysis),
            "moves": " ".join(position.move for position in session.path[1:]),
            "undo": session.undone() is not None,
            "busy": busy,
        }

    def _means(self, legal: dict[int, str]) -> dict[str, list]:
        """How moves are made that are no click on a part of the board: by two clicks, [action,
        first cell, second cell, name], or by a button, [action, name]."""
        game = self._session.game
        undrawn = {a: name for a, name in legal.items() if a not in self._drawn}
        if not undrawn or not has_clicks(game):
            return {"clicks": [], "buttons": [list(move) for move in undrawn.items()]}
        cells = clicks_of(game, self._session.now.state)[:, :2].tolist()
        return {"clicks": [[a, *cells[a], name] for a, name in undrawn.items()], "buttons": []}


def opponent(game: Game, player: Player, *, key: Array, human: int = 0) -> Opponent:
    """A board to play against `player` on, by clicking.

    Args:
      game: the game.
      player: the opponent; where it has a method `analyse`, it says who it thinks is ahead.
      key: PRNG key of the player's moves.
      human: the person's seat, 0 or 1; 0 moves first.

    Raises:
      UserError: `human` is no seat.
    """
    if human not in (0, 1):
        raise UserError(f"human = {human!r}: 0, to move first, or 1 is wanted")
    return Opponent(open_session(game, player, human=human, key=key))


def _status(session: Session) -> str:
    now, name = session.now, session.player.name
    if not now.over:
        again = " again" if now.by == now.mover else ""
        return f"Your move{again}."
    mine = now.returns[session.human]
    how = "You win" if mine > 0 else f"{name} wins" if mine < 0 else "A draw"
    return f"{how} after {len(session.path) - 1} moves."


def _opinion(session: Session, analysis: Analysis | None) -> str:
    """What the player thought when it last moved; nothing at the end, or where it does not say."""
    if analysis is None or session.now.over:
        return ""
    name = session.player.name
    return f"{name} sees {who_is_ahead(float(analysis.value), 'itself', 'you')}."
