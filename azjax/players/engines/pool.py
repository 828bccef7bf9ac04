"""Several processes of one engine, which answer the questions of a batch in parallel."""

import dataclasses
import functools
import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, NamedTuple, TypeVar

import jax
import numpy as np
from azjax_envs import Game

from azjax.devices.cgroups import usable_cores
from azjax.errors import UserError
from azjax.players.base import History
from azjax.players.engines.process import EngineProcess
from azjax.pytrees import batch_size, take
from azjax.types import Array, State

RESIGNED = -1  # illegal, and loses
DECLARED_WIN = -2
"""The engine has won by a declaration, as USI's engines do with an entering king."""
Line = Sequence[tuple[int, str]]
"""The moves of one game, see `azjax.players.base.History`."""

_MOST_FAILURES = 10  # in a row, before a match is given up
Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Judgement(NamedTuple):
    """What an engine says about a position that is not over."""

    move: str  # its move as the game writes it, or "resign" or "win"
    value: float = math.nan  # the expected result of the player to move, [-1, 1]; NaN: not told
    line: tuple[str, ...] = ()  # the moves that it expects; may be empty, or end in illegal ones


class Pool:
    """Up to one engine per core, started when first needed, by `start`, and ready for questions.

    The first one is started at once, so that a mistake in its command shows now and not during a
    match.
    """

    def __init__(self, start: Callable[[], EngineProcess]):
        self._start = start
        self._engines = [start()]
        self._answered = False
        self._failed = 0  # times in a row

    def map(
        self, ask: Callable[[EngineProcess, Question], int], questions: Sequence[Question]
    ) -> list[int]:
        """Answers the questions, in their order; `ask` sends one and returns the engine's action.

        Question i of n always goes to the same engine. An engine that is random but seeded
        therefore repeats a match exactly. An engine that fails resigns, with a warning, and is
        started again: one lost game must not lose the others.

        Raises:
          UserError: an engine cannot be started, has never answered, or fails again and again.
        """
        return self.answers(functools.partial(self._forgive, ask), questions)

    def answers(
        self, ask: Callable[[EngineProcess, Question], Answer], questions: Sequence[Question]
    ) -> list[Answer]:
        """Answers the questions as `map` does, but the first failure is raised as a UserError."""
        if not questions:
            return []
        count = min(len(questions), usable_cores())
        while len(self._engines) < count:
            self._engines.append(self._start())

        def answer(number: int) -> list[Answer]:
            return [self._ask(ask, number, each) for each in questions[number::count]]

        with ThreadPoolExecutor(count) as threads:
            try:
                parts = list(threads.map(answer, range(count)))
            except BaseException:
                self.close()  # otherwise we would wait for the other threads
                raise
        return [parts[i % count][i // count] for i in range(len(questions))]

    def _ask(
        self, ask: Callable[[EngineProcess, Question], Answer], number: int, question: Question
    ) -> Answer:
        if self._answered and self._engines[number].ended:
            self._engines[number] = self._start()
        answer = ask(self._engines[number], question)
        self._answered = True
        return answer

    def _forgive(
        self,
        ask: Callable[[EngineProcess, Question], int],
        engine: EngineProcess,
        question: Question,
    ) -> int:
        """Returns an engine's action, or that it resigns where it fails."""
        try:
            action = ask(engine, question)
        except UserError as error:
            self._failed += 1
            if not self._answered or self._failed == _MOST_FAILURES:
                raise
            print(f"{error}; it loses this game", file=sys.stderr, flush=True)
            return RESIGNED
        self._failed = 0
        return action

    def close(self) -> None:
        """Ends the engines."""
        for engine in self._engines:
            engine.close()


@dataclasses.dataclass(frozen=True, eq=False)
class EnginePlayer:
    """A player whose moves an external engine answers.

    An engine that resigns or fails plays action -1, which is illegal and loses.
    """

    game: Game
    name: str
    pool: Pool

    jittable: ClassVar[bool] = False
    follows_history: ClassVar[bool] = True

    def __call__(self, key: Array, states: State, history: History | None = None) -> np.ndarray:
        """Asks the engine for its moves in positions [B, ...], int32 [B].

        The key is ignored, as an engine has its own random numbers. `history` has the moves that
        led to the positions, if they are known.

        Raises:
          UserError: the history is missing though the engine needs it, or the engine has never made
            a legal move, or fails again and again.
        """
        del key
        rows = jax.device_get(states)
        count = batch_size(rows, name="states")
        lines = [None] * count if history is None else history
        positions = [(take(rows, i), line) for i, line in zip(range(count), lines, strict=True)]
        return np.array(self.pool.map(self._choose, positions), np.int32)

    def ask(self, engine: EngineProcess, state: State, line: Line | None) -> str:
        """Returns an engine's move in a position after a line, as the game writes it."""
        raise NotImplementedError

    def consider(self, engine: EngineProcess, state: State, line: Line) -> Judgement:
        """Returns what an engine says about a position after a line."""
        raise NotImplementedError

    def judge(self, positions: Sequence[tuple[State, Line]]) -> list[Judgement]:
        """Asks the engine about positions of games, each with the moves that led there.

        Raises:
          UserError: the engine fails.
        """
        return self.pool.answers(lambda engine, each: self.consider(engine, *each), positions)

    def _choose(self, engine: EngineProcess, position: tuple[State, Line | None]) -> int:
        """Returns an engine's action, or how the engine ends the game."""
        state, line = position
        answer = self.ask(engine, state, line)
        ends = {"resign": RESIGNED, "win": DECLARED_WIN}
        if answer.lower() in ends:
            return ends[answer.lower()]
        return self.read_move(state, answer)

    def read_move(self, state: State, text: str) -> int:
        """Returns the legal action that an engine names in a position.

        Raises:
          UserError: there is none.
        """
        try:
            return int(self.game.string_to_action(jax.device_get(state), text))
        except ValueError as error:
            raise UserError(
                f"{self.name}: the engine played {text!r}, which is illegal in this position of "
                f"{self.game.name}; its rules may differ"
            ) from error

    def from_position(self, state: State) -> "EnginePlayer":
        """Returns the player of games that begin with a position.

        Raises:
          UserError: the engine cannot be told of it.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Ends the engines, as garbage collection of this object does."""
        self.pool.close()
