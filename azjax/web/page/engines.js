// Two engines with one interface:
//   position(moves, start) -> {player, over, returns, value, view, score, winning,
//     moves: [{action, name, shown, clicks}], rolls: [{action, name, probability}]}; score and winning
//     (cells) are null if the game has none, shown is the name for people if it is another one,
//     otherwise null, and rolls are null or missing unless dice are to be rolled
//   search(moves, simulations, report, start) -> {action, visits, value, line, simulations, ms}, or null
//     if a later call stopped the search
// `start` is the position before the moves as text; "" for the game's own. Values are from player
// 0's perspective.
import { readPosition } from "./notation.js";

/** The search in this browser. `files` gives the files of the engine, as URLs or as bytes. */
export async function browserEngine(game, files) {
  // A classic worker: in a page from a disk, browsers start no module workers.
  const worker = new Worker(await files.worker());
  const waiting = new Map();
  let last = 0;
  worker.onmessage = ({ data: { id, result, error, progress } }) => {
    const call = waiting.get(id);
    if (progress) return call.report?.(progress);
    waiting.delete(id);
    if (error === undefined) call.resolve(result);
    else call.reject(new Error(error));
  };
  const ask = (method, args, report) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject, report });
      worker.postMessage({ id: last, method, args });
    });
  worker.onerror = (event) => {
    for (const call of waiting.values()) call.reject(new Error(event.message ?? "the search could not be started"));
  };
  const [runtime, wasm, model, setUp] = await Promise.all([
    files.runtime(),
    files.wasm(),
    files.model(),
    game.notation && files.setUp(),
  ]);
  await ask("open", [game, { runtime, wasm, model, setUp }]);
  const read = (start) => start && readPosition(start, game.notation, game.cells.length);
  return {
    position: async (moves, start) => ask("position", [read(start), moves]),
    search: async (moves, simulations, report, start) =>
      ask("search", [read(start), moves, simulations], report),
  };
}

/** The search on the server that the page came from. While the server has too much to do, the page
 *  asks again every few seconds; `onBusy` is called each time. */
export function serverEngine(onBusy) {
  let running = new AbortController();
  const next = () => {
    running.abort(); // closes the connection, and the server stops its search
    return (running = new AbortController()).signal;
  };
  const post = async (path, body, signal) => {
    for (;;) {
      const response = await fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal,
      }).catch((error) => {
        if (signal.aborted) throw error;
        throw new Error("The server does not answer. Is azjax play still running?");
      });
      if (response.ok) return response;
      const { error } = await response.json().catch(() => ({}));
      if (response.status !== 503) throw new Error(error ?? `The server answers ${response.status}.`);
      onBusy();
      const seconds = +response.headers.get("Retry-After") || 2;
      await new Promise((resume) => setTimeout(resume, 1000 * seconds));
      signal.throwIfAborted();
    }
  };
  return {
    async position(moves, start) {
      return (await post("api/position", { moves, start }, next())).json();
    },
    async search(moves, simulations, report, start) {
      const signal = next();
      let found = null;
      try {
        const response = await post("api/search", { moves, simulations, start }, signal);
        for await (const line of linesOf(response.body)) report((found = JSON.parse(line)));
      } catch (error) {
        if (error.name === "AbortError") return null;
        throw error;
      }
      return found;
    },
  };
}

async function* linesOf(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    yield* lines;
  }
}

const scriptUrl = (bytes) =>
  URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));

/** Files next to the page. The worker and the runtime are loaded by URL, the others fetched. */
export function separateFiles(names) {
  const url = (name) => new URL(name, document.baseURI).href;
  const fetched = async (name) => {
    const response = await fetch(url(name)).catch(() => null);
    if (response?.ok) return new Uint8Array(await response.arrayBuffer());
    throw new Error(
      location.protocol === "file:"
        ? "This folder needs a web server, for example: python3 -m http.server"
        : `The file ${name} is missing.`,
    );
  };
  return {
    worker: async () => url(names.worker),
    runtime: async () => url(names.runtime),
    wasm: () => fetched(names.wasm),
    model: () => fetched(names.model),
    setUp: () => fetched(names.setUp),
  };
}

/** Files embedded in the page, in script elements: gzipped, as base64. */
export function embeddedFiles(names) {
  const bytes = async (name) => {
    const text = document.getElementById(name).textContent.trim();
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  return {
    worker: async () => scriptUrl(await bytes(names.worker)),
    runtime: () => bytes(names.runtime),
    wasm: () => bytes(names.wasm),
    model: () => bytes(names.model),
    setUp: () => bytes(names.setUp),
  };
}
