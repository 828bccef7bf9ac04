// The board: a game's SVG, coloured by the codes of `view`, with clicks and drawings on top.

const SVG = "http://www.w3.org/2000/svg";
const LEGIBLE = 8; // pixels on the screen; smaller numbers are left out

/** Puts the SVG into `holder`. Calls `onMove(action)` for each legal move that a person makes. `marksMoves`
 *  draws rings around the pieces that can be moved. */
export function makeBoard(holder, drawing, { choices, onMove, choose, marksMoves = false }) {
  holder.innerHTML = drawing;
  const svg = holder.querySelector("svg");
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  svg.setAttribute("role", "group"); // screen readers would skip the parts of an image
  const cells = new Map();
  const buttons = new Map();
  for (const part of svg.querySelectorAll("[data-cell]")) cells.set(+part.dataset.cell, part);
  for (const part of svg.querySelectorAll("[data-action]")) {
    const action = +part.dataset.action;
    buttons.set(action, [...(buttons.get(action) ?? []), part]);
  }
  const drawn = make("g", { class: "drawn" });
  drawn.append(...svg.childNodes);
  svg.append(drawn);
  const layer = svg.appendChild(make("g", { class: "overlay" }));
  const others = holder.appendChild(document.createElement("div")); // moves not on the board
  others.className = "others";
  let moves = []; // legal now
  let picked = null; // the cell of a first click
  let marks = { visits: [], hint: null, last: null };
  let visitsShown = true;

  holder.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-action]");
    const cell = event.target.closest("[data-cell]");
    const direct = button && isOf(button) && moves.find((move) => move.action === +button.dataset.action);
    if (direct) return move(direct);
    if (!cell || !moves.some(({ clicks }) => clicks)) return;
    const at = +cell.dataset.cell;
    const there = moves.filter(({ clicks }) => clicks?.[0] === picked && clicks[1] === at);
    pick(!there.length && picked !== at && startsAt(at) ? at : null);
    if (!there.length) return;
    const which = there.length > 1 ? await choose(there.map((m) => choices[m.clicks[2]])) : 0;
    if (which !== null && moves.includes(there[which])) move(there[which]);
  });

  svg.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // no scrolling
    event.target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });

  function move({ action }) {
    allow([]); // until the next position, so that a second click is not a move there
    onMove(action);
  }

  /** Allows these moves and no others. */
  function allow(allowed) {
    moves = allowed;
    const legal = new Set(moves.map((move) => move.action));
    const starts = new Set(moves.map((move) => move.clicks?.[0]));
    for (const [action, parts] of buttons) {
      for (const part of parts) part.classList.toggle("legal", legal.has(action) && isOf(part));
    }
    for (const [cell, part] of cells) part.classList.toggle("start", starts.has(cell));
    if (moves.length || shown.over) offerOthers();
    others.inert = !moves.length; // kept, so that the page below does not jump
    pick(null);
  }

  function pick(cell) {
    picked = cell;
    drawMarks();
    // Parts that can be clicked now can be reached by keyboard and are labelled with their moves.
    for (const part of svg.querySelectorAll("[tabindex]")) {
      part.setAttribute("tabindex", -1); // not removed, because it may have the focus
      part.removeAttribute("role");
      part.removeAttribute("aria-roledescription");
      part.removeAttribute("aria-label");
    }
    for (const { action, name, clicks } of moves) {
      const part = clicks ? cells.get(clicks[+(clicks[0] === picked)]) : spotOf(action);
      if (!part) continue;
      const earlier = part.getAttribute("aria-label");
      part.setAttribute("tabindex", 0);
      part.setAttribute("role", "button");
      part.setAttribute("aria-roledescription", "move");
      part.setAttribute("aria-label", earlier ? `${earlier}, ${name}` : name);
    }
  }

  /** Shows a row of buttons for the moves that cannot be clicked on the board. */
  function offerOthers() {
    const undrawn = moves.filter(({ action, clicks }) => !clicks && !buttons.has(action));
    const row = undrawn.map(({ action, name }) => {
      const button = document.createElement("button");
      button.textContent = name;
      button.className = "legal";
      button.dataset.action = action;
      return button;
    });
    others.replaceChildren(...row);
  }

  function startsAt(cell) {
    return moves.some(({ clicks }) => clicks?.[0] === cell);
  }

  /** Whether a part plays for the player to move. */
  function isOf({ dataset: { player } }) {
    return player === undefined || +player === shown?.player;
  }

  /** The element in which a move is drawn; of several, the lowest empty one. */
  function spotOf(action) {
    const live = (buttons.get(action) ?? []).filter(
      (part) => isOf(part) && getComputedStyle(part).pointerEvents !== "none",
    );
    return live.filter((part) => part.dataset.code === "0").at(-1) ?? live[0];
  }

  function place(part) {
    const box = part.getBoundingClientRect();
    const matrix = svg.getScreenCTM();
    const point = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
    const { x, y } = point.matrixTransform(matrix.inverse());
    return { x, y, size: Math.max(box.width, box.height) / matrix.a };
  }

  /** The place of a part's piece, where pieces are marked and there is one; else that of the part. */
  function placeOn(part) {
    return place((marksMoves && pieceIn(part)) || part);
  }

  function drawMarks() {
    layer.replaceChildren();
    for (const part of cells.values()) part.classList.remove("picked", "target");
    if (picked !== null) {
      cells.get(picked).classList.add("picked");
      for (const { clicks } of moves) {
        if (clicks?.[0] === picked) dot(place(cells.get(clicks[1])));
      }
    }
    // Rings, because no part may change its colour: a darker yellow looks like red.
    for (const part of svg.querySelectorAll(".winning")) {
      const { x, y, size } = place(part);
      for (const kind of ["edge", "ring"]) {
        layer.append(make("circle", { class: `won ${kind}`, cx: x, cy: y, r: size * 0.3 }));
      }
    }
    if (marksMoves && picked === null) drawMovable();
    if (marks.last) {
      const { x, y, size } = place(marks.last);
      layer.append(make("circle", { class: "last", cx: x, cy: y, r: Math.min(size * 0.12, 5) }));
    }
    const total = marks.visits.reduce((sum, [, count]) => sum + count, 0);
    const most = [...marks.visits].sort((a, b) => b[1] - a[1]).slice(0, 12);
    const best = visitsShown ? most : [];
    for (const [action, count] of best.reverse()) {
      if (count / total >= 0.01) drawVisits(action, count / total);
    }
    if (marks.hint !== null) drawHint(marks.hint);
    for (const button of others.children) {
      button.classList.toggle("hint", +button.dataset.action === marks.hint);
    }
  }

  /** Draws rings around the pieces with which legal moves begin. */
  function drawMovable() {
    const parts = moves.map(({ action, clicks }) => (clicks ? cells.get(clicks[0]) : spotOf(action)));
    for (const part of new Set(parts)) {
      const piece = part && pieceIn(part);
      if (!piece) continue;
      const { x, y, size } = place(piece);
      layer.append(make("circle", { class: "movable", cx: x, cy: y, r: size / 2 + 1 }));
    }
  }

  /** The circle of a part that is drawn last, such as the uppermost checker; undefined if there is none. */
  function pieceIn(part) {
    return [...part.querySelectorAll("circle")].filter((each) => getComputedStyle(each).fill !== "none").at(-1);
  }

  function drawVisits(action, share) {
    const clicks = moveOf(action)?.clicks;
    if (clicks) return arrow(clicks, { class: "visits", opacity: 0.25 + 0.6 * share }, share);
    const spot = spotOf(action);
    if (!spot) return;
    const { x, y, size } = placeOn(spot);
    const most = Math.min(size * 0.42, 20);
    const r = most * (0.45 + 0.55 * Math.sqrt(share));
    layer.append(make("circle", { class: "visits", cx: x, cy: y, r }));
    const letters = most * 0.68;
    if (letters * svg.getScreenCTM().a >= LEGIBLE) {
      const text = make("text", { class: "share", x, y: y + most * 0.24 });
      text.style.fontSize = `${letters}px`;
      text.textContent = `${Math.round(100 * share)}`;
      layer.append(text);
    }
  }

  function drawHint(action) {
    const clicks = moveOf(action)?.clicks;
    if (clicks) return arrow(clicks, { class: "hint", opacity: 0.9 }, 0.8);
    const spot = spotOf(action);
    if (!spot) return;
    const { x, y, size } = placeOn(spot);
    layer.append(make("circle", { class: "hint", cx: x, cy: y, r: Math.min(size * 0.46, 23) }));
  }

  function arrow([first, then], attributes, share) {
    const [from, to] = [place(cells.get(first)), place(cells.get(then))];
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    const width = 2 + 6 * share;
    const head = width * 2.2;
    const [x, y] = [to.x - dx * head, to.y - dy * head];
    const tip = `M${to.x} ${to.y}L${x - dy * width * 1.2} ${y + dx * width * 1.2}`;
    const back = `L${x + dy * width * 1.2} ${y - dx * width * 1.2}Z`;
    const line = { x1: from.x, y1: from.y, x2: x, y2: y, "stroke-width": width };
    const group = make("g", { ...attributes, class: `arrow ${attributes.class}` });
    group.append(make("line", line), make("path", { d: tip + back }));
    layer.append(group);
  }

  function dot({ x, y, size }) {
    layer.append(make("circle", { class: "target", cx: x, cy: y, r: Math.min(size * 0.14, 12) }));
  }

  function moveOf(action) {
    return shown?.moves.find((move) => move.action === action);
  }

  let shown = null; // the position on the board

  return {
    canTurn: drawn.querySelector(".upright") !== null,

    /** Turns the board around if the game's drawing marks what stays upright. */
    turn(turned) {
      const turns = turned && drawn.querySelector(".upright");
      const { x, y, width, height } = svg.viewBox.baseVal;
      const middle = `${2 * x + width} ${2 * y + height}`;
      drawn.classList.toggle("turned", Boolean(turns));
      drawn.setAttribute("transform", turns ? `translate(${middle}) rotate(180)` : "");
    },

    /** Shows a position; `playable` if the person is to move. `last` is the last action, and `before` the
     *  view before it. */
    show(position, { playable, last, before }) {
      const changed = new Set();
      position.view.forEach((code, cell) => {
        const part = cells.get(cell);
        if (part.dataset.code === String(code)) return;
        if (shown) changed.add(part);
        part.dataset.code = code;
      });
      for (const part of svg.querySelectorAll(".changed")) part.classList.remove("changed");
      svg.getBoundingClientRect(); // restarts animations of the same parts
      for (const part of changed) part.classList.add("changed");
      shown = position;
      const winning = new Set(position.over ? position.winning : []);
      svg.classList.toggle("decided", winning.size > 0);
      for (const [cell, part] of cells) part.classList.toggle("winning", winning.has(cell));
      const isNew = ({ dataset: { cell } }) => before && before[cell] !== position.view[cell];
      marks = { visits: [], hint: null, last: buttons.get(last)?.find(isNew) ?? null };
      allow(playable ? position.moves : []);
    },

    /** Draws the visits of a search, [[action, count], ...], and a hint or null. */
    draw(visits, hint) {
      marks = { ...marks, visits, hint };
      drawMarks();
    },

    /** Shows or hides visits, now and later. */
    showVisits(shown) {
      visitsShown = shown;
      drawMarks();
    },
  };
}

function make(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
