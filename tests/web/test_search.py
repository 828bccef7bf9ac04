"""The browser's search alone, in Node, on a tiny game."""

import json
import shutil
import subprocess

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
const begin = async () => makeNode(await evaluate([], -1));
const search = async (start, moves) => {
  const root = (await follow(start, moves, evaluate)).at(-1);
  for (let i = 0; i < 64; i++) await simulate(root, evaluate, 1.25);
  return analyse(root);
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
