// The page of an analysed game: one position at a time, by buttons, keys, moves or the curve.
import { makeBoard } from "./board.js";
import { showBar, showHistory } from "./chart.js";

const $ = (id) => document.getElementById(id);
const { pages, players } = JSON.parse($("setup").textContent);
const values = pages.map(({ value }) => value);
const last = pages.length - 1;
const board = makeBoard($("board"), $("drawing").innerHTML, { choices: [], onMove() {} });
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
let at = 0;

function go(ply) {
  at = Math.min(Math.max(ply, 0), last);
  const page = pages[at];
  board.show(page, { playable: false, last: page.last, before: pages[at - 1]?.view });
  board.draw(page.visits, page.best);
  showBar($("bar"), $("near-share"), $("far-share"), page.value);
  showHistory($("history"), values);
  mark();
  $("status").textContent = at ? page.numbered : "The start";
  const texts = [page.comment, page.rolled].filter(Boolean).map(sentence);
  $("detail").textContent = texts.join(". ");
  for (const item of $("moves").children) {
    const button = item.firstChild;
    const here = +button.dataset.ply === at;
    button.toggleAttribute("aria-current", here);
    // Not scrollIntoView, which would move the whole page of a phone.
    if (here) $("moves").scrollTop = item.offsetTop - $("moves").offsetTop - 40;
  }
  $("first").disabled = $("back").disabled = at === 0;
  $("forward").disabled = at === last;
  $("mistake").disabled = nextMistake() < 0;
}

/** Draws a line at the position on the board into the curve. */
function mark() {
  const [, , width, height] = $("history").getAttribute("viewBox").split(" ").map(Number);
  const x = (at / Math.max(last, 8)) * (width - 8) + 4;
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of Object.entries({ x1: x, x2: x, y1: 0, y2: height, class: "at" }))
    line.setAttribute(name, value);
  $("history").append(line);
}

function nextMistake() {
  return pages.findIndex(({ mistake }, ply) => ply > at && mistake);
}

// Engines that name moves alone give neither chances nor visits.
document.querySelector(".ahead").hidden = values.slice(0, -1).every((value) => value === null);
if (pages.every(({ visits }) => !visits.length)) {
  document.querySelector(".options").remove();
  $("legend").classList.add("no-visits");
}
for (const [ply, { name, mistake }] of pages.entries()) {
  if (!ply) continue;
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.textContent = mistake ? `${name} ?` : name;
  button.setAttribute("aria-label", `${ply}. ${name}${mistake ? ", a turning point" : ""}`);
  button.dataset.ply = ply;
  item.classList.toggle("mistake", mistake);
  item.append(button);
  $("moves").append(item);
}
// "Red" for "red, from top to bottom".
const short = (name) => sentence(name).split(/,| \(/)[0];
[$("near").textContent, $("far").textContent] = players.map(short);
$("moves").addEventListener("click", ({ target }) => target.dataset.ply && go(+target.dataset.ply));
$("first").addEventListener("click", () => go(0));
$("back").addEventListener("click", () => go(at - 1));
$("forward").addEventListener("click", () => go(at + 1));
$("mistake").addEventListener("click", () => go(nextMistake()));
$("visits")?.addEventListener("change", ({ target }) => board.showVisits(target.checked));
$("history").addEventListener("click", ({ clientX, currentTarget }) => {
  const { left, width } = currentTarget.getBoundingClientRect();
  go(Math.round(((clientX - left) / width) * Math.max(last, 8)));
});
document.addEventListener("keydown", ({ key, target }) => {
  if (target.matches("input, select")) return;
  const ply = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[key];
  if (ply !== undefined) go(ply);
});
go(0);
