"""`python -m benchmarks.record`: parts that fail alone, and what becomes of their figures."""

import dataclasses
import gzip
import json
from pathlib import Path

import jax
import pytest

from azjax.config.toml import shipped_configs
from azjax.errors import UserError
from benchmarks.record.__main__ import main
from benchmarks.record.parts import KINDS, one_line
from benchmarks.record.record import Part, RecordBenchmark, markdown
from benchmarks.record.trace import kernel_table, profile


def lane(name):
    return {"name": "thread_name", "pid": 1, "tid": name, "args": {"name": name}}


def event(start, length, name, tid="Stream #1(Compute)", **args):
    return {"ph": "X", "pid": 1, "tid": tid, "ts": start, "dur": length, "name": name, "args": args}


def test_kernels_of_a_gpu():
    on_host = event(0, 900, "call", tid="python", hlo_op="call")
    kernels = [event(10, 2, "gemm_1"), event(13, 4, "gemm_2"), event(27, 3, "loop_add.7")]
    events = [lane("Stream #1(Compute)"), lane("python"), on_host, *kernels]
    table = kernel_table(events)
    assert (table["span in ms"], table["kernels"], table["mean kernel in us"]) == (0.02, 3, 3)
    assert table["busy"] == 9 / 20
    assert (table["gaps over 5 us"], table["these in ms"]) == (1, 0.01)
    assert [row[:2] for row in table["top"]] == [["gemm", 2], ["loop_add", 1]]


def test_kernels_of_a_cpu_may_overlap():
    events = [event(0, 10, "while", hlo_op="while"), event(2, 4, "dot", hlo_op="dot")]
    table = kernel_table([*events, event(50, 10, "python")])
    assert (table["kernels"], table["busy"], table["median gap in us"]) == (2, 1, 0)


def test_a_profiler_without_a_trace(monkeypatch):
    with pytest.raises(UserError, match="no kernels"):
        kernel_table([lane("python")])
    monkeypatch.setattr(jax.profiler, "start_trace", lambda folder: None)
    monkeypatch.setattr(jax.profiler, "stop_trace", lambda: None)
    with pytest.raises(UserError, match="written no trace"):
        profile(lambda: None)

    def start(folder):
        events = [event(0, 2, "add", hlo_op="add")]
        text = json.dumps({"traceEvents": events}).encode()
        (Path(folder) / "host.trace.json.gz").write_bytes(gzip.compress(text))

    monkeypatch.setattr(jax.profiler, "start_trace", start)
    assert profile(lambda: None)["kernels"] == 1


def test_reasons_are_one_line():
    found = one_line(RuntimeError("RESOURCE_EXHAUSTED: Out of memory\nwhile trying"))
    assert found.startswith("the device has not enough memory: RESOURCE_EXHAUSTED")
    assert "\n" not in found
    assert len(one_line("x" * 999)) == 300


def test_the_table_has_a_line_for_each_part():
    table = {"kernels": 3, "busy": 0.5, "top": [["gemm", 1200, 3.5]]}
    parts = {
        "rules go_9x9": {"summary": "equal", "note": "pgx is not installed", "seconds": 3.0},
        "train go_9x9": {"summary": "20 ms", "problem": "stopped\nhere", "profile": table},
        "machine": {},
    }
    text = markdown({"parts": parts})
    assert "| rules go_9x9 | equal; pgx is not installed | 3.0 |" in text
    assert "| train go_9x9 | 20 ms; stopped here |  |" in text
    assert "| machine | nothing was measured |  |" in text
    assert "| gemm | 1,200 | 3.5 |" in text


def test_parts_have_kinds_and_configs_that_exist(tmp_path):
    for quick in (False, True):
        parts = RecordBenchmark(tmp_path, quick=quick).parts()
        assert {part.kind for part in parts} == KINDS.keys()
        assert (parts[0].kind, parts[-1].kind) == ("machine", "training")
        trained = {part.names[0] for part in parts if part.kind in ("train", "training")}
        assert trained <= shipped_configs().keys()


def test_mistakes_are_refused(tmp_path, capsys, monkeypatch):
    def refused(*words):
        monkeypatch.setattr("sys.argv", ["record", "--out", str(tmp_path), *words])
        assert main() == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    assert "must be positive" in refused("--minutes", "0")
    assert "no such file" in refused("--train", "nothing")
    (tmp_path / "record.json").touch()
    assert "not empty" in refused()


@dataclasses.dataclass(frozen=True)
class Failing(RecordBenchmark):
    """Parts of which some fail."""

    def parts(self):
        return [
            Part("machine", (), 120),
            Part("rules", ("tic_tac_two",), 120),
            Part("search", ("connect_four",), 5.1),
            Part("graphs", ("connect_four",), 120),
            Part("peers", ("pgx",), 120),
            Part("no_such_part", (), 120),
            Part("training", ("tic_tac_toe",), 0),
        ]


@pytest.mark.slow
def test_a_part_that_fails_ends_alone(tmp_path, capsys):
    Failing(tmp_path, quick=True).run()
    record = json.loads((tmp_path / "record.json").read_text())["parts"]
    assert "jax" in record["machine"]["summary"]
    assert record["machine"]["platform"] == "cpu"
    problems = {name: figures.get("problem", "") for name, figures in record.items()}
    assert "did you mean 'tic_tac_toe'" in problems["rules tic_tac_two"]
    assert problems["search connect_four"] == "stopped at its time limit"
    assert "without an NVIDIA GPU" in problems["graphs connect_four"]
    assert "not asked for by --peers" in problems["peers pgx"]
    assert "no_such_part" in problems["no_such_part"]
    assert "no time left" in problems["training tic_tac_toe"]
    assert all("\n" not in problem for problem in problems.values())
    printed = capsys.readouterr().out
    assert (tmp_path / "record.md").read_text() in printed
    assert f"Send {tmp_path / 'record.json'}" in printed


@dataclasses.dataclass(frozen=True)
class SideBySide(RecordBenchmark):
    """Parts that compile at the same time, of which two cannot be measured."""

    def side_by_side(self):
        return True

    def parts(self):
        return [
            Part("machine", (), 120),
            Part("rules", ("tic_tac_toe",), 120),
            Part("rules", ("tic_tac_two",), 120),
            Part("graphs", ("connect_four",), 120),
            Part("training", ("tic_tac_toe",), 0),
        ]


@pytest.mark.slow
def test_parts_that_compile_side_by_side(tmp_path, capsys):
    SideBySide(tmp_path, quick=True, minutes=10).run()
    record = json.loads((tmp_path / "record.json").read_text())["parts"]
    assert "steps/s" in record["rules tic_tac_toe"]["summary"]
    assert "did you mean 'tic_tac_toe'" in record["rules tic_tac_two"]["problem"]
    assert "without an NVIDIA GPU" in record["graphs connect_four"]["problem"]
    assert "3 have compiled" in capsys.readouterr().out


@pytest.mark.slow
def test_parts_that_do_not_compile_in_time_are_still_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.record.record._COMPILING", 1e-4)
    SideBySide(tmp_path, quick=True, minutes=10).run()
    record = json.loads((tmp_path / "record.json").read_text())["parts"]
    assert "steps/s" in record["rules tic_tac_toe"]["summary"]
    assert "0 have compiled" in capsys.readouterr().out


@dataclasses.dataclass(frozen=True)
class Short(RecordBenchmark):
    """The quick record of one game, without the parts that fail above, and without haste."""

    def parts(self):
        *parts, training = super().parts()
        kept = [part for part in parts if part.names in ((), ("tic_tac_toe",))]
        return [*(dataclasses.replace(part, seconds=600) for part in kept), training]


def test_the_quick_record_is_complete(tmp_path):
    Short(tmp_path, quick=True, minutes=30).run()
    record = json.loads((tmp_path / "record.json").read_text())["parts"]
    assert {name.split()[0] for name in record} == KINDS.keys() - {"graphs", "peers"}
    assert not [name for name, figures in record.items() if "problem" in figures]
    assert record["resume tic_tac_toe"]["equal"] is True
    assert record["train tic_tac_toe"]["profile"]["kernels"] > 0
    assert record["training tic_tac_toe"]["cycles"] >= 1
    assert (tmp_path / record["training tic_tac_toe"]["player"]).stat().st_size > 1000
    assert (tmp_path / "metrics.jsonl").stat().st_size > 0
