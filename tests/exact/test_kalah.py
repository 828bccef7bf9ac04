import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.evaluation.positions import random_positions
from azjax.exact.first_moves import _KALAH_MARGINS, start_result
from azjax.exact.kalah import (
    KalahTable,
    _of_seeds,
    _rank,
    best_margins,
    seeds_known,
    seeds_left,
)
from azjax.exact.known_values import exact_values
from azjax.exact.solver import solve
from azjax.players.exact import exact_player
from azjax.pytrees import take
from tests.oracles import kalah


def _game(pits, seeds, empty_capture=False):
    return make("mancala", pits=pits, seeds=seeds, empty_capture=empty_capture)


_table = functools.lru_cache(lambda *options: exact_values(_game(*options)).load())

# The first player's margin under best play, and how quickly each engine finds it. With empty
# captures from Irving, Donkers and Uiterwijk, Solving Kalah, 2000.
MARGINS = """
pits seeds empty_capture margin alpha_beta solver table player start_result
   3     3          True      2       fast   fast  fast   fast         fast
   4     3          True      8       fast   slow  slow   slow         fast
   4     3         False      6       fast   slow  fast   fast         fast
   4     4          True      2       slow      -     -      -         fast
   5     3         False      6       slow      -     -      -         fast
   6     1          True      2       fast   fast     -      -         fast
   6     2          True     10       fast      -     -      -         fast
   6     2         False      6       fast      -     -      -         fast
"""


def _cases():
    """Yields an engine, the options of a game, and its margin."""
    head, *rows = (line.split() for line in MARGINS.strip().splitlines())
    for pits, seeds, empty_capture, margin, *speeds in rows:
        options = int(pits), int(seeds), empty_capture == "True"
        for engine, speed in zip(head[4:], speeds, strict=True):
            if speed != "-":
                marks = pytest.mark.slow if speed == "slow" else ()
                name = f"{engine}-{pits}x{seeds}-{empty_capture}"
                yield pytest.param(engine, options, int(margin), marks=marks, id=name)


@pytest.mark.parametrize(("engine", "options", "margin"), list(_cases()))
def test_published_margins(engine, options, margin):
    game = _game(*options)
    start = jax.tree.map(lambda x: x[None], game.init())
    match engine:
        case "alpha_beta":  # by the plain rules, which the game follows seed by seed
            solver = kalah.Solver(empty_capture=options[2])
            assert solver.margin(*kalah.start(*options[:2])) == margin
        case "solver":
            solution = solve(game, payoff="margin", max_states=20_000_000, max_bytes=8 << 30)
            assert solution.value == margin
            assert solution.plies.max() <= game.max_steps
        case "table":
            assert exact_values(game).complete
            assert np.asarray(_table(*options).action_scores(start)).max() == margin
        case "player":
            assert _table(*options)  # which the player shares
            act, step = jax.jit(exact_player(game).__call__), jax.jit(jax.vmap(game.step))
            states = start
            for key in jax.random.split(jax.random.key(0), game.max_steps):
                states = step(states, act(key, states))
            assert np.subtract(*jax.vmap(game.score)(states)[0]) == margin
        case "start_result":
            assert start_result(game) == np.sign(margin)
            assert game.empty_capture or _KALAH_MARGINS[options[:2]] == margin


@pytest.mark.parametrize("empty_capture", [False, True])
def test_in_every_reachable_position_the_scores_are_the_solvers_margins(empty_capture):
    game = _game(3, 3, empty_capture)
    solution = solve(game, payoff="margin")
    decisions = solution.decisions
    assert len(decisions) > 10_000
    scores = np.asarray(_table(3, 3, empty_capture).action_scores(solution.states(decisions)))
    np.testing.assert_array_equal(scores, solution.action_values(decisions))


def test_endgames_of_a_large_board_are_worth_what_an_independent_search_says():
    game = _game(6, 4)
    table = KalahTable(game, jnp.asarray(best_margins(game, 8)))
    states, _ = random_positions(game, jax.random.key(0), num_games=100)
    states = take(states, np.asarray(seeds_left(states)) <= 8)
    assert len(states.own) > 200
    oracle = kalah.Solver(empty_capture=False)
    expected = [
        [_worth(oracle, tuple(own), tuple(other), pit) for pit in range(6)]
        for own, other in zip(states.own.tolist(), states.other.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(np.asarray(table.action_scores(states)), np.array(expected))


def _worth(oracle, own, other, pit):
    if not own[pit]:
        return -math.inf
    own, other, again = kalah.play(own, other, pit, empty_capture=False)
    if kalah.is_over(own):
        return own[-1] - other[-1]
    return oracle.margin(own, other) if again else -oracle.margin(other, own)


def test_all_rows_of_seeds_are_there_in_the_order_of_their_places():
    for holes, seeds in ((2, 7), (4, 5), (8, 3)):
        rows = _of_seeds(seeds, holes)
        assert len({tuple(row) for row in rows}) == len(rows) == math.comb(seeds + holes - 1, seeds)
        assert (rows.sum(1) == seeds).all()
        fewer = math.comb(seeds - 1 + holes, holes)
        places = np.asarray(_rank(jnp.asarray(rows, jnp.int32)))
        np.testing.assert_array_equal(places, fewer + np.arange(len(rows)))


def test_of_a_large_board_the_endgames_are_known():
    game = _game(6, 4)
    values = exact_values(game)
    assert not values.complete
    # 26 over 12 is 9,657,700, and 27 over 12 more than a table may have.
    assert seeds_known(game) == 14
    state = jax.tree.map(lambda x: x[None], game.init())
    assert not values.known(state).any()
    last = state.own.at[0, :6].set(np.uint8(2))
    assert values.known(type(state)(last, last * 0, state.player, state.forfeited)).all()
