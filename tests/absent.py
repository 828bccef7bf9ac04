"""Skips tests whose external program is missing.

Under continuous integration (CI is set) they fail instead, because it installs all programs.
"""

import os

import pytest

_INSTALLS_ALL = bool(os.environ.get("CI"))


def skip(reason: str) -> None:
    """Skips the running test or fixture; fails it under continuous integration."""
    (pytest.fail if _INSTALLS_ALL else pytest.skip)(reason)


def skip_without(there: object, reason: str) -> pytest.MarkDecorator:
    """Returns the mark of tests to skip if something is not `there`."""
    return pytest.mark.skipif(not there and not _INSTALLS_ALL, reason=reason)
