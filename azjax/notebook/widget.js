// Draws what `shown` says, and sends what is clicked.

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

    // From a click until the answer: a second click would be a move in another position.
    let waiting = false;

    function play(action) {
      const shown = model.get("shown");
      if (waiting || shown.busy || !shown.legal.includes(action)) return;
      waiting = true;
      model.send({ do: "play", action });
    }

    function show() {
      const shown = model.get("shown");
      waiting = false;
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
      moves.replaceChildren(
        ...shown.buttons.map(([action, name]) => button(name, () => play(action))),
      );
    }

    board.addEventListener("click", (event) => {
      const part = event.target.closest("[data-action]");
      if (part) play(Number(part.dataset.action));
    });
    model.on("change:shown", show);
    show();
    return () => model.off("change:shown", show);
  },
};
