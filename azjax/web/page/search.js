// PUCT over an evaluation `evaluate(state, action) -> facts`, for any game. Values are kept from
// player 0's side, so that a player may move twice running.

const BASE = 19652; // AlphaZero's: exploration grows slowly with the visits

/** A position of the tree, from what an evaluation says of it. */
function makeNode(facts) {
  const legal = [];
  facts.legal.forEach((isLegal, action) => isLegal && legal.push(action));
  return {
    state: facts.state,
    player: facts.player,
    over: facts.over,
    // The result once the game is over; before, what the network expects.
    value: facts.over ? facts.returns[0] : facts.player === 0 ? facts.value : -facts.value,
    legal,
    priors: legal.map((action) => facts.prior[action]),
    ...unsearched(legal),
  };
}

/** What of a node changes, before its first visit. */
function unsearched(legal) {
  return {
    children: new Array(legal.length),
    visits: 0,
    total: 0, // of the values of all visits
    passed: false, // by the game, which went on below
  };
}

/** The place in `node.legal` of the move to look at next. */
function select(node, exploration) {
  const sign = node.player === 0 ? 1 : -1;
  const mean = node.visits ? node.total / node.visits : node.value;
  const rate = exploration + Math.log((node.visits + BASE + 1) / BASE);
  const curiosity = rate * Math.sqrt(Math.max(node.visits, 1));
  let best = -1;
  let highest = -Infinity;
  for (let i = 0; i < node.legal.length; i++) {
    const child = node.children[i];
    // A move that was never tried is taken to be as good as the position.
    const value = sign * (child?.visits ? child.total / child.visits : mean);
    const score = value + (curiosity * node.priors[i]) / (1 + (child ? child.visits : 0));
    if (score > highest) [best, highest] = [i, score];
  }
  return best;
}

/** One simulation: down to a new position or an end, and its value back up. */
export async function simulate(root, evaluate, exploration) {
  const path = [root];
  let node = root;
  while (!node.over) {
    const i = select(node, exploration);
    if (node.children[i]) {
      path.push((node = node.children[i]));
      continue;
    }
    const child = makeNode(await evaluate(node.state, node.legal[i]));
    node.children[i] = child;
    path.push((node = child));
    break;
  }
  for (const passed of path) {
    passed.visits += 1;
    passed.total += node.value;
  }
}

/** The game so far as nodes, from the start to the position after `moves`. Only what leads there,
 *  and what was found below it, is kept of the tree; a position that the game comes back to is
 *  searched afresh: the move played there has the visits that it got as a root, the others none. */
export async function follow(start, moves, evaluate) {
  const path = [start];
  for (const action of moves) {
    const node = path.at(-1);
    const i = node.legal.indexOf(action);
    if (i < 0) throw new Error(`move ${action} is not legal after ${path.length - 1} moves`);
    node.children[i] ??= makeNode(await evaluate(node.state, action));
    node.children = node.children.map((child, j) => (j === i ? child : undefined));
    node.passed = true;
    path.push(node.children[i]);
  }
  const last = path.at(-1);
  if (last.passed) Object.assign(last, unsearched(last.legal));
  return path;
}

/** What a search found: visits by action, the most visited move, its value, the line expected. */
export function findings(root, length = 8) {
  const counts = (node) => node.legal.map((_, i) => node.children[i]?.visits ?? 0);
  const favourite = (node) => {
    const visits = counts(node);
    return visits.indexOf(Math.max(...visits));
  };
  const line = [];
  for (let node = root; line.length < length && !node.over; ) {
    const child = node.children[favourite(node)];
    if (!child?.visits) break;
    line.push({ node, action: node.legal[favourite(node)] });
    node = child;
  }
  const visits = counts(root).map((count, i) => [root.legal[i], count]);
  return {
    action: root.legal[favourite(root)],
    visits: visits.filter(([, count]) => count > 0),
    value: root.visits ? root.total / root.visits : root.value,
    line,
  };
}

export { makeNode };
