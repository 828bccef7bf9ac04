// PUCT for any game, with `evaluate(state, action) -> facts`. Values are from player 0's
// perspective, so that a player may move twice in a row.

const BASE = 19652; // AlphaZero's: exploration grows slowly with the visits

/** A node of the tree, from the facts of its position. */
function makeNode(facts) {
  const legal = [];
  facts.legal.forEach((isLegal, action) => isLegal && legal.push(action));
  return {
    state: facts.state,
    player: facts.player,
    over: facts.over,
    // The result if the game is over, otherwise the network's value.
    value: facts.over ? facts.returns[0] : facts.player === 0 ? facts.value : -facts.value,
    legal,
    priors: legal.map((action) => facts.prior[action]),
    ...unsearched(legal),
  };
}

/** The parts of a node that a search changes, as they are before the first visit. */
function unsearched(legal) {
  return {
    children: new Array(legal.length),
    visits: 0,
    total: 0, // sum of the values of all visits
    passed: false, // the game has gone on from this node
  };
}

/** The index in `node.legal` of the move to visit next. */
function select(node, exploration) {
  const sign = node.player === 0 ? 1 : -1;
  const mean = node.visits ? node.total / node.visits : node.value;
  const rate = exploration + Math.log((node.visits + BASE + 1) / BASE);
  const bonus = rate * Math.sqrt(Math.max(node.visits, 1));
  let best = -1;
  let highest = -Infinity;
  for (let i = 0; i < node.legal.length; i++) {
    const child = node.children[i];
    // A move without visits gets the value of the position.
    const value = sign * (child?.visits ? child.total / child.visits : mean);
    const score = value + (bonus * node.priors[i]) / (1 + (child ? child.visits : 0));
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

/** The nodes of the game so far, from the start to the position after `moves`. The tree keeps only
 *  these nodes and the nodes below the last. A position that the game returns to by undo is searched
 *  from the beginning: the move played there has extra visits as a root, the others have lost
 *  theirs. */
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

/** What a search has found: visits by action, the most visited move, its value, its line. */
export function analyse(root, length = 8) {
  const counts = (node) => node.legal.map((_, i) => node.children[i]?.visits ?? 0);
  const mostVisited = (node) => {
    const visits = counts(node);
    return visits.indexOf(Math.max(...visits));
  };
  const line = [];
  for (let node = root; line.length < length && !node.over; ) {
    const child = node.children[mostVisited(node)];
    if (!child?.visits) break;
    line.push({ node, action: node.legal[mostVisited(node)] });
    node = child;
  }
  const visits = counts(root).map((count, i) => [root.legal[i], count]);
  return {
    action: root.legal[mostVisited(root)],
    visits: visits.filter(([, count]) => count > 0),
    value: root.visits ? root.total / root.visits : root.value,
    line,
  };
}

export { makeNode };
