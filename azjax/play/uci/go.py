"""What `go` says in UCI and USI: how long to think, and in which way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from azjax.play.clock import Clock

_LARGEST = 10**12
_NUMBERS = (
    "nodes",
    "movetime",
    "depth",
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "byoyomi",
)
_WORDS = (*_NUMBERS, "infinite", "ponder", "mate", "searchmoves")


def names_limits(words: Sequence[str]) -> bool:
    """Whether any of the words is one of `go`'s own."""
    return any(word in _WORDS for word in words)


@dataclass(frozen=True)
class Go:
    """The limits of one search, which begin to hold once it does not wait."""

    simulations: float = math.inf
    seconds: float = math.inf
    depth: float = math.inf  # moves of the principal variation
    infinite: bool = False  # no best move before `stop`
    ponders: bool = False  # nor before `ponderhit`
    moves: tuple[str, ...] = ()  # of which the best is wanted; of all, if there are none

    @property
    def waits(self) -> bool:
        return self.infinite or self.ponders


def read_go(words: Sequence[str], colours: str, player: int, simulations: int) -> Go:
    """Reads the words behind `go`; what is unknown or no number is passed over, as UCI has it.

    Args:
      words: such as "wtime 1000 btime 900 winc 10".
      colours: the letters of player 0 and 1: "wb" in chess, "bw" in shogi.
      player: 0 or 1, to move.
      simulations: the limit where there is no other.
    """
    given = {
        name: min(max(int(number), 0), _LARGEST)
        for name, number in itertools.pairwise(words)
        if name in _NUMBERS and _is_whole(number)
    }
    own = colours[player]
    seconds = math.inf
    if "movetime" in given:
        seconds = given["movetime"] / 1000
    elif f"{own}time" in given or "byoyomi" in given:
        seconds = Clock(
            left=given.get(f"{own}time", 0) / 1000,
            increment=given.get(f"{own}inc", 0) / 1000,
            moves=given.get("movestogo", 0),
            each=given.get("byoyomi", 0) / 1000,
        ).for_move()
    nodes = given.get("nodes", math.inf)
    depth = given.get("depth", math.inf)
    infinite = "infinite" in words
    if not infinite and math.isinf(min(seconds, nodes, depth)):
        nodes = simulations
    return Go(
        simulations=nodes,
        seconds=seconds,
        depth=depth,
        infinite=infinite,
        ponders="ponder" in words,
        moves=tuple(_moves(words)),
    )


def _moves(words: Sequence[str]) -> Iterator[str]:
    """What stands behind `searchmoves`, up to the next word of `go`'s own."""
    if "searchmoves" in words:
        behind = words[words.index("searchmoves") + 1 :]
        yield from itertools.takewhile(lambda word: word not in _WORDS, behind)


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 20
