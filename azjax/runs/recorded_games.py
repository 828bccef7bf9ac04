"""The file in which a run keeps the recorded games that it learns from."""

import zipfile
from pathlib import Path

import numpy as np

GAMES_FILE = "games.npz"
"""Its name in the run's folder."""
DAMAGED = (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile)
"""What reading a damaged one may raise."""


def count_games(run_dir: Path) -> int:
    """Returns how many recorded games a run learned from; 0 if there is no file to read."""
    try:
        with (run_dir / GAMES_FILE).open("rb") as data, np.load(data) as file:
            return int(file["games"][-1]) + 1
    except DAMAGED:
        return 0
