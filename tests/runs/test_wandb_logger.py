"""The logger for Weights & Biases, with the real package, offline."""

import io
import sys

import pytest
from rich.console import Console

import azjax
from azjax.cli import main as cli
from azjax.errors import UserError
from tests import tiny

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    pytest.importorskip("wandb")  # imported here, because that takes seconds
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for name in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"WANDB_{name}_DIR", str(tmp_path / "wandb_home"))


def records(run):
    """Returns what wandb has written: the records of each part of a run, as protobufs."""
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    parts = []
    for file in sorted(run.glob("wandb/offline-run-*/*.wandb")):
        store, part = DataStore(), []
        store.open_for_scan(str(file))
        while (data := store.scan_data()) is not None:
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            part.append(record)
        parts.append(part)
    return parts


def history(part):
    """Returns the logged rows."""
    rows = [record.history.item for record in part if record.WhichOneof("record_type") == "history"]
    return [{"/".join(x.nested_key) or x.key: x.value_json for x in row} for row in rows]


def test_a_run_and_its_continuation(tmp_path, capsys):
    file = tiny.write_config(tmp_path / "a.toml", cycles=2, checkpoint={"every": 2})
    run = tmp_path / "run"
    assert cli.main(["train", str(file), "--run-dir", str(run), "--wandb", "my-project"]) == 0
    (run / "config.toml").write_text(
        (run / "config.toml").read_text().replace("\ncycles = 2\n", "\ncycles = 3\n")
    )
    assert cli.main(["resume", str(run), "--wandb", "my-project"]) == 0
    capsys.readouterr()
    first, second = records(run)
    opened = [
        next(x.run for x in part if x.WhichOneof("record_type") == "run")
        for part in (first, second)
    ]
    assert {x.project for x in opened} == {"my-project"}
    assert {x.display_name for x in opened} == {"run"}
    assert len({x.run_id for x in opened}) == 1
    assert {x.key for x in opened[0].config.update} >= {"game", "learning", "cycles"}
    cycles = [row["cycle"] for part in (first, second) for row in history(part)]
    assert cycles == ["1", "2", "2", "3", "3"]  # with evaluations at the end of each part
    rows = history(first)
    logged = next(x for x in azjax.read_metrics(run) if (x["kind"], x["cycle"]) == ("cycle", 2))
    assert float(rows[1]["train/loss"]) == pytest.approx(logged["train/loss"])
    assert "eval/random/score" in rows[2]


def test_a_refusal_is_one_line(tmp_path, monkeypatch):
    import wandb

    def refuse(**options):
        raise wandb.errors.UsageError("api_key not configured (no-tty).\ncall wandb.login()")

    monkeypatch.setattr(wandb, "init", refuse)
    run = tmp_path / "run"
    logger = azjax.WandbLogger(run, "my-project")
    with pytest.raises(UserError, match=r"^Weights & Biases: api_key not .* WANDB_MODE=offline"):
        azjax.train(tiny.config(), run, loggers=[logger], console=Console(file=io.StringIO()))


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UserError, match=r'pip install "azjax\[wandb\]"'):
        azjax.WandbLogger("run", "my-project")
