"""The file of `azjax play --save`: its games, written anew after every move."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from azjax_envs import Game
from azjax_envs.backgammon import Backgammon
from azjax_envs.go import Go

from azjax.errors import UserError
from azjax.files import pgn, shogi_files
from azjax.files.backgammon_files import format_mat
from azjax.files.played_game import PlayedGame
from azjax.files.played_positions import Position
from azjax.files.read import check_format, open_games
from azjax.files.sgf import format_sgf
from azjax.play.session import Session


class GameFile:
    """A new file with all games of a session, and whose ending tells the format.

    Raises:
      UserError: the file exists already, or its format is of another game.

    Example:
        ```python
        file = GameFile(Path("evening.pgn"), make("chess"))
        file.save(session)  # after every move
        ```
    """

    def __init__(self, path: Path, game: Game):
        check_format(path, game)
        if isinstance(game, Backgammon) and path.suffix.lower() == ".sgf":
            raise UserError(f"{path}: games of backgammon are saved as .mat, or as lists of moves")
        if path.exists():
            raise UserError(f"{path} exists already: name a new file, also where a game goes on")
        if not path.parent.is_dir():
            raise UserError(f"{path.parent}: there is no such folder")
        self._path = path
        self._games: list[str] = []  # the last one is being played
        self._positions: Sequence[Position] = ()  # of the last one
        self._moves: list[str] = []  # of the last one, as the file has them

    def save(self, session: Session) -> None:
        """Writes all games that have moves; a game that another replaces stays in the file.

        Raises:
          OSError: the file cannot be written; the one from before is unharmed.
        """
        old, new = self._positions, session.record.positions
        if not old or old[0] is not new[0]:
            self._games, self._moves = [*self._games, ""], []
        # To name a move may take some milliseconds, so each is named once.
        same = sum(a is b for a, b in zip(old, new, strict=False))
        del self._moves[max(same - 1, 0) :]
        suffix = self._path.suffix.lower()
        name = {".pgn": pgn.numbered_san, ".csa": shogi_files.csa_move}.get(suffix)
        for i in range(len(self._moves), session.record.num_moves):
            made = new[i + 1]
            named = name(session.record.truncate(i), made.action) if name else made.move
            roll = new[i].roll
            self._moves.append(f"{roll}: {named}" if roll else named)
        self._positions = new
        self._games[-1] = _whole(suffix, session, self._moves) if self._moves else ""
        games = [text for text in self._games if text]
        if games:
            spare = self._path.with_name(f"{self._path.name}.new")
            spare.write_text(("/\n" if suffix == ".csa" else "").join(games))
            os.replace(spare, self._path)


def resume_game(path: Path, game: Game) -> PlayedGame:
    """Returns the last game of a file, to go on with; its komi takes the place of the game's own.

    Its record has the moves before the first one that is not legal; `ends_early` names that one.

    Raises:
      UserError: the file holds no such game, or the game is over.
    """
    games = open_games(path, game)
    if not games:
        raise UserError(f"{path}: it holds no game")
    played = games[-1]()
    if played.record is None:
        raise UserError(f"{path}: {played.error}")
    if played.record.current.over:
        raise UserError(f"{path}: its last game is over after {played.record.num_moves} moves")
    return played


def _whole(suffix: str, session: Session, moves: list[str]) -> str:
    """Returns the session's game as its format has it."""
    record, over, winner = session.record, session.over, session.winner
    if suffix == ".pgn":
        return pgn.format_pgn(record, moves, pgn.RESULTS[winner] if over else "*")
    if suffix == ".csa":
        end = "CHUDAN" if not over else "SENNICHITE" if winner is None else "TSUMI"
        return shogi_files.format_csa(moves, "TORYO" if session.loser is not None else end)
    if suffix == ".mat":
        return format_mat(record, loser=session.loser)
    if suffix == ".sgf":
        end = "0" if winner is None else f"{'BW'[winner]}+{'R' * (session.loser is not None)}"
        game, result = cast(Go, record.game), end if over else ""
        return format_sgf(game, record.positions[1:], result) + "\n"
    roll = [f"{record.current.roll}:"] if record.current.roll else []
    return f"# {record.game.name}\n{' '.join([*moves, *roll])}\n"
