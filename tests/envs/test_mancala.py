import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.svg import to_svg
from hypothesis import given, settings
from hypothesis import strategies as st

from azjax.exact.solver import solve
from tests.oracles import kalah

GAME = make("mancala")
SMALL = make("mancala_3x2")


def position(game, own, other, player=0):
    """Returns a state with these pits and stores; the store is last."""
    own, other = jnp.array(own, jnp.uint8), jnp.array(other, jnp.uint8)
    assert own.shape == other.shape == (game.pits + 1,)
    return dataclasses.replace(game.init(), own=own, other=other, player=jnp.uint8(player))


def sides(state):
    return tuple(state.own.tolist()), tuple(state.other.tolist())


@functools.partial(jax.jit, static_argnums=0)
def step(game, state, action):
    return game.step(state, action)


@settings(max_examples=4, deadline=None, derandomize=True)
@given(st.integers(1, 10), st.integers(1, 10), st.booleans(), st.integers(0, 99))
def test_plain_rules_any_size(play_randomly, pits, seeds, empty_capture, seed):
    """Every seed is in its place at every ply, and the weight that bounds the game decreases."""
    game = make("mancala", pits=pits, seeds=seeds, empty_capture=empty_capture)
    plies, games = min(game.max_steps, 600), 24
    record = play_randomly(game, games, seed, plies=plies + 1, see=("view",))
    counts = record["view"].reshape(plies + 1, games, 2, pits + 1, -1)[..., 1]
    weight = pits * (pits - 1) + 1 + np.arange(pits)[::-1]
    for lane in range(games):
        both, player = list(kalah.start(pits, seeds)), 0
        left = 2 * seeds * weight.sum()
        assert left == game.max_steps
        for ply in range(plies + 1):
            own, other = both[player], both[1 - player]
            over = kalah.is_over(own)
            assert counts[ply, lane].tolist() == [list(side) for side in both]
            assert record["player"][ply, lane] == player
            assert record["over"][ply, lane] == over
            if over:
                margin = both[0][-1] - both[1][-1]
                assert record["returns"][ply, lane].tolist() == [np.sign(margin), -np.sign(margin)]
                break
            assert record["returns"][ply, lane].tolist() == [0, 0]
            assert record["mask"][ply, lane].tolist() == [count > 0 for count in own[:-1]]
            pit = int(record["action"][ply, lane])
            own, other, again = kalah.play(own, other, pit, empty_capture=empty_capture)
            both[player], both[1 - player] = own, other
            player = player if again else 1 - player
            before, left = left, weight @ (np.array(own) + np.array(other))[:pits]
            assert left < before
        assert over


@pytest.mark.parametrize(
    ("size", "empty_capture"), [((3, 2), False), ((3, 2), True), ((4, 2), False)]
)
def test_every_margin_is_plain_alpha_betas(size, empty_capture):
    """The positions are the start and some that are reached from it."""
    game = make("mancala", pits=size[0], seeds=size[1], empty_capture=empty_capture)
    solution = solve(game, payoff="margin")
    some = np.arange(0, solution.num_states, max(1, solution.num_states // 500))
    states = jax.tree.map(np.asarray, solution.states(some))
    plain = kalah.Solver(empty_capture=empty_capture)
    for own, other, player, value in zip(
        states.own.tolist(),
        states.other.tolist(),
        states.player,
        solution.values[some],
        strict=True,
    ):
        margin = plain.margin(tuple(own), tuple(other))
        assert value == (margin if player == 0 else -margin)


def test_a_seed_in_the_own_store_moves_again(play_line):
    state = play_line(GAME, [2])
    assert GAME.current_player(state) == 0
    assert sides(state) == ((4, 4, 0, 5, 5, 5, 1), (4, 4, 4, 4, 4, 4, 0))
    state = play_line(GAME, [2, 5])
    assert GAME.current_player(state) == 1
    assert sides(state) == ((5, 5, 5, 5, 4, 4, 0), (4, 4, 0, 5, 5, 0, 2))


def test_a_long_chain_of_turns_and_the_sweep_after_it():
    """A player empties the whole side, a seed into the store each turn, and the game ends."""
    pits = [0] * 6
    line = []
    while 0 in pits:  # backwards: from the store and the pits before it into the first empty pit
        near = pits[::-1].index(0)
        pits = [*pits[: 5 - near], near + 1, *[count - 1 for count in pits[6 - near :]]]
        line.insert(0, 5 - near)
    assert len(line) >= 10
    state = position(GAME, [*pits, 3], [0, 0, 7, 0, 0, 1, 30 - sum(pits) + 7], player=1)
    theirs = sum(state.other.tolist())
    for turn, pit in enumerate(line):
        assert not GAME.is_terminal(state)
        assert GAME.current_player(state) == 1
        assert state.own[6] == 3 + turn
        state = step(GAME, state, pit)
    assert GAME.is_terminal(state)
    assert GAME.score(state).tolist() == [theirs, 3 + len(line)]
    assert GAME.returns(state).tolist() == [1, -1]
    assert GAME.score(step(GAME, state, 2)).tolist() == [theirs, 3 + len(line)]


def test_capture_needs_seeds_opposite_unless_told_otherwise():
    own, other = (1, 0, 2, 0), (2, 0, 0, 0)
    state = step(SMALL, position(SMALL, own, other), 0)  # into pit 2, opposite the empty pit 2
    assert sides(state) == ((2, 0, 0, 0), (0, 1, 2, 0))
    lone = make("mancala_3x2", empty_capture=True)
    state = step(lone, position(lone, own, other), 0)
    assert sides(state) == ((2, 0, 0, 0), (0, 0, 2, 1))
    full = step(SMALL, position(SMALL, own, (2, 5, 0, 0)), 0)
    assert sides(full) == ((2, 0, 0, 0), (0, 0, 2, 6))


def test_no_capture_on_the_opponents_side_or_in_a_pit_with_seeds():
    state = step(SMALL, position(SMALL, (2, 0, 2, 0), (0, 3, 0, 0)), 2)
    assert sides(state) == ((1, 3, 0, 0), (2, 0, 0, 1))
    state = step(SMALL, position(SMALL, (1, 1, 1, 0), (3, 3, 3, 0)), 0)
    assert sides(state) == ((3, 3, 3, 0), (0, 2, 1, 0))


def test_a_lap_passes_the_opponents_store_and_captures_at_its_end():
    # Seven seeds end in the pit that they left, which then holds one, and capture the opposite.
    state = step(SMALL, position(SMALL, (1, 7, 0, 5), (0, 4, 0, 6)), 1)
    assert sides(state) == ((1, 0, 1, 6), (2, 0, 1, 12))
    # Eight seeds end one pit further, nine in the pit after that.
    state = step(SMALL, position(SMALL, (1, 8, 0, 5), (0, 4, 0, 6)), 1)
    assert sides(state) == ((1, 5, 1, 6), (2, 1, 2, 6))
    # Two laps and two seeds end in the player's own store: another turn.
    state = step(SMALL, position(SMALL, (0, 16, 0, 0), (0, 4, 0, 0)), 1)
    assert sides(state) == ((2, 2, 3, 3), (2, 6, 2, 0))
    assert SMALL.current_player(state) == 0


def test_the_game_ends_when_either_side_is_empty():
    # The mover's last seed goes into the store: the game ends, and the opponent keeps the rest.
    state = step(SMALL, position(SMALL, (0, 0, 1, 4), (1, 2, 0, 1)), 2)
    assert SMALL.is_terminal(state)
    assert SMALL.score(state).tolist() == [5, 4]
    # A capture takes the opponent's last seeds: the game ends, and the mover keeps the rest.
    state = step(SMALL, position(SMALL, (1, 0, 2, 0), (0, 3, 0, 5), player=1), 0)
    assert SMALL.is_terminal(state)
    assert SMALL.score(state).tolist() == [5, 6]
    assert SMALL.returns(state).tolist() == [-1, 1]
    # Equal stores are a draw.
    state = step(SMALL, position(SMALL, (0, 0, 1, 4), (1, 2, 0, 2)), 2)
    assert SMALL.returns(state).tolist() == [0, 0]
    assert not SMALL.legal_action_mask(state).any()


def test_illegal_action_loses_though_ahead():
    state = step(SMALL, position(SMALL, (0, 1, 0, 11), (1, 0, 0, 0), player=1), 0)
    assert SMALL.returns(state).tolist() == [1, -1]


def test_observation_is_the_board_as_the_mover_sees_it():
    planes = np.asarray(SMALL.observe(position(SMALL, (3, 0, 1, 2), (9, 1, 0, 6), player=1)))
    assert planes.shape == (2, 5, 11)
    np.testing.assert_allclose(planes[..., 0], [[1, 0, 0, 0, 1 / 3]] * 2)
    np.testing.assert_allclose(planes[..., 1] * 7, [[0, 0, 1, 9, 0], [0, 3, 0, 1, 0]], atol=1e-6)
    assert planes[..., 2].tolist() == [[0, 0, 0, 0, 0], [0, 1, 0, 1, 0]]
    counts = [np.argwhere(planes[..., 3 + count]).tolist() for count in range(8)]
    assert counts[0] == [[0, 1], [1, 2]]
    assert counts[1] == [[0, 2], [1, 3]]
    assert counts[3] == [[1, 1]]
    assert counts[7] == [[0, 3]]
    assert not counts[2] + counts[4] + counts[5] + counts[6]


def test_opponents_pits_that_move_again_are_shown():
    planes = np.asarray(SMALL.observe(position(SMALL, (1, 0, 0, 0), (10, 1, 1, 0))))
    assert planes[..., 2].tolist() == [[0, 1, 0, 1, 0], [0, 0, 0, 0, 0]]


def test_view_counts_and_marks_what_may_be_emptied(play_line):
    state = play_line(GAME, [2, 5])
    codes = np.asarray(GAME.view(state)).reshape(2, 7, -1)
    assert codes[..., 0].tolist() == [[0] * 7, [1, 1, 1, 1, 1, 1, 0]]
    assert codes[..., 1].tolist() == [[4, 4, 0, 5, 5, 0, 2], [5, 5, 5, 5, 4, 4, 0]]
    np.testing.assert_array_equal(codes[..., 2:].sum(axis=-1), codes[..., 1])
    assert to_svg(GAME, state).count('data-action="5"') == 2
