// Gumbel search and PUCT for any game, with `evaluate([[state, action], ...]) -> [facts, ...]`. Values are
// from player 0's perspective, so that a player may move twice in a row. `rule` is {exploration, base} of
// PUCT, or {scale, rescale, width} in Gumbel search: how values are scaled, and how many moves of the
// root a step visits. Both visit the moves that a search in JAX visits (search/policies.py). Where two
// moves are equal, PUCT takes the first; JAX draws one.
//
// In a game of chance, facts have the probabilities of outcomes, `chance`, all 0 where a player is to move.
// Outcome k is action A + k, after the A actions. Such a node shares its visits by the probabilities
// (search/chance_nodes.py), and is never the root of a search. In Gumbel search its value is the mean of
// its outcomes' values by their probabilities.

const MAX_VISITS_INIT = 50; // Gumbel AlphaZero's
const TINY = 1.1754944e-38; // the smallest prior, so that its logarithm is finite
const SAME = 1e-5; // relative difference of outcomes that are due alike, as in JAX

/** A node of the tree, from the facts of its position. */
function makeNode(facts) {
  const isChance = facts.chance?.some((probability) => probability > 0) ?? false;
  const [open, first] = isChance ? [facts.chance, facts.legal.length] : [facts.legal, 0];
  const legal = [];
  open.forEach((isOpen, i) => isOpen && legal.push(first + i));
  const prior = isChance ? facts.chance : facts.prior;
  return {
    state: facts.state,
    player: facts.player,
    over: facts.over,
    isChance,
    // The result if the game is over, otherwise the network's value.
    value: facts.over ? facts.returns[0] : facts.player === 0 ? facts.value : -facts.value,
    legal,
    anyIllegal: legal.length < facts.legal.length,
    priors: legal.map((action) => Math.max(prior[action - first], TINY)),
    ...unsearched(legal),
  };
}

/** The parts of a node that a search changes, as they are before the first visit. */
function unsearched(legal) {
  return {
    children: new Array(legal.length),
    visits: 0,
    total: 0, // the mean value times the visits
  };
}

/** The indices in `node.legal` of the most urgent moves, at most `count`; the first among equals. */
function select(node, rule, count = 1) {
  if (node.isChance) return [due(node)];
  const urgency = isPuct(rule) ? byPuct(node, rule) : byGumbel(node, rule);
  if (count === 1) return [urgency.indexOf(Math.max(...urgency))];
  const order = [...urgency.keys()].sort((a, b) => urgency[b] - urgency[a]); // stable
  return order.slice(0, count);
}

/** The outcome with the largest probability / (visits + 1), the first among equals. */
function due(node) {
  const shares = node.priors.map((prior, i) => prior / ((node.children[i]?.visits ?? 0) + 1));
  const most = (1 - SAME) * Math.max(...shares);
  return shares.findIndex((share) => share >= most);
}

const isPuct = (rule) => "exploration" in rule;

/** The visits of each move, their sum, and the mover's mean value of each move, null if unvisited. */
function tried(node) {
  const sign = node.player === 0 ? 1 : -1;
  const visits = node.legal.map((_, i) => node.children[i]?.visits ?? 0);
  const total = visits.reduce((sum, count) => sum + count, 0);
  const values = visits.map((count, i) => (count ? (sign * node.children[i].total) / count : null));
  return { sign, visits, total, values };
}

/** PUCT's scores: a result is in [0, 1], and a move without visits counts as lost. */
function byPuct(node, { exploration, base }) {
  const { visits, total, values } = tried(node);
  const parent = total + 1; // the node itself was evaluated, too
  const bonus = (exploration + Math.log((parent + base + 1) / base)) * Math.sqrt(parent);
  return visits.map(
    (count, i) => ((values[i] ?? -1) + 1) / 2 + (bonus * node.priors[i]) / (1 + count),
  );
}

/** How far the visits of each move are behind the improved policy. */
function byGumbel(node, rule) {
  const { visits, total } = tried(node);
  const logits = improvedLogits(node, rule);
  const highest = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - highest));
  const sum = weights.reduce((before, weight) => before + weight, 0);
  return weights.map((weight, i) => weight / sum - visits[i] / (1 + total));
}

/** Logits of the prior, improved by what the search has found (Danihelka et al. 2022). */
function improvedLogits(node, { scale, rescale }) {
  const { sign, visits, total, values } = tried(node);
  let share = 0; // of the prior, of moves with visits
  let value = 0;
  visits.forEach((count, i) => {
    if (!count) return;
    share += node.priors[i];
    value += node.priors[i] * values[i];
  });
  // A move without visits gets the mean of the network's value and those of the other moves.
  const mean = (sign * node.value + (share ? (total * value) / share : 0)) / (total + 1);
  let completed = values.map((found) => found ?? mean);
  if (rescale) {
    // In JAX illegal moves have the mean, and count here.
    const range = node.anyIllegal ? [...completed, mean] : completed;
    const [low, high] = [Math.min(...range), Math.max(...range)];
    completed = completed.map((found) => (found - low) / Math.max(high - low, 1e-8));
  }
  const factor = scale * (MAX_VISITS_INIT + Math.max(...visits));
  return node.priors.map((prior, i) => Math.log(prior) + factor * completed[i]);
}

/** One step: simulations that begin with different moves of the root, at most `most`. Each goes down
 *  to a new position or an end, and its value back up. Returns their number. */
export async function simulate(root, evaluate, rule, most = Infinity) {
  const paths = select(root, rule, Math.min(rule.width ?? 1, most)).map((i) => descend(root, i, rule));
  // They differ in their first move, so no two come to the same new position.
  const grown = paths.filter(({ node }) => !node.over);
  const asked = grown.map(({ node, i }) => [node.state, node.legal[i]]);
  const facts = asked.length ? await evaluate(asked) : [];
  grown.forEach(({ path, node, i }, at) => path.push((node.children[i] = makeNode(facts[at]))));
  for (const { path } of paths) {
    let { value } = path.at(-1);
    for (const passed of path.reverse()) {
      passed.visits += 1;
      if (passed.isChance && passed.visits > 1 && !isPuct(rule)) {
        value = passed.visits * weightedMean(passed) - passed.total;
      }
      passed.total += value;
    }
  }
  return paths.length;
}

/** A chance node's mean by the probabilities of its outcomes; those without visits have its own value. */
function weightedMean({ priors, children, value }) {
  return priors.reduce((mean, prior, i) => {
    const child = children[i];
    return child?.visits ? mean + prior * (child.total / child.visits - value) : mean;
  }, value);
}

/** The way of a simulation that begins with the root's move number i: its nodes, the last one, and the
 *  number of the move there that leads to no node yet. */
function descend(root, i, rule) {
  const path = [root];
  let node = root;
  while (!node.over && node.children[i]) {
    path.push((node = node.children[i]));
    if (!node.over) [i] = select(node, rule);
  }
  return { path, node, i };
}

/** The node after `moves`, from the start of the game. It is searched from the beginning: a search of
 *  some simulations finds the same wherever it runs. */
export async function follow(start, moves, evaluate) {
  let node = start;
  for (const [count, action] of moves.entries()) {
    const i = node.legal.indexOf(action);
    if (i < 0) throw new Error(`move ${action} is not legal after ${count} moves`);
    const child = node.children[i] ?? makeNode((await evaluate([[node.state, action]]))[0]);
    Object.assign(node, unsearched(node.legal)); // only the game's own positions are kept
    node = node.children[i] = child;
  }
  return Object.assign(node, unsearched(node.legal));
}

/** What a search has found: visits by action, the best move, its line up to the next roll, the value after
 *  that move. */
export function analyse(root, rule, length = 8) {
  const { visits } = tried(root);
  const best = bestMove(root, isPuct(rule) ? visits : improvedLogits(root, rule));
  const line = [];
  for (let node = root; line.length < length && !node.over && !node.isChance; ) {
    const i = node === root ? best : bestMove(node, tried(node).visits);
    if (!node.children[i]?.visits) break;
    line.push({ node, action: node.legal[i] });
    node = node.children[i];
  }
  const after = visits[best] ? root.children[best] : null;
  return {
    action: root.legal[best],
    visits: visits.map((count, i) => [root.legal[i], count]).filter(([, count]) => count > 0),
    value: after ? after.total / after.visits : root.value,
    line,
  };
}

/** The index of the visited move with the highest score, or the highest prior among equals. */
function bestMove(node, scores) {
  const { visits } = tried(node);
  const rank = (i) => [visits[i] ? scores[i] : -Infinity, node.priors[i]];
  return node.legal.reduce((best, _, i) => {
    const [[score, prior], [bestScore, bestPrior]] = [rank(i), rank(best)];
    return score > bestScore || (score === bestScore && prior >= bestPrior) ? i : best;
  }, 0);
}

export { makeNode };
