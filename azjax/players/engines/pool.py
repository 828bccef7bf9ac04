"""Several processes of one engine, which answer the questions of a batch in parallel."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from azjax.players.engines.process import EngineProcess

Question = TypeVar("Question")


class Pool:
    """Up to one engine per core, started when first needed.

    Args:
      start: starts an engine that is ready for questions. The first one is started at once, so that
        a mistake in its command shows now and not during a match.
    """

    def __init__(self, start: Callable[[], EngineProcess]):
        self._start = start
        self._engines = [start()]

    def map(
        self, ask: Callable[[EngineProcess, Question], str], questions: Sequence[Question]
    ) -> list[str]:
        """Answers the questions, in their order.

        Question i of n always goes to the same engine. An engine that is random but seeded
        therefore repeats a match exactly.

        Args:
          ask: sends one question to an engine and returns its answer.
          questions: the questions.
        """
        count = min(len(questions), _cores())
        while len(self._engines) < count:
            self._engines.append(self._start())

        def answer(number: int) -> list[str]:
            return [ask(self._engines[number], each) for each in questions[number::count]]

        answers = [""] * len(questions)
        with ThreadPoolExecutor(count) as threads:
            try:
                for number, part in enumerate(threads.map(answer, range(count))):
                    answers[number::count] = part
            except BaseException:
                self.close()  # otherwise we would wait for the other threads
                raise
        return answers

    def close(self) -> None:
        """Ends the engines."""
        for engine in self._engines:
            engine.close()


def _cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
