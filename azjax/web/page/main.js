// The page: one game at a time, as its list of moves. All else is asked of the engine.
import { makeBoard } from "./board.js";
import { showBar, showHistory } from "./chart.js";
import { browserEngine, filesBeside, filesInside, serverEngine } from "./engines.js";

const $ = (id) => document.getElementById(id);
const setup = JSON.parse($("setup").textContent);
const game = setup.game;

let engine;
let board;
let moves = []; // actions since the start
let log = []; // of each: who played, and the move's name
let values = []; // player 0's, by ply, as far as known
let position = null;
let busy = 0; // changes whenever what was being waited for is no longer wanted
let finding = null; // the latest of a search, here or one move ago

const person = () => ({ first: 0, second: 1 })[$("side").value] ?? null;
const near = () => person() ?? 0; // whose chances are shown
const nameOf = (player) =>
  person() === null ? ["First", "Second"][player] : player === person() ? "You" : "The network";

async function refresh() {
  const mine = ++busy;
  const found = await engine.look(moves);
  if (mine !== busy) return;
  position = found;
  values.length = moves.length + 1;
  values[moves.length] ??= position.value;
  const playable = !position.over && position.player === person();
  board.turn(person() === 1);
  board.show(position, { playable, last: moves.at(-1) ?? null });
  showAll();
  if (position.over || playable) return;
  const answer = await think();
  if (answer && mine === busy) await play(answer.action);
}

async function think() {
  const mine = busy;
  document.body.classList.add("thinking");
  try {
    const simulations = +$("level").value;
    const answer = await engine.think(moves, simulations, (found) => {
      if (mine === busy) showFinding(found);
    });
    if (!answer || mine !== busy) return null;
    values[moves.length] = answer.value;
    showFinding(answer);
    return answer;
  } finally {
    if (mine === busy) document.body.classList.remove("thinking");
  }
}

function play(action) {
  const { name } = position.moves.find((move) => move.action === action);
  moves = [...moves, action];
  log = [...log, { player: position.player, name }];
  return refresh();
}

function stop() {
  busy += 1;
  document.body.classList.remove("thinking");
}

function newGame() {
  stop();
  [moves, log, values, finding] = [[], [], [], null];
  return refresh();
}

function undo() {
  stop();
  const mine = log.findLastIndex(({ player }) => player === person());
  const kept = mine >= 0 ? mine : person() === null ? Math.max(log.length - 1, 0) : log.length;
  [moves, log, finding] = [moves.slice(0, kept), log.slice(0, kept), null];
  return refresh();
}

async function hint() {
  if (position.over || position.player !== person()) return;
  const answer = await think();
  if (!answer) return;
  board.draw($("visits").checked ? answer.visits : [], answer.action);
  showAll();
}

function showFinding(found) {
  finding = { ...finding, ...found };
  if ($("visits").checked) board.draw(found.visits, null);
  const value = near() === 0 ? found.value : -found.value;
  showBar($("bar"), value);
  showSearch();
}

function showAll() {
  const sign = near() === 0 ? 1 : -1;
  const known = values[moves.length] ?? position.value;
  showBar($("bar"), sign * (position.over ? position.returns[0] : known));
  showHistory($("history"), values.map((value) => value && sign * value));
  $("near").textContent = person() === null ? "First" : "You";
  $("far").textContent = person() === null ? "Second" : "Network";
  $("undo").disabled = !log.some(({ player }) => player === person());
  $("hint").disabled = position.over || position.player !== person();
  $("status").textContent = status();
  $("status").dataset.over = position.over;
  const rows = log.map(({ player, name }) => `<li class="p${player}">${escaped(name)}</li>`);
  $("moves").innerHTML = rows.join("");
  $("moves").scrollTop = $("moves").scrollHeight;
  showSearch();
}

function showSearch() {
  const line = finding?.line?.map(escaped).join(" ") ?? "";
  $("line").innerHTML = line || "&ndash;";
  if (!finding) return ($("search").textContent = "");
  const seconds = finding.ms ? ` in ${(finding.ms / 1000).toFixed(2)} s` : "";
  $("search").textContent = `${finding.simulations} simulations${seconds}`;
}

function status() {
  if (!position.over) {
    const again = log.at(-1)?.player === position.player ? " again" : "";
    if (position.player === person()) return `Your move${again}`;
    return person() === null ? `${nameOf(position.player)} to move` : "The network is thinking";
  }
  const [first, second] = position.returns;
  if (first === second) return `A draw after ${moves.length} moves`;
  const winner = first > second ? 0 : 1;
  return `${nameOf(winner)} ${nameOf(winner) === "You" ? "win" : "wins"} after ${moves.length} moves`;
}

function escaped(text) {
  const letters = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return text.replace(/[&<>]/g, (letter) => letters[letter]);
}

/** Asks which of several moves with the same clicks is meant; null where none. */
function choose(texts) {
  const dialog = $("choice");
  const buttons = texts.map((text, i) => `<button value="${i}">${escaped(text) || "&ndash;"}</button>`);
  dialog.querySelector("form").innerHTML = buttons.join("");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    const close = () => resolve(dialog.returnValue === "" ? null : +dialog.returnValue);
    dialog.addEventListener("close", close, { once: true });
  });
}

function fail(error) {
  stop();
  $("status").textContent = error.message;
  document.body.classList.add("failed");
}

async function main() {
  for (const { simulations, label } of game.levels) {
    const selected = simulations === game.simulations;
    $("level").add(new Option(label, simulations, selected, selected));
  }
  const guarded = (action) => (event) => Promise.resolve(action(event)).catch(fail);
  $("new").onclick = guarded(newGame);
  $("undo").onclick = guarded(undo);
  $("hint").onclick = guarded(hint);
  $("side").onchange = guarded(() => (stop(), refresh()));
  $("visits").onchange = () => board.draw([], null);
  const onMove = guarded(play);
  board = makeBoard($("board"), $("drawing").innerHTML, { choices: game.choices, onMove, choose });
  const files = setup.inside ? filesInside(setup.inside) : setup.beside && filesBeside(setup.beside);
  engine = files ? await browserEngine(game, files) : serverEngine();
  document.body.classList.remove("loading");
  await refresh();
}

main().catch(fail);
