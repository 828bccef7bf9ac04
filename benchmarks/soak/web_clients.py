"""The local server under many clients: the page must be served in under a second all the same.

    python benchmarks/soak/web_clients.py --json benchmarks/results/web_clients_2_cores.json

The server runs as users start it, `azjax play PLAYER --web`. Idle clients open connections and
send nothing; they open new ones when the server closes them. Searching clients ask for one search
after another, come again when the server is busy, and break off every fourth search. Meanwhile the
page is fetched again and again. All of it is on 127.0.0.1, and ends by itself.
"""

import dataclasses
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import tyro

TIMEOUT_S = 300


@dataclasses.dataclass(frozen=True)
class Arguments:
    player: str = "connect_four"
    """The player that the server serves."""
    idle: int = 50
    """Clients with a connection and no request."""
    searching: int = 50
    """Clients that search."""
    simulations: int = 512
    """Of each search: one of the strengths that the page offers."""
    seconds: float = 60
    """Duration of the test."""
    json: Path | None = None
    """File of the record."""


class Crowd:
    """The clients of a server, each in a thread, until `stop`."""

    def __init__(self, port: int, options: Arguments):
        self.searches = self.broken_off = self.busy = self.reconnections = 0
        self.wrong: list[str] = []
        self._port, self._simulations = port, options.simulations
        self._lock, self._over = threading.Lock(), threading.Event()
        work = [self._idle] * options.idle + [self._search] * options.searching
        self._threads = [threading.Thread(target=self._keep_on, args=[one]) for one in work]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _keep_on(self, work) -> None:
        turn = 0
        while not self._over.is_set():
            try:
                work(turn)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._count("wrong", [f"{type(error).__name__}: {error}"])
                self._over.wait(1)
            turn += 1

    def _count(self, name: str, more) -> None:
        with self._lock:
            setattr(self, name, getattr(self, name) + more)

    def _idle(self, turn: int) -> None:
        with socket.create_connection(("127.0.0.1", self._port), timeout=0.5) as client:
            while not self._over.is_set():
                try:
                    client.recv(1)
                except TimeoutError:
                    continue
                except ConnectionResetError:
                    pass
                self._count("reconnections", 1)
                return

    def _search(self, turn: int) -> None:
        client = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_S)
        try:
            body = json.dumps({"moves": [], "simulations": self._simulations})
            client.request("POST", "/api/search", body, {"Content-Type": "application/json"})
            with client.getresponse() as answer:
                if answer.status == 503:
                    self._count("busy", 1)
                    self._over.wait(float(answer.headers["Retry-After"]))
                elif answer.status != 200:
                    raise ValueError(f"status {answer.status}: {answer.read()[:200]!r}")
                elif turn % 4 == 3:
                    answer.readline()
                    self._count("broken_off", 1)
                else:
                    *_, last = answer
                    if json.loads(last)["simulations"] != self._simulations:
                        raise ValueError(f"a search ended with {last[:200]!r}")
                    self._count("searches", 1)
        finally:
            client.close()


def page_seconds(port: int) -> float:
    """Returns how long the page takes, from the opening of a connection to its last byte."""
    began = time.perf_counter()
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    client.request("GET", "/")
    with client.getresponse() as answer:
        if answer.status != 200 or not answer.read().endswith(b"</html>\n"):
            raise SystemExit("the server did not send the page")
    client.close()
    return time.perf_counter() - began


def memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the system does not tell the memory of a process")


def measure(process: subprocess.Popen, port: int, options: Arguments) -> dict:
    alone = statistics.median(page_seconds(port) for _ in range(5))
    before = memory_mb(process.pid)
    crowd, end, times = Crowd(port, options), time.monotonic() + options.seconds, []
    try:
        while time.monotonic() < end:
            times.append(page_seconds(port))
            time.sleep(0.2)
    finally:
        crowd.stop()
    return {
        "pages": len(times),
        "page_ms_alone": round(1000 * alone, 1),
        "page_ms_median": round(1000 * statistics.median(times), 1),
        "page_ms_longest": round(1000 * max(times), 1),
        "searches": crowd.searches,
        "searches_broken_off": crowd.broken_off,
        "answers_that_the_server_is_busy": crowd.busy,
        "idle_connections_closed_by_the_server": crowd.reconnections,
        "wrong": crowd.wrong[:20],
        "memory_mb_before": round(before, 1),
        "memory_mb_after": round(memory_mb(process.pid), 1),
    }


def main(options: Arguments) -> None:
    command = [sys.executable, "-m", "azjax.cli", "play", options.player, "--web", "--no-browser"]
    with (
        tempfile.TemporaryFile("w+") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline() for _ in range(2)]
            if not lines[1].startswith("play at "):
                stderr.seek(0)
                raise SystemExit(f"the server did not start: {stderr.read()}")
            result = measure(process, int(lines[1].split("/")[2].split(":")[1]), options)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()
        stderr.seek(0)
        result["stderr"] = stderr.read()[:2000]
    record = {
        "command": "python benchmarks/soak/web_clients.py",
        "machine": f"{os.cpu_count()} cores",
        "options": {k: str(v) for k, v in dataclasses.asdict(options).items() if k != "json"},
        "result": result,
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    if result["wrong"] or result["stderr"]:
        raise SystemExit("a client was answered wrongly, or something was written to stderr")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
