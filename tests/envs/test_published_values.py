"""Published values and counts: who wins under best play, and the legal positions of go.

The oracle has its own rules and must reproduce the published values. Our games must agree with the
oracle over random games, best play and whole game trees.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.exact.solver import solve
from tests.oracles.alphabeta import GoSolver, HexRules, RowRules, hex_solver, rows_solver
from tests.oracles.go_rules import EMPTY

HEX = {2: "b1 a2", 3: "c1 a2 b2 c2 a3", 4: "d1 c2 b3 a4"}
ROWS = {(3, 3, 3): 0, (4, 3, 3): 1, (4, 4, 3): 1, (5, 3, 3): 1, (4, 4, 4): 0}
ALL_ROWS = [*ROWS, pytest.param((5, 4, 4), marks=pytest.mark.slow)]
GAMES = [f"hex_{n}x{n}" for n in HEX] + [f"mnk_{m}x{n}x{k}" for m, n, k in ROWS]


def oracle_rules(game):
    return HexRules(game.size) if game.name.startswith("hex") else RowRules(game.m, game.n, game.k)


def oracle_end(rules, line):
    """Returns the number of plies of `line` after which the game ends, and player 0's result."""
    stones = [0, 0]
    for ply, cell in enumerate(line, start=1):
        player = (ply - 1) % 2
        stones[player] |= 1 << cell
        if rules.wins(stones[player], player):
            return ply, 1 - 2 * player
    assert len(line) == rules.cells
    return len(line), 0


@pytest.mark.parametrize("size", HEX)
def test_hex_winning_openings(size):
    cells = hex_solver(size).winning_openings()
    assert " ".join(f"{'abcd'[cell % size]}{cell // size + 1}" for cell in cells) == HEX[size]


@pytest.mark.parametrize("shape", ALL_ROWS)
def test_rows_values(shape):
    assert rows_solver(*shape).value() == ROWS.get(shape, 0)


@pytest.mark.parametrize("size", HEX)
def test_hex_best_play(play_line, size):
    game, solver = make(f"hex_{size}x{size}"), hex_solver(size)
    for first in range(size * size):
        wins = 1 if game.action_to_string(game.init(), first) in HEX[size].split() else -1
        state = play_line(game, solver.principal_line(first))
        assert game.is_terminal(state)
        assert game.returns(state).tolist() == [wins, -wins]


@pytest.mark.parametrize("shape", ALL_ROWS)
def test_rows_best_play(play_line, shape):
    game = make("mnk", m=shape[0], n=shape[1], k=shape[2])
    value = ROWS.get(shape, 0)
    state = play_line(game, rows_solver(*shape).principal_line())
    assert game.is_terminal(state)
    assert game.returns(state).tolist() == [value, -value]


@pytest.mark.parametrize("name", GAMES)
def test_random_games_end_as_the_oracle_says(play_randomly, name):
    game, games = make(name), 200
    record, rules = play_randomly(game, games), oracle_rules(game)
    ends = record["over"].argmax(axis=0)
    for lane in range(games):
        plies, result = oracle_end(rules, record["action"][:, lane][: ends[lane]].tolist())
        assert plies == ends[lane]
        np.testing.assert_array_equal(record["returns"][ends[lane], lane], [result, -result])


@pytest.mark.parametrize("name", ["hex_3x3", "mnk_3x3x3", "mnk_4x3x3"])
def test_whole_trees_have_the_oracles_values(name):
    """Solves every opening of the games with their own step functions."""
    game = make(name)
    solution = solve(game)
    solver = hex_solver(3) if name == "hex_3x3" else rows_solver(game.m, game.n, game.k)
    assert solution.value == solver.value()
    after = -solution.action_values(np.array([0]))[0]
    for cell, value in enumerate(after):
        assert solver.value(0, 1 << cell) == value


def test_go_2x2():
    """The value is +1, as published, without a cut, and 0 if the game is cut after eight plies."""
    assert GoSolver(2).value() == 1
    assert GoSolver(2, cut=8).value() == 0
    assert solve(make("go_2x2", komi=0), payoff="margin").value == 0


@pytest.mark.parametrize(("komi", "value"), [(0, 0), (0.5, -1)])
def test_go_2x2_with_komi(komi, value):
    assert solve(make("go_2x2", komi=komi)).value == value


def test_go_3x3_is_all_black():
    """The value is +9, as published: Black, played by the oracle, owns the whole board."""
    assert GoSolver(3).value(low=8) == 9
    game, solver = make("go_3x3", komi=8.5), GoSolver(3, cut=18)
    step, legal = jax.jit(game.step), jax.jit(game.legal_action_mask)
    rng = np.random.default_rng(0)
    for _ in range(15):
        state, boards, passes = game.init(), (EMPTY,), 0
        while passes < 2 and len(boards) <= game.max_steps:
            assert not game.is_terminal(state)
            if len(boards) % 2:
                move = solver.good_move(boards, passes, low=8)
            else:
                move = rng.choice(np.flatnonzero(legal(state)))
            state = step(state, jnp.int32(move))
            boards, passed = solver.play(boards, move)
            passes = passes + 1 if passed else 0
        assert game.is_terminal(state)
        assert game.returns(state).tolist() == [1, -1]
        assert game.score(state).tolist() == [9, 8.5]


def count_legal_positions(game, batch):
    """Returns the number of legal colourings of the board, in which all chains have a liberty.

    A legal colouring can be built stone by stone in any order without a capture: a chain without a
    liberty would also lack one in the whole colouring. Any other colouring leads to a capture or to
    suicide. So cells are coloured one after the other, with a pass if it is the other side's turn.
    """
    cells = game.size**2

    @jax.jit
    def colour(states, cell):
        def put(state, player):
            passes = game.current_player(state) != player
            ready = jax.tree.map(
                lambda a, b: jnp.where(passes, a, b), game.step(state, cells), state
            )
            after = game.step(ready, cell)
            planes = game.observe(after)
            stones = jnp.sum(planes[..., 0] + planes[..., 8])
            before = game.observe(state)
            kept = stones == jnp.sum(before[..., 0] + before[..., 8]) + 1
            return after, kept & game.legal_action_mask(ready)[cell]

        return [jax.vmap(put, (0, None))(states, player) for player in (0, 1)]

    start = jax.tree.map(lambda x: np.asarray(x)[None], game.init())
    total, stack = 0, [(0, start)]
    while stack:
        cell, states = stack.pop()
        count = len(states.ply)
        if cell == cells:
            total += count
            continue
        padded = jax.tree.map(
            lambda x, n=count: np.pad(x, [(0, batch - n)] + [(0, 0)] * (x.ndim - 1)), states
        )
        coloured = jax.tree.map(np.asarray, colour(padded, cell))
        if cell == cells - 1:
            total += count + sum(int(kept[:count].sum()) for _, kept in coloured)
            continue
        parts = [states]
        for after, kept in coloured:
            parts.append(jax.tree.map(lambda x, keep=kept, n=count: x[:n][keep[:n]], after))
        joined = jax.tree.map(lambda *x: np.concatenate(x), *parts)
        for first in range(0, len(joined.ply), batch):
            stack.append((cell + 1, jax.tree.map(lambda x, i=first: x[i : i + batch], joined)))
    return total


@pytest.mark.parametrize(("size", "published"), [(2, 57), (3, 12675)])
def test_go_legal_positions(size, published):
    assert count_legal_positions(make("go", size=size), 1024) == published


@pytest.mark.slow
def test_go_legal_positions_4x4():
    assert count_legal_positions(make("go_4x4"), 32768) == 24318165
