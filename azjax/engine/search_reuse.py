"""What an engine keeps from one move to the next: its tree, and the cost of ending a search."""

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from azjax_envs.game import legal_actions

from azjax.engine.decision import Decision, EngineSearch
from azjax.engine.search_analysis import SearchAnalysis
from azjax.files.game_record import GameRecord

_FORGETTING = 0.9  # for how long the slowest end of a search is remembered
# Another process can take the core away for some milliseconds at any time.
_RESERVE_S = 0.01
_LARGEST_RESERVE = 0.1  # as a share of the move's time


@dataclass(frozen=True)
class LastSearch:
    """An engine's newest search."""

    progress: Decision
    record: GameRecord | None  # the game whose current position was searched; None: no real one
    closing_s: float = 0.0  # from the last simulation to the written move, the slowest of late

    def moves_to(self, record: GameRecord) -> list[int] | None:
        """Returns the actions from the searched position to a record's; None if it is not behind.

        Positions are compared by identity: records of one game share them.
        """
        if self.record is None:
            return None
        positions, played = record.positions, self.record.num_moves
        if len(positions) <= played or positions[played] is not self.record.current:
            return None
        return [position.action for position in positions[played + 1 :]]


def warm_up(
    search: EngineSearch,
    start: GameRecord,
    answer: Callable[[SearchAnalysis], object],
    prepare: Callable[[], object] = lambda: None,
) -> LastSearch:
    """Compiles a search and the rules, and measures how long an answer takes, before a clock runs.

    A line on standard error says what clients wait for.

    Args:
      answer: what happens between a search and its written move.
      prepare: compiles what the protocol needs besides.
    """
    with contextlib.suppress(OSError):  # nobody may read it
        name = search.game.name
        print(f"azjax: preparing {name}; the next start is faster", file=sys.stderr, flush=True)

    def prepare_rules() -> None:
        start.play(legal_actions(search.game, start.current.state)[0])
        prepare()

    with ThreadPoolExecutor(1) as another:  # XLA compiles on a second core
        rules = another.submit(prepare_rules)
        progress = search.warm_up(start.current.state)
        rules.result()
    closing = 0.0
    for _ in range(2):  # the first answer is slower
        began = time.monotonic()
        answer(progress.analysis())
        closing = time.monotonic() - began
    # Python's garbage collector would look through all that jax has made, which takes 0.2 s, at
    # any time during a game. What exists now stays, and need not be looked at again.
    gc.collect()
    gc.freeze()
    return LastSearch(progress, None, closing)


def effective_start(since: float, seconds: float, last: LastSearch | None) -> float:
    """Returns when a search's time begins, so that it ends with the written move.

    The end of the `last` search took as long as this one's probably will. `since` is when the
    command came, by `time.monotonic()`.
    """
    closing = 0.0 if last is None else last.closing_s
    return since - closing - min(_RESERVE_S, _LARGEST_RESERVE * seconds)


def start_search(
    search: EngineSearch,
    record: GameRecord,
    last: LastSearch | None,
    root_actions: Sequence[int] = (),
    *,
    anew: bool = False,
) -> Decision:
    """Starts to search a record's position in the memory of the last search.

    The tree of the last search is continued if the game went on from its position. A search `anew`
    has a tree of its own: with a fixed number of simulations it finds what was measured.
    """
    state = record.current.state
    if last is None:
        return search.start(state, root_actions=root_actions)
    moves = None if anew else last.moves_to(record)
    return search.start(state, root_actions=root_actions, after=last.progress, moves=moves)


def end_search(
    progress: Decision, record: GameRecord, last: LastSearch | None, ended: float
) -> LastSearch:
    """Returns what to keep of a search of a record's position, once its move is written.

    Its last simulation `ended` then, by `time.monotonic()`. `last` is the search before.
    """
    closing = time.monotonic() - ended
    if last is not None:
        closing = max(closing, _FORGETTING * last.closing_s)
    return LastSearch(progress, record, closing)
