"""Every game in many sizes keeps the contract."""

import jax
import numpy as np
import pytest
from azjax_envs import available_games, check_game, make
from hypothesis import given, settings
from hypothesis import strategies as st

SIZES = {
    "backgammon": [""],
    "chess": [""],
    "connect_four": [f"{r}x{c}x{k}" for r, c, k in [(1, 1, 1), (2, 9, 3), (6, 7, 4), (31, 31, 31)]],
    "dots_and_boxes": ["1x1", "1x7", "2x3", "5x5", "7x2"],
    "gardner_chess": [""],
    "go": [f"{n}x{n}" for n in range(2, 20)],
    "gomoku": [f"{n}x{n}" for n in range(5, 20)],
    "hex": [f"{n}x{n}" for n in range(2, 14)],
    "hypergammon": [""],
    "mancala": [
        f"{p}x{s}" for p, s in [(1, 1), (1, 10), (2, 3), (4, 3), (6, 4), (6, 10), (10, 10)]
    ],
    "mnk": ["1x1x1", "1x5x2", "4x3x3", "3x4x4", "19x2x2", "7x19x6", "19x19x19"],
    "othello": ["4x4", "6x6", "8x8"],
    "shogi": [""],
    "tic_tac_toe": [""],
    "ur": ["1", "3", "7"],
}
OPTIONS = {
    "go": [{}, {"suicide": True, "komi": 0}],
    "gomoku": [{}, {"exactly_five": True}],
    "hex": [{}, {"swap": True}],
    "mancala": [{}, {"empty_capture": True}],
}
GAMES = [
    (f"{game}_{size}".rstrip("_"), options)
    for game, sizes in SIZES.items()
    for size in sizes
    for options in OPTIONS.get(game, [{}])
]


def test_all_are_listed():
    assert set(SIZES) == set(available_games())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), GAMES, ids=lambda x: x if isinstance(x, str) else "")
def test_conforms(name, options):
    assert check_game(make(name, **options), games=32) == []


FEW = [
    *("connect_four", "connect_four_2x9x3", "connect_four_1x1x1", "dots_and_boxes_2x2"),
    *("dots_and_boxes_1x3", "go_5x5", "mnk_4x2x3", "mnk_1x1x1", "hex_2x2", "mancala"),
    *("othello_4x4", "othello", "tic_tac_toe"),
]
WITH_OPTIONS = {
    "gomoku_6x6": {"exactly_five": True},
    "hex_6x6": {"swap": True},
    "mancala_1x1": {"empty_capture": True},
}


@pytest.mark.parametrize("name", [*FEW, *WITH_OPTIONS])
def test_some_conform(name):
    assert check_game(make(name, **WITH_OPTIONS.get(name, {})), games=32) == []


@st.composite
def small_games(draw):
    """Draws a game of any kind, size and option that compiles quickly."""
    game = draw(st.sampled_from(["connect_four", "dots_and_boxes", "hex", "mancala", "mnk"]))
    low, high = {"dots_and_boxes": (1, 3), "hex": (2, 5)}.get(game, (1, 7))
    sides = [draw(st.integers(low, high)) for _ in range(2)]
    numbers = {"connect_four": 3, "mnk": 3, "hex": 1}.get(game, 2)
    numbers = [*sides, draw(st.integers(1, max(sides)))][:numbers]
    numbers *= 2 if game == "hex" else 1
    options = draw(st.sampled_from(OPTIONS.get(game, [{}])))
    return make(f"{game}_{'x'.join(map(str, numbers))}", **options)


@settings(max_examples=3, deadline=None, derandomize=True)
@given(small_games(), st.integers(0, 2**32 - 1))
def test_any_size_and_any_line_of_play_conforms(game, seed):
    assert check_game(game, games=16, seed=seed) == []
    assert make(game.name).name == game.name


# A line of actions, and actions within the range that are illegal after it.
ILLEGAL = {
    "connect_four": ([3], []),
    "dots_and_boxes_2x2": ([0], [0]),
    "go_5x5": ([12, 13], [12]),
    "gomoku": ([7], [7]),
    "hex_3x3": ([4], [4]),
    "mancala": ([2], [2]),
    "othello": ([19], [0, 27, 64]),
    "tic_tac_toe": ([4], [4]),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_an_illegal_action_loses_and_changes_no_stone(name, play_line):
    game, (line, wrong) = make(name), ILLEGAL[name]
    step, before = jax.jit(game.step), play_line(game, line)
    loser = int(game.current_player(before))
    for action in (*wrong, -1, -game.num_actions, game.num_actions, 2**31 - 1, -(2**31)):
        lost = step(before, np.int32(action))
        assert game.is_terminal(lost)
        assert game.current_player(lost) == loser
        assert game.returns(lost).tolist() == [1 - 2 * (loser == player) for player in (0, 1)]
        assert not game.legal_action_mask(lost).any()
        if name != "othello":  # which marks legal moves
            np.testing.assert_array_equal(game.observe(lost), game.observe(before))
        for legal in np.flatnonzero(game.legal_action_mask(before))[:3]:
            again = step(lost, np.int32(legal))
            jax.tree.map(np.testing.assert_array_equal, again, lost)
