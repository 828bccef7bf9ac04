"""Random games by our rules and by OpenSpiel's, ply by ply: one row for each game and size."""

import dataclasses
import re
from typing import NamedTuple

import numpy as np
import pyspiel
import pytest
from azjax_envs import make
from hypothesis import given, settings
from hypothesis import strategies as st

THEIRS = {  # OpenSpiel's name and parameters, which are fields of our game
    "connect_four": "connect_four(rows={rows},columns={columns},x_in_row={connect})",
    "dots_and_boxes": "dots_and_boxes(num_rows={rows},num_cols={columns},utility_margin=true)",
    "gomoku": "gomoku(size={size})",
    "hex": "hex(board_size={size},swap={swap})",
    "mancala": "mancala",
    "mnk": "mnk(m={m},n={n},k={k})",
    "othello": "othello",
    "tic_tac_toe": "tic_tac_toe",
}
MARKS = {"gomoku": ".bw", "othello": "-xo"}  # of an empty cell, player 0 and player 1; or ".xo"


class Row(NamedTuple):
    """Some games of one size, and what must be among them."""

    name: str
    games: int
    lengths: tuple[int, int] = (10**6, 0)  # one game is at most and one at least so long
    results: str = "+-"  # of player 0: won, lost, drawn
    options: tuple[str, ...] = ()
    begins: tuple[tuple[int, int], ...] = ()  # the first actions of each game


TABLE = [
    Row("tic_tac_toe", 400, (5, 9), "+-="),
    Row("connect_four", 400, (8, 40), "+-"),
    Row("connect_four_4x4x4", 100, (9, 16), "+-="),
    Row("connect_four_3x5x3", 100, (5, 12)),
    Row("connect_four_9x12x5", 100, (20, 60)),
    Row("dots_and_boxes_1x1", 60, (4, 4), "-"),
    Row("dots_and_boxes_2x2", 300, (12, 12), "+-="),
    Row("dots_and_boxes_3x2", 60, (17, 17), "+-="),
    Row("dots_and_boxes_5x5", 60, (60, 60)),
    Row("gomoku_6x6", 200, (20, 36), "+-="),  # full boards, too
    Row("gomoku_9x9", 200, (30, 70)),
    Row("gomoku_15x15", 200, (90, 150)),
    Row("mnk_3x3x3", 200, (5, 9), "+-="),
    Row("mnk_4x3x3", 200, (5, 11)),
    Row("mnk_3x5x4", 200, (8, 15), "+-="),
    Row("hex_2x2", 200),
    Row("hex_4x4", 200),
    Row("hex_11x11", 200, (89, 111)),
    Row("hex_13x13", 60),
    Row("hex_3x3", 200, (5, 9), options=("swap",)),  # one swaps, and then nearly fills the board
    Row("hex_5x5", 25, options=("swap",), begins=tuple((first, 25) for first in range(25))),
    Row("hex_11x11", 200, options=("swap",)),
    Row("mancala", 300, results="+-="),
    Row("othello", 300, (60, 62), "+-="),  # full boards, and games with passes
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join([row.name, *row.options]))
def test_games_agree(play_randomly, row):
    game = make(row.name, **dict.fromkeys(row.options, True))
    lengths, results = agree(play_randomly, game, row.games, begins=row.begins)
    assert min(lengths) <= row.lengths[0]
    assert max(lengths) >= row.lengths[1]
    assert results >= {"-=+".index(result) - 1 for result in row.results}


@st.composite
def small_rows(draw, name):
    height, width = draw(st.integers(2, 10)), draw(st.integers(2, 10))
    return f"{name}_{height}x{width}x{draw(st.integers(2, min(5, max(height, width))))}"


ANY_SIZE = {
    "connect_four": st.builds(make, small_rows("connect_four")),
    "hex": st.builds(make, st.just("hex"), size=st.integers(2, 12), swap=st.booleans()),
    "mnk": st.builds(make, small_rows("mnk")),
}


@pytest.mark.parametrize("name", ANY_SIZE)
@settings(max_examples=4, deadline=None, derandomize=True)
@given(st.data())
def test_games_of_any_size_agree(play_randomly, name, data):
    agree(play_randomly, data.draw(ANY_SIZE[name]), 20, seed=data.draw(st.integers(0, 99)))


def agree(play_randomly, game, games, seed=0, begins=()):
    """Compares every ply of random games; returns the lengths and player 0's results."""
    kind = next(name for name in THEIRS if game.name.startswith(name))
    reference = pyspiel.load_game(THEIRS[kind].format(**dataclasses.asdict(game)))
    actions = 14 if kind == "mancala" else game.num_actions  # there one for each pit and store
    assert reference.num_distinct_actions() == actions
    see = ("view", "score") if hasattr(game, "score") else ("view",)
    plies = min(game.max_steps + 1, 256)  # Kalah's bound is 1,848, and random games are short
    record = play_randomly(game, games, seed, plies=plies, see=see, begins=begins)
    start = game.init()
    names = [game.action_to_string(start, action) for action in range(game.num_actions)]
    lengths, results = set(), set()
    for lane in range(games):
        state = reference.new_initial_state()
        for ply in range(plies):
            seen = {name: x[ply, lane] for name, x in record.items()}
            assert seen["over"] == state.is_terminal()
            swept = kind == "mancala" and seen["over"]  # only we put the last seeds into the stores
            if (lane < 20 or seen["over"]) and not swept:
                ours, theirs = boards(kind, game, seen["view"], str(state))
                assert ours.tolist() == theirs
            if state.is_terminal():
                break
            # The leftmost pit of the player to move is action 1 or 8 of OpenSpiel's mancala.
            first = 1 + 7 * seen["player"] if kind == "mancala" else 0
            assert seen["player"] == state.current_player()
            assert (np.flatnonzero(seen["mask"]) + first).tolist() == state.legal_actions()
            assert seen["returns"].tolist() == [0, 0]
            action = int(seen["action"])
            if kind in ("hex", "othello"):
                assert names[action] == state.action_to_string(action)
            state.apply_action(int(action + first))
        assert state.is_terminal()
        assert not seen["mask"].any()
        np.testing.assert_array_equal(seen["returns"], np.sign(state.returns()))
        if kind == "dots_and_boxes":
            assert seen["score"][0] - seen["score"][1] == state.returns()[0]
            assert seen["score"].sum() == game.rows * game.columns
        lengths.add(ply)
        results.add(int(seen["returns"][0]))
    return lengths, results


def boards(kind, game, codes, text):
    """Returns what lies on our board, by `view`, and on theirs, by its text."""
    if kind == "mancala":
        first, theirs = np.split(np.array(re.findall(r"\d+", text)[:14], int), [6])
        stores, second = theirs[:2], theirs[2:]
        theirs = [*second, stores[1], *first[::-1], stores[0]]
        return codes.reshape(14, -1)[:, 1], list(map(int, theirs))
    if kind == "dots_and_boxes":
        rows = text.splitlines()[1::2][: game.rows]
        owners = [" 12".index(f"{row:<99}"[2 + 4 * i]) for row in rows for i in range(game.columns)]
        return codes[game.num_actions :], owners
    marks, cells = MARKS.get(kind, ".xo"), np.prod(game.observation_shape[:2])
    found = [marks.index(mark) for mark in text.lower() if mark in marks]
    return codes[:cells] % 3, found[-cells:]  # less the code of a move, and the mark of a player
