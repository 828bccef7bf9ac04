// The page: one game at a time, as its list of moves. All else is asked of the engine.
import { makeBoard } from "./board.js";
import { showBar, showHistory } from "./chart.js";
import { browserEngine, filesBeside, filesInside, serverEngine } from "./engines.js";

const $ = (id) => document.getElementById(id);
const setup = JSON.parse($("setup").textContent);
const game = setup.game;

let engine;
let board;
let log = []; // the moves since the start: who played, the action, its name
let wanted = log; // the moves that were asked about last: the log, once there is an answer
let values = []; // player 0's, by ply, as far as known
let position = null;
let busy = 0; // changes whenever what was being waited for is no longer wanted
let finding = null; // the latest of a search, here or one move ago

const person = () => ({ first: 0, second: 1 })[$("side").value] ?? null;
const near = () => person() ?? 0; // whose chances are shown
const nameOf = (player) =>
  person() === null ? ["First", "Second"][player] : player === person() ? "You" : "The network";

const toMove = () => !position.over && position.player === person();
const actions = (moves) => moves.map(({ action }) => action);

/** Goes to the position after `moves`: they are the game once the engine has answered, not before,
 *  so that a question that failed has changed nothing. */
async function refresh(moves = wanted) {
  stop();
  wanted = moves;
  const mine = busy;
  const found = await current(mine, engine.look(actions(moves)));
  if (mine !== busy) return;
  if (moves.length < log.length) finding = null; // it was of a later position
  [log, position] = [moves, found];
  values.length = log.length + 1;
  values[log.length] ??= position.value;
  showBoard();
  showAll();
  if (position.over || toMove()) return;
  const answer = await think();
  if (answer && mine === busy) await play(answer.action);
}

async function think() {
  const mine = busy;
  document.body.classList.add("thinking");
  try {
    const simulations = +$("level").value;
    const asked = engine.think(actions(log), simulations, (found) => {
      if (mine === busy) showFinding(found);
    });
    const answer = await current(mine, asked);
    if (!answer || mine !== busy) return null;
    values[log.length] = answer.value;
    showFinding(answer);
    return answer;
  } finally {
    if (mine === busy) document.body.classList.remove("thinking");
  }
}

/** The answer to a question; nothing where it failed after another had taken its place. */
async function current(mine, answer) {
  try {
    return await answer;
  } catch (error) {
    if (mine === busy) throw error;
    return null;
  }
}

function play(action) {
  const { name } = position.moves.find((move) => move.action === action);
  return refresh([...log, { player: position.player, action, name }]);
}

function stop() {
  busy += 1;
  document.body.classList.remove("thinking", "failed");
}

function undo() {
  const mine = wanted.findLastIndex(({ player }) => player === person());
  return refresh(mine < 0 ? wanted : wanted.slice(0, mine));
}

async function hint() {
  if (!toMove() || wanted !== log) return;
  stop();
  showAll();
  const answer = await think();
  if (!answer) return;
  board.draw(answer.visits, answer.action);
  showAll();
}

function showFinding(found) {
  finding = found;
  board.draw(found.visits, null);
  const value = near() === 0 ? found.value : -found.value;
  showBar($("bar"), value);
  showSearch();
}

function showBoard() {
  board.turn(person() === 1);
  board.show(position, { playable: toMove(), last: log.at(-1)?.action ?? null });
}

function showAll() {
  const sign = near() === 0 ? 1 : -1;
  const known = values[log.length] ?? position.value;
  showBar($("bar"), sign * (position.over ? position.returns[0] : known));
  showHistory($("history"), values.map((value) => value && sign * value));
  $("near").textContent = person() === null ? "First" : "You";
  $("far").textContent = person() === null ? "Second" : "Network";
  $("undo").disabled = !log.some(({ player }) => player === person());
  $("hint").disabled = !toMove();
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
  const seconds = (finding.ms / 1000).toFixed(2);
  $("search").textContent = `${finding.simulations} simulations in ${seconds} s`;
}

function status() {
  if (!position.over) {
    const again = log.at(-1)?.player === position.player ? " again" : "";
    if (position.player === person()) return `Your move${again}`;
    return person() === null ? `${nameOf(position.player)} to move` : "The network is thinking";
  }
  const [first, second] = position.returns;
  if (first === second) return `A draw after ${log.length} moves`;
  const winner = first > second ? 0 : 1;
  return `${nameOf(winner)} ${nameOf(winner) === "You" ? "win" : "wins"} after ${log.length} moves`;
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
  wanted = log;
  if (position) showBoard(); // a move that was not made can be made again
  $("status").textContent = error.message;
  document.body.classList.add("failed");
}

async function main() {
  for (const { simulations, label } of game.levels) {
    const selected = simulations === game.simulations;
    $("level").add(new Option(label, simulations, selected, selected));
  }
  // Before there is an engine, nothing can be asked of it.
  const guarded = (action) => (event) => engine && action(event).catch(fail);
  $("new").onclick = guarded(() => refresh([]));
  $("undo").onclick = guarded(undo);
  $("hint").onclick = guarded(hint);
  $("side").onchange = guarded(() => refresh());
  const onMove = guarded(play);
  board = makeBoard($("board"), $("drawing").innerHTML, { choices: game.choices, onMove, choose });
  $("visits").onchange = () => board.showVisits($("visits").checked);
  board.showVisits($("visits").checked);
  const files = setup.inside ? filesInside(setup.inside) : setup.beside && filesBeside(setup.beside);
  engine = files ? await browserEngine(game, files) : serverEngine();
  document.body.classList.remove("loading");
  await refresh();
}

main().catch(fail);
