"""Engines that speak GTP, as GNU Go does: go, and other games that are played with stones.

Source: G. Farneback, "Specification of the Go Text Protocol, version 2", draft 2, 2002.
"""

import dataclasses
import math
import re
from collections.abc import Sequence

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.go import Go

from azjax.errors import UserError
from azjax.players.base import History
from azjax.players.engines import gtp_games
from azjax.players.engines.command import EngineSpec
from azjax.players.engines.pool import EnginePlayer, Judgement, Line, Pool
from azjax.players.engines.process import EngineProcess
from azjax.types import Array, State

_COLOURS = ("black", "white")  # player 0 has the black stones
_ANALYSES = {"kata-genmove_analyze": 1.0, "lz-genmove_analyze": 10_000.0}
"""Commands that tell chances, best first, and what a sure win is in them."""
_INTERVAL = "10"  # hundredths of a second between two reports; the last one counts


@dataclasses.dataclass(frozen=True, eq=False)
class GtpPlayer(EnginePlayer):
    """An engine that receives all moves of a game from its start, and answers with the next one.

    For each position the board is cleared and the game replayed, which takes far less time than the
    engine's own search. The engine therefore knows the ko, all repetitions and the passes, and
    keeps nothing from other games. Moves are written as in the game: "D4" and "pass" in go, "d3" in
    othello, "a1" in hex. Only the swap in hex is written "swap-pieces".

    The engine must play by the game's rules. `gtp_player` sets them for GNU Go. KataGo's config
    needs `koRule = POSITIONAL`, `scoringRule = AREA` and `multiStoneSuicideLegal = false`.
    """

    skips_passes: bool = False  # whether the engine refuses to be told of forced passes

    def __call__(self, key: Array, states: State, history: History | None = None) -> np.ndarray:
        if history is None:
            raise UserError(
                f"{self.name}: a GTP engine needs the whole game, so it can play in matches only"
            )
        return super().__call__(key, states, history)

    def from_position(self, state: State) -> "GtpPlayer":
        starts = zip(*map(jax.tree.leaves, (state, self.game.init())), strict=True)
        if not all(np.array_equal(*each) for each in starts):
            raise UserError(f"{self.name}: GTP engines need the game from its start")
        return self

    def ask(self, engine: EngineProcess, state: State, line: Line | None) -> str:
        return gtp_games.from_gtp(self._generate(engine, state, line, "genmove"))

    def consider(self, engine: EngineProcess, state: State, line: Line) -> Judgement:
        """Returns its move; and chances and a line, if it can analyse as KataGo or Leela Zero do.

        Their winning chance p becomes the value 2p - 1 of the player to move.
        """
        known = (c for c in _ANALYSES if _ask(engine, [f"known_command {c}"]) == ["true"])
        command = next(known, "")
        if not command:
            return Judgement(self.ask(engine, state, line))
        answer = self._generate(engine, state, line, command, _INTERVAL)
        reports, _, move = answer.rpartition("play ")
        return read_reports(reports, _ANALYSES[command])._replace(move=gtp_games.from_gtp(move))

    def _generate(
        self, engine: EngineProcess, state: State, line: Line | None, command: str, *words: str
    ) -> str:
        """Returns the answer to `genmove` or a command like it."""
        moves = [
            f"play {_COLOURS[seat]} {gtp_games.to_gtp(text)}"
            for seat, text in line or ()
            if not (self.skips_passes and text == "pass")
        ]
        to_move = _COLOURS[int(self.game.current_player(state))]
        asked = " ".join([command, to_move, *words])
        return _ask(engine, [*_new_game(self.game), *moves, asked])[-1]


def gtp_player(spec: EngineSpec, game: Game) -> GtpPlayer:
    """Starts a GTP engine, such as "gnugo --level 3" or "gnugo --level 3?timeout=20".

    GNU Go gets arguments before its own. They make it speak GTP, score by area, and use positional
    superko as `game` does. GNU Go then also captures dead stones before it passes, because we
    count them as alive, and plays games to their end. It remembers 500 moves, so superko may be
    incomplete in longer games. Rhino (gtp-rhino, othello) finds forced passes by itself.

    Raises:
      UserError: there is no such engine, it does not speak GTP, or it does not play this game.
    """
    if spec.options:
        raise UserError(
            f"{spec.text}: timeout is the only option after the ?; all others are the engine's "
            "own arguments"
        )
    if not gtp_games.is_for(game):
        raise UserError(f"{spec.text}: GTP is for {gtp_games.GAMES}, not for {game.name}")
    program, *arguments = spec.command
    command = [program, *_rules(program, game), *arguments]

    def start() -> EngineProcess:
        engine = EngineProcess(command, timeout=spec.timeout)
        _ask(engine, ["name", f"boardsize {gtp_games.board_size(game)}", *_new_game(game)])
        return engine

    return GtpPlayer(game, spec.text, Pool(start), skips_passes=_is(program, "gtp-rhino"))


def read_reports(text: str, sure: float) -> Judgement:
    """Returns what the last report of an analysis says about its best move.

    A report is "info move D4 visits 10 winrate 0.6 order 0 pv D4 C3 info move ...".
    """
    told = Judgement("")
    for part in text.split("info ")[1:]:
        facts, _, line = part.partition(" pv ")
        found = dict(re.findall(r"(move|winrate|order) (\S+)", facts))
        try:
            value = 2 * float(found["winrate"]) / sure - 1
        except (KeyError, ValueError):
            continue
        if found.get("order", "0") == "0" and math.isfinite(value):
            moves = map(gtp_games.from_gtp, line.split())
            told = Judgement("", min(max(value, -1.0), 1.0), tuple(moves))
    return told


def _rules(program: str, game: Game) -> list[str]:
    """Returns the arguments that make a known engine play by the game's rules."""
    if _is(program, "gtp-rhino") and game.name != "othello":
        raise UserError(f"gtp-rhino plays othello on 8x8, not {game.name}")
    if not _is(program, "gnugo"):
        return []
    if not isinstance(game, Go):
        raise UserError(f"gnugo plays go, not {game.name}")
    suicide = "--allow-suicide" if game.suicide else "--forbid-suicide"
    rules = ["--chinese-rules", "--positional-superko", suicide, "--capture-all-dead"]
    # It resigns games that it could still win: as White even on the empty 5x5 board.
    return ["--mode", "gtp", *rules, "--never-resign"]


def _is(program: str, name: str) -> bool:
    return program.rpartition("/")[2] == name


def _new_game(game: Game) -> list[str]:
    return ["clear_board", *([f"komi {game.komi:g}"] if isinstance(game, Go) else [])]


def _ask(engine: EngineProcess, commands: Sequence[str]) -> list[str]:
    """Sends all commands at once and returns the answers."""
    engine.send(commands)
    return [_answer(engine, command) for command in commands]


def _answer(engine: EngineProcess, command: str) -> str:
    """Reads one answer: "=" and a text up to an empty line, or "?" and an error message."""
    lines = [engine.read()]
    while not lines[-1]:
        lines = [engine.read()]
    while lines[-1]:
        if lines[0][0] not in "=?":
            raise engine.failure(
                f"it answered {lines[0]!r} to {command!r}, which is not GTP; it may need an "
                "argument that starts this protocol"
            )
        lines.append(engine.read())
    text = " ".join(lines)[1:].strip()
    if lines[0][0] == "?":
        raise engine.failure(f"it refused {command!r}: {text}")
    return text
