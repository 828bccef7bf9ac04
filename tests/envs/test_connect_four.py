import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

GAME = make("connect_four")


def test_published_positions_by_ply():
    size = 16384

    @jax.jit
    def expand(states):
        children = jax.vmap(lambda s: jax.vmap(lambda a: GAME.step(s, a))(jnp.arange(7)))(states)
        flat = jax.tree.map(lambda x: x.reshape(-1), children)
        mask = jax.vmap(GAME.legal_action_mask)(states).reshape(-1)
        return flat, mask, jax.vmap(GAME.is_terminal)(flat)

    layer = jax.tree.map(lambda x: np.asarray(x)[None], GAME.init())
    counts = [1]
    for _ in range(8):
        parts = []
        for start in range(0, len(layer.lost), size):
            part = jax.tree.map(lambda x, i=start: x[i : i + size], layer)
            count = len(part.lost)
            padded = jax.tree.map(lambda x, n=count: np.pad(x, (0, size - n)), part)
            flat, legal, over = jax.tree.map(np.asarray, expand(padded))
            legal = legal & (np.repeat(np.arange(size), 7) < count)
            parts.append(jax.tree.map(lambda x, keep=legal: x[keep], (flat, over)))
        children, over = jax.tree.map(lambda *x: np.concatenate(x), *parts)
        # All discs plus those of the player to move is a unique number for each position.
        low, high = (
            t.astype(np.uint64) + o for t, o in zip(children.taken, children.own, strict=True)
        )
        _, first = np.unique(low + (high << np.uint64(32)), return_index=True)
        counts.append(len(first))
        running = first[~over[first]]
        layer = jax.tree.map(lambda x, i=running: x[i], children)
    assert counts == [1, 7, 49, 238, 1120, 4263, 16422, 54859, 184275]


def columns(text):
    return [int(digit) - 1 for digit in text]


@pytest.mark.parametrize(
    "line",
    [
        "1122334",  # across
        "1212121",  # up
        "12233434474",  # diagonally up
        "76655454414",  # diagonally down
    ],
)
def test_four_in_a_row_wins(play_line, line):
    before = play_line(GAME, columns(line[:-1]))
    assert not GAME.is_terminal(before)
    after = play_line(GAME, columns(line))
    assert GAME.is_terminal(after)
    assert GAME.returns(after).tolist() == [1, -1]


def test_no_row_from_one_column_into_the_next(play_line):
    game = make("connect_four", rows=3, columns=4, connect=4)
    state = play_line(game, columns("1313142"))  # X fills column 1 and begins column 2
    assert game.to_string(state) == "X . . .\nX . O .\nX X O O\n1 2 3 4"
    assert not game.is_terminal(state)


def test_full_column_is_illegal(play_line):
    state = play_line(GAME, columns("111111"))
    assert GAME.legal_action_mask(state).tolist() == [False] + [True] * 6
    lost = GAME.step(state, 0)
    assert GAME.returns(lost).tolist() == [-1, 1]
    assert GAME.to_string(lost) == GAME.to_string(state)
    with pytest.raises(ValueError, match="'1' is not legal here; legal: 2, 3, 4, 5, 6, 7"):
        GAME.string_to_action(state, "1")


def test_full_board(play_line):
    small = make("connect_four", rows=2, columns=2, connect=2)
    assert small.returns(play_line(small, [0, 0, 1])).tolist() == [1, -1]
    drawish = make("connect_four", rows=1, columns=3, connect=2)
    drawn = play_line(drawish, [0, 1, 2])
    assert drawish.is_terminal(drawn)
    assert drawish.returns(drawn).tolist() == [0, 0]
    wide = make("connect_four", rows=1, columns=5, connect=2)
    won = play_line(wide, [0, 1, 3, 4, 2])  # X . O X O -> X fills the last cell, next to d
    assert wide.is_terminal(won)
    assert wide.returns(won).tolist() == [1, -1]


def test_largest_board(play_line):
    game = make("connect_four", rows=31, columns=31, connect=31)
    line = [0, 1] * 30
    assert not game.is_terminal(play_line(game, line))
    won = play_line(game, [*line, 0])
    assert game.returns(won).tolist() == [1, -1]
