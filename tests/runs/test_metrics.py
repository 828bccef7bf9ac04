"""The metrics file, TensorBoard's files, and the displayed progress."""

import errno
import io
import json
import math
import struct
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from rich.console import Console
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import RecordWriter

from azjax.errors import UserError
from azjax.runs.compile_time import CompileClock, compile_clock
from azjax.runs.metrics import evaluation_text, read_metrics
from azjax.runs.plots import draw
from azjax.runs.progress_display import ProgressDisplay
from azjax.runs.run_logger import RunLogger


def piped():
    return Console(file=io.StringIO(), width=200)


def terminal():
    return Console(file=io.StringIO(), width=100, force_terminal=True, _environ={"TERM": "xterm"})


def logger(run_dir, console=None, **options):
    return RunLogger(run_dir, total_cycles=10, console=console or piped(), **options)


def tensorboard_events(run_dir):
    """Returns (tag, step, value) of everything in the TensorBoard files, read as TFRecords."""
    found = []
    for path in sorted((run_dir / "tensorboard").iterdir()):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            event = Event.FromString(data[at + 12 : at + 12 + size])
            found += [(v.tag, event.step, v.simple_value) for v in event.summary.value]
            at += 12 + size + 4
    return found


def test_lines_are_strict_json_and_on_disk_at_once(tmp_path):
    with logger(tmp_path) as log:
        log.cycle(
            1, {"train/loss": math.nan, "selfplay/plies": np.float32(64), "train/updates": math.inf}
        )
        text = (tmp_path / "metrics.jsonl").read_text()
        line = json.loads(text, parse_constant=pytest.fail)  # no bare NaN or Infinity
        assert text.endswith("\n")
        assert line.pop("time_s") >= 0
        assert line == {
            "kind": "cycle",
            "cycle": 1,
            "train/loss": None,
            "selfplay/plies": 64.0,
            "train/updates": None,
        }


def test_tensorboard_holds_the_same_numbers(tmp_path):
    with logger(tmp_path) as log:
        log.cycle(1, {"train/policy_loss": 0.5, "selfplay/game_length": math.nan})
        log.evaluation(1, {"opponent": 'gtp:"gnugo --mode gtp"', "score": 0.75, "elo": math.inf})
    assert tensorboard_events(tmp_path) == [
        ("train/policy_loss", 1, 0.5),
        ("eval/gtp_gnugo_--mode_gtp_/score", 1, 0.75),
    ]


def test_a_resumed_run_reads_as_one(tmp_path):
    with logger(tmp_path) as log:
        for cycle in (1, 2, 3):
            log.cycle(cycle, {"selfplay/plies": 1.0})
            log.evaluation(cycle, {"mistakes": 10 - cycle, "positions": 10})
        log._progress._zero -= 100  # a hundred seconds went by
        log.cycle(4, {"selfplay/plies": 1.0})
    with logger(tmp_path, first_cycle=2) as log:
        log.cycle(3, {"selfplay/plies": 2.0})
    lines = read_metrics(tmp_path)
    seen = [(line["kind"], line["cycle"], line.get("selfplay/plies")) for line in lines]
    assert seen == [
        ("cycle", 1, 1.0),
        ("eval", 1, None),
        ("cycle", 2, 1.0),
        ("eval", 2, None),
        ("cycle", 3, 2.0),  # and nothing from after the first cycle 2
    ]
    times = [line["time_s"] for line in lines]
    assert times == sorted(times)
    assert times[-1] >= 100
    assert times[-2] < 100


def test_a_run_that_starts_again_reads_as_one(tmp_path):
    for plies in (1.0, 2.0):
        with RunLogger(tmp_path, total_cycles=3, machine="cpu", console=Console(quiet=True)) as log:
            log.evaluation(0, {"mistakes": 9, "positions": 10})
            for cycle in (1, 2) if plies == 1 else (1,):
                log.cycle(cycle, {"selfplay/plies": plies})
    seen = [(x["kind"], x["cycle"], x.get("selfplay/plies")) for x in read_metrics(tmp_path)]
    assert seen == [("eval", 0, None), ("cycle", 1, 2.0)]


def test_a_line_broken_by_a_crash_is_skipped(tmp_path):
    with logger(tmp_path) as log:
        log.cycle(1, {})
    path = tmp_path / "metrics.jsonl"
    with path.open("a") as file:
        file.write('{"kind": "cycle", "cycle": 2, "ti')
    assert [line["cycle"] for line in read_metrics(tmp_path)] == [1]
    with logger(tmp_path, first_cycle=1) as log:
        log.cycle(2, {})
    assert [line["cycle"] for line in read_metrics(tmp_path)] == [1, 2]
    assert len(path.read_text().splitlines()) == 3
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as some editors save it
    assert [line["cycle"] for line in read_metrics(tmp_path)] == [1, 2]


DAMAGED = [
    b"",
    b"[1]",
    b"[" * 99999,
    b"\xff\xfe",
    b'{"kind": "other", "cycle": 2, "time_s": 1.0}',
    b'{"kind": "cycle", "cycle": "2", "time_s": 1.0}',
    b'{"kind": "cycle", "cycle": 2, "time_s": 1e999}',
    b'{"kind": "cycle", "cycle": 2, "time_s": 1.0, "train/loss": [1]}',
    b'{"kind": "cycle", "cycle": 2, "time_s": 1.0, "train/loss": 1%s}' % (b"0" * 400),
]


def test_damaged_lines_are_left_out_and_counted(tmp_path):
    with logger(tmp_path) as log:
        log.cycle(1, {"train/loss": 1.0})
        log.evaluation(1, {"opponent": "random", "score": 0.5})
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(b"\n".join(DAMAGED) + b"\n")
        # These are lines, but with texts in place of numbers.
        for kind in (b"cycle", b"eval"):
            file.write(
                b'{"kind": "%s", "cycle": 2, "time_s": 2.0, "train/loss": "a", "time/cycle_s": "b"'
                b', "score": "c", "mistakes": "d", "positions": 3}\n' % kind
            )
    console = piped()
    with logger(tmp_path, console, first_cycle=2) as log:
        log.cycle(3, {"train/loss": 1.0})
    assert f"metrics.jsonl: {len(DAMAGED) - 1} damaged lines are left out" in (
        console.file.getvalue()
    )
    assert [line["cycle"] for line in read_metrics(tmp_path)] == [1, 1, 2, 2, 3]
    assert draw(tmp_path)


@pytest.mark.parametrize("method", ["write", "flush"])
def test_without_space_training_goes_on_without_tensorboard(method, tmp_path, monkeypatch):
    def full(self, *arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    console = piped()
    with logger(tmp_path, console) as log:
        log.cycle(1, {"train/loss": 1.0})
        monkeypatch.setattr(RecordWriter, method, full)
        log.cycle(2, {"train/loss": 1.0})
        log.cycle(3, {"train/loss": 1.0})
    said = [line for line in console.file.getvalue().splitlines() if "space" in line]
    assert said == [
        f"{tmp_path / 'tensorboard'}: No space left on device; the run goes on without TensorBoard"
    ]
    assert [line["cycle"] for line in read_metrics(tmp_path)] == [1, 2, 3]


def test_without_space_for_the_metrics_training_stops(tmp_path, monkeypatch):
    def full(text):
        raise OSError(errno.ENOSPC, "No space left on device")

    with logger(tmp_path) as log:
        file = SimpleNamespace(write=full, close=log._loggers[0]._file.close)
        monkeypatch.setattr(log._loggers[0], "_file", file)
        with pytest.raises(UserError, match=r"metrics\.jsonl: No space left on device; training s"):
            log.cycle(1, {})


def test_no_run_is_a_users_mistake(tmp_path):
    with pytest.raises(UserError, match=r"there is no run \(metrics\.jsonl is missing\)"):
        read_metrics(tmp_path)


def test_quiet_writes_and_prints_nothing(tmp_path):
    console = piped()
    with logger(tmp_path, console, quiet=True) as log:
        log.cycle(1, {"selfplay/plies": 1.0})
        log.evaluation(1, {"mistakes": 0, "positions": 1})
        log.note("unheard")
    assert not list(tmp_path.iterdir())
    assert console.file.getvalue() == ""


def test_a_pipe_gets_the_first_and_the_last_cycle_and_few_between(tmp_path):
    console = piped()
    with logger(tmp_path, console) as log:
        for cycle in range(1, 6):
            log.cycle(
                cycle,
                {"selfplay/plies": 400.0, "time/cycle_s": 0.5, "selfplay/game_length": math.nan},
            )
            if cycle == 3:
                log._last_plain -= 11
        log.note("[stopped]")
    lines = console.file.getvalue().splitlines()
    assert [line.split()[1] for line in lines if line.startswith("cycle")] == [
        "1/10",
        "4/10",
        "5/10",
    ]
    assert "[stopped]" in lines
    assert "positions/s 800" in lines[-1]
    assert "\x1b" not in console.file.getvalue()


def test_rates_leave_out_the_cycle_that_compiles(tmp_path):
    console = piped()
    with logger(tmp_path, console) as log:
        log.cycle(
            1, {"selfplay/plies": 100.0, "selfplay/games_finished": 0.0, "time/cycle_s": 60.0}
        )
        log.cycle(
            2, {"selfplay/plies": 100.0, "selfplay/games_finished": 10.0, "time/cycle_s": 0.5}
        )
    assert "positions/s 200" in console.file.getvalue().splitlines()[-1]


def test_the_live_display_keeps_its_height():
    console = terminal()
    progress = ProgressDisplay("run", 10, 0)
    heights = [len(console.render_lines(progress.display()))]
    progress.update(
        1,
        {
            "train/loss": 1.0,
            "selfplay/games_finished": 2.0,
            "selfplay/plies": 9.0,
            "time/cycle_s": 1.0,
        },
    )
    for opponent in ("random", "policy", "another one " * 20):
        progress.evaluated(1, f"against {opponent}")
        heights.append(len(console.render_lines(progress.display())))
    assert heights == [4, 4, 4, 4]


def test_the_live_display_gives_the_terminal_back(tmp_path):
    hide, show = "\x1b[?25l", "\x1b[?25h"
    console = terminal()

    def interrupted():
        with logger(tmp_path, console) as log:
            log.cycle(3, {"train/loss": 1.25, "selfplay/games_finished": 2.0, "time/cycle_s": 1.0})
            log.evaluation(3, {"opponent": "random", "score": 1.0, "elo_low": 100.0})
            assert hide in console.file.getvalue()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    shown = console.file.getvalue()
    assert shown.rindex(show) > shown.rindex(hide)
    for part in ("3/10", "1.250", "games/s", "against random: score 100.0%, Elo above +100"):
        assert part in shown


def test_time_left_follows_from_cycles_that_learn(monkeypatch):
    monkeypatch.setattr(ProgressDisplay, "time_s", lambda self: self._now)
    shown = ProgressDisplay("run", total_cycles=12, first_cycle=0)

    def after(cycle, end, updates):
        shown._now = end
        shown.update(cycle, {"train/updates": updates})
        return shown.plain().split("  ")[1].partition(", ")[2]

    assert after(1, 20.0, 0.0) == "warming up"  # it compiled
    assert after(2, 21.0, 0.0) == "warming up"
    assert after(3, 26.0, 4.0) == "0:00:45 left"  # nine cycles of five seconds
    assert after(4, 33.0, 4.0) == "0:00:48 left"  # eight of six


def test_time_left_leaves_out_compilations(monkeypatch):
    """The evaluation after cycle 3 takes four seconds and compiles for a hundred."""
    monkeypatch.setattr(ProgressDisplay, "time_s", lambda self: self._now)
    compiled = CompileClock()
    monkeypatch.setattr("azjax.runs.progress_display.compile_clock", lambda: compiled)
    shown = ProgressDisplay("run", total_cycles=12, first_cycle=0)

    def after(cycle, end):
        shown._now = end
        shown.update(cycle, {})
        return shown.plain().split("  ")[1].partition(", ")[2]

    after(1, 20.0)
    assert after(2, 26.0) == "0:01:00 left"  # ten cycles of six seconds
    assert after(3, 32.0) == "0:00:54 left"
    compiled.add("/jax/core/compile/backend_compile_duration", 100.0)
    assert after(4, 142.0) == "0:00:59 left"  # eight cycles, each (6 + 6 + 10) / 3 seconds
    assert "0:02:22 elapsed" in shown.plain()


def test_the_compile_clock_counts_nested_spans_once(monkeypatch):
    clock = CompileClock()

    def add(end, seconds, event="/jax/core/compile/jaxpr_trace_duration"):
        monkeypatch.setattr("azjax.runs.compile_time.time.monotonic", lambda: end)
        clock.add(event, seconds)

    for end, seconds in ((3.0, 1.0), (5.0, 1.0), (6.0, 5.0), (9.0, 2.0)):
        add(end, seconds)
    add(20.0, 50.0, event="/jax/something/else")
    assert clock.seconds() == 7.0
    for i in range(2000):
        add(30.0 + i, 0.5)
    assert clock.seconds() == 1007.0


def test_the_compile_clock_runs_while_jax_compiles():
    before = compile_clock().seconds()
    jax.jit(lambda x: x * 3.25 + 17).lower(1.0).compile()
    assert compile_clock().seconds() > before


@pytest.mark.parametrize(
    ("scalars", "text"),
    [
        ({"mistakes": 3, "positions": 4520}, "3 mistakes in 4,520 positions"),
        (
            {"opponent": "a", "score": 0.5, "elo": 0.0, "elo_low": -9.6, "elo_high": 9.6},
            "against a: score 50.0%, Elo +0 [-10, +10]",
        ),
        ({"elo": -math.inf, "elo_low": -math.inf, "elo_high": -300.0}, "Elo below -300"),
        ({"illegal": 2}, "illegal 2"),
    ],
)
def test_evaluations_in_words(scalars, text):
    assert evaluation_text(scalars) == text
