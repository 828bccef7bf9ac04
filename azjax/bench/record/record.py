"""`azjax bench record`: a machine's record, in parts that each fail alone."""

import concurrent.futures
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from azjax.bench.games import GAMES
from azjax.bench.record.parts import Settings, file_name, one_line
from azjax.config.toml import load_config, shipped_configs
from azjax.errors import UserError

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
    environment: dict[str, str]  # of the parts
    on_gpu: bool = False
    interrupted: threading.Event = dataclasses.field(default_factory=threading.Event)


@dataclasses.dataclass(frozen=True)
class RecordBenchmark:
    """The record of a machine: rules, searches, cycles, profiles and a training, in one command.

    Each part is a process with a time limit. What it finds is written at once, so that nothing is
    lost when a part fails. All parts compile side by side, and are timed one after the other.
    """

    out: Path
    """The folder of the record, empty or new."""
    minutes: float = 8.0
    """Time for everything; the training takes what the other parts leave."""
    quick: bool = False
    """All parts with small sizes, in five minutes on a CPU."""
    peers: Path | None = None
    """The folder benchmarks/peers of a checkout, to measure pgx's recipe as well."""
    train: str = ""
    """Config of the training: a file or a name; gpu/connect_four by default."""

    def run(self) -> None:
        """Makes the record and prints it.

        Raises:
          UserError: the folder is not empty, or the time is not positive.
        """
        if self.minutes <= 0:
            raise UserError("bench record: --minutes must be positive")
        if self.train:
            load_config(self.train)
        if self.peers and not (self.peers / "pgx_loop.py").exists():
            raise UserError(f"--peers {self.peers}: not the folder benchmarks/peers of a checkout")
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
        with tempfile.TemporaryDirectory() as programs:
            kept = {
                "JAX_COMPILATION_CACHE_DIR": programs,
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
            }
            host = _Host(kept | dict(os.environ))
            try:
                platform = self._time(first, end, host).get("platform")
                host = dataclasses.replace(host, on_gpu=platform == "gpu")
                cores = os.cpu_count() or 1
                if cores >= _FEWEST_CORES and not self.quick:
                    self._compile(rest[:-1], end, cores, host)
                for part in rest:
                    self._time(part, end, host)
            except KeyboardInterrupt:
                host.interrupted.set()
                print("interrupted; the record holds what was measured", file=sys.stderr)

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
        record: dict[str, Any] = {"benchmark": "azjax bench record", "parts": {}}
        for part in self.parts():
            figures = _read(self.out / "parts" / f"{file_name(part.kind, *part.names)}.json")
            if figures:
                record["parts"][part.title] = figures
        (self.out / "record.json").write_text(json.dumps(record, indent=1) + "\n")
        (self.out / "record.md").write_text(markdown(record) + "\n")
        return record

    def _compile(self, parts: list[Part], end: float, cores: int, host: _Host) -> None:
        """Runs all parts at once and drops their figures: their programs stay in the cache."""
        limit = _COMPILING * (end - time.monotonic())
        print(f"compiling {len(parts)} parts side by side, {limit:.0f} s at most", flush=True)
        stop = time.monotonic() + limit
        with (
            tempfile.TemporaryDirectory() as folder,
            concurrent.futures.ThreadPoolExecutor(cores) as pool,
        ):
            waiting = []
            for i, part in enumerate(parts):
                settings = self._settings(part, limit, folder=f"{folder}/{i}", warm=True)
                file = Path(folder) / f"{i}.json"
                logs = self.out / "logs"
                waiting.append(pool.submit(_run, part, settings, file, logs, stop, host))
            try:
                concurrent.futures.wait(waiting)
            except KeyboardInterrupt:
                host.interrupted.set()
                raise

    def _time(self, part: Part, end: float, host: _Host) -> dict[str, Any]:
        """Runs one part alone and returns its figures."""
        left = end - time.monotonic()
        file = self.out / "parts" / f"{file_name(part.kind, *part.names)}.json"
        is_training = part.kind == "training"  # which ends by itself, and then saves its player
        seconds = min(part.seconds, left - _SAVING if is_training else left)
        if seconds < _SHORTEST:
            problem: str | None = "left out, since there was no time left"
        else:
            settings = self._settings(part, seconds, folder=str(self.out))
            stop = time.monotonic() + seconds + (2 * _SAVING if is_training else 0)
            problem = _run(part, settings, file, self.out / "logs", stop, host)
        figures = _read(file) or {"part": part.title}
        if problem and "problem" not in figures:
            figures["problem"] = problem
            file.write_text(json.dumps(figures, indent=1))
        self.join()
        print(f"{part.title}: {_line(figures)}", flush=True)
        return figures

    def _settings(self, part: Part, seconds: float, *, folder: str, warm: bool = False) -> Settings:
        peers = str(self.peers.resolve()) if self.peers else ""
        return Settings(folder, quick=self.quick, warm=warm, peers=peers, seconds=seconds)


def _run(
    part: Part, settings: Settings, file: Path, logs: Path, stop: float, host: _Host
) -> str | None:
    """Runs a part until a time, by `time.monotonic`, and returns its problem in one line."""
    if time.monotonic() > stop:
        return "its time is over"
    environment = dict(host.environment)
    flags = part.flags if host.on_gpu else _FAST_TO_COMPILE if settings.quick else ""
    environment["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} {flags}".strip()
    if settings.warm:
        environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # several processes share the device
    facts = json.dumps(dataclasses.asdict(settings))
    words = [sys.executable, "-m", "azjax.bench.record", facts, str(file), part.kind, *part.names]
    log = logs / f"{file_name(part.kind, *part.names)}{'_compiling' if settings.warm else ''}.txt"
    with open(log, "w") as output:
        process = subprocess.Popen(
            words, stdout=output, stderr=output, env=environment, start_new_session=True
        )
        try:
            while (code := process.poll()) is None:
                if time.monotonic() > stop or host.interrupted.is_set():
                    return "stopped at its time limit"
                time.sleep(0.05)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"ended with code {code}: {one_line(lines[-1] if lines else '')}" if code else None


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
