import jax
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.svg import to_svg

from azjax.exact.solver import solve

SMALL = make("hex_3x3")
SWAP = make("hex_3x3", swap=True)


def test_swap_only_on_the_second_ply(play_line):
    assert not SWAP.legal_action_mask(SWAP.init())[9]
    for line in ([], [4, 0], [4, 9]):
        state = play_line(SWAP, line)
        loser = int(SWAP.current_player(state))
        assert not SWAP.legal_action_mask(state)[9]
        assert SWAP.returns(SWAP.step(state, 9))[loser] == -1
    assert SWAP.is_terminal(SMALL.step(play_line(SMALL, [4]), 9))


def test_swapped_stone_reaches_the_side(play_line):
    # Player 0's b1 touches the top. After the swap it is player 1's a2, which touches the left.
    state = play_line(SWAP, [1, 9, 0, 4, 8, 5])
    assert SWAP.to_string(state) == "   a b c\n 1 X . .\n  2 O O O\n   3 . . X"
    assert SWAP.returns(state).tolist() == [-1, 1]


@pytest.fixture(scope="module")
def solved():
    return solve(SMALL)


def winner_of(stones):
    """Returns 1 or -1 for the player who has connected in a board, int [n, n], or 0 for none."""
    size = len(stones)
    for player, board in ((1, stones), (-1, stones.T)):  # the board of player 1, mirrored
        reached = {(0, column) for column in range(size) if board[0, column] == player}
        edge = list(reached)
        while edge:
            row, column = edge.pop()
            for cell in (
                (row - 1, column),
                (row - 1, column + 1),
                (row, column - 1),
                (row, column + 1),
                (row + 1, column - 1),
                (row + 1, column),
            ):
                inside = 0 <= cell[0] < size and 0 <= cell[1] < size
                if inside and cell not in reached and board[cell] == player:
                    reached.add(cell)
                    edge.append(cell)
        if any(row == size - 1 for row, _ in reached):
            return player
    return 0


def positions_by_hand(size):
    """Returns every reachable board, as bytes, with its winner, by plain enumeration."""
    start = np.zeros((size, size), np.int8)
    found = {start.tobytes(): 0}
    layer = [start]
    for ply in range(size**2):
        following = []
        for board in layer:
            for cell in np.argwhere(board == 0):
                child = board.copy()
                child[tuple(cell)] = 1 - 2 * (ply % 2)
                if child.tobytes() not in found:
                    found[child.tobytes()] = winner_of(child)
                    following.append(child)
        layer = [board for board in following if found[board.tobytes()] == 0]
    return found


def test_every_position_of_3x3(solved):
    """The reference and `step` reach the same positions, with the same winner."""
    states = solved.states(np.arange(solved.num_states))
    wanted, seen = positions_by_hand(3), set()
    masks = np.asarray(jax.vmap(SMALL.legal_action_mask)(states))
    results = np.asarray(jax.vmap(SMALL.returns)(states))
    for chains, mask, result in zip(np.asarray(states.chains), masks, results, strict=True):
        stones = np.sign(chains)
        winner = wanted[stones.tobytes()]
        seen.add(stones.tobytes())
        assert result.tolist() == [winner, -winner]
        assert mask.tolist() == ((stones == 0) & (winner == 0)).tolist()
    assert seen == set(wanted)


def test_every_full_board_has_one_winner():
    """Draws are impossible: any full 3x3 board connects exactly one pair of sides."""
    for number in range(2**9):
        stones = np.array([number >> cell & 1 for cell in range(9)]).reshape(3, 3) * 2 - 1
        assert winner_of(stones) == -winner_of(-stones.T) != 0


def test_published_winning_openings(solved):
    values = solved.action_values(np.array([0]))[0]
    won = {SMALL.action_to_string(SMALL.init(), a) for a in np.flatnonzero(values == 1)}
    assert won == {"c1", "a2", "b2", "c2", "a3"}
    assert set(values.tolist()) == {-1, 1}


def test_with_the_swap_the_second_player_wins():
    solution = solve(SWAP)
    assert (solution.action_values(np.array([0]))[0, :9] == -1).all()
    centre = solution.lookup(jax.tree.map(lambda x: x[None], SWAP.step(SWAP.init(), 4)))
    assert solution.optimal_actions(centre)[0].nonzero()[0].tolist() == [9]


def cells(game, text):
    state = game.init()
    return [game.string_to_action(state, name) for name in text.split()]


def test_one_stone_joins_three_chains(play_line):
    # b3, d2 and c4 touch c3 but not each other; d1 and b5 complete the path from top to bottom.
    game = make("hex_5x5")
    before = play_line(game, cells(game, "d1 a1 d2 a2 b3 a3 c4 a4 b5 e1"))
    assert not game.is_terminal(before)
    after = play_line(game, cells(game, "d1 a1 d2 a2 b3 a3 c4 a4 b5 e1 c3"))
    assert game.returns(after).tolist() == [1, -1]


def test_chains_of_one_side_do_not_win(play_line):
    # One chain of X touches the top and another the bottom; they never meet.
    game = make("hex_4x4")
    state = play_line(game, cells(game, "a1 b1 a2 b2 a4 a3 d4 c3 b4"))
    assert not game.is_terminal(state)


def test_the_last_cell_of_the_largest_board_closes_a_winding_chain(play_line):
    game = make("hex_13x13")
    way = [(0, 12)]
    for row in range(2, 11, 4):  # along every other row, back and forth
        way += [(row - 1, 12)] + [(row, column) for column in reversed(range(13))]
        way += [(row + 1, 0)] + [(row + 2, column) for column in range(13)]
    own = [row * 13 + column for row, column in way]
    theirs = [cell for cell in range(169) if cell not in own]
    middle = own.pop(way.index((6, 6)))
    before = play_line(game, [cell for pair in zip(own, theirs, strict=True) for cell in pair])
    assert np.flatnonzero(game.legal_action_mask(before)).tolist() == [middle]
    after = game.step(before, middle)
    assert game.returns(after).tolist() == [1, -1]
    assert game.returns(game.step(after, middle)).tolist() == [1, -1]


def test_half_turn_is_the_only_symmetry():
    symmetries = SWAP.symmetries()
    assert symmetries.cells.tolist() == [list(range(9)), list(range(9))[::-1]]
    assert symmetries.actions.tolist() == [list(range(10)), [*range(8, -1, -1), 9]]


def test_drawing_has_a_swap_only_where_the_game_has():
    assert "swap" in to_svg(SWAP, SWAP.init())
    assert ">swap<" not in to_svg(SMALL, SMALL.init())
