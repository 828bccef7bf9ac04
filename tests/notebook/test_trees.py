"""Search trees equal those of the searches, after every simulation, with the right signs of values.

In the test's position players move twice in a row (dots and boxes), and games end in the search.
"""

import base64
import dataclasses
import re
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.config import NetworkConfig, SearchConfig
from azjax.errors import UserError
from azjax.network.two_headed import make_network
from azjax.notebook import search_tree
from azjax.notebook.trees import _back_up
from azjax.players.minimax import MinimaxPlayer
from azjax.players.network_players import SearchPlayer
from azjax.players.uct import UCTPlayer

GAME = make("dots_and_boxes", rows=1, columns=2)
NETWORK = make_network(
    GAME, NetworkConfig(architecture="mlp", blocks=1, channels=8, value_hidden=8)
)
KEY = jax.random.PRNGKey(3)
SIMULATIONS = 60


def position():
    """Returns a position with three of seven edges; the mover can close a box, not end the game."""
    state = GAME.init()
    for text in ("h-1-1", "v-1-1", "h-2-1"):
        state = GAME.step(state, GAME.string_to_action(state, text))
    return state


STATE = position()


def network_player(algorithm, simulations=SIMULATIONS):
    return SearchPlayer(
        game=GAME,
        network=NETWORK,
        variables=NETWORK.init(jax.random.PRNGKey(1)),
        config=SearchConfig(algorithm=algorithm, num_simulations=simulations),
    )


PLAYERS = {
    "gumbel": network_player("gumbel"),
    "puct": network_player("puct"),
    "uct": UCTPlayer(GAME, SIMULATIONS),
}


@pytest.fixture(scope="module", params=PLAYERS)
def searched(request):
    return request.param, search_tree(PLAYERS[request.param], STATE, KEY)


def test_the_tree_is_that_of_the_players_search(searched):
    name, tree = searched
    assert tree.simulations == SIMULATIONS
    assert sum(move["visits"] for move in tree.moves()) == SIMULATIONS
    if name == "uct":
        return
    states = jax.tree.map(lambda x: x[None], STATE)
    analysis = jax.jit(PLAYERS[name].analyse)(KEY, states)
    assert tree.action == int(analysis.action[0])
    for move in tree.moves():
        action = move["action"]
        assert move["visits"] == int(analysis.visits[0, action])
        assert move["prior"] == pytest.approx(float(analysis.prior[0, action]), abs=1e-6)
        assert move["policy"] == pytest.approx(float(analysis.policy[0, action]), abs=1e-6)
        if move["visits"]:
            value = float(analysis.action_values[0, action])
            assert move["value"] == pytest.approx(value, abs=1e-6)


def test_visits_and_values_follow_from_the_order_of_the_nodes(searched):
    _, tree = searched
    again = _back_up(dataclasses.replace(tree, visits=None, values=None))
    np.testing.assert_array_equal(again.visits, tree.visits)
    np.testing.assert_allclose(again.values, tree.values, atol=1e-6)


def test_an_earlier_tree_is_that_of_a_shorter_search():
    """PUCT does not depend on the number of simulations that follow."""
    shorter = search_tree(network_player("puct", 7), STATE, KEY)
    cut = search_tree(PLAYERS["puct"], STATE, KEY).after(7)
    np.testing.assert_array_equal(cut.visits, shorter.visits)
    np.testing.assert_array_equal(cut.parents, shorter.parents)
    np.testing.assert_array_equal(cut.actions, shorter.actions)
    np.testing.assert_allclose(cut.values, shorter.values, atol=1e-6)


def test_values_are_the_root_players(searched):
    """Each is the mean of the evaluations below, with the sign of the mover there."""
    _, tree = searched
    returns = np.asarray(jax.vmap(GAME.returns)(tree.states))
    mine, root = tree.movers[0], len(tree.parents)
    assert (tree.movers[1:] == mine).any()
    assert (tree.movers[1:] != mine).any()
    assert tree.over.any()

    def line(node):
        """Returns the nodes from the root to a node."""
        above = [node]
        while tree.parents[above[0]] >= 0:
            above.insert(0, int(tree.parents[above[0]]))
        return above

    def evaluation(node):
        for step in line(node):
            if tree.over[step]:
                return returns[step, mine]
        return tree.evaluations[node] * (1 if tree.movers[node] == mine else -1)

    for node in range(1, root):
        below = [evaluation(i) for i in range(root) if node in line(i)]
        if not tree.over[line(node)[:-1]].any():
            assert tree._value(node) == pytest.approx(np.mean(below), abs=1e-5)
            assert tree.visits[node] == len(below)


def drawing(tree, **options):
    data = re.search(r"base64,([^\"]+)", tree.picture(**options)._repr_html_())[1]
    svg = ElementTree.fromstring(base64.b64decode(data))
    of_class = {}
    for part in svg.iter():
        for name in part.get("class", "").split():
            of_class.setdefault(name, []).append(part)
    return of_class


def test_the_picture_shows_the_most_visited_nodes_and_the_newest(searched):
    _, tree = searched
    early = tree.after(5)
    parts = drawing(early)
    assert len(parts["visits"]) == 6
    assert parts["visits"][0].text == "6"
    assert len(parts["move"]) == len(parts["edge"]) + len(parts["path"]) == 5
    names = {move["move"] for move in early.moves() if move["visits"]}
    assert names <= {part.text for part in parts["move"]}
    few = drawing(tree, max_nodes=3)
    hidden = [part.text for part in few["legend"] if "not shown" in part.text]
    real = sum(1 for i in range(1, len(tree.parents)) if not tree.over[tree.parents[i]]) + 1
    assert hidden == [f"{real - len(few['visits'])} less visited nodes are not shown"]


def test_a_root_alone_is_drawn_too(searched):
    _, tree = searched
    start = tree.after(0)
    assert len(drawing(start)["value"]) == 1
    assert all(move["visits"] == 0 for move in start.moves())


def test_the_html_of_a_notebook(searched):
    name, tree = searched
    shown = tree._repr_html_()
    chosen = GAME.action_to_string(STATE, tree.action)
    assert f"{SIMULATIONS} simulations: plays <b>{chosen}</b>" in shown
    assert (">prior<" in shown) == (">policy<" in shown) == (name != "uct")
    assert "plays" not in tree.after(3)._repr_html_()
    assert ">policy<" not in tree.after(3)._repr_html_()


def test_errors():
    with pytest.raises(UserError, match="minimax:2 has no search tree"):
        search_tree(MinimaxPlayer(GAME, 2), STATE, KEY)
    state = GAME.init()
    for action in range(GAME.num_actions):
        state = GAME.step(state, jnp.int32(action))
    with pytest.raises(UserError, match="the game is over"):
        search_tree(PLAYERS["puct"], state, KEY)
    tree = search_tree(PLAYERS["puct"], STATE, KEY)
    with pytest.raises(UserError, match="from 0 to 60"):
        tree.after(61)
