import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.errors import UserError
from azjax.evaluation.positions import random_positions
from azjax.exact.known_values import Endgames, exact_values
from azjax.exact.solver import solve
from azjax.pytrees import take
from tests.oracles.alphabeta import hex_solver
from tests.oracles.othello import BLACK, PASS, WHITE, Position, best_margin


def _late(game, is_late, count):
    """Returns different late positions of random games."""
    states, _ = random_positions(game, jax.random.key(5), num_games=64)
    states = take(states, is_late(states))
    rows = np.random.default_rng(0).permutation(len(jax.tree.leaves(states)[0]))[:count]
    assert len(rows) == count
    return take(states, rows)


@pytest.mark.parametrize("size", [6, 8])
def test_othello_endgames_are_worth_what_an_independent_search_says(size):
    game = make("othello", size=size)
    values = exact_values(game)
    states = _late(game, values.known, 100)
    scores = values.load().action_scores(states)
    passes = 0
    views = np.asarray(jax.vmap(game.view)(states))
    for view, player, row in zip(views, np.asarray(states.player), scores, strict=True):
        cells = enumerate(view[:-1].reshape(size, size))
        board = {
            (r, c): " XO"[code]
            for r, line in cells
            for c, code in enumerate(line)
            if code in (1, 2)
        }
        assert size**2 - len(board) <= 8
        position = Position(size, board, (BLACK, WHITE)[player])
        sign = 1 - 2 * int(player)
        expected = np.full(size**2 + 1, -np.inf)
        for choice in position.legal():
            action = size**2 if choice == PASS else choice[0] * size + choice[1]
            expected[action] = sign * best_margin(position.after(choice))
            passes += choice == PASS
        np.testing.assert_array_equal(row, expected)
    assert passes > 0


def test_hex_endgames_are_won_and_lost_as_an_independent_search_says():
    game, oracle = make("hex_5x5"), hex_solver(5)
    values = exact_values(game)
    states = _late(game, values.known, 100)
    scores = values.load().action_scores(states)
    wrong = 0
    for chains, row in zip(np.asarray(states.chains).tolist(), scores, strict=True):
        stones = [sum(1 << cell for cell, x in enumerate(chains) if s * x > 0) for s in (1, -1)]
        player = sum(x != 0 for x in chains) % 2
        own, other = stones[player], stones[1 - player]
        assert chains.count(0) <= 10
        for cell, label in enumerate(chains):
            if label:
                assert row[cell] == -np.inf
            elif oracle.rules.wins(own | 1 << cell, player):
                assert row[cell] == 1
            else:
                assert row[cell] == -oracle.value(other, own | 1 << cell)
                wrong += row[cell] != row.max()
    assert wrong > 100


def test_what_can_be_reached_from_some_positions_has_the_values_it_has_in_the_whole_game():
    game = make("othello_4x4")
    whole = solve(game, payoff="margin")
    late = whole.decisions[whole.plies[whole.decisions] >= 6]
    rows = np.random.default_rng(1).permutation(late)[:500]
    rows = np.append(rows, rows[:3])  # repeated positions are allowed
    scores = Endgames(game, "margin").action_scores(whole.states(rows))
    np.testing.assert_array_equal(scores, whole.action_values(rows))
    part = solve(game, start=whole.states(rows), payoff="margin")
    assert part.num_states < whole.num_states
    np.testing.assert_array_equal(part.values[part.lookup(whole.states(rows))], whole.values[rows])
    assert (part.plies[part.lookup(whole.states(rows))] == 0).all()


def test_only_what_is_late_is_known():
    game = make("othello")
    values = exact_values(game)
    assert not values.complete
    states, plies = random_positions(game, jax.random.key(0), num_games=64)
    known = values.known(states)
    discs = np.asarray(jax.vmap(game.score)(states)).sum(-1)
    np.testing.assert_array_equal(known, discs >= 56)
    assert not known[plies < 52].any()


def test_where_too_much_can_be_reached_it_is_refused():
    game = make("othello_6x6")
    start = jax.tree.map(lambda x: x[None], game.init())
    with pytest.raises(UserError, match="too large to solve"):
        solve(game, start=start, payoff="margin", max_states=1000)
