import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.k_in_a_row import has_line
from hypothesis import given, settings
from hypothesis import strategies as st

from azjax.exact.solver import solve

SMALL = make("gomoku_9x9")
EXACT = make("gomoku_9x9", exactly_five=True)


@pytest.mark.parametrize(
    ("name", "value"), [("mnk", 0), ("mnk_4x3x3", 1), ("mnk_3x4x3", 1), ("mnk_5x2x3", 0)]
)
def test_published_values(name, value):
    assert solve(make(name)).value == value


def test_three_in_a_row_is_tic_tac_toe():
    solution = solve(make("mnk"))
    assert (solution.num_states, solution.num_terminal) == (5478, 958)


@pytest.mark.parametrize("game", [make("gomoku_7x7", exactly_five=True), make("gomoku_7x7")])
def test_plain_python_agrees(play_randomly, game):
    """Counts every line of every position, stone by stone."""
    record = play_randomly(game, 200)
    longer = 0
    for lane in range(200):
        board, runs = {}, []
        for ply in range(game.max_steps + 1):
            won = any(run == 5 if game.exactly_five else run >= 5 for run in runs)
            longer += bool(runs) and max(runs) > 5
            assert record["over"][ply, lane] == (won or len(board) == 49)
            if record["over"][ply, lane]:
                result = (-1) ** (ply - 1) if won else 0
                assert record["returns"][ply, lane].tolist() == [result, -result]
                break
            action = int(record["action"][ply, lane])
            board[divmod(action, 7)] = ply % 2
            runs = _runs_through(board, divmod(action, 7))
    assert longer  # such rows occurred


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from([(5, 5, 5), (8, 3, 4), (9, 17, 5)]), st.integers(0, 2**32))
def test_lines_on_any_board(shape, seed):
    """The boards include some that no game reaches."""
    height, width, length = shape
    chance = np.random.default_rng(seed)
    cells = chance.random((height, width)) < chance.choice([0.3, 0.5, 0.8])
    runs = [
        run
        for cell in np.argwhere(cells)
        for run in _runs_through({tuple(c): 1 for c in np.argwhere(cells)}, tuple(cell))
    ]
    assert _has_line(shape, cells, exactly=False) == any(run >= length for run in runs)
    assert _has_line(shape, cells, exactly=True) == any(run == length for run in runs)


@pytest.mark.parametrize("size", [5, 8, 9, 15, 16, 19])
def test_every_line_wins_and_none_runs_over_an_edge(size):
    """Tests all fives on the board, and all lines that leave it on one side and come back."""
    shape = (size, size, 5)
    real, wrapped = [], []
    for start in range(size**2):
        for step in (1, size - 1, size, size + 1):
            cells = start + step * np.arange(5)
            if cells[-1] >= size**2:
                continue
            columns = cells % size
            straight = len(set(np.diff(columns))) == 1 and abs(np.diff(columns)[0]) <= 1
            board = np.zeros(size**2, bool)
            board[cells] = True
            (real if straight else wrapped).append(board.reshape(size, size))
    assert len(real) == 2 * size * (size - 4) + 2 * (size - 4) ** 2
    for exactly in (False, True):
        found = _find_lines(shape, np.stack(real + wrapped), exactly)
        assert found[: len(real)].all()
        assert not found[len(real) :].any()


def test_overline(play_line):
    """A stone between two and three makes six in a row: a win, but not with `exactly_five`."""
    line = _moves(SMALL, "a5 a1 b5 b1 d5 a3 e5 b3 f5 c9 c5")
    won = play_line(SMALL, line)
    assert SMALL.is_terminal(won)
    assert SMALL.returns(won).tolist() == [1, -1]
    on = play_line(EXACT, line)
    assert not EXACT.is_terminal(on)
    assert EXACT.returns(on).tolist() == [0, 0]
    # The game goes on, and five in another direction still win.
    rest = _moves(EXACT, "h1 c4 h2 c6 h4 c3 h5 c7")
    five = play_line(EXACT, [*line, *rest])
    assert EXACT.returns(five).tolist() == [1, -1]


def test_five_beside_an_overline_wins(play_line):
    line = _moves(EXACT, "a5 a1 b5 b1 d5 a3 e5 b3 f5 d3 c4 e1 c3 e3 c2 g1 c6 g2 c5")
    assert EXACT.returns(play_line(EXACT, line)).tolist() == [1, -1]  # a5-f5 and c2-c6


def test_five_at_the_edge_is_exactly_five(play_line):
    for text in ("a1 a9 b1 b9 c1 c9 d1 d9 e1", "i1 a9 h2 b9 g3 c9 f4 d9 e5"):
        line = _moves(EXACT, text)
        assert not EXACT.is_terminal(play_line(EXACT, line[:-1]))
        assert EXACT.returns(play_line(EXACT, line)).tolist() == [1, -1]


def test_second_player_wins(play_line):
    line = _moves(SMALL, "a1 e5 a2 f6 a3 g7 a4 h8 c1 i9")
    state = play_line(SMALL, line)
    assert SMALL.returns(state).tolist() == [-1, 1]
    assert not SMALL.legal_action_mask(state).any()


def test_only_the_movers_row_counts(play_line):
    """A row needs one colour, so five stones in a line with one of White's are none."""
    state = play_line(SMALL, _moves(SMALL, "a1 c1 b1 a9 d1 b9 e1"))
    assert not SMALL.is_terminal(state)


def test_last_stone_wins_and_full_board_draws(play_line):
    game = make("mnk")
    won = play_line(game, [0, 1, 2, 3, 4, 6, 5, 7, 8])
    assert game.returns(won).tolist() == [1, -1]
    drawn = play_line(game, [0, 1, 2, 4, 3, 5, 7, 6, 8])
    assert game.is_terminal(drawn)
    assert game.returns(drawn).tolist() == [0, 0]
    assert not game.legal_action_mask(drawn).any()
    for action in (0, 8, 9, -1):  # after the end nothing is illegal
        assert game.returns(game.step(drawn, action)).tolist() == [0, 0]


def test_one_stone_in_a_row(play_line):
    game = make("mnk_4x1x1")
    assert game.returns(play_line(game, [2])).tolist() == [1, -1]


def test_cells_out_of_range_are_no_cells_on_every_width():
    for size in (8, 16):
        game = make("gomoku", size=size)
        outside = jnp.array([size**2, -1, -size, size**2 + size, 2**31 - 1, -(2**31)])
        after = jax.vmap(game.step, (None, 0))(game.init(), outside)
        assert jax.vmap(game.is_terminal)(after).all()
        assert not any(word.any() for word in after.taken)


def _runs_through(board, cell):
    """Returns the lengths of the four rows of its colour through the stone on `cell`."""
    runs = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        run = 1
        for sign in (1, -1):
            row, column = cell[0] + sign * down, cell[1] + sign * right
            while board.get((row, column)) == board[cell]:
                run += 1
                row, column = row + sign * down, column + sign * right
        runs.append(run)
    return runs


def _find_lines(shape, boards, exactly):
    """Returns bool [N] for boards bool [N, height, width]."""
    _, width, length = shape
    kind = np.uint8 if width <= 8 else np.uint16 if width <= 16 else np.uint32
    words = (boards * (1 << np.arange(width))).sum(-1).astype(kind)
    return np.asarray(_jitted(length, exactly)(tuple(words.T)))


def _has_line(shape, cells, exactly):
    return bool(_find_lines(shape, cells[None], exactly)[0])


@functools.cache
def _jitted(length, exactly):
    return jax.jit(jax.vmap(functools.partial(has_line, length=length, exactly=exactly)))


def _moves(game, text):
    """Returns the actions of a line in the game's own notation."""
    return [game.string_to_action(game.init(), name) for name in text.split()]
