"""The anytime search of a game of dice is that of players, whose trees have chance nodes."""

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.engine.anytime import make_anytime_search
from azjax.files.game_record import replay
from azjax.players.uct import UCTPlayer
from azjax.pytrees import expand
from tests.web.sites import untrained

GAME = make("ur_2")
PLAYERS = {"Gumbel": untrained("ur_2"), "UCT": UCTPlayer(GAME, 24)}
STATE = replay(GAME, ["2:", "new", "1:", "new", "1:"]).current.state


@pytest.fixture(scope="module", params=PLAYERS)
def search(request):
    return request.param, make_anytime_search(PLAYERS[request.param], memory_mb=1)


def test_the_search_has_chance_nodes(search):
    _, anytime = search
    progress = anytime.start(STATE, jax.random.PRNGKey(0)).run(24)
    found = progress.analysis()
    assert found.simulations == 24
    assert found.visits.shape == found.prior.shape == (GAME.num_actions,)
    assert found.visits.sum() == 24
    assert set(np.flatnonzero(found.visits)) == {0, 2}
    first, *rest = found.principal_variation(found.action)
    assert first == found.action
    assert rest[0] >= GAME.num_actions  # the roll after it


def test_it_visits_what_a_player_visits(search):
    name, anytime = search
    if name == "UCT":
        return  # whose playouts are random
    player = PLAYERS[name]
    found = anytime.start(STATE, jax.random.PRNGKey(0)).run(8).analysis()
    result = jax.jit(player.analyse)(jax.random.PRNGKey(0), expand(STATE))
    np.testing.assert_array_equal(found.visits, result.visits[0])
    np.testing.assert_allclose(found.action_values, result.action_values[0], atol=1e-5)
    assert found.action == result.action[0]


def test_some_actions_alone(search):
    _, anytime = search
    found = anytime.start(STATE, root_actions=[2]).run(8).analysis()
    assert set(np.flatnonzero(found.visits)) == {2}
