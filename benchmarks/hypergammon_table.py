"""Solves hypergammon and writes the expected points of all positions before a roll to a file.

    python benchmarks/hypergammon_table.py hypergammon.npy

It took 40 minutes on a shared core. `benchmarks/points_given_up.py` reads the file.
"""

import dataclasses
import functools
import json
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from azjax_envs.backgammon import Hypergammon

from azjax.exact.hypergammon import Boards, find_moves, solve, start_value


@dataclasses.dataclass(frozen=True)
class Arguments:
    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The file of the table, float32 [3276, 3276]: of the own board and the other's."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the sizes and the start's value there."""


def main(options: Arguments) -> None:
    game = Hypergammon()
    boards = Boards(game.checkers)
    moves = find_moves(game, boards)
    say = functools.partial(print, file=sys.stderr, flush=True)
    say(f"{len(boards):,} boards of a player, {len(moves.own):,} ways to play a roll")
    points = solve(
        game,
        boards,
        moves,
        lambda sweep, change: say(f"sweep {sweep}: values change by up to {change:.7f} points"),
    )
    np.save(options.file, points)
    result = {
        "game": game.name,
        "positions before a roll": len(boards) ** 2,
        "ways to play a roll": len(moves.own),
        "expected points of the first player": round(start_value(game, boards, points), 5),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
