// The page: one game at a time, as its list of moves. Everything else comes from the engine.
import { makeBoard } from "./board.js";
import { showBar, showHistory } from "./chart.js";
import { browserEngine, embeddedFiles, separateFiles, serverEngine } from "./engines.js";
import { readPosition } from "./notation.js";
import { boardOf, readSan } from "./san.js";

const $ = (id) => document.getElementById(id);
const setup = JSON.parse($("setup").textContent);
const game = setup.game;

let engine;
let board;
let log = []; // the moves since the start: player, action, name, the view before, whether it is a roll
let start = ""; // the position before the moves, as text; "" for the game's own
let requested = log; // the moves of the last request; the log, once there is an answer
let values = []; // from player 0's perspective, by ply, as far as known
let position = null;
let current = 0; // the number of the request whose answer counts; older answers are dropped
let analysis = null; // the latest report of a search, here or one move ago

let flipped = false; // whether the person turned the board around

const people = () => ({ first: [0], second: [1], both: [0, 1], none: [] })[$("side").value];
const isPerson = (player) => people().includes(player);
const person = () => (people().length === 1 ? people()[0] : null); // the seat of the only person
const viewer = () => person() ?? 0; // the player whose chances are shown
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const seatName = (player) => capital(game.players?.[player] ?? ["first", "second"][player]);
const shortName = (player) => seatName(player).split(/,| \(/)[0]; // "Red" for "red, from top to bottom"
const opponent = game.opponent ?? "the network";
const nameOf = (player) =>
  person() === null ? seatName(player) : player === person() ? "You" : capital(opponent);

// What the choices of chess and shogi stand for.
const CHOICES = { "": "no promotion", "+": "promotion", q: "queen", r: "rook", b: "bishop", n: "knight" };

const toMove = () => !position.over && !position.rolls && isPerson(position.player);
const toRoll = () => Boolean(position.rolls) && ($("real").checked || isPerson(position.player));
const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));
const DICE_MS = 500; // so that people see what the opponent has rolled
const actions = (moves) => moves.map(({ action }) => action);

/** Goes to the position after `moves`, and lets the engine move if it is its turn. */
async function refresh(moves = requested) {
  const request = await goTo(moves);
  if (request !== current || position.over || toMove() || toRoll()) return;
  if (game.dice) await pause(DICE_MS);
  if (request !== current) return;
  if (position.rolls) return roll();
  // A roll often leaves no choice, and then nothing is searched.
  const answer = game.dice && position.moves.length === 1 ? position.moves[0] : await search();
  if (answer && request === current) await play(answer.action);
}

/** Shows the position after `moves`; returns the number of the request. The game changes when the engine
 *  has answered, so a request that fails changes nothing. */
async function goTo(moves) {
  stop();
  requested = moves;
  const request = current;
  const found = await unlessOutdated(request, positionAfter(moves, start));
  if (request !== current) return request;
  if (moves.length < log.length) analysis = null; // it was of a later position
  [log, position] = [moves, found];
  values.length = log.length + 1;
  values[log.length] ??= position.value;
  showBoard();
  showAll();
  writeAddress(log);
  return request;
}

/** The position after moves from a start; each legal move has its name for people, and `plain` for links. */
async function positionAfter(moves, from) {
  const found = await engine.position(actions(moves), from);
  const legal = found.moves.map((move) => ({ ...move, name: move.shown ?? move.name, plain: move.name }));
  const rolls = found.rolls?.map((each) => ({ ...each, plain: `${each.name}:`, isRoll: true }));
  return { ...found, moves: legal, rolls };
}

async function search() {
  const request = current;
  document.body.classList.add("thinking");
  try {
    const simulations = +$("level").value;
    const onReport = (report) => request === current && showAnalysis(report);
    const running = engine.search(actions(log), simulations, onReport, start);
    const answer = await unlessOutdated(request, running);
    if (!answer || request !== current) return null;
    values[log.length] = answer.value;
    showAnalysis(answer);
    return answer;
  } finally {
    if (request === current) document.body.classList.remove("thinking");
  }
}

/** The answer to a request; null if it failed after a later request had replaced it. */
async function unlessOutdated(request, answer) {
  try {
    return await answer;
  } catch (error) {
    if (request === current) throw error;
    return null;
  }
}

function play(action) {
  const { name, plain, isRoll } = (position.rolls ?? position.moves).find((move) => move.action === action);
  return refresh([...log, { player: position.player, action, name, plain, isRoll, before: position.view }]);
}

/** Rolls the dice, if they are to be rolled and no other request is on its way. */
async function roll() {
  if (requested !== log || !position.rolls) return;
  let left = Math.random();
  const drawn = position.rolls.find(({ probability }) => (left -= probability) < 0);
  await play((drawn ?? position.rolls.at(-1)).action);
}

/** Takes the roll of real dice that a person has typed. */
async function enterRoll() {
  if (requested !== log || !position.rolls) return;
  const text = $("rolled").value;
  const found = findRoll(text, position.rolls);
  const names = position.rolls.map(({ name }) => name).join(", ");
  if (!found) throw new Error(`${text.trim() || "That"} is no roll here; rolls are ${names}.`);
  $("rolled").value = "";
  await play(found.action);
}

/** The roll that a text names; "6-1", "61" and "1 6" are the same. */
function findRoll(text, rolls) {
  const digits = (name) => [...name.replace(/[\s-]/g, "")].sort().join("");
  const word = text.trim().replace(/:$/, "");
  const same = rolls.find(({ name }) => name.toLowerCase() === word.toLowerCase());
  return same ?? rolls.find(({ name }) => /^[\d\s-]+$/.test(word) && digits(name) === digits(word));
}

const lastMove = () => log.findLast(({ isRoll }) => !isRoll);

/** The roll that is to be played; "" if there is none. */
function rollToPlay() {
  const since = log.slice(Math.max(0, log.findLastIndex(({ isRoll }) => isRoll)));
  const isMine = since[0]?.isRoll && since.every(({ player }) => player === position.player);
  return isMine && !position.rolls ? since[0].name : "";
}

/** The last roll that has been played and its moves: "The network, 4-3: 13/9 13/10". */
function lastTurn() {
  const end = position.rolls ? log.length : log.findLastIndex(({ isRoll }) => isRoll);
  const begin = log.slice(0, Math.max(end, 0)).findLastIndex(({ isRoll }) => isRoll);
  if (begin < 0) return "";
  const [roll, ...moves] = log.slice(begin, end);
  return `${nameOf(roll.player)}, ${roll.name}: ${moves.map(({ name }) => name).join(" ")}`;
}

/** Whether the dice leave a person no move but a pass. */
function mustPass() {
  return Boolean(game.dice) && toMove() && position.moves.length === 1 && position.moves[0].name === "pass";
}

function stop() {
  current += 1;
  document.body.classList.remove("thinking", "failed");
}

/** What undo takes back: the last move of a person, or a roll that people have entered. */
function lastOfPeople(moves) {
  return moves.findLastIndex(({ player, isRoll }) => (isRoll ? $("real").checked : isPerson(player)));
}

function undo() {
  const last = lastOfPeople(requested);
  return refresh(last < 0 ? requested : requested.slice(0, last));
}

async function hint() {
  if (!toMove() || requested !== log) return;
  stop();
  showAll();
  const answer = await search();
  if (!answer) return;
  board.draw(answer.visits, answer.action);
  showAll();
}

function showAnalysis(report) {
  analysis = { ...report, tried: triedMost(report.visits) };
  say(status()); // after a server that was busy
  board.draw(report.visits, null);
  const value = viewer() === 0 ? report.value : -report.value;
  showChances(value);
  showSearch();
}

/** The most visited moves of the position on the board, with their percentages. */
function triedMost(visits) {
  const total = visits.reduce((sum, [, count]) => sum + count, 0);
  const most = [...visits].sort((a, b) => b[1] - a[1]).slice(0, 4);
  const nameOf = (tried) => position.moves.find(({ action }) => action === tried)?.name ?? tried;
  return most.map(([action, count]) => `${nameOf(action)} ${Math.round((100 * count) / total)}%`);
}

function showChances(value) {
  showBar($("bar"), $("near-share"), $("far-share"), value);
}

function showBoard() {
  board.turn((person() === 1) !== flipped);
  const { action, before } = lastMove() ?? {};
  board.show(position, { playable: toMove(), last: action, before });
}

function showAll() {
  const sign = viewer() === 0 ? 1 : -1;
  const known = values[log.length] ?? position.value;
  showChances(sign * (position.over ? position.returns[0] : known));
  showHistory($("history"), values.map((value) => value && sign * value));
  $("near").textContent = person() === null ? shortName(0) : "You";
  $("far").textContent = person() === null ? shortName(1) : capital(opponent.replace("the ", ""));
  $("undo").disabled = lastOfPeople(log) < 0;
  $("hint").disabled = !toMove();
  say(status());
  $("detail").textContent = detail();
  $("meaning").textContent = meaning();
  $("status").dataset.over = position.over;
  const rows = log.map(({ player, name, isRoll }, i) => {
    const kind = isRoll ? ' class="roll"' : ` class="p${player}"`;
    return `<li${kind} data-number="${numberOf(i)}">${escaped(name)}</li>`;
  });
  $("moves").innerHTML = rows.join("");
  $("moves").scrollTop = $("moves").scrollHeight;
  showSearch();
  showDice();
}

/** Shows what rolls the dice, or the rolls to choose from. It stays when it cannot be used, so that the page
 *  does not jump. */
function showDice() {
  if (!game.dice) return;
  const isReal = $("real").checked;
  $("dice").inert = !toRoll();
  $("roll").hidden = isReal;
  $("typed").hidden = $("outcomes").hidden = !isReal;
  if (!position.rolls) return;
  const buttons = position.rolls.map(
    ({ action, name }) => `<button type="button" data-roll="${action}">${escaped(name)}</button>`,
  );
  $("outcomes").innerHTML = buttons.join("");
}

/** The result of every move under best play, [[name, result], ...]. */
function showResults(results) {
  $("tried").previousElementSibling.textContent = "Results of moves";
  $("tried").textContent = results.map(([name, result]) => `${name}: ${result}`).join(", ");
}

function showSearch() {
  const line = analysis?.line?.map((name, i) => numberOf(log.length + i, i) + escaped(name)).join(" ") ?? "";
  $("line").innerHTML = line || "&ndash;";
  $("tried").textContent = analysis?.tried.join(", ") || "\u2013";
  if (analysis?.results) showResults(analysis.results);
  if (!analysis?.simulations) return ($("search").textContent = "");
  const seconds = (analysis.ms / 1000).toFixed(2);
  const noun = analysis.simulations === 1 ? "simulation" : "simulations";
  $("search").textContent = `${analysis.simulations} ${noun} in ${seconds} s`;
}

/** The number that chess writes before a move, "8. " or at the start of a line "8... "; else "". */
function numberOf(ply, at = ply) {
  if (!game.san) return "";
  const count = ply + (start ? readPosition(start, game.notation, position.view.length).ply : 0);
  if (count % 2 && at) return "";
  return `${Math.floor(count / 2) + 1}${count % 2 ? "..." : "."} `;
}

function say(text) {
  if ($("status").textContent !== text) $("status").textContent = text; // is read aloud
}

function status() {
  if (!position.over) {
    const again = lastMove()?.player === position.player ? " again" : "";
    if (position.rolls) {
      if (position.player === person()) return `Your roll${again}`;
      return toRoll() ? `${nameOf(position.player)} to roll${again}` : `${nameOf(position.player)} rolls`;
    }
    const dice = rollToPlay() && `: rolled ${rollToPlay()}`;
    if (mustPass()) return `${nameOf(position.player)} must pass${dice}`;
    if (position.player === person()) return `Your move${again}${dice}`;
    if (people().length === 2) return `${nameOf(position.player)} to move${again}${dice}`;
    if (dice) return `${nameOf(position.player)} to move${dice}`;
    return person() === null ? `${nameOf(position.player)} to move` : `${capital(opponent)} is thinking`;
  }
  const [first, second] = position.returns;
  const count = log.filter(({ isRoll }) => !isRoll).length;
  if (first === second) return `A draw after ${count} moves`;
  const winner = first > second ? 0 : 1;
  return `${nameOf(winner)} ${nameOf(winner) === "You" ? "win" : "wins"} after ${count} moves`;
}

/** Whose pieces are whose and, at the end, what won. */
function detail() {
  const texts = [];
  if (game.players && person() !== null) texts.push(`You play ${game.players[person()]}.`);
  else if (game.players && !start) texts.push(`First to move: ${seatName(0)}.`);
  if (!position.over) return [texts.join(" "), game.dice && lastTurn()].filter(Boolean).join("\n");
  if (position.winning?.length) texts.push(`Won with ${game.win}, marked on the board.`);
  if (position.score) {
    const [near, far] = viewer() === 0 ? position.score : [...position.score].reverse();
    const names = person() === null ? [0, 1].map(seatName) : ["you", opponent];
    texts.push(`Points: ${names[0]} ${near}, ${names[1]} ${far}.`);
  }
  return texts.join(" ");
}

/** What the chances are; on an empty board there is no good or bad move yet that they tell of. */
function meaning() {
  if (position.over) return "";
  const seat = ["first", "second"][viewer()];
  if (!log.length && !start) return `No move yet: the share of the points that ${opponent} expects for the ${seat} player.`;
  const whose = person() === null ? shortName(0) : "you";
  return `The share of the points that ${opponent} expects for ${whose} if both play well.`;
}

function escaped(text) {
  const letters = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return text.replace(/[&<>]/g, (letter) => letters[letter]);
}

/** Asks which of several moves with the same clicks is meant; null if the person cancels. */
function choose(texts) {
  const dialog = $("choice");
  const buttons = texts.map((text, i) => `<button value="${i}">${escaped(CHOICES[text] ?? text)}</button>`);
  dialog.querySelector("form").innerHTML = buttons.join("");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    const close = () => resolve(dialog.returnValue === "" ? null : +dialog.returnValue);
    dialog.addEventListener("close", close, { once: true });
  });
}

/** Reads the game that the page's address tells: "#side=second&moves=e2e4,e7e5". */
async function readAddress() {
  const told = new URLSearchParams(location.hash.slice(1));
  const side = told.get("side");
  if ([...$("side").options].some(({ value }) => value === side)) $("side").value = side;
  return replay(told.get("start") ?? "", (told.get("moves") ?? "").split(",").filter(Boolean));
}

function writeAddress(moves) {
  const names = moves.map(({ plain }) => encodeURIComponent(plain)).join(",");
  const from = start && `&start=${encodeURIComponent(start)}`;
  const address = `#side=${$("side").value}${from}&moves=${names}`;
  try {
    history.replaceState(null, "", address);
  } catch {
    // Documents without an address of their own, such as those in notebooks, have none to change.
  }
  const text = moves.map(({ name, plain, isRoll }, i) => numberOf(i) + (isRoll ? plain : name)).join(" ");
  $("text").value = start ? `${start}${text && ` moves ${text}`}` : text;
}

/** Goes to the position after moves that are given by their names, or after those before an illegal one. */
async function replay(from, names) {
  stop();
  const request = current;
  const moves = [];
  if (from && !game.notation) throw new Error("This game has no text for positions: give the moves from its start.");
  if (from) await engine.position([], from);
  const [left, text] = [[...names], $("text").value];
  let illegal = "";
  for (let name; (name = left.shift()); ) {
    const { player, view, moves: legal, rolls } = await positionAfter(moves, from);
    const found = rolls ? findFirstRoll(name, rolls, left) : findMove(name, view, legal) ?? findFirst(name, legal, left);
    if (!found) {
      const number = moves.filter(({ isRoll }) => !isRoll).length + 1;
      illegal = rolls
        ? `Move ${number}: a roll must stand there, such as ${rolls.at(-1).plain}, not ${name}.`
        : `Move ${number}, ${name}, is not legal there.`;
      if (!moves.length) throw new Error(illegal);
      break;
    }
    moves.push({ ...found, player, before: view });
  }
  if (request !== current) return;
  if (from !== start) [start, values, analysis] = [from, [], null];
  if (!illegal) return refresh(moves);
  if ((await goTo(moves)) !== current) return;
  if (text) $("text").value = text; // to be mended
  throw new Error(`${illegal} The board shows ${moves.length === 1 ? "the move" : `the ${moves.length} moves`} before it.`);
}

/** The legal move that a text names; undefined if there is none, or several. */
function findMove(text, view, legal) {
  if (!game.san) return legal.find(({ name }) => name.toLowerCase() === text.toLowerCase());
  const found = readSan(text, boardOf(view), legal.map(({ plain }) => plain));
  return found.length === 1 ? legal.find(({ plain }) => plain === found[0]) : undefined;
}

/** The roll of a word such as "6-1:" or "6-1:13/7", whose rest joins the words that are left. */
function findFirstRoll(word, rolls, left) {
  const [first, rest] = word.split(/(?<=:)(?=.)/);
  const found = first.endsWith(":") ? findRoll(first, rolls) : undefined;
  if (found && rest) left.unshift(rest);
  return found;
}

/** The first move of a word such as "f5d6c3", whose rest joins the words that are left. */
function findFirst(word, legal, left) {
  const first = legal.filter(({ plain }) => word.toLowerCase().startsWith(plain.toLowerCase()));
  const found = first.sort((a, b) => b.plain.length - a.plain.length)[0];
  if (found) left.unshift(word.slice(found.plain.length));
  return found;
}

/** Goes to what the text field says: moves, or a position, then "moves" and the moves; or a PGN. */
function setUp() {
  const text = $("text").value;
  const tag = game.san && text.match(/\[\s*FEN\s*"([^"]*)"/i)?.[1];
  const [first, rest] = (game.san ? withoutRemarks(text) : text).trim().split(/\s*\bmoves\b\s*/);
  const isPosition = rest !== undefined || /^(position|s?fen|startpos)\b/.test(first)
    || (!game.dice && /^\S*\//.test(first)); // "13/7" is a move of backgammon
  const from = (tag || (isPosition ? first : "")).replace(/^\s*((position|s?fen|startpos)(\s+|$))+/i, "");
  const words = (isPosition ? (rest ?? "") : first).split(/[\s,]+/);
  const names = words.map((word) => word.replace(/^\d+(\.+|…)/, "")).filter(Boolean);
  return replay(from, game.san ? withoutMarks(names) : names);
}

/** A PGN without its tags, comments and variations. */
function withoutRemarks(pgn) {
  let text = pgn.replace(/^\s*\[[^\n]*\]\s*$/gm, "").replace(/\{[^}]*\}?|;.*$|^%.*$/gm, " ");
  for (let before; before !== text; ) [before, text] = [text, text.replace(/\([^()]*\)/g, " ")];
  return text;
}

/** The moves of a PGN, without signs such as "$1" and "e.p.", and the result. */
function withoutMarks(words) {
  const moves = words.map((word) => word.replace(/\$\d+$/, ""));
  const mark = /^([^\p{L}\p{N}♔-♟/]*|\d+|1[-:]0|0[-:]1|1\/2(-1\/2)?|½(-½)?|e\.?p\.?|ch|mate)$/u;
  return moves.filter((word) => !mark.test(word));
}

async function copyLink() {
  await navigator.clipboard.writeText(location.href);
  $("copy").textContent = "Copied";
  setTimeout(() => ($("copy").textContent = "Copy a link"), 2000);
}

function showBusy() {
  say("The server is busy with other games. Your turn comes soon.");
}

function fail(error) {
  stop();
  requested = log;
  if (position) showBoard(), showDice(); // the failed move can be made again
  say(error.message);
  document.body.classList.add("failed");
}

async function main() {
  if (game.opponent) {
    // It does not search, so there are no visits to show.
    for (const part of [$("visits").parentElement, ...document.querySelectorAll("#legend .visits")])
      part.style.display = "none";
  }
  for (const { simulations, label } of game.levels) {
    const selected = simulations === game.simulations;
    $("level").add(new Option(label, simulations, selected, selected));
  }
  // Buttons do nothing before there is an engine.
  const guarded = (action) => (event) => engine && action(event).catch(fail);
  $("new").onclick = guarded(() => replay("", []));
  $("undo").onclick = guarded(undo);
  $("hint").onclick = guarded(hint);
  $("side").onchange = guarded(() => refresh());
  $("set").onsubmit = (event) => (event.preventDefault(), guarded(setUp)(event));
  $("copy").onclick = guarded(copyLink);
  $("dice").hidden = $("real").parentElement.hidden = !game.dice;
  $("roll").onclick = guarded(roll);
  $("dice").onsubmit = (event) => (event.preventDefault(), guarded(enterRoll)(event));
  $("outcomes").onclick = guarded(async ({ target }) => {
    if (target.dataset.roll && requested === log && position.rolls) await play(+target.dataset.roll);
  });
  $("real").onchange = guarded(() => (showDice(), refresh()));
  $("flip").onclick = () => ((flipped = !flipped), position && showBoard());
  const onMove = guarded(play);
  board = makeBoard($("board"), $("drawing").innerHTML, { choices: game.choices, onMove, choose, marksMoves: game.dice });
  const showVisits = () => {
    board.showVisits($("visits").checked);
    $("legend").classList.toggle("no-visits", !$("visits").checked);
  };
  $("visits").onchange = showVisits;
  showVisits();
  $("legend").classList.add(game.choices ? "draws-arrows" : "draws-numbers");
  const { embedded, separate } = setup;
  const files = embedded ? embeddedFiles(embedded) : separate && separateFiles(separate);
  engine = files ? await browserEngine(game, files) : serverEngine(showBusy);
  document.body.classList.remove("loading");
  $("flip").hidden = !board.canTurn;
  $("text").onkeydown = (event) => {
    if (event.key === "Enter" && !event.shiftKey) event.preventDefault(), $("set").requestSubmit();
  };
  if (game.notation) $("text").placeholder = `or ${game.notation}, then "moves" and moves${game.san ? "; or a PGN" : ""}`;
  try {
    await readAddress();
  } catch (error) {
    if (!position) await refresh([]);
    fail(error);
  }
}

main().catch(fail);
