"""The cells of winning lines and chains, compared with plain searches; and the players' names."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import (
    HasPlayerNames,
    HasWinningCells,
    available_games,
    check_game,
    legal_actions,
    make,
)
from azjax_envs.hex import Hex
from azjax_envs.tic_tac_toe import TicTacToe


def play(game, actions):
    step, state = jax.jit(game.step), game.init()
    for action in actions:
        state = step(state, jnp.int32(action))
    return state


def random_ends(game, count):
    """Yields the last states of random games."""
    chance = random.Random(0)
    step = jax.jit(game.step)
    for _ in range(count):
        state = game.init()
        while actions := legal_actions(game, state):
            state = step(state, jnp.int32(chance.choice(actions)))
        yield state


def lines(codes, length, exactly):
    """Returns the cells of all lines of one colour, found step by step."""
    height, width = codes.shape
    found = np.zeros(codes.shape, bool)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for row in range(height):
            for column in range(width):
                run, at = [], (row, column)
                before = (row - down, column - right)
                inside = 0 <= before[0] < height and 0 <= before[1] < width
                if not codes[at] or (inside and codes[before] == codes[at]):
                    continue
                while (
                    0 <= at[0] < height and 0 <= at[1] < width and codes[at] == codes[row, column]
                ):
                    run.append(at)
                    at = (at[0] + down, at[1] + right)
                if len(run) == length or (len(run) > length and not exactly):
                    for cell in run:
                        found[cell] = True
    return found


@pytest.mark.parametrize(
    ("name", "options", "shape", "length"),
    [
        ("tic_tac_toe", {}, (3, 3), 3),
        ("connect_four", {}, (6, 7), 4),
        ("connect_four_5x4x3", {}, (5, 4), 3),
        ("gomoku_7x7", {}, (7, 7), 5),
        ("gomoku_7x7", {"exactly_five": True}, (7, 7), 5),
        ("mnk_7x5x1", {}, (5, 7), 1),
    ],
)
def test_winning_lines(name, options, shape, length):
    game = make(name, **options)
    winning, wins = jax.jit(game.winning_cells), 0
    for state in random_ends(game, 20):
        expected = lines(
            np.asarray(game.view(state)).reshape(shape), length, bool(options.get("exactly_five"))
        )
        if not np.any(game.returns(state)):
            expected[:] = False
        assert np.array_equal(np.asarray(winning(state)).reshape(shape), expected)
        wins += expected.any()
    assert wins > 5
    assert game.winning_shape == f"{length} in a row"


def chain_between_sides(size, stones, player):
    """Returns the cells of chains that touch both of the player's sides, by a search of each."""
    found = set()
    for start in stones:
        chain, todo = {start}, [start]
        while todo:
            row, column = divmod(todo.pop(), size)
            for down, right in ((-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1)):
                at = (row + down, column + right)
                cell = at[0] * size + at[1]
                if min(at) >= 0 and max(at) < size and cell in stones and cell not in chain:
                    chain.add(cell)
                    todo.append(cell)
        ends = {divmod(cell, size)[player] for cell in chain}
        if {0, size - 1} <= ends:
            found |= chain
    return found


@pytest.mark.parametrize(("size", "swap"), [(5, False), (7, True)])
def test_winning_chains(size, swap):
    game = Hex(size, swap)
    winning, others = jax.jit(game.winning_cells), 0
    for state in random_ends(game, 20):
        player = int(game.returns(state)[1] > 0)
        view = np.asarray(game.view(state))[: size**2]
        stones = set(np.flatnonzero(view == player + 1).tolist())
        expected = chain_between_sides(size, stones, player)
        cells = np.asarray(winning(state))
        assert cells.shape == (game.num_actions,)
        assert set(np.flatnonzero(cells).tolist()) == expected
        assert expected
        others += len(stones - expected)
    assert others > 20  # stones of the winner that are not in the chain


def test_nothing_has_won_before_the_end_or_by_an_illegal_action():
    game = TicTacToe()
    for actions in ([], [0, 3, 1], [0, 0], [0, 3, 1, 4, 9]):
        assert not game.winning_cells(play(game, actions)).any()
    cells = game.winning_cells(play(game, [0, 3, 1, 4, 2]))
    assert np.flatnonzero(cells).tolist() == [0, 1, 2]


def test_every_game_names_its_players():
    for name in available_games():
        game = make(name)
        assert isinstance(game, HasPlayerNames)
        assert len(set(game.player_names)) == 2
    assert isinstance(make("hex"), HasWinningCells)
    assert not isinstance(make("othello"), HasWinningCells)


def test_the_check_finds_wrong_cells():
    class Early(TicTacToe):
        player_names = ("X", "X")

        def winning_cells(self, state):
            return self.view(state) == 1

    faults = check_game(Early(), games=2)
    assert any("two different texts" in fault for fault in faults)
    assert any("empty before the end" in fault for fault in faults)
