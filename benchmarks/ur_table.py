"""Solves the Royal Game of Ur and writes the expected results of all positions before a roll.

    python benchmarks/ur_table.py ur.npy

The table of seven pieces has 1.9 GB. `benchmarks/points_given_up.py` reads the file, and
`azjax.exact.ur.Boards` says where a position is.
"""

import dataclasses
import functools
import json
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from azjax_envs.ur import Ur

from azjax.exact.ur import Boards, TablePlayer, solve


@dataclasses.dataclass(frozen=True)
class Arguments:
    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The file of the table, float32 [P]."""
    pieces: int = 7
    """Of each player."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the sizes and the start's value there."""


def main(options: Arguments) -> None:
    game = Ur(options.pieces)
    say = functools.partial(print, file=sys.stderr, flush=True)
    began = time.monotonic()
    values = solve(
        game, lambda a, b, sweeps: say(f"{a} and {b} pieces off: solved in {sweeps} sweeps")
    )
    minutes = (time.monotonic() - began) / 60
    np.save(options.file, values)
    start = float(TablePlayer(game, values).state_values(game.init()))
    result = {
        "game": game.name,
        "positions before a roll": Boards(game.pieces).positions(),
        "expected result of the first player": round(start, 6),
        "minutes": round(minutes, 1),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
