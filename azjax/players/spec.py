"""The spellings of players: the one parser behind the command line and `azjax.load_player`."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from azjax_envs import available_games
from azjax_envs.nearest import nearest
from azjax_envs.registry import nearest_game

from azjax.config import shipped_configs
from azjax.errors import UserError
from azjax.players.engines.command import EngineSpec, parse_engine
from azjax.players.weights_file import SUFFIX, pretrained

Checkpoint = Literal["newest", "best"] | int
"""The newest checkpoint, the one that evaluated best, or that of a cycle."""

FORMS = (
    "random, minimax:PLIES, mc:PLAYOUTS, uct:SIMULATIONS, exact, gtp:COMMAND, uci:COMMAND, "
    "usi:COMMAND"
)
RUN_FORMS = "RUN, RUN:SIMULATIONS, RUN:policy, RUN:value, each also as RUN@CYCLE or RUN@best"

_MOST = 1_000_000  # simulations, playouts or plies
CONFIG_FILE = "config.toml"
"""The config of a run, in its directory."""
_NUMBERED = {"minimax": 4, "mc": 100, "uct": 1000}  # with a usual number
_ENGINES = ("gtp", "uci", "usi")
_NAMES = ("random", "exact", *_NUMBERED, *_ENGINES)
_ALSO_CALLED = {"mcts": "uct", "montecarlo": "mc", "perfect": "exact"}


@dataclass(frozen=True)
class NetworkSpec:
    """A player with a trained network, which knows its game."""

    text: str  # as it was written
    source: Literal["run", "file"]
    path: Path  # a run directory, or a player's file
    checkpoint: Checkpoint = "newest"  # of a run
    how: Literal["search", "policy", "value"] = "search"
    simulations: int | None = None  # of a search; None for the number in the run's evaluations


@dataclass(frozen=True)
class BuiltinSpec:
    """A player that needs a game and no network."""

    text: str
    kind: Literal["random", "exact", "minimax", "mc", "uct"]
    number: int = 0  # plies of minimax, playouts of mc, simulations of uct


PlayerSpec = NetworkSpec | BuiltinSpec | EngineSpec


def parse_spec(text: str | Path) -> PlayerSpec:
    """Reads the spelling of a player.

    Args:
      text: a run directory "runs/a", also as "runs/a:64" (simulations), "runs/a:policy",
        "runs/a:value", "runs/a@best" and "runs/a@200:64"; a player's file "a.safetensors" or the
        game of a player that comes with azjax, such as "connect_four", instead of the run;
        "random", "minimax:4", "mc:100", "uct:1000" or "exact"; or an engine such as
        "gtp:gnugo --level 3" or "uci:stockfish?nodes=1000". A `Path` is a run directory or a file.
        It is not split at "@" and ":". A run in a folder of a built-in player's name is "./random".

    Raises:
      UserError: no player has this spelling. The message lists the valid forms.
    """
    if isinstance(text, Path):
        path = Path(os.path.expanduser(text))
        return NetworkSpec(str(text), "file" if path.suffix == SUFFIX else "run", path)
    text = os.path.expanduser(text.strip())
    name, colon, tail = text.partition(":")
    directory = name.partition("@")[0]
    # A folder in the way hides no built-in player, and no player that comes with azjax unless it is
    # a run. `os.path` answers for names that are too long or have a zero byte, too.
    is_run = name not in pretrained() or os.path.isfile(Path(directory) / CONFIG_FILE)
    is_run &= name not in _NAMES
    if directory and is_run and os.path.isdir(directory):
        checkpoint = _parse_checkpoint(name)
        return NetworkSpec(text, "run", Path(directory), checkpoint, *_parse_how(text, tail))
    file = Path(name) if name.endswith(SUFFIX) else pretrained().get(name)
    if file is not None:
        return NetworkSpec(text, "file", file, "newest", *_parse_how(text, tail))
    match name:
        case "gtp" | "uci" | "usi":
            return parse_engine(name, tail)
        case "random" | "exact":
            if colon:
                raise UserError(f"player {text!r}: {name} takes no number; players: {FORMS}")
            return BuiltinSpec(text, name)
        case "minimax" | "mc" | "uct":
            if not _is_number(tail):
                raise UserError(
                    f"player {text!r}: {name} needs a whole number from 1 to {_MOST:,}; "
                    f"players: {FORMS}"
                )
            return BuiltinSpec(text, name, int(tail))
    raise UserError(_unknown_player(text, directory, tail))


def parse_network(text: str | Path, *, use: str, rule: str) -> NetworkSpec:
    """Reads what names a network alone: RUN, RUN@best, RUN@CYCLE, a file or a player's name.

    `use` and `rule` tell in messages what for: "export", and "a file holds a network alone".

    Raises:
      UserError: it names no player, one without a network, or how the network plays.
    """
    spec = parse_spec(text)
    if not isinstance(spec, NetworkSpec):
        raise UserError(f"{text} has no network to {use}; name a run or a player's file")
    if (spec.how, spec.simulations) != ("search", None):
        alone = spec.text.partition(":")[0]
        raise UserError(f"{text}: {rule}; write {alone}")
    return spec


def is_game(name: str) -> bool:
    """Returns whether a name is that of a game, with or without a size."""
    return re.sub(r"_\d+(x\d+)*$", "", name) in available_games()


def _unknown_player(text: str, name: str, tail: str) -> str:
    """Returns the message about a text that names no player.

    `name` is what stands before the first "@" or ":", and `tail` what follows the colon.
    """
    if name in pretrained():  # "connect_four@best"
        return f"{text}: only runs have checkpoints; write {name}"
    if name in shipped_configs() or is_game(name):
        config = name if name in shipped_configs() else "CONFIG"
        return (
            f"no player of {name} comes with azjax, and there is no run of that name; "
            f"azjax train {config} trains one; azjax play {name} finds another opponent"
        )
    near = _nearest_builtin(text, tail) or nearest_game(name)
    if near is not None:
        with_tail = "" if ":" in near else text.removeprefix(name)
        return f"there is no player or run {text!r}; did you mean {near}{with_tail}?"
    return (
        f"there is no player {text!r} and no run directory of that name; players: a run, a file, "
        f"a game such as connect_four, {FORMS}"
    )


def _nearest_builtin(text: str, tail: str) -> str | None:
    """Returns the built-in player or engine that was probably meant, complete; None without any."""
    if tail and not tail.isdecimal():  # such as a command
        near = nearest(text.removesuffix(f":{tail}"), _ENGINES)
        return f"{near}:{tail}" if near else None
    match = re.fullmatch(r"(.*?[^0-9])[ :=_-]*([0-9]*)", text)
    if match is None:
        return None
    before, number = match.groups()
    names = tuple(_NUMBERED) if number else ("random", "exact", *_NUMBERED)
    near = nearest(before, names, also_called=_ALSO_CALLED)
    return f"{near}:{number or _NUMBERED[near]}" if near in _NUMBERED else near


def parse_run(text: str | Path) -> NetworkSpec:
    """Reads RUN, RUN@best or RUN@CYCLE; whether the run exists shows when it is loaded.

    Raises:
      UserError: something else follows the `@`.
    """
    if isinstance(text, Path):
        return NetworkSpec(str(text), "run", Path(os.path.expanduser(text)))
    text = os.path.expanduser(text)
    return NetworkSpec(text, "run", Path(text.partition("@")[0]), _parse_checkpoint(text))


def _parse_checkpoint(name: str) -> Checkpoint:
    """Returns the checkpoint of RUN, RUN@best or RUN@CYCLE."""
    _, at, checkpoint = name.partition("@")
    if not at:
        return "newest"
    if checkpoint == "best":
        return "best"
    if not re.fullmatch("[0-9]{1,12}", checkpoint):
        raise UserError(f"{name}: a cycle or best must follow the @; runs: {RUN_FORMS}")
    return int(checkpoint)


def _parse_how(text: str, tail: str) -> tuple[Literal["search", "policy", "value"], int | None]:
    """Returns how a network plays, and with how many simulations, from what follows the colon."""
    if tail == "policy" or tail == "value":
        return tail, None
    if not tail:
        return "search", None
    if not _is_number(tail):
        raise UserError(
            f"{text}: a number of simulations from 1 to {_MOST:,}, policy or value must follow "
            "the colon"
        )
    return "search", int(tail)


def _is_number(text: str) -> bool:
    """Returns whether a text is a whole number from 1 to a million."""
    return bool(re.fullmatch("[0-9]{1,7}", text)) and 1 <= int(text) <= _MOST
