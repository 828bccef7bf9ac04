"""Several processes of one engine, which answer the questions of a batch in parallel."""

import dataclasses
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypeVar

import jax
import numpy as np
from azjax_envs import Game

from azjax.cgroups import usable_cores
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
        count = min(len(questions), usable_cores())
        while len(self._engines) < count:
            self._engines.append(self._start())

        def answer(number: int) -> list[int]:
            return [self._ask(ask, number, each) for each in questions[number::count]]

        answers = [RESIGNED] * len(questions)
        with ThreadPoolExecutor(count) as threads:
            try:
                for number, part in enumerate(threads.map(answer, range(count))):
                    answers[number::count] = part
            except BaseException:
                self.close()  # otherwise we would wait for the other threads
                raise
        return answers

    def _ask(
        self, ask: Callable[[EngineProcess, Question], int], number: int, question: Question
    ) -> int:
        if self._answered and self._engines[number].ended:
            self._engines[number] = self._start()
        try:
            action = ask(self._engines[number], question)
        except UserError as error:
            self._failed += 1
            if not self._answered or self._failed == _MOST_FAILURES:
                raise
            print(f"{error}; it loses this game", file=sys.stderr, flush=True)
            return RESIGNED
        self._answered, self._failed = True, 0
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

    def _choose(self, engine: EngineProcess, position: tuple[State, Line | None]) -> int:
        """Returns an engine's action, or how the engine ends the game."""
        state, line = position
        answer = self.ask(engine, state, line)
        ends = {"resign": RESIGNED, "win": DECLARED_WIN}
        if answer.lower() in ends:
            return ends[answer.lower()]
        try:
            return self.game.string_to_action(state, answer)
        except ValueError as error:
            raise UserError(
                f"{self.name}: the engine played {answer!r}, which is illegal in this position of "
                f"{self.game.name}; its rules may differ"
            ) from error

    def close(self) -> None:
        """Ends the engines, as garbage collection of this object does."""
        self.pool.close()
