"""The browser's search alone, in Node, on a tiny game."""

import dataclasses
import itertools
import json
import shutil
import subprocess

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest

from azjax.config import GumbelConfig, PUCTConfig, SearchConfig
from azjax.engine.anytime import make_anytime_search
from azjax.search.model import make_recurrent_fn, mask_logits
from azjax.search.policies import make_algorithm
from azjax.web.onnx_model import export_model, run_model
from azjax.web.page import join_scripts
from azjax.web.verify import open_session
from tests.absent import skip_without
from tests.oracles.dice import rolled_positions
from tests.web.sites import untrained

needs_node = skip_without(
    shutil.which("node"), "node is not installed (Debian: apt-get install nodejs)"
)

# Four plies of three moves each. The third move is the worst, and the network knows it.
GAME = """
const factsAfter = ([before, action]) => {
  const state = action < 0 ? before : [...before, action];
  return {
    state,
    player: state.length % 2,
    over: state.length === 4,
    returns: [0, 0],
    legal: [1, 1, 1],
    prior: [0.4, 0.4, 0.2],
    value: [0, 0, 0.9][state.at(-1) ?? 0],
  };
};
const evaluate = async (asked) => asked.map(factsAfter);
const PUCT = { exploration: 1.25, base: 19652 };
const begin = async () => makeNode(factsAfter([[], -1]));
const search = async (start, moves) => {
  const root = await follow(start, moves, evaluate);
  for (let i = 0; i < 64; i++) await simulate(root, evaluate, PUCT);
  return analyse(root, PUCT);
};
"""


def run(script, before=GAME):
    """Returns the value of the script, which follows the search and the code `before`."""
    done = subprocess.run(
        ["node", "--input-type=module", "-"],
        input=f"{join_scripts(('search.js',))}{before}console.log(JSON.stringify({script}));",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
def test_visits_of_a_move_that_was_taken_back_do_not_count():
    fresh, again, unseen = run("""await (async () => {
      const fresh = await search(await begin(), []);
      const start = await begin();
      await search(start, []);
      await search(start, [2]); // the worst move, and an answer
      await follow(start, [2, 0], evaluate);
      const again = await search(start, []); // after both were taken back
      // The same without an earlier search of the position.
      const other = await begin();
      await search(other, [2]);
      return [fresh, again, await search(other, [])];
    })()""")
    visits = dict(fresh["visits"])
    assert sum(visits.values()) == 64
    assert visits[2] < min(visits[0], visits[1])
    assert again["visits"] == unseen["visits"] == fresh["visits"]
    assert again["value"] == unseen["value"] == fresh["value"]


class Table:
    """A game and its network as tables, [N, ...] each, by the numbers of the positions."""

    def __init__(self, facts):
        self.facts = {name: jnp.asarray(fact) for name, fact in facts.items()}
        self.num_actions = self.facts["legal"].shape[1]

    def step(self, state, action):
        return self.facts["next"][state, action]

    def current_player(self, state):
        return self.facts["player"][state]

    def is_terminal(self, state):
        return self.facts["over"][state]

    def returns(self, state):
        return self.facts["returns"][state]

    def legal_action_mask(self, state):
        return self.facts["legal"][state]

    def evaluate(self, params, key, states):
        del params, key
        return jnp.log(self.facts["prior"][states]), self.facts["value"][states]


def random_trees(seed, trees, actions, nodes):
    """Returns a table of games with illegal moves, early ends, and players who move twice.

    The positions 0 to trees - 1 are the starts of different games.
    """
    rng = np.random.default_rng(seed)
    # Every game comes to its last position, which is over. A move leads to a later position.
    numbers = np.arange(nodes)
    later = numbers[:, None] + rng.integers(trees, 4 * trees, (nodes, actions))
    over = (numbers >= trees) & (rng.random(nodes) < 0.15) | (numbers >= nodes - 4 * trees)
    legal = (rng.random((nodes, actions)) < 0.7) & ~over[:, None]
    legal[~over, rng.integers(0, actions, (~over).sum())] = True
    logits = np.where(legal, rng.normal(0, 1.5, (nodes, actions)), -np.inf)
    weights = np.exp(np.where(over[:, None], 0.0, logits))
    result = np.where(over, rng.integers(-1, 2, nodes), 0)
    return Table(
        {
            "next": np.minimum(later, nodes - 1).astype(np.int32),
            "player": rng.integers(0, 2, nodes).astype(np.int32),
            "over": over,
            "returns": np.stack([result, -result], axis=1).astype(np.float32),
            "legal": legal,
            "prior": (weights / weights.sum(1, keepdims=True)).astype(np.float32),
            "value": rng.uniform(-1, 1, nodes).astype(np.float32),
        }
    )


def jax_visits(table, config, roots, simulations):
    """Returns the root's visits after 1, 2, ... simulations by stock mctx, [sims, roots, A]."""
    selection = make_algorithm(config).anytime_selection(simulations)
    roots = jnp.asarray(roots, jnp.int32)
    mask = table.legal_action_mask(roots)
    logits, value = table.evaluate(None, None, roots)
    tree = mctx.search(
        None,
        jax.random.PRNGKey(0),
        root=mctx.RootFnOutput(
            prior_logits=mask_logits(logits, mask), value=value, embedding=roots
        ),
        recurrent_fn=make_recurrent_fn(table, table.evaluate),
        root_action_selection_fn=lambda key, tree, _: selection.root(key, tree, 1)[0][0],
        interior_action_selection_fn=selection.below,
        num_simulations=simulations,
        invalid_actions=~mask,
    )
    parents, actions = np.asarray(tree.parents), np.asarray(tree.action_from_parent)
    first_moves = actions.copy()  # of the way to each node
    for node in range(1, simulations + 1):
        below_root = parents[:, node] == 0
        above = np.take_along_axis(first_moves, np.maximum(parents[:, [node]], 0), axis=1)[:, 0]
        first_moves[:, node] = np.where(below_root, actions[:, node], above)
    return np.cumsum(np.eye(table.num_actions, dtype=int)[first_moves[:, 1:].T], axis=0)


def page_searches(table, config, roots, simulations, **constants):
    """Returns the page's analyses after each step of a search, of each root."""
    facts = {name: np.asarray(fact).tolist() for name, fact in table.facts.items()}
    rule = json.dumps(make_algorithm(config).constants() | constants)
    return run(
        f"""await (async () => {{
          const names = Object.keys(facts).filter((name) => name !== "next");
          const factsAfter = ([before, action]) => {{
            const state = action < 0 ? before : facts.next[before][action];
            const found = {{ state }};
            for (const name of names) found[name] = facts[name][state];
            return found;
          }};
          const evaluate = async (asked) => asked.map(factsAfter);
          const found = [];
          for (const start of {list(roots)}) {{
            const root = makeNode(factsAfter([start, -1]));
            found.push([]);
            for (let i = 0; i < {simulations}; ) {{
              i += await simulate(root, evaluate, {rule}, {simulations} - i);
              found.at(-1).push(analyse(root, {rule}));
            }}
          }}
          return found;
        }})()""",
        before=f"const facts = {json.dumps(facts)};",
    )


def visits_of(found, actions):
    return [dict(found["visits"]).get(action, 0) for action in range(actions)]


def gumbel(**options):
    return SearchConfig(algorithm="gumbel", gumbel=GumbelConfig(**options))


def puct(**options):
    return SearchConfig(algorithm="puct", puct=PUCTConfig(**options))


@needs_node
@pytest.mark.parametrize(
    "config",
    [
        gumbel(value_scale=0.3, rescale_values=False),
        gumbel(value_scale=0.1, rescale_values=True),
        puct(),
        puct(pb_c_init=2.5, pb_c_base=30.0),
    ],
)
def test_the_page_visits_as_stock_mctx_does_visit_by_visit(config):
    trees, simulations, actions = 6, 120, 5
    table = random_trees(1, trees, actions, nodes=500)
    want = jax_visits(table, config, range(trees), simulations)
    searches = page_searches(table, config, range(trees), simulations, width=1)
    for root, found in enumerate(searches):
        for count in range(simulations):
            got = visits_of(found[count], actions)
            assert got == want[count, root].tolist(), (root, count)


@needs_node
def test_a_move_without_visits_counts_as_lost_for_puct():
    """Four plies of three moves each. The first move wins at the end."""
    lines = [line for n in range(5) for line in itertools.product(range(3), repeat=n)]
    number = {line: i for i, line in enumerate(lines)}
    table = Table(
        {
            "next": [[number.get((*line, move), 0) for move in range(3)] for line in lines],
            "player": [len(line) % 2 for line in lines],
            "over": [len(line) == 4 for line in lines],
            "returns": [[-1.0, 1.0] if line[3:] == (0,) else [0.0, 0.0] for line in lines],
            "legal": [[len(line) < 4] * 3 for line in lines],
            "prior": [[0.5, 0.3, 0.2]] * len(lines),
            "value": [[0.13, -0.21, 0.37][line[-1] if line else 0] for line in lines],
        }
    )
    (found,) = page_searches(table, puct(), [0], 100)
    assert visits_of(found[7], 3) == [4, 4, 0]
    assert visits_of(found[99], 3) == [45, 30, 25]


@needs_node
@pytest.mark.parametrize("config", [gumbel(rescale_values=True), puct()])
@pytest.mark.parametrize(("name", "plies"), [("tic_tac_toe", 3), ("dots_and_boxes_2x2", 5)])
def test_the_page_searches_an_exported_model_as_jax_searches_the_game(name, plies, config):
    pytest.importorskip("onnxruntime")
    player = dataclasses.replace(untrained(name, "mlp"), config=config)
    player.variables["params"] = jax.tree.map(lambda x: 3 * x, player.variables["params"])
    game = player.game
    state = game.init()
    for action in range(plies):
        state = game.step(state, jnp.int32(action))
    progress = make_anytime_search(player, memory_mb=1).start(state)
    table = exported_table(player, state)
    (found,) = page_searches(table, config, [0], 62)  # the last step is not full
    for got in found:
        progress = progress.run(1, most=62)
        want = progress.analysis()
        assert visits_of(got, game.num_actions) == want.visits.tolist(), progress.simulations
        assert got["action"] == want.action
        sign = 1 if game.current_player(state) == 0 else -1
        assert got["value"] == pytest.approx(sign * want.value, abs=1e-5)
    assert progress.simulations == 62


def exported_table(player, state):
    """Returns all positions from a state on, number 0, as onnxruntime evaluates them."""
    model = export_model(player.game, player.network, player.variables)
    session = open_session(model)
    leaves = [np.asarray(x) for x in jax.tree.leaves(state)]
    numbers, rows = {}, []

    def number(leaves, action):
        out = run_model(session, model, leaves, action)
        after = [out[name] for name in model.outputs[: len(leaves)]]
        key = b"".join(x.tobytes() for x in after)
        if key not in numbers:
            at = numbers[key] = len(rows)
            rows.append(out)
            legal = np.flatnonzero(out["legal"]).tolist()
            out["next"] = np.zeros(player.game.num_actions, np.int32)
            for move in [] if out["over"] else legal:
                rows[at]["next"][move] = number(after, move)
        return numbers[key]

    number(leaves, -1)
    names = ("next", "player", "over", "returns", "legal", "prior", "value")
    return Table({name: np.stack([row[name] for row in rows]) for name in names})


@needs_node
@pytest.mark.parametrize("config", [gumbel(rescale_values=True), puct()], ids=["gumbel", "puct"])
@pytest.mark.parametrize(("name", "tower"), [("ur_2", "mlp"), ("hypergammon", "points")])
def test_the_page_searches_games_of_dice_as_jax_does(name, tower, config):
    """Visit by visit, through chance nodes, in positions of random games."""
    pytest.importorskip("onnxruntime")
    player = untrained(name, tower)
    larger = player.variables | {
        "params": jax.tree.map(lambda x: 3 * x, player.variables["params"])
    }
    player = dataclasses.replace(player, variables=larger, config=config)
    game, simulations = player.game, 126  # the last step is not full
    states = rolled_positions(game, jax.random.key(1), 4, 12)
    search = make_anytime_search(player, memory_mb=1)
    model = export_model(game, player.network, player.variables)
    below_rolls = 0
    for state in [jax.tree.map(lambda x, i=i: x[i], states) for i in range(4)]:
        progress, want = search.start(state), []
        while progress.simulations < simulations:
            progress = progress.run(1, most=simulations)
            want.append(progress.analysis())
        table = table_of_tree(model, progress)
        (found,) = page_searches(table, config, [0], simulations)
        assert len(found) == len(want)
        sign = 1 if game.current_player(state) == 0 else -1
        for got, expected in zip(found, want, strict=True):
            assert visits_of(got, game.num_actions) == expected.visits.tolist()
            assert got["action"] == expected.action
            assert got["value"] == pytest.approx(sign * expected.value, abs=1e-5)
        is_chance = np.asarray(table.facts["chance"] > 0).any(axis=1)
        below_rolls += int((np.asarray(table.facts["next"])[is_chance] >= 0).sum())
    assert below_rolls > 100  # nodes


def table_of_tree(model, progress):
    """Returns the positions of a search in JAX, the root first, as onnxruntime evaluates them.

    What JAX has not visited leads to no position.
    """
    session, count = open_session(model), progress.simulations + 1
    tree = jax.device_get(progress.tree)
    leaves = [[x[0, i] for x in jax.tree.leaves(tree.embeddings)] for i in range(count)]
    rows = [run_model(session, model, leaves[0], -1)]
    rows[0]["next"] = np.full(tree.children_prior_logits.shape[-1], -1)
    for node in range(1, count):
        parent, action = int(tree.parents[0, node]), int(tree.action_from_parent[0, node])
        row = run_model(session, model, leaves[parent], action)
        for name, leaf in zip(model.outputs, leaves[node], strict=False):
            np.testing.assert_array_equal(row[name], leaf)
        rows[parent]["next"][action] = node
        rows.append(row | {"next": np.full_like(rows[0]["next"], -1)})
    names = ("next", "player", "over", "returns", "legal", "prior", "value", "chance")
    return Table({name: np.stack([row[name] for row in rows]) for name in names})


@needs_node
def test_an_expected_line_ends_before_the_next_roll():
    line, after = run(
        """await (async () => {
      // A move, a roll of 0 to 2, a move, and so on; actions 2 to 4 are the rolls.
      const factsAfter = ([before, action]) => {
        const state = action < 0 ? before : [...before, action];
        const isChance = state.length % 2 === 1;
        return {
          state,
          player: (state.length >> 1) % 2,
          over: state.length === 6,
          returns: [0, 0],
          legal: isChance ? [0, 0] : [1, 1],
          chance: isChance ? [0.25, 0, 0.75] : [0, 0, 0],
          prior: [0.5, 0.5],
          value: 0,
        };
      };
      const evaluate = async (asked) => asked.map(factsAfter);
      const rule = { exploration: 1.25, base: 19652 };
      const root = await follow(makeNode(factsAfter([[], -1])), [0, 4], evaluate);
      for (let i = 0; i < 40; i++) await simulate(root, evaluate, rule);
      const rolled = root.children[0];
      return [
        analyse(root, rule).line.map(({ action }) => action),
        rolled.legal.map((action, i) => [action, rolled.children[i].visits]),
      ];
    })()""",
        before="",
    )
    assert len(line) == 1
    (one, few), (other, many) = after
    assert (one, other) == (2, 4)
    assert few == (few + many + 1) // 4  # the first of two that are due alike


@needs_node
def test_gumbel_search_plays_the_best_move_of_its_improved_policy():
    """It is not always the most visited one; here both moves have one visit."""
    action, visits = run("""await (async () => {
      const root = makeNode(factsAfter([[], -1]));
      root.priors = [0.6, 0.38, 0.02];
      const rule = { scale: 0.1, rescale: false };
      const good = async (asked) =>
        asked.map(([state, action]) => ({
          ...factsAfter([state, action]),
          value: state.length === 0 && action === 1 ? -0.5 : 0,
        }));
      for (let i = 0; i < 2; i++) await simulate(root, good, rule);
      const found = analyse(root, rule);
      return [found.action, found.visits];
    })()""")
    assert visits == [[0, 1], [1, 1]]
    assert action == 1
