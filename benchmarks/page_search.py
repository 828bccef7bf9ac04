"""Searches of exported pages in Chromium: the time of a search, with one thread and with more.

    azjax web connect_four --out /tmp/today        # and in an earlier checkout --out /tmp/before
    python benchmarks/page_search.py /tmp/before /tmp/today --threads 1 4 --json FILE

Pages search in one thread, because more need HTTP headers that many web servers do not send. Here
they are sent. The pages take turns, each in a browser of its own that stays open. Chromium comes
with Debian, Playwright with `pip install -e '.[dev]'`.
"""

import dataclasses
import functools
import http.server
import json
import os
import statistics
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import tyro
from playwright.sync_api import Page, sync_playwright

_OPEN = """async (names) => {
  const url = (name) => new URL(name, location.href).href;
  const bytes = async (name) => new Uint8Array(await (await fetch(url(name))).arrayBuffer());
  const worker = new Worker(url("worker.js"));
  let last = 0;
  window.ask = (method, args) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      worker.onerror = (event) => reject(new Error(event.message));
      worker.onmessage = ({ data }) => {
        if (data.id !== id || data.progress) return;
        if (data.error === undefined) resolve(data.result);
        else reject(new Error(data.error));
      };
      worker.postMessage({ id, method, args });
    });
  const game = await (await fetch(url("game.json"))).json();
  const [wasm, model] = [await bytes(names.wasm), await bytes("model.onnx")];
  await window.ask("open", [game, { runtime: url(names.runtime), wasm, model }]);
}"""
# The first argument is the position before the moves: none, the start of the game.
_SEARCH = """async (simulations) => {
  const found = await window.ask("search", [null, [], simulations]);
  if (found.simulations !== simulations) throw new Error("the search did not end");
  return found.ms;
}"""
_ISOLATION = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
}


@dataclasses.dataclass(frozen=True)
class Arguments:
    pages: tyro.conf.Positional[tuple[Path, ...]]
    """Folders that `azjax web` wrote."""
    threads: tuple[int, ...] = (1,)
    """Threads of the network's evaluations."""
    simulations: tuple[int, ...] = (64, 400)
    """Simulations of a search."""
    repeats: int = 9
    """Rounds, after one that warms up."""
    chromium: str = "/usr/bin/chromium"
    """The browser."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a page's folder, whose worker then starts as many threads as it is told."""

    def __init__(self, *args: Any, threads: int, **kwargs: Any) -> None:
        self._threads = threads
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:
        if self.path not in ("/worker.js", "/empty.html"):
            return super().do_GET()
        text = ""
        if self.path == "/worker.js":
            text = Path(self.directory, "worker.js").read_text()
            if "numThreads = 1" not in text:
                raise SystemExit(f"{self.directory}: its worker does not set the threads")
            text = text.replace("numThreads = 1", f"numThreads = {self._threads}")
        content = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if text else "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self) -> None:
        for name, value in _ISOLATION.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def main(options: Arguments) -> None:
    cases = [(folder, threads) for folder in options.pages for threads in options.threads]
    times: dict[tuple[Path, int, int], list[float]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=options.chromium, args=["--no-sandbox"]
        )
        opened = [(case, _open(browser.new_page(), *case)) for case in cases]
        for turn in range(options.repeats + 1):
            for case, page in opened:
                for simulations in options.simulations:
                    milliseconds = page.evaluate(_SEARCH, simulations)
                    if turn:
                        times.setdefault((*case, simulations), []).append(milliseconds)
        browser.close()
    rows = []
    for (folder, threads, simulations), found in times.items():
        first = times[(options.pages[0], threads, simulations)]
        ratios = [a / b for a, b in zip(first, found, strict=True)]
        row = {"page": folder.name, "threads": threads, "simulations": simulations}
        row |= {"ms": round(statistics.median(found), 1)}
        row |= {"ratio": round(statistics.median(ratios), 2)}
        row |= {"from": round(min(ratios), 2), "to": round(max(ratios), 2)}
        print(row)
        rows.append(row)
    if options.json is not None:
        facts = {"command": " ".join(sys.argv), "cores": len(os.sched_getaffinity(0))}
        options.json.write_text(json.dumps(facts | {"rows": rows}, indent=2) + "\n")


def _open(page: Page, folder: Path, threads: int) -> Page:
    """Opens an empty document next to a page's files, and its search in a worker."""
    handler = functools.partial(_Handler, threads=threads, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page.goto(f"http://127.0.0.1:{server.server_port}/empty.html")
    (wasm,) = folder.glob("*.wasm")
    (runtime,) = folder.glob("*.mjs")
    page.evaluate(_OPEN, {"wasm": wasm.name, "runtime": runtime.name})
    return page


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
