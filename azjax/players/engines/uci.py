"""Engines that speak UCI, as Stockfish does, or its sibling for shogi, USI.

Sources: S. Meyer-Kahlen, "Description of the universal chess interface (UCI)", 2006; T. Romstad,
"The Universal Shogi Interface", 2007.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Mapping

import jax
import numpy as np
from azjax_envs import Game

from azjax.errors import UserError
from azjax.players.engines.command import EngineSpec
from azjax.players.engines.pool import EnginePlayer, Judgement, Line, Pool
from azjax.players.engines.process import EngineProcess
from azjax.players.engines.uci_games import DIALECTS, Dialect
from azjax.types import State

_LIMITS = ("nodes", "movetime", "depth")
_SHOW_WDL = "uci_showwdl"
_DEFAULT_LIMIT = {"nodes": "1000"}  # nodes instead of time, so that matches repeat exactly


@dataclasses.dataclass(frozen=True, eq=False)
class UciPlayer(EnginePlayer):
    """An engine that receives a position, the moves that led to it, and a limit.

    From the moves it knows which positions would be repetitions. Without them it sees the position
    alone, as if a game began there. Every question starts a new game, so an engine cannot use
    results of earlier searches on top of its nodes. One that declares a win (in USI) plays -2, and
    has won.
    """

    dialect: Dialect
    limit: str  # what follows "go"
    start: State | None = None  # where games begin; None for the game's own start

    @functools.cached_property
    def _start_text(self) -> str:
        return self._text(jax.device_get(self.game.init() if self.start is None else self.start))

    def _text(self, state: State) -> str:
        return f"{self.dialect.notation} {self.dialect.write(self.game, state)}"

    def from_position(self, state: State) -> "UciPlayer":
        return dataclasses.replace(self, start=state)

    def ask(self, engine: EngineProcess, state: State, line: Line | None) -> str:
        return self.consider(engine, state, line).move

    def consider(self, engine: EngineProcess, state: State, line: Line | None) -> Judgement:
        """Returns its move, with the score and the line that it told last.

        Its value is that of `_value`.
        """
        if line is None:
            position = self._text(state)
        else:
            position = " ".join([self._start_text, "moves", *(text for _, text in line)])
        engine.send([f"{self.dialect.name}newgame", f"position {position}", f"go {self.limit}"])
        told = Judgement("")
        while (words := engine.read().split())[:1] != ["bestmove"]:
            told = read_info(words, self.dialect, told)
        return told._replace(move="".join(words[1:2]))


def uci_player(spec: EngineSpec, game: Game) -> UciPlayer:
    """Starts a UCI or USI engine, such as "stockfish?nodes=1000&Skill Level=3".

    Options follow the `?`: limits of a move (nodes; movetime in milliseconds; depth), timeout (in
    seconds), and any option that the engine knows. UCI_Elo turns on UCI_LimitStrength. Without a
    limit a move has 1,000 nodes.

    Raises:
      UserError: there is no such engine, it does not speak the protocol or play the game, or it has
        no such option or value.
    """
    text, protocol, speaks = spec.text, spec.protocol, DIALECTS[spec.protocol]
    if game.name not in speaks.variants:
        games = " and ".join(speaks.variants)
        raise UserError(f"{text}: {protocol} engines play {games}, not {game.name}")
    limits = {name: spec.options[name] for name in _LIMITS if name in spec.options}
    for name, value in limits.items():
        if not re.fullmatch("0*[1-9][0-9]{0,17}", value):
            raise UserError(f"{text}: {name} needs a whole number above 0")
    options = {name: value for name, value in spec.options.items() if name not in _LIMITS}
    names = {name.lower() for name in options}
    if f"{protocol}_variant" in names:
        raise UserError(f"{text}: the game, {game.name}, determines the variant")
    if "uci_elo" in names and "uci_limitstrength" not in names:
        options["UCI_LimitStrength"] = "true"
    variant = speaks.variants[game.name]

    def start() -> EngineProcess:
        engine = EngineProcess(spec.command, timeout=spec.timeout)
        engine.send([protocol])
        known = _read_options(engine, protocol)
        _choose_variant(engine, known, protocol, variant)
        if _SHOW_WDL in known and _SHOW_WDL not in names:
            _set_option(engine, known, _SHOW_WDL, "true")
        for name, value in options.items():
            _set_option(engine, known, name, value)
        engine.send(["isready"])
        _until(engine, "readyok")
        return engine

    limit = " ".join(f"{name} {n}" for name, n in (limits or _DEFAULT_LIMIT).items())
    return UciPlayer(game, text, Pool(start), speaks, limit)


def read_info(words: list[str], dialect: Dialect, told: Judgement) -> Judgement:
    """Returns what a line "info ... score ... pv ..." says, or `told`, if it has no exact score."""
    if words[:1] != ["info"] or "string" in words or "score" not in words:
        return told
    facts = words[: words.index("pv")] if "pv" in words else words
    line = tuple(words[len(facts) + 1 :])
    is_bound = "lowerbound" in facts or "upperbound" in facts
    other = "multipv" in facts and facts[facts.index("multipv") + 1 :][:1] != ["1"]
    if other or (is_bound and not math.isnan(told.value)):
        return told
    value = _value(facts, dialect)
    return told if math.isnan(value) else Judgement("", value, line)


def _value(facts: list[str], dialect: Dialect) -> float:
    """Returns the expected result, in [-1, 1], of the player to move; NaN if it cannot be read.

    It is W - L of `wdl`, where the engine tells the chances of a win and a loss. Otherwise it is
    tanh(cp / (2 * scale)) of a score in hundredths of a pawn: the logistic curve of the expected
    points, whose scale is 272 in chess and 600 in shogi. A mate is 1 or -1.
    """
    text = " ".join(facts)
    if found := re.search(r" wdl (\d{1,9}) (\d{1,9}) (\d{1,9})\b", text):
        win, draw, loss = map(int, found.groups())
        if win + draw + loss:
            return (win - loss) / (win + draw + loss)
    if found := re.search(r" score mate ([+-]?)(\d*)", text):
        sign, plies = found.groups()
        return -1.0 if sign == "-" or not (plies or "1").strip("0") else 1.0
    if found := re.search(r" score cp ([+-]?\d{1,9})\b", text):
        return math.tanh(int(found[1]) / (2 * dialect.scale))
    return math.nan


def _until(engine: EngineProcess, word: str) -> str:
    """Returns the first line that begins with `word`, and skips all others."""
    while True:
        line = engine.read()
        if line.split()[:1] == [word]:
            return line


@dataclasses.dataclass(frozen=True)
class _Option:
    name: str
    kind: str  # spin, check, combo, button or string
    low: int | None  # of a spin
    high: int | None
    choices: tuple[str, ...]  # of a combo

    def valid_values(self, value: str) -> str | None:
        """Returns a description of the valid values if `value` is not one of them, else None."""
        if self.kind == "check" and value not in ("true", "false"):
            return "true or false"
        if self.kind == "combo" and value not in self.choices:
            return ", ".join(self.choices)
        if self.kind == "spin":
            low, high = (-np.inf if self.low is None else self.low), self.high
            number = int(value) if re.fullmatch(r"[+-]?[0-9]{1,18}", value) else None
            if number is None or not low <= number <= (np.inf if high is None else high):
                return f"a whole number from {self.low} to {self.high}"
        return None


def _read_options(engine: EngineProcess, protocol: str) -> dict[str, _Option]:
    """Returns the options that an engine lists at its start, by their names in lower case."""
    options = {}
    while (line := engine.read()).strip() != f"{protocol}ok":
        found = re.fullmatch(r"option name (.+?) type (\w+)(.*)", line)
        if found:
            name, kind, rest = found.groups()
            low, high = (re.search(rf" {end} (-?\d+)", rest) for end in ("min", "max"))
            options[name.lower()] = _Option(
                name=name,
                kind=kind,
                low=int(low[1]) if low else None,
                high=int(high[1]) if high else None,
                choices=tuple(choice.strip() for choice in rest.split(" var ")[1:]),
            )
    return options


def _choose_variant(
    engine: EngineProcess, known: Mapping[str, _Option], protocol: str, variant: str
) -> None:
    """Sets the game of an engine that plays several. Others play chess, or shogi, alone."""
    option = known.get(f"{protocol}_variant")
    plays = option.choices if option else ("chess" if protocol == "uci" else "shogi",)
    if variant not in plays:
        raise engine.failure(
            f"it does not play {variant}; Fairy-Stockfish does (Debian: apt install "
            "fairy-stockfish)"
        )
    if option:
        _set_option(engine, known, option.name, variant)


def _set_option(engine: EngineProcess, known: Mapping[str, _Option], name: str, value: str) -> None:
    option = known.get(name.lower())
    if option is None:
        names = ", ".join([*_LIMITS, "timeout", *(each.name for each in known.values())])
        raise engine.failure(f"it has no option {name!r}; its options: {names}")
    valid = option.valid_values(value)
    if valid:
        raise engine.failure(f"its option {option.name} must be {valid}, not {value}")
    engine.send([f"setoption name {option.name} value {value}"])
