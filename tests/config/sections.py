"""The tables and keys of a config, and the message about a wrong one."""

import dataclasses
import typing

import pytest

from azjax.config import Config
from azjax.config.toml import config_from_dict
from azjax.errors import UserError


def tables(kind, prefix=""):
    """Returns every table of a config file, including `search.puct` and `search.gumbel`."""
    for name, hint in typing.get_type_hints(kind).items():
        if dataclasses.is_dataclass(hint) and name != "game":
            yield prefix + name, hint
            yield from tables(hint, f"{prefix}{name}.")


SECTIONS = dict(tables(Config))
FIELDS = [
    (section, field.name)
    for section, kind in SECTIONS.items()
    for field in dataclasses.fields(kind)
    if f"{section}.{field.name}" not in SECTIONS
]


def nested(section, values):
    """Returns `{"a": {"b": values}}` for section "a.b"."""
    for name in reversed(section.split(".")):
        values = {name: values}
    return values


def refused(data):
    with pytest.raises(UserError) as caught:
        config_from_dict(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)
