"""Parts of a run that are the user's own: found by name as games are, or handed over."""

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from azjax_envs import make
from azjax_envs.registry import import_module

from azjax.config.schema import Config, Options
from azjax.config.toml import load_config
from azjax.errors import UserError

_KEYS = {  # where a config names the parts
    "network": ("network", "module"),
    "optimizer": ("learning", "optimizer"),
    "loss": ("learning", "loss"),
    "search": ("search", "module"),
    "replay": ("replay", "module"),
    "targets": ("learning", "targets"),
}


def resolve_custom(name: str, given: Any, *, key: str, argument: str) -> Any:
    """Returns a part of the user's own; None if azjax's own is to be used.

    Args:
      name: what the config says: "" for azjax's own part, "module:Name", or `given_name`.
      given: the object that was handed over, if one was.
      key: the config's key, and `argument` the argument that takes the object, for the messages.

    Raises:
      UserError: the name leads nowhere, or the object must be handed over.
    """
    if given is not None or not name:
        return given
    if ":" not in name:
        raise UserError(
            f"{key} = {name!r} was handed over as an object in Python, so it must be again: "
            f"{argument}=... ; to load it by name, set {key} to module:Name"
        )
    module_name, _, attribute = name.partition(":")
    try:
        module = import_module(module_name)
    except (ImportError, SyntaxError) as error:
        raise UserError(f"{key}: cannot import {module_name!r}: {error}") from error
    found = getattr(module, attribute, None)
    if not callable(found):
        raise UserError(f"{key}: {module_name!r} has no function or class {attribute!r}")
    return found


def given_name(part: Any) -> str:
    """Returns how a config names an object that was handed over: "<my_net.Transformer>"."""
    named = part if hasattr(part, "__qualname__") else type(part)
    return f"<{named.__module__}.{named.__qualname__}>"


def with_given(config: Config, **parts: Any) -> Config:
    """Returns the config that names the parts of a run which were handed over as objects.

    They are `network`, `optimizer`, `loss`, `search`, `replay` and `targets`; None where the
    config's own is used.
    """
    for name, part in parts.items():
        if part is not None:
            section, key = _KEYS[name]
            named = replace(getattr(config, section), **{key: given_name(part)})
            config = replace(config, **{section: named})
    return config


def resume_command(run_dir: str | Path) -> str:
    """Returns what continues a run: a command, or a call in Python if parts of it are objects."""
    objects = _objects(run_dir)
    given = ", ".join(f"{name}=..." for name in objects)
    call = f"azjax.resume({str(run_dir)!r}, {given})"
    return call if objects else f"azjax resume {quote(str(run_dir))}"


def report_command(run_dir: str | Path) -> str:
    """Returns what measures a run, as `resume_command`."""
    objects = [name for name in _objects(run_dir) if name in ("game", "network", "search")]
    given = ", ".join(f"{name}=..." for name in objects)
    call = f"azjax.evaluation.run_report.report_run({str(run_dir)!r}, {given})"
    return call if objects else f"azjax report {quote(str(run_dir))}"


def _objects(run_dir: str | Path) -> list[str]:
    """Returns which parts of a run no name leads to; none if it has no config."""
    try:
        config = load_config(Path(run_dir) / "config.toml")
    except UserError:
        return []
    names = {name: getattr(getattr(config, a), b) for name, (a, b) in _KEYS.items()}
    objects = [name for name, part in names.items() if part.startswith("<")]
    try:
        make(config.game.name, **dict(config.game.options))
    except (ValueError, TypeError, ImportError):
        return ["game", *objects]
    return objects


def call_custom(part: Any, *arguments: Any, options: Options, key: str, **more: Any) -> Any:
    """Calls a user's function with the options of the config; its TypeError becomes a UserError."""
    try:
        return part(*arguments, **more, **dict(options))
    except TypeError as error:
        raise UserError(f"{key}: {error}") from error
