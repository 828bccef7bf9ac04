import pytest

from azjax.running import loop as train_module
from tests import tiny


@pytest.fixture
def compile_once(monkeypatch):
    monkeypatch.setattr(train_module, "make_trainer", tiny.shared_make_trainer)


@pytest.fixture
def ahead(compile_once, monkeypatch):
    """Lets the loop start the next cycle early, as it does where steps are asynchronous."""

    def make_asynchronous(*arguments, **parts):
        return tiny.replace(tiny.shared_make_trainer(*arguments, **parts), asynchronous=True)

    monkeypatch.setattr(train_module, "make_trainer", make_asynchronous)
