// Draws the contents of `shown`, and sends clicks.

function button(text, act) {
  const made = document.createElement("button");
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

function line(name) {
  const made = document.createElement("div");
  made.className = name;
  return made;
}

export default {
  render({ model, el }) {
    const status = line("status");
    const board = line("board");
    const moves = line("moves");
    const value = line("value");
    const record = line("record");
    const undo = button("Undo", () => model.send({ do: "undo" }));
    const fresh = button("New game", () => model.send({ do: "new" }));
    const controls = line("controls");
    controls.append(undo, fresh);
    board.innerHTML = model.get("board");
    el.classList.add("azjax-opponent");
    el.replaceChildren(status, board, moves, value, controls, record);

    // True from a click to the answer, because a second click would be in another position.
    let waiting = false;
    let picked = null; // the cell of a first click

    function play(action) {
      const shown = model.get("shown");
      if (waiting || shown.busy || !shown.legal.includes(action)) return;
      waiting = true;
      model.send({ do: "play", action });
    }

    function pick(cell) {
      const { clicks, busy } = model.get("shown");
      if (waiting || busy || !clicks.length) return;
      const there = clicks.filter(([, first, then]) => first === picked && then === cell);
      const starts = picked !== cell && clicks.some(([, first]) => first === cell);
      picked = !there.length && starts ? cell : null;
      mark();
      if (there.length === 1) play(there[0][0]);
      else offer(there.map(([action, , , name]) => [action, name]));
    }

    function mark() {
      const { clicks } = model.get("shown");
      const ends = clicks.filter(([, first]) => first === picked).map(([, , then]) => then);
      const starts = clicks.map(([, first]) => first);
      for (const part of board.querySelectorAll("[data-cell]")) {
        const cell = Number(part.dataset.cell);
        part.classList.toggle("picked", cell === picked);
        part.classList.toggle("target", ends.includes(cell));
        part.classList.toggle("start", starts.includes(cell));
      }
    }

    function offer(named) {
      moves.replaceChildren(...named.map(([action, name]) => button(name, () => play(action))));
    }

    function show() {
      const shown = model.get("shown");
      waiting = false;
      picked = null;
      for (const cell of board.querySelectorAll("[data-cell]")) {
        cell.setAttribute("data-code", shown.codes[Number(cell.dataset.cell)]);
      }
      for (const part of board.querySelectorAll("[data-action]")) {
        part.classList.toggle("legal", shown.legal.includes(Number(part.dataset.action)));
      }
      status.textContent = shown.status;
      value.textContent = shown.value;
      record.textContent = shown.moves;
      undo.disabled = shown.busy || !shown.undo;
      fresh.disabled = shown.busy;
      offer(shown.buttons);
      mark();
    }

    board.addEventListener("click", (event) => {
      const part = event.target.closest("[data-action]");
      const action = part && Number(part.dataset.action);
      if (part && model.get("shown").legal.includes(action)) return play(action);
      const cell = event.target.closest("[data-cell]");
      if (cell) pick(Number(cell.dataset.cell));
    });
    model.on("change:shown", show);
    show();
    return () => model.off("change:shown", show);
  },
};
