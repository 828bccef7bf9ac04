"""What becomes of a test whose program is not there: it is skipped, but fails under continuous
integration (CI is set), which installs them all and would never tell that nothing was tested."""

import os

import pytest

_INSTALLS_ALL = bool(os.environ.get("CI"))


def skip(reason: str) -> None:
    """Called by a test or a fixture that misses something."""
    (pytest.fail if _INSTALLS_ALL else pytest.skip)(reason)


def skip_without(there: object, reason: str) -> pytest.MarkDecorator:
    """Marks tests that fail by themselves without it."""
    return pytest.mark.skipif(not there and not _INSTALLS_ALL, reason=reason)
