"""A machine's record, in parts that each fail alone."""

import dataclasses
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from azjax.bench.games import GAMES
from azjax.config.toml import load_config, shipped_configs
from azjax.devices.cgroups import usable_cores
from azjax.errors import UserError
from benchmarks.record.parts import CHECKOUT, Settings, file_name
from benchmarks.record.process import Process, most_at_once

_DETERMINISTIC = "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0"
_FAST_TO_COMPILE = "--xla_backend_optimization_level=0"  # on a CPU, where speed does not count
_COMPILING = 0.4  # of the time at most, to compile all parts side by side
_FEWEST_CORES = 4  # with fewer, compiling beforehand saves nothing
_SAVING = 30.0  # seconds, of a training's player
_SHORTEST = 5.0  # seconds; a part with less is left out


@dataclasses.dataclass(frozen=True)
class Part:
    """One part: what it measures, and how long it may take."""

    kind: str
    names: tuple[str, ...]
    seconds: float
    flags: str = ""  # of XLA, on GPUs

    @property
    def title(self) -> str:
        """How the table names the part."""
        return " ".join((self.kind, *self.names))


@dataclasses.dataclass(frozen=True)
class _Host:
    programs: str  # the folder of compiled programs
    on_gpu: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the parts, where the user has not set them."""
        return {
            "JAX_COMPILATION_CACHE_DIR": self.programs,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
        }


@dataclasses.dataclass(frozen=True)
class RecordBenchmark:
    """The record of a machine: rules, searches, cycles, profiles and a training, in one command.

    Each part is a process with a time limit. What it finds is written at once, so that nothing is
    lost when a part fails. With four cores or more, all parts compile side by side. Then each waits
    for its turn to be timed alone.
    """

    out: Path
    """The folder of the record, empty or new."""
    minutes: float = 8.0
    """Time for everything; the training takes what the other parts leave."""
    quick: bool = False
    """All parts with small sizes, in five minutes on a CPU."""
    peers: bool = False
    """Measure pgx's recipe as well, by `benchmarks/peers`; it needs pgx."""
    train: str = ""
    """Config of the training: a file or a name; gpu/connect_four by default."""

    def run(self) -> None:
        """Makes the record and prints it.

        Raises:
          UserError: the folder is not empty, or the time is not positive.
        """
        if self.minutes <= 0:
            raise UserError("--minutes must be positive")
        if self.train:
            load_config(self.train)
        if self.out.exists() and any(self.out.iterdir()):
            raise UserError(f"{self.out}: the folder is not empty; name a new one")
        for folder in ("parts", "logs"):
            (self.out / folder).mkdir(parents=True, exist_ok=True)
        self._run_all(time.monotonic() + 60 * self.minutes)
        print(markdown(self.join()))
        print(f"\nSend {self.out / 'record.json'}: see docs/accelerators.md")

    def _run_all(self, end: float) -> None:
        """Runs all parts until a time, by `time.monotonic`."""
        first, *rest = self.parts()
        waiting: dict[str, Process] = {}
        with tempfile.TemporaryDirectory() as programs:
            host = _Host(programs)
            try:
                platform = self._time(first, end, host).get("platform")
                host = dataclasses.replace(host, on_gpu=platform == "gpu")
                if self.side_by_side():
                    waiting = self._compile(rest[:-1], end, host)
                ready = {title for title, process in waiting.items() if process.waits}
                *others, training = rest
                # A part that still compiles must not take the time of those that have.
                for part in [*sorted(others, key=lambda x: x.title not in ready), training]:
                    self._time(part, end, host, waiting.pop(part.title, None))
            except KeyboardInterrupt:
                print("interrupted; the record holds what was measured", file=sys.stderr)
            finally:
                for process in waiting.values():
                    process.stop()

    def side_by_side(self) -> bool:
        """Returns whether the parts compile at the same time."""
        return usable_cores() >= _FEWEST_CORES and not self.quick

    def parts(self) -> list[Part]:
        """Returns the parts, the cheapest and most valuable first, and the training last."""
        games, searched = (*GAMES, "gardner_chess", "chess", "shogi"), ("connect_four", "chess")
        on_accelerators = sorted(x for x in shipped_configs() if x.startswith("gpu/"))
        configs, trained = ("connect_four", *on_accelerators), "gpu/connect_four"
        if self.quick:
            games, searched = ("tic_tac_toe", "connect_four"), ("tic_tac_toe",)
            configs = (trained := "tic_tac_toe",)
        return [
            Part("machine", (), 60),
            *(Part("rules", (name,), 90) for name in games),
            *(Part("search", (name,), 90) for name in searched),
            *(Part("train", (name,), 180) for name in configs),
            Part("graphs", ("connect_four",), 60),
            *(Part("peers", (name,), 120) for name in ("azjax", "pgx")),
            Part("resume", (configs[0],), 180, _DETERMINISTIC),
            Part("training", (self.train or trained,), 20 if self.quick else 60 * self.minutes),
        ]

    def join(self) -> dict[str, Any]:
        """Writes `record.json` and `record.md` from what the parts have written, and returns it."""
        record: dict[str, Any] = {"benchmark": "python -m benchmarks.record", "parts": {}}
        for part in self.parts():
            figures = _read(self.out / "parts" / f"{file_name(part.kind, *part.names)}.json")
            if figures:
                record["parts"][part.title] = figures
        (self.out / "record.json").write_text(json.dumps(record, indent=1) + "\n")
        (self.out / "record.md").write_text(markdown(record) + "\n")
        return record

    def _compile(self, parts: list[Part], end: float, host: _Host) -> dict[str, Process]:
        """Starts parts side by side, and pauses those that have not compiled in time."""
        limit = _COMPILING * (end - time.monotonic())
        print(f"compiling {len(parts)} parts side by side, {limit:.0f} s at most", flush=True)
        stop = time.monotonic() + limit
        left = parts[::-1][-most_at_once() :]  # trainings first, since they compile longest
        started: dict[str, Process] = {}
        try:
            while time.monotonic() < stop:
                compiling = [process for process in started.values() if not process.waits]
                if not left and not compiling:
                    break
                if left and len(compiling) < usable_cores():
                    part = left.pop(0)
                    started[part.title] = self._start(part, stop + part.seconds, host, waits=True)
                time.sleep(0.05)
        except BaseException:
            for process in started.values():
                process.stop()
            raise
        late = [process for process in started.values() if not process.waits]
        for process in late:
            process.pause()
        spent = limit - stop + time.monotonic()
        print(f"{len(started) - len(late)} have compiled after {spent:.0f} s", flush=True)
        return started

    def _time(
        self, part: Part, end: float, host: _Host, waiting: Process | None = None
    ) -> dict[str, Any]:
        """Runs one part alone, or lets it go on that has compiled, and returns its figures."""
        left = end - time.monotonic()
        is_training = part.kind == "training"  # which ends by itself, and then saves its player
        seconds = min(part.seconds, left - _SAVING if is_training else left)
        started = time.monotonic()
        file = self._file(part)
        if waiting is not None and waiting.failed:  # beside the others; now it is alone
            waiting = None
        if waiting is not None and waiting.ended:
            problem: str | None = None
        elif seconds < _SHORTEST:
            problem = "left out, since there was no time left"
        else:
            process = waiting or self._start(part, seconds, host)
            try:
                process.go_on()
                problem = process.join(seconds + (2 * _SAVING if is_training else 0))
            finally:
                process.stop()
        figures = _read(file) or {"part": part.title}
        if problem and "problem" not in figures:
            figures["problem"] = problem
        figures["seconds"] = round(time.monotonic() - started, 1)
        file.write_text(json.dumps(figures, indent=1))
        self.join()
        print(f"{part.title}: {_line(figures)}", flush=True)
        return figures

    def _start(self, part: Part, seconds: float, host: _Host, *, waits: bool = False) -> Process:
        """Starts a part; if it `waits`, it goes on until everything is compiled."""
        turn = f"{host.programs}/{file_name(part.kind, *part.names)}" if waits else ""
        settings = Settings(
            str(self.out), quick=self.quick, peers=self.peers, seconds=seconds, turn=turn
        )
        environment = host.environment | dict(os.environ)
        flags = part.flags if host.on_gpu else _FAST_TO_COMPILE if self.quick else ""
        environment["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} {flags}".strip()
        paths = (str(CHECKOUT), environment.get("PYTHONPATH", ""))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        if waits:
            environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # several share the device
        facts = json.dumps(dataclasses.asdict(settings))
        words = [sys.executable, "-m", "benchmarks.record.part", facts, str(self._file(part))]
        log = self.out / "logs" / f"{file_name(part.kind, *part.names)}.txt"
        return Process([*words, part.kind, *part.names], environment, log, turn)

    def _file(self, part: Part) -> Path:
        return self.out / "parts" / f"{file_name(part.kind, *part.names)}.json"


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.exists() else {}


def _line(figures: dict[str, Any]) -> str:
    said = [figures.get(key) for key in ("summary", "note", "problem")]
    return "; ".join(text for text in said if text) or "nothing was measured"


def markdown(record: dict[str, Any]) -> str:
    """Returns a record as tables in Markdown: one line a part, and the kernels of each profile."""
    parts = record["parts"]
    rows = [f"| {x} | {_line(y)} | {y.get('seconds', '')} |" for x, y in parts.items()]
    text = ["| part | result | s |", "|---|---|---|", *(row.replace("\n", " ") for row in rows)]
    for name, figures in parts.items():
        if table := figures.get("profile"):
            facts = (f"{name} {value}" for name, value in table.items() if name != "top")
            text += ["", f"Kernels of {name}: " + ", ".join(facts), ""]
            text += ["| kernel | launches | ms |", "|---|---|---|"]
            text += [f"| {kernel} | {count:,} | {ms} |" for kernel, count, ms in table["top"][:10]]
    return "\n".join(text)
