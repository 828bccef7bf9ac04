// Who is ahead: a bar for the position, a curve for the game.

/** A value in [-1, 1] as a share of the points; a draw is half a point. */
export const chance = (value) => (1 + Math.min(Math.max(value, -1), 1)) / 2;

/** Shows a value in the bar, and as numbers next to both names, where they fit at any share. It is
 *  null where it is not known. */
export function showBar(bar, near, far, value) {
  bar.hidden = value == null;
  if (bar.hidden) return (near.textContent = far.textContent = "\u2013");
  const percent = Math.round(100 * chance(value));
  bar.style.setProperty("--share", `${percent}%`);
  bar.setAttribute("aria-valuenow", percent);
  near.textContent = `${percent}%`;
  far.textContent = `${100 - percent}%`;
}

/** Draws `values` by ply, from the viewer's perspective, over the width of the SVG. */
export function showHistory(svg, values) {
  const [width, height] = [300, 72];
  const known = values.map((value, ply) => [ply, value]).filter(([, value]) => value != null);
  const last = Math.max(values.length - 1, 8);
  const points = known.map(([ply, value]) => [
    (ply / last) * (width - 8) + 4,
    height - 4 - chance(value) * (height - 8),
  ]);
  const middle = height / 2;
  const path = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  const end = points.at(-1);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.innerHTML =
    `<line class="middle" x1="0" y1="${middle}" x2="${width}" y2="${middle}"/>` +
    (points.length > 1
      ? `<path class="under" d="M${points[0][0]} ${middle}L${path}L${end[0]} ${middle}Z"/>` +
        `<path class="curve" d="M${path}"/>`
      : "") +
    (end ? `<path class="now" d="M${end}h0"/>` : "");
}
