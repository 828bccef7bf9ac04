"""Games of dice in a notebook: chance nodes in search trees, and rolls on the board to play at."""

import base64
import re

import jax
import numpy as np
import pytest
from azjax_envs import draw_chance, make

from azjax.errors import UserError
from azjax.files.game_record import replay
from azjax.notebook import search_tree
from azjax.players.uct import UCTPlayer
from tests.oracles.players import SureLowest
from tests.web.sites import untrained

GAME = make("ur_2")
KEY = jax.random.key(3)
PLAYERS = {"Gumbel": untrained("ur_2"), "UCT": UCTPlayer(GAME, 40)}


@pytest.fixture(scope="module", params=PLAYERS)
def tree(request):
    record = replay(GAME, ["2:", "new", "1:", "new", "1:"])
    return search_tree(PLAYERS[request.param], record.current.state, KEY)


def test_nodes_before_the_dice_are_chance_nodes(tree):
    chance = np.asarray(jax.vmap(GAME.is_chance)(tree.states))
    np.testing.assert_array_equal(tree.chance, chance)
    assert chance.any()
    assert not chance[0]
    by_chance = chance[tree.parents[1:]]
    np.testing.assert_array_equal(tree.actions[1:] >= GAME.num_actions, by_chance)
    assert by_chance.any()
    assert sum(move["visits"] for move in tree.moves()) == tree.simulations
    assert all(0 <= move["action"] < GAME.num_actions for move in tree.moves())


def test_outcomes_are_drawn_with_their_probabilities(tree):
    shown = tree.picture(max_nodes=100)._repr_html_()
    svg = base64.b64decode(re.search(r"base64,([^\"]+)", shown)[1]).decode()
    named = re.findall(r'class="move"[^>]*>([^<]+)<', svg)
    outcomes = {name for name in named if "%" in name}
    assert outcomes
    assert outcomes <= {"0: 6%", "1: 25%", "2: 38%", "3: 25%", "4: 6%"}
    assert "new" in named
    real = ~tree.over[np.maximum(tree.parents, 0)] | (tree.parents < 0)
    assert svg.count("<polygon") == (tree.chance & real).sum()
    assert "diamond: chance is next" in svg


def test_earlier_trees_have_chance_nodes_too(tree):
    early = tree.after(5)
    np.testing.assert_array_equal(early.chance, tree.chance[:6])
    again = tree.after(tree.simulations - 1)
    assert again.visits[0] == tree.simulations
    assert "simulations" in again._repr_html_()


def test_the_dice_must_be_rolled():
    with pytest.raises(UserError, match="the dice must be rolled first"):
        search_tree(PLAYERS["UCT"], GAME.init(), KEY)


def test_a_game_by_clicks_with_dice():
    pytest.importorskip("anywidget")
    from azjax.notebook import opponent

    widget = opponent(GAME, SureLowest(GAME, 0.2), key=jax.random.PRNGKey(4), human=1)
    statuses = []
    widget.observe(lambda change: statuses.append(change["new"]["status"]), "shown")
    for _ in range(6):
        if widget.session.over:
            break
        roll = widget.session.current.roll
        assert re.fullmatch(rf"Your move( again)? with a roll of {roll}\.", widget.shown["status"])
        assert widget.shown["codes"][24] == 1 + int(roll)  # as the board draws it
        widget._handle_custom_msg({"do": "play", "action": widget.shown["legal"][0]}, [])
    assert any(re.match(r"lowest is thinking with a roll of \d \.\.\.", text) for text in statuses)
    assert re.match(r"\d: (new|pass)", widget.shown["moves"])
    moves = widget.shown["moves"]
    undone = widget.session.record.num_moves
    widget.undo()
    assert moves.startswith(widget.shown["moves"])
    assert widget.session.record.num_moves < undone
    assert widget.session.current.roll  # taking a move back keeps the dice


def test_a_batch_of_rolled_boards():
    from azjax.notebook import boards

    states = draw_chance(GAME, KEY, jax.vmap(lambda _: GAME.init())(np.arange(2)))
    assert len(boards(GAME, states).pictures) == 2
