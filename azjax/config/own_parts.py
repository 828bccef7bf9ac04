"""Parts of a run that are the user's own: found by name as games are, or handed over."""

from dataclasses import replace
from typing import Any

from azjax_envs.registry import import_module

from azjax.config.schema import Config, Options
from azjax.errors import UserError


def own_part(name: str, given: Any, *, key: str, argument: str) -> Any:
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

    They are `network`, `optimizer`, `loss` and `search`; None where the config's own is used.
    """
    keys = {
        "network": ("network", "module"),
        "optimizer": ("learning", "optimizer"),
        "loss": ("learning", "loss"),
        "search": ("search", "module"),
    }
    for name, part in parts.items():
        if part is not None:
            section, key = keys[name]
            named = replace(getattr(config, section), **{key: given_name(part)})
            config = replace(config, **{section: named})
    return config


def call_own(part: Any, *arguments: Any, options: Options, key: str, **more: Any) -> Any:
    """Calls a user's function with the options of the config; its TypeError becomes a UserError."""
    try:
        return part(*arguments, **more, **dict(options))
    except TypeError as error:
        raise UserError(f"{key}: {error}") from error
