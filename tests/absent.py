"""Skips tests whose external program or package is missing.

Under continuous integration (CI is set) they fail instead, because it installs all of them. A
package without a release for this Python is no failure anywhere.
"""

import importlib
import os
import sys
from types import ModuleType

import pytest

_INSTALLS_ALL = bool(os.environ.get("CI"))


def skip(reason: str) -> None:
    """Skips the running test or fixture; fails it under continuous integration."""
    (pytest.fail if _INSTALLS_ALL else pytest.skip)(reason)


def skip_without(there: object, reason: str) -> pytest.MarkDecorator:
    """Returns the mark of tests to skip if something is not `there`."""
    return pytest.mark.skipif(not there and not _INSTALLS_ALL, reason=reason)


def package(name: str, *, unreleased: tuple[int, int], reason: str) -> ModuleType:
    """Imports a package; skips the test module on the Python for which it has no release.

    Args:
      name: the package.
      unreleased: the version of that Python; pyproject.toml leaves the package out there.
      reason: what the package lacks.

    Raises:
      ModuleNotFoundError: the package is missing on another Python.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        if sys.version_info[:2] != unreleased:
            raise
        pytest.skip(reason, allow_module_level=True)
