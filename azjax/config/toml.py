"""Reads and writes configs as TOML. The message about a mistake says what would be right.

A config is complete: `save_config(load_config(path))` writes every value that the run uses.
"""

import dataclasses
import difflib
import json
import math
import os
import re
import tomllib
import types
import typing
from pathlib import Path
from typing import Any, Literal

import jax
import tomli_w
from azjax_envs import available_games
from azjax_envs.nearest import nearest
from azjax_envs.registry import nearest_game

from azjax.config.checks import must_be_plain
from azjax.config.schema import Config, GameConfig, Option, Options, PlayerConfig
from azjax.errors import UserError

_KINDS = {int: "a whole number", float: "a number", str: "a text in quotes", bool: "true or false"}


def load_config(path: str | Path, overrides: dict[str, Any] | None = None) -> Config:
    """Reads a TOML file, lays nested `overrides` over it and checks everything.

    Args:
      path: the file, or the name of a config that comes with azjax, such as "connect_four".
      overrides: values that replace those of the file, `{"search": {"num_simulations": 64}}`. Where
        the config has a fractional number, the value may be traced by jax, as in a sweep.

    Raises:
      UserError: no such file, not TOML, an unknown key, a value of the wrong type or out of range.
    """
    path = _find(path)
    data = _read(path)
    try:
        return config_from_dict(_merge(data, overrides or {}))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def shipped_configs() -> dict[str, Path]:
    """Returns the configs that come with azjax by name, such as "connect_four" or "papers/go"."""
    package = Path(__file__).parent.parent
    # An installed package has them inside; in the repository they are next to it.
    in_package, in_repository = package / "configs", package.parent / "configs"
    folder = in_package if in_package.is_dir() else in_repository
    files = sorted(folder.rglob("*.toml"))
    return {file.relative_to(folder).with_suffix("").as_posix(): file for file in files}


def _find(path: str | Path) -> Path:
    """Returns the file of a config, which may be named by what comes with azjax."""
    path = os.path.expanduser(path)
    if Path(path).suffix == ".toml" or os.path.isfile(path):
        return Path(path)
    shipped = shipped_configs()
    if str(path) in shipped:
        return shipped[str(path)]
    if os.path.exists(path):  # a folder, which cannot be read
        return Path(path)
    game = nearest_game(str(path))
    near = nearest(str(path), shipped) or next(
        (name for name in (game, re.sub(r"_[0-9x]+$", "", game or "")) if name in shipped), None
    )
    some = ", ".join(name for name in available_games() if name in shipped)
    raise UserError(
        f"{path}: there is no such file or config; "
        + (f"did you mean {near}?" if near else f"configs that come with azjax are {some}")
    )


def _read(path: Path) -> dict[str, Any]:
    """Returns the tables of a TOML file."""
    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a TOML file: it must be text in UTF-8") from error
    try:
        return tomllib.loads(text)
    except (RecursionError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path}: not a TOML file: {error}") from error
    except ValueError as error:  # an integer of thousands of digits, a day that does not exist
        raise UserError(f"{path}: not a TOML file: a number or date is out of range") from error


def save_config(config: Config, path: str | Path) -> None:
    """Writes every value of `config`, so that `load_config` gives an equal one."""
    Path(path).write_text(tomli_w.dumps(config_to_dict(config)), encoding="utf-8")


def config_from_dict(data: dict[str, Any]) -> Config:
    """Returns a checked config from nested dicts; a missing key keeps its default."""
    return _checked(Config, data)


def player_from_dict(data: dict[str, Any]) -> PlayerConfig:
    """Returns a checked config of a player, as `config_from_dict`."""
    return _checked(PlayerConfig, data)


def _checked(kind: type, data: dict[str, Any]) -> Any:
    data = dict(data)
    game = data.pop("game", {})
    if isinstance(game, str):
        game = {"name": game}
    if not isinstance(game, dict) or not isinstance(game.get("name", ""), str):
        raise UserError('game must be a table with the game\'s name: [game] name = "..."')
    options = {k: v for k, v in game.items() if k != "name"}
    name = game.get("name", GameConfig.name)
    data["game"] = GameConfig(name, _options(options, "game"))
    try:
        return _build(kind, data, "")
    except UserError:
        raise
    except (RecursionError, ValueError) as error:  # a message quotes the value
        raise UserError("a value is nested too deeply, or an integer is too long") from error


def config_to_dict(config: Any) -> dict[str, Any]:
    """Returns a config, or a section of one, as nested dicts of plain values, as TOML and JSON."""
    if isinstance(config, GameConfig):
        return {"name": config.name, **dict(config.options)}
    hints = typing.get_type_hints(type(config))
    return {key: _plain(getattr(config, key), hint) for key, hint in hints.items()}


def _plain(value: Any, hint: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return config_to_dict(value)
    if hint == Options:
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def _build(cls: type, data: dict[str, Any], prefix: str) -> Any:
    """Makes a dataclass `cls` from a dict; the message about a mistake names the key."""
    hints = typing.get_type_hints(cls)
    values = {}
    for key, value in data.items():
        if key not in hints:
            near = difflib.get_close_matches(key, hints, n=1, cutoff=0.5)
            advice = (
                f"did you mean {prefix}{near[0]}?" if near else f"valid keys: {', '.join(hints)}"
            )
            raise UserError(f"unknown key {prefix}{key}; {advice}")
        if dataclasses.is_dataclass(hints[key]) and not dataclasses.is_dataclass(value):
            if not isinstance(value, dict):
                raise UserError(f"{prefix}{key} must be a table, [{prefix}{key}]")
            values[key] = _build(hints[key], value, f"{prefix}{key}.")
        else:
            values[key] = _typed(value, hints[key], prefix + key)
    return cls(**values)


def _options(values: dict[str, Any], name: str) -> Options:
    """Returns a table of options, whose names the user chose."""
    for key, value in values.items():
        if not isinstance(value, Option):
            raise UserError(f"{name}.{key} must be a number, a string or a boolean")
        _check_size(value, f"{name}.{key}")
        if isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"{name}.{key} = {value} must be a finite number")
    return tuple(sorted(values.items()))


def _typed(value: Any, hint: Any, name: str) -> Any:
    """Returns `value` as the type `hint`, or raises a UserError about the key `name`."""
    _check_size(value, name)
    if isinstance(value, jax.core.Tracer):
        if hint is not float:
            raise UserError(must_be_plain(name))
        return value
    if hint == Options:
        if not isinstance(value, dict | tuple):
            raise UserError(f"{name} = {_shown(value)} must be a table")
        return _options(dict(value), name)
    origin = typing.get_origin(hint)
    if origin is Literal:
        choices = typing.get_args(hint)
        if value in choices:
            return value
        raise UserError(
            f"{name} = {_shown(value)} must be one of {', '.join(map(_shown, choices))}"
        )
    if origin is tuple:
        item = typing.get_args(hint)[0]
        if isinstance(value, list | tuple):
            return tuple(_typed(v, item, name) for v in value)
        raise UserError(f"{name} = {_shown(value)} must be a list")
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise UserError(f"{name} = {value} must be a finite number")
        return float(value)
    if isinstance(hint, type | types.GenericAlias) and type(value) is hint:
        return value
    if dataclasses.is_dataclass(value):
        return value
    raise UserError(f"{name} = {_shown(value)} must be {_KINDS[hint]}")


def _shown(value: Any) -> str:
    """Returns a value nearly as TOML writes it."""
    return json.dumps(value, default=str, ensure_ascii=False)


def _check_size(value: Any, name: str) -> None:
    """Raises a UserError for an integer that TOML does not have. Python may not even print it."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise UserError(f"{name} must be between -2**63 and 2**63 - 1")


def _merge(data: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(data)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(value, dict):
            merged[key] = _merge(old if isinstance(old, dict) else {}, value)
        else:
            merged[key] = value
    return merged
