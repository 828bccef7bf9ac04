"""Engines that speak GTP, as GNU Go does: go, and other games that are played with stones.

Source: G. Farneback, "Specification of the Go Text Protocol, version 2", draft 2, 2002.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import numpy as np
from azjax_envs import Game

from azjax.errors import UserError
from azjax.players.base import Moves
from azjax.players.engines import gtp_games as gtp_names
from azjax.players.engines.batch import read_move, unstack
from azjax.players.engines.command import parse_spec
from azjax.players.engines.pool import Pool
from azjax.players.engines.process import EngineProcess

_COLOURS = ("black", "white")  # player 0 has the black stones


@dataclasses.dataclass(frozen=True, eq=False)
class GtpPlayer:
    """An engine that is told all moves of a game from its start, and then asked for the next one.

    For each position the board is cleared and the game played again, which costs next to nothing
    beside the thinking. So the engine knows the ko, all repetitions and the passes, and nothing is
    left over from other games. Moves are written as the game writes them: "D4" and "pass" in go,
    "d3" in othello, "a1" in hex, but for the swap there, "swap-pieces". An engine that resigns
    plays action -1, which is illegal and loses.

    The engine's rules must be the game's. `gtp_player` sees to that for GNU Go; KataGo's config has
    `koRule = POSITIONAL`, `scoringRule = AREA` and `multiStoneSuicideLegal = false`.
    """

    game: Game
    name: str
    pool: Pool

    jittable: ClassVar[bool] = False
    follows_moves: ClassVar[bool] = True

    def __call__(self, key: jax.Array, states: Any, moves: Moves | None = None) -> np.ndarray:
        """Actions int32 [B] for states [B, ...] after `moves`, those of B games.

        Raises:
          UserError: `moves` are missing, or the engine breaks down, refuses a move or makes an
            illegal one.
        """
        del key  # an engine draws its own lots
        if moves is None:
            raise UserError(
                f"{self.name}: GTP engines follow whole games, and cannot be asked about a "
                "position alone; meet this one in matches"
            )
        positions = unstack(states)
        questions = [
            [
                *_new_game(self.game),
                *(f"play {_COLOURS[seat]} {gtp_names.to_gtp(text)}" for seat, text in line),
                f"genmove {_COLOURS[int(self.game.current_player(state))]}",
            ]
            for state, line in zip(positions, moves, strict=True)
        ]
        answers = self.pool.map(lambda engine, lines: _ask(engine, lines)[-1], questions)
        moved = zip(positions, map(gtp_names.from_gtp, answers), strict=True)
        return np.array([read_move(self.name, self.game, *each) for each in moved], np.int32)

    def close(self) -> None:
        """Ends the engines; so does the end of this object."""
        self.pool.close()


def gtp_player(text: str, game: Game) -> GtpPlayer:
    """The player that "gnugo --level 3" or "gnugo --level 3?timeout=20" names.

    GNU Go is given arguments before its own: to speak GTP, to play by area scoring and positional
    superko as `game` does, to take dead stones off the board before it passes, for they count as
    alive, and to play games to their end. It remembers 500 moves, and superko in longer games not
    wholly.

    Raises:
      UserError: there is no such engine, it speaks no GTP, or it does not play on such a board.
    """
    spec = parse_spec(text)
    if spec.options:
        raise UserError(
            f"gtp:{text}: timeout is the only option behind ?; all others are the engine's own "
            "arguments"
        )
    if not gtp_names.is_for(game):
        raise UserError(f"gtp:{text}: GTP is for {gtp_names.GAMES}, not for {game.name}")
    program, *arguments = spec.command
    command = [program, *_rules(program, game), *arguments]

    def start() -> EngineProcess:
        engine = EngineProcess(command, timeout=spec.timeout)
        _ask(engine, ["name", f"boardsize {game.size}", *_new_game(game)])
        return engine

    return GtpPlayer(game, f"gtp:{text}", Pool(start))


def _rules(program: str, game: Game) -> list[str]:
    """The arguments that make an engine play by the game's rules, where it is known."""
    if program.rpartition("/")[2] != "gnugo":
        return []
    if not hasattr(game, "komi"):
        raise UserError(f"gnugo plays go, not {game.name}")
    suicide = "--allow-suicide" if game.suicide else "--forbid-suicide"
    rules = ["--chinese-rules", "--positional-superko", suicide, "--capture-all-dead"]
    # It gives up games that a weak opponent would still lose, the empty 5x5 board as White's too.
    return ["--mode", "gtp", *rules, "--never-resign"]


def _new_game(game: Game) -> list[str]:
    return ["clear_board", *([f"komi {game.komi:g}"] if hasattr(game, "komi") else [])]


def _ask(engine: EngineProcess, commands: Sequence[str]) -> list[str]:
    """The answers to commands, which are all sent at once."""
    engine.send(commands)
    return [_answer(engine, command) for command in commands]


def _answer(engine: EngineProcess, command: str) -> str:
    """One answer: "=" and a text, up to an empty line; or "?" and what is wrong."""
    lines = [engine.read()]
    while not lines[-1]:
        lines = [engine.read()]
    while lines[-1]:
        if lines[0][0] not in "=?":
            raise engine.failure(
                f"it answered {lines[0]!r} to {command!r}, which is not GTP; does it need an "
                "argument to speak that?"
            )
        lines.append(engine.read())
    text = " ".join(lines)[1:].strip()
    if lines[0][0] == "?":
        raise engine.failure(f"it refused {command!r}: {text}")
    return text
