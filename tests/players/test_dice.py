"""Built-in players in games of chance."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.evaluation.match import play_match
from azjax.exact.chance_solver import solve_chance
from azjax.network.network import Prediction
from azjax.players.exact import exact_player
from azjax.players.minimax import MinimaxPlayer
from azjax.players.monte_carlo import MonteCarloPlayer
from azjax.players.network_players import ValuePlayer
from azjax.players.random_player import RandomPlayer
from azjax.players.uct import UCTPlayer
from tests.oracles.dice import rolled_positions
from tests.oracles.pig import Pig

GAME = Pig(5)
KEY = jax.random.key(0)


@functools.lru_cache
def exact():
    return exact_player(GAME)


def positions(count=64):
    return rolled_positions(GAME, KEY, count, 6)


def test_exact_values_are_those_of_the_solution():
    states = positions()
    values = np.asarray(jax.jit(exact().move_values)(states))
    np.testing.assert_allclose(values.max(-1), solve_chance(GAME).state_values(states), atol=1e-5)
    legal = np.asarray(jax.vmap(GAME.legal_action_mask)(states))
    np.testing.assert_array_equal(np.isfinite(values), legal)


def brute_force(game, depth, state, player):
    """Returns `player`'s expected result by trying everything; 0 at the horizon."""
    if game.is_terminal(state):
        return float(game.returns(state)[player])
    if game.is_chance(state):
        shares = np.asarray(game.chance_probabilities(state))
        return sum(
            share * brute_force(game, depth, game.chance_step(state, k), player)
            for k, share in enumerate(shares)
        )
    if depth == 0:
        return 0.0
    values = [
        brute_force(game, depth - 1, game.step(state, a), player)
        for a in np.flatnonzero(game.legal_action_mask(state))
    ]
    return (max if game.current_player(state) == player else min)(values)


@pytest.mark.parametrize("depth", [1, 2])
def test_minimax_takes_the_mean_over_the_dice(depth):
    states = rolled_positions(Pig(3), KEY, 6, 3)
    game = Pig(3)
    player = MinimaxPlayer(game, depth)
    chosen = np.array([jax.jit(player)(jax.random.key(i), states) for i in range(8)])
    for i in range(6):
        state = jax.tree.map(lambda x, i=i: x[i], states)
        legal = np.flatnonzero(game.legal_action_mask(state))
        mover = int(state.player)
        values = [brute_force(game, depth - 1, game.step(state, a), mover) for a in legal]
        best = legal[np.array(values) >= max(values) - 1e-6]
        assert set(chosen[:, i]) <= set(best)


@dataclasses.dataclass(frozen=True)
class OwnPoints:
    """A network whose value is the mover's lead, and two tenths less before a roll."""

    def apply(self, variables, observations):
        place = jnp.argmax(observations[:, 0], axis=1)  # own score, the other's, own with the turn
        value = (place[:, 2] - place[:, 1]) / 10.0 - 0.2 * observations[:, 0, 0, 3]
        return Prediction(
            policy_logits=jnp.zeros((len(value), 2)), value=value, value_logits=value[:, None]
        )


def test_a_value_player_looks_at_positions_before_the_dice():
    states = positions()
    found = ValuePlayer(game=GAME, network=OwnPoints(), variables={})(KEY, states)
    own, other, turn = (
        np.where(states.player == 0, states.scores[:, 0], states.scores[:, 1]),
        np.where(states.player == 0, states.scores[:, 1], states.scores[:, 0]),
        states.turn,
    )
    # After a hold the other player is to move, with the points of the turn added to one's own.
    hold = np.where(own + turn >= 5, 1.0, -(other - (own + turn)) / 10)
    roll = (np.minimum(own + turn, 5) - other) / 10 - 0.2
    clear = (turn > 0) & (abs(hold - roll) > 1e-4)
    assert clear.sum() > 10
    np.testing.assert_array_equal(found[clear], (roll > hold)[clear])


@pytest.mark.parametrize("player", [UCTPlayer(GAME, 64), MonteCarloPlayer(GAME, 50)])
def test_players_by_playouts_know_the_dice(player):
    """They lose little by their moves, where the best and the worst move differ."""
    states = positions()
    values = np.asarray(exact().move_values(states))
    chosen = np.asarray(jax.jit(player)(KEY, states))
    loss = values.max(-1) - values[np.arange(len(chosen)), chosen]
    worst = np.where(np.isfinite(values), values, np.inf).min(-1)
    differs = values.max(-1) - worst > 0.3
    assert differs.sum() > 5
    assert loss[differs].mean() < 0.1


def test_perfect_play_beats_random_play():
    result = play_match(GAME, exact(), RandomPlayer(GAME), KEY, num_games=400)
    assert result.score > 0.6


def test_the_start_of_ur_is_worth_what_the_solver_says():
    game = make("ur_1")
    player = exact_player(game)
    result = play_match(game, player, player, KEY, num_games=512)
    assert result.score == 0.5  # the same dice for both seats
