"""The browser's search alone, in Node, on a game small enough to write down."""

import json
import shutil
import subprocess

from azjax.web.page import _joined
from tests.absent import skip_without

# Four plies of three moves; the network likes the last move least and is content after any other.
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
const think = async (start, moves) => {
  const root = (await follow(start, moves, evaluate)).at(-1);
  for (let i = 0; i < 64; i++) await simulate(root, evaluate, 1.25);
  return findings(root);
};
"""


def run(script):
    """What the script gives."""
    done = subprocess.run(
        ["node", "--input-type=module", "-"],
        input=f"{_joined(('search.js',))}{GAME}console.log(JSON.stringify({script}));",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@skip_without(shutil.which("node"), "node is not installed (Debian: apt-get install nodejs)")
def test_a_move_that_was_taken_back_is_not_recommended():
    fresh, again, unseen = run("""await (async () => {
      const fresh = await think(await begin(), []);
      const start = await begin();
      await think(start, []);
      await think(start, [2]); // the worst move, and the network's answer
      await follow(start, [2, 0], evaluate);
      const again = await think(start, []); // after both were taken back
      // The same where nobody had thought about the position before.
      const other = await begin();
      await think(other, [2]);
      return [fresh, again, await think(other, [])];
    })()""")
    visits = dict(fresh["visits"])
    assert sum(visits.values()) == 64
    assert visits[2] < min(visits[0], visits[1])
    assert again["visits"] == unseen["visits"] == fresh["visits"]
    assert again["value"] == unseen["value"] == fresh["value"]


@skip_without(shutil.which("node"), "node is not installed (Debian: apt-get install nodejs)")
def test_what_was_found_below_a_move_that_is_played_is_kept():
    before, kept, after = run("""await (async () => {
      const start = await begin();
      const before = await think(start, []);
      const kept = (await follow(start, [0], evaluate)).at(-1).visits;
      return [before, kept, await think(start, [0])];
    })()""")
    assert kept == dict(before["visits"])[0] > 8
    assert sum(count for _, count in after["visits"]) == kept - 1 + 64
