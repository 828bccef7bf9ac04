// The engine in the browser: the model in ONNX Runtime Web, searched in a worker.
import { boardOf, writeSan } from "./san.js";
import { analyse, follow, makeNode, simulate } from "./search.js";

const ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
};
const PAUSE_MS = 40; // time between two checks for messages
const MAX_MS = 20000; // for one search

let ort, session, game, start;
let setUp; // opens the model that sets up positions, once
let chosen = {}; // the latest position that was set up, and the promise of its node
let calls = 0; // a later call stops an earlier search

/** The facts after each of at most `game.lanes` pairs of a state and an action, -1 for no move. */
async function evaluate(asked, outputs = game.searched) {
  const lanes = Array.from({ length: game.lanes }, (_, i) => asked[i] ?? [asked[0][0], -1]);
  const moves = Int32Array.from(lanes, ([, action]) => action);
  const feeds = { action: new ort.Tensor("int32", moves, [game.lanes]) };
  game.state.forEach(({ name, dtype, shape }, i) => {
    const size = lanes[0][0][i].length;
    const data = new ARRAYS[dtype](game.lanes * size);
    lanes.forEach(([state], lane) => data.set(state[i], lane * size));
    feeds[name] = new ort.Tensor(dtype, data, [game.lanes, ...shape]);
  });
  const out = await session.run(feeds, outputs);
  return asked.map((_, lane) => {
    const part = (name) => {
      const size = out[name] && out[name].data.length / game.lanes;
      return out[name]?.data.slice(lane * size, (lane + 1) * size);
    };
    return {
      state: game.next.map(part),
      player: part("player")[0],
      over: part("over")[0] === 1,
      returns: part("returns"),
      legal: part("legal"),
      prior: part("prior"),
      chance: part("chance"),
      value: part("value")[0],
      view: part("view"),
      clicks: part("clicks"),
      parts: part("parts"),
      score: part("score"),
      winning: part("winning"),
    };
  });
}

const script = (bytes) => new Blob([bytes], { type: "text/javascript" });

/** The text of an action, or of an outcome of chance; the facts of the position are not always needed. */
function nameOf(action, facts) {
  if (facts && action >= facts.legal.length) return game.outcomes[action - facts.legal.length];
  if (game.actions) return game.actions[action];
  const rowOf = (numbers, width) => [...numbers.slice(width * action, width * (action + 1))];
  if (game.parts) return rowOf(facts.parts, facts.parts.length / facts.legal.length).map((part) => game.parts[part]).join("");
  const [first, then, choice] = rowOf(facts.clicks, 3);
  return game.cells[first] + game.cells[then] + game.choices[choice];
}

/** The clicks of an action; null if it has none, such as a pass. */
function clicksOf(action, { clicks }) {
  const row = [...clicks.slice(3 * action, 3 * action + 3)];
  return row[0] < 0 ? null : row;
}

/** The name of one of the legal moves, as people write it. */
function shown(name, names, view) {
  return game.san ? writeSan(name, boardOf(view), names, Math.sqrt(view.length)) : name;
}

async function describe(node) {
  const [facts] = await evaluate([[node.state, -1]], game.shown);
  const names = node.legal.map((action) => nameOf(action, facts));
  const rolls = node.legal.map((action, i) => ({ action, name: names[i], probability: node.priors[i] }));
  const moves = node.legal.map((action, i) => ({
    action,
    name: names[i],
    shown: game.san ? shown(names[i], names, facts.view) : null,
    clicks: facts.clicks && clicksOf(action, facts),
  }));
  const { player, over, isChance } = node;
  return {
    player,
    over,
    value: isChance ? await valueBefore(node) : node.value,
    moves: isChance ? [] : moves,
    rolls: isChance ? rolls : null,
    returns: [...facts.returns],
    view: [...facts.view],
    score: facts.score ? [...facts.score] : null,
    winning: facts.winning ? [...facts.winning.keys()].filter((cell) => facts.winning[cell]) : null,
  };
}

/** The mean of the values after the rolls. */
async function valueBefore(node) {
  let mean = 0;
  for (let i = 0; i < node.legal.length; i += game.lanes) {
    const rolled = await evaluate(node.legal.slice(i, i + game.lanes).map((action) => [node.state, action]));
    rolled.forEach((facts, lane) => (mean += node.priors[i + lane] * makeNode(facts).value));
  }
  return mean;
}

const openSession = (model) =>
  ort.InferenceSession.create(model, { executionProviders: ["wasm"], logSeverityLevel: 3 }); // errors

/** The node of a position, given by the inputs of the model that sets it up, or of the game's start. */
function nodeOf(position) {
  if (!position) return start;
  const key = JSON.stringify(position);
  if (chosen.key !== key) chosen = { key, node: place(position) };
  return chosen.node;
}

const newNode = async (state) => makeNode((await evaluate([[state, -1]]))[0]);

async function place(position) {
  const feeds = {};
  for (const [name, value] of Object.entries(position)) {
    const numbers = Int32Array.from([value].flat());
    feeds[name] = new ort.Tensor("int32", numbers, Array.isArray(value) ? [numbers.length] : []);
  }
  const out = await (await setUp()).run(feeds);
  if (!out.possible.data[0]) throw new Error(`${game.notation}: the side that is not to move is in check`);
  return newNode(game.state.map(({ name }) => out[name].data));
}

const methods = {
  async open(description, { runtime, wasm, model, setUp: bytes }) {
    let opened;
    [game, setUp] = [description, () => (opened ??= openSession(bytes))];
    // Bytes get a URL here: in a page from a disk, the page's URL would have another origin.
    const url = typeof runtime === "string" ? runtime : URL.createObjectURL(script(runtime));
    ort = await import(url);
    ort.env.wasm.numThreads = 1; // more threads need special HTTP headers
    ort.env.wasm.wasmBinary = wasm;
    ort.env.logLevel = "error";
    session = await openSession(model);
    start = await newNode(game.state.map(({ dtype, initial }) => ARRAYS[dtype].from(initial)));
  },

  async position(from, moves) {
    return describe(await follow(await nodeOf(from), moves, evaluate));
  },

  async search(from, moves, simulations, report) {
    const call = calls;
    const began = performance.now();
    const root = await follow(await nodeOf(from), moves, evaluate);
    if (root.isChance) throw new Error("The dice must be rolled before there is a move to search for.");
    let lastPause = began;
    let done = 0;
    while (done < simulations) {
      done += await simulate(root, evaluate, game.rule, simulations - done);
      const now = performance.now();
      if (now - began > MAX_MS) break;
      if (now - lastPause < PAUSE_MS) continue;
      const found = analyse(root, game.rule);
      // In some games each name takes an evaluation, so the line comes at the end.
      const line = game.actions ? found.line.map(({ action }) => nameOf(action)) : [];
      report({ ...found, line, simulations: done, ms: now - began });
      await new Promise((resume) => setTimeout(resume));
      lastPause = performance.now();
      if (call !== calls) return null;
    }
    const found = analyse(root, game.rule);
    const line = [];
    for (const { node, action } of found.line) {
      const [facts] = game.actions ? [] : await evaluate([[node.state, -1]], game.shown);
      const names = game.san ? node.legal.map((legal) => nameOf(legal, facts)) : [];
      line.push(shown(nameOf(action, facts), names, facts?.view));
    }
    return { ...found, line, simulations: done, ms: performance.now() - began };
  },
};

onmessage = async ({ data: { id, method, args } }) => {
  calls += 1;
  try {
    const result = await methods[method](...args, (progress) => postMessage({ id, progress }));
    postMessage({ id, result });
  } catch (error) {
    postMessage({ id, error: error.message ?? String(error) });
  }
};
