// Two engines with one interface:
//   look(moves) -> {player, over, returns, value, view, moves: [{action, name, clicks}]}
//   think(moves, simulations, report) -> {action, visits, value, line, simulations, ms}, or null
//     where a later call came in between
// Values are player 0's.

/** The search in this browser. `files` are URLs, or the files themselves, gzipped, as base64. */
export async function browserEngine(game, files) {
  // A classic worker: browsers start no module from inside a page that came from a disk.
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
    for (const call of waiting.values()) call.reject(new Error(event.message ?? "no worker"));
  };
  const [runtime, wasm, model] = await Promise.all([
    files.runtime(),
    files.wasm(),
    files.model(),
  ]);
  await ask("open", [game, { runtime, wasm, model }]);
  return {
    look: (moves) => ask("look", [moves]),
    think: (moves, simulations, report) => ask("think", [moves, simulations], report),
  };
}

/** The search on the server that the page came from. */
export function serverEngine() {
  let last = 0;
  const post = async (path, body) => {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }).catch(() => {
      throw new Error("the server does not answer; is azjax play still running?");
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  };
  return {
    look: (moves) => post("api/look", { moves }),
    async think(moves, simulations) {
      const call = ++last;
      const answer = await post("api/think", { moves, simulations });
      return call === last ? answer : null;
    },
  };
}

const scriptUrl = (bytes) =>
  URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));

/** Files beside the page. The runtime is imported by its URL, the others are fetched. */
export function filesBeside(names) {
  const url = (name) => new URL(name, document.baseURI).href;
  const fetched = async (name) => {
    const response = await fetch(url(name)).catch(() => null);
    if (response?.ok) return new Uint8Array(await response.arrayBuffer());
    throw new Error(
      location.protocol === "file:"
        ? "a browser opens this folder from a web server only: python3 -m http.server"
        : `${name} is missing`,
    );
  };
  return {
    worker: async () => url(names.worker),
    runtime: async () => url(names.runtime),
    wasm: () => fetched(names.wasm),
    model: () => fetched(names.model),
  };
}

/** Files inside the page, in script elements: gzipped, as base64. */
export function filesInside(names) {
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
  };
}
