import jax
import numpy as np
from azjax_envs import init_batch, make

from azjax.players import monte_carlo
from azjax.players.monte_carlo import MonteCarloPlayer
from tests.players.positions import after

GAME = make("tic_tac_toe")
PLAYER = MonteCarloPlayer(GAME, 50)


def test_totals_are_exact_where_nothing_is_left_to_chance():
    """Cells 7 and 8 are free, so each playout has one continuation only."""
    states = after(GAME, [[0, 1, 4, 2, 5, 3, 6]])  # O to move, cells 7 and 8 free
    totals = np.asarray(jax.jit(PLAYER.total_results)(jax.random.key(0), states))[0]
    # O on 7: X takes 8 and has 0-4-8. O on 8: X takes 7, a draw.
    assert totals[7] == -50
    assert totals[8] == 0


def test_wins_in_one_and_keeps_from_losing_in_two():
    states = after(
        GAME,
        [
            [0, 3, 1, 4],  # X wins at 2
            [0, 3, 1, 4, 8],  # O wins at 5
            [0, 4, 1],  # O must stop X at 2
            [0, 3, 1, 4, 2],  # over
        ],
    )
    actions = jax.jit(PLAYER.__call__)(jax.random.key(0), states)
    np.testing.assert_array_equal(actions[:3], [2, 5, 2])
    assert 0 <= actions[3] < 9


def test_the_mover_may_move_again():
    """Dots and boxes 1x2 after 0-1-2-3-4: edge 5 takes both boxes, 6 gives both away."""
    game = make("dots_and_boxes_1x2")
    player = MonteCarloPlayer(game, 5)
    totals = jax.jit(player.total_results)(jax.random.key(0), after(game, [[0, 1, 2, 3, 4]]))[0]
    assert (totals[5], totals[6]) == (5, -5)


def test_many_positions_are_played_out_part_by_part(monkeypatch):
    """The moves are as good, and the memory does not grow with the number of positions."""
    states = after(GAME, [[0, 3, 1, 4], [0, 3, 1, 4, 8], [0, 4, 1]] * 3)
    usual = jax.jit(PLAYER.__call__)(jax.random.key(0), states)
    monkeypatch.setattr(monte_carlo, "_MEMORY", 2 * 4 * 9 * monte_carlo._state_bytes(GAME))
    actions = jax.jit(MonteCarloPlayer(GAME, 49).__call__)(jax.random.key(0), states)
    np.testing.assert_array_equal(actions, usual)


def test_games_of_many_moves_are_not_all_played_at_once(monkeypatch):
    game, lanes, play = make("chess"), [], monte_carlo.playout_returns

    def noted(game, key, children):
        lanes.append(children.ply.shape[0])
        return play(game, key, children)

    monkeypatch.setattr(monte_carlo, "playout_returns", noted)
    for count, most in ((4, 4), (100, 8)):
        states = jax.eval_shape(lambda count=count: init_batch(game, jax.random.key(0), count))
        jax.eval_shape(MonteCarloPlayer(game, 1).__call__, jax.random.key(0), states)
        assert lanes.pop() == most * game.num_actions
        lanes.clear()
