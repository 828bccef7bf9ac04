"""The config with which a run goes on: its own, or one that differs where it may."""

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from azjax.config import Config, config_to_dict
from azjax.errors import UserError

OPENINGS_FILE = "openings.txt"
"""A run's own copy of its `selfplay.openings`."""

# What decides the arrays of a training state, or has been used up.
_FIXED = (
    "game",
    "seed",
    "network",
    "selfplay.parallel_games",
    "selfplay.plies_per_cycle",
    "selfplay.openings",
    "selfplay.actor",
    "league.capacity",
    "league.opponents",
    "replay.capacity_plies",
    "replay.module",
    "replay.options",
    "learning.optimizer",
    "learning.optimizer_options",
    "learning.targets",
)
_FREE = ("network.dtype",)
_ON_OR_OFF = ("selfplay.resign_false_positive_rate", "league.every", "learning.l2")  # 0 must stay 0


def check_changes(run_dir: Path, old: Config, new: Config) -> None:
    """Checks that a run can go on with another config.

    Raises:
      UserError: it cannot; the message lists every key that must stay as it is.
    """
    before, after = _flat(config_to_dict(old)), _flat(config_to_dict(new))
    wrong = []
    for key in sorted({*before, *after}):
        a, b = before.get(key), after.get(key)
        fixed = key not in _FREE and f"{key}.".startswith(tuple(f"{name}." for name in _FIXED))
        if a != b and (fixed or (key in _ON_OR_OFF and bool(a) != bool(b))):
            wrong.append(f"{key} = {a!r}, not {b!r}")
    if wrong:
        raise UserError(
            f"{run_dir}: a run cannot change these: {'; '.join(wrong)}; "
            f"azjax train CONFIG --start-from {quote(str(run_dir))} (in Python "
            "train(..., start_from=)) begins a new run with its network"
        )


def with_own_openings(config: Config, run_dir: Path) -> Config:
    """Returns the config, whose openings are now the run's own copy."""
    own = run_dir / OPENINGS_FILE
    if not (config.selfplay.openings and own.is_file()):
        return config
    return replace(config, selfplay=replace(config.selfplay, openings=str(own)))


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns nested values by dotted keys."""
    flat = {}
    for key, value in values.items():
        name = prefix + key
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat
