"""`azjax.act`: weights are arguments of the program, and wrong arguments fail with one line."""

import jax
import numpy as np
import pytest
from azjax_envs import init_batch, make

import azjax
from azjax.evaluation.batch_evaluation import choose
from azjax.players import base
from azjax.players.exact import exact_player
from azjax.players.minimax import MinimaxPlayer
from azjax.players.monte_carlo import MonteCarloPlayer
from azjax.players.network_players import PolicyPlayer, SearchPlayer, ValuePlayer
from azjax.players.random_player import RandomPlayer
from azjax.players.uct import UCTPlayer
from tests.oracles.players import HostLowest
from tests.players.test_network_players import player_of

GAME = make("tic_tac_toe")
KEY = jax.random.key(0)
JITTABLE = [
    RandomPlayer(GAME),
    MinimaxPlayer(GAME, 1),
    MonteCarloPlayer(GAME, 1),
    UCTPlayer(GAME, 2),
    player_of(PolicyPlayer, GAME),
    player_of(ValuePlayer, GAME),
    player_of(SearchPlayer, GAME),
]


def test_weights_are_arguments_of_the_program():
    states = init_batch(GAME, KEY, 3)
    players = [player_of(SearchPlayer, GAME, seed) for seed in (0, 1)]
    before = base._act._cache_size()
    actions = [azjax.act(player, KEY, states) for player in players]
    assert base._act._cache_size() == before + 1
    for player, chosen in zip(players, actions, strict=True):
        np.testing.assert_array_equal(chosen, jax.jit(player)(KEY, states))
    lowered = base._act.lower(players[0], KEY, states)
    weights = sum(x.size for x in jax.tree.leaves(players[0].variables))
    arguments = jax.tree.leaves(lowered.args_info)
    assert sum(int(np.prod(x.shape)) for x in arguments) > weights
    # As a constant, each weight takes eight hexadecimal digits of the program's text.
    baked = jax.jit(players[0]).lower(KEY, states).as_text()
    assert len(baked) - len(lowered.as_text()) > 7 * weights


def test_no_position():
    none = jax.tree.map(lambda x: x[:0], init_batch(GAME, KEY, 1))
    asked = []
    for player in [*JITTABLE, exact_player(GAME), HostLowest(GAME, asked)]:
        actions = azjax.act(player, KEY, none)
        assert (actions.shape, actions.dtype) == ((0,), np.int32)
        assert choose(player, KEY, none, 8).shape == (0,)
    assert asked == []
    with pytest.raises(ValueError, match="states must be a batch of tic_tac_toe's"):
        azjax.act(JITTABLE[0], KEY, np.zeros((0, 3)))


def test_players_that_cannot_be_jitted_are_called():
    asked = []
    states = init_batch(GAME, KEY, 3)
    actions = azjax.act(HostLowest(GAME, asked), KEY, states)
    assert asked == [3]
    assert actions.dtype == np.int32
    np.testing.assert_array_equal(actions, [0, 0, 0])


@pytest.mark.parametrize("player", JITTABLE, ids=lambda player: type(player).__name__)
def test_wrong_states_fail_with_one_line(player):
    shape = jax.eval_shape
    with pytest.raises(ValueError, match="must have a batch axis"):
        shape(player, KEY, GAME.init())
    with pytest.raises(ValueError, match="a batch of tic_tac_toe's"):
        shape(player, KEY, init_batch(make("connect_four"), KEY, 2))


@pytest.mark.parametrize("player", [JITTABLE[0], JITTABLE[3], JITTABLE[6], "exact"], ids=str)
def test_a_batch_of_keys_fails_with_one_line(player):
    player = exact_player(GAME) if player == "exact" else player
    with pytest.raises(ValueError, match="key must be one PRNG key"):
        jax.eval_shape(player, jax.random.split(KEY, 2), init_batch(GAME, KEY, 2))


@pytest.mark.parametrize(
    "player", [*JITTABLE, exact_player(GAME)], ids=lambda player: type(player).__name__
)
def test_players_print_in_a_line(player):
    assert len(repr(player)) < 100
    assert "tic_tac_toe" in repr(player) or "TicTacToe" in repr(player)
