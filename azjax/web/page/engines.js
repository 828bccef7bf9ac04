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
  let thinking = new AbortController();
  const next = () => {
    thinking.abort(); // nobody listens any more: the server stops
    return (thinking = new AbortController()).signal;
  };
  const post = async (path, body, signal) => {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    }).catch((error) => {
      if (signal?.aborted) throw error;
      throw new Error("the server does not answer; is azjax play still running?");
    });
    if (!response.ok) throw new Error((await response.json()).error);
    return response;
  };
  return {
    async look(moves) {
      next();
      return (await post("api/look", { moves })).json();
    },
    async think(moves, simulations, report) {
      const signal = next();
      let found = null;
      try {
        const response = await post("api/think", { moves, simulations }, signal);
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
