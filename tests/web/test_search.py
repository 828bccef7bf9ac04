"""The browser's search alone, in Node, on a tiny game."""

import functools
import json
import shutil
import subprocess

import jax
import jax.numpy as jnp
import mctx
import pytest

from azjax.web.page import join_scripts
from tests.absent import skip_without

# Four plies of three moves each. The third move is the worst, and the network knows it.
GAME = """
const evaluate = async (before, action) => {
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
const PUCT = { exploration: 1.25 };
const begin = async () => makeNode(await evaluate([], -1));
const search = async (start, moves) => {
  const root = (await follow(start, moves, evaluate)).at(-1);
  for (let i = 0; i < 64; i++) await simulate(root, evaluate, PUCT);
  return analyse(root, PUCT);
};
"""


def run(script):
    """Returns the value of the script."""
    done = subprocess.run(
        ["node", "--input-type=module", "-"],
        input=f"{join_scripts(('search.js',))}{GAME}console.log(JSON.stringify({script}));",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@skip_without(shutil.which("node"), "node is not installed (Debian: apt-get install nodejs)")
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


def mctx_visits(simulations, scale, rescale):
    """Returns the root's visits by stock mctx, in the game of the test below."""
    prior, values = jnp.log(jnp.array([0.5, 0.3, 0.2])), jnp.array([0.13, -0.21, 0.37])
    select = functools.partial(
        mctx.gumbel_muzero_interior_action_selection,
        qtransform=functools.partial(
            mctx.qtransform_completed_by_mix_value, value_scale=scale, rescale_values=rescale
        ),
    )

    def recurrent_fn(params, key, action, plies):
        del params, key
        plies = plies + 1
        over = plies >= 4
        # At the end player 0, who moves next, has lost if the last move was 0, else it is a draw.
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(over & (action == 0), 1.0, 0.0),
            discount=jnp.where(over, 0.0, -1.0),
            prior_logits=jnp.broadcast_to(prior, (1, 3)),
            value=values[action],
        )
        return output, plies

    tree = mctx.search(
        None,
        jax.random.key(0),
        root=mctx.RootFnOutput(
            prior_logits=prior[None], value=values[:1], embedding=jnp.zeros(1, jnp.int32)
        ),
        recurrent_fn=recurrent_fn,
        root_action_selection_fn=functools.partial(select, depth=0),
        interior_action_selection_fn=select,
        num_simulations=simulations,
    )
    return tree.summary().visit_counts[0].astype(int).tolist()


@skip_without(shutil.which("node"), "node is not installed (Debian: apt-get install nodejs)")
@pytest.mark.parametrize(("scale", "rescale"), [(0.3, False), (0.02, False), (0.1, True)])
def test_gumbel_search_visits_as_stock_mctx_does(scale, rescale):
    rule = json.dumps({"scale": scale, "rescale": rescale})
    found = run(f"""await (async () => {{
      const evaluate = async (before, action) => {{
        const state = action < 0 ? before : [...before, action];
        return {{
          state,
          player: state.length % 2,
          over: state.length === 4,
          returns: state.at(-1) === 0 ? [-1, 1] : [0, 0],
          legal: [1, 1, 1],
          prior: [0.5, 0.3, 0.2],
          value: [0.13, -0.21, 0.37][state.at(-1) ?? 0],
        }};
      }};
      const root = makeNode(await evaluate([], -1));
      const found = [];
      for (let i = 0; i < 40; i++) {{
        await simulate(root, evaluate, {rule});
        found.push(analyse(root, {rule}));
      }}
      return found;
    }})()""")
    for simulations in (1, 2, 7, 40):
        visits = dict(found[simulations - 1]["visits"])
        want = mctx_visits(simulations, scale, rescale)
        assert [visits.get(action, 0) for action in range(3)] == want
    assert found[-1]["line"][0]["action"] == found[-1]["action"]


@skip_without(shutil.which("node"), "node is not installed (Debian: apt-get install nodejs)")
def test_gumbel_search_plays_the_best_move_of_its_improved_policy():
    """It is not always the most visited one; here both moves have one visit."""
    action, visits = run("""await (async () => {
      const root = makeNode(await evaluate([], -1));
      root.priors = [0.6, 0.38, 0.02];
      const rule = { scale: 0.1, rescale: false };
      const good = async (state, action) => ({
        ...(await evaluate(state, action)),
        value: state.length === 0 && action === 1 ? -0.5 : 0,
      });
      for (let i = 0; i < 2; i++) await simulate(root, good, rule);
      const found = analyse(root, rule);
      return [found.action, found.visits];
    })()""")
    assert visits == [[0, 1], [1, 1]]
    assert action == 1


@skip_without(shutil.which("node"), "node is not installed (Debian: apt-get install nodejs)")
def test_the_tree_below_a_played_move_is_kept():
    before, kept, after = run("""await (async () => {
      const start = await begin();
      const before = await search(start, []);
      const kept = (await follow(start, [0], evaluate)).at(-1).visits;
      return [before, kept, await search(start, [0])];
    })()""")
    assert kept == dict(before["visits"])[0] > 8
    assert sum(count for _, count in after["visits"]) == kept - 1 + 64
