"""Boards in a notebook show the game's own drawings."""

import base64
import re

import jax
import jax.numpy as jnp
import pytest
from azjax_envs import make, to_svg

from azjax.errors import UserError
from azjax.notebook import board, boards

GAME = make("tic_tac_toe")
START = GAME.init()
LATER = GAME.step(START, jnp.int32(4))
BATCH = jax.tree.map(lambda *x: jnp.stack(x), START, LATER, START)


def documents(shown):
    """Returns the SVG documents of the images that a notebook shows."""
    data = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)"', shown._repr_html_())
    return [base64.b64decode(text).decode() for text in data]


def test_a_board():
    assert documents(board(GAME, LATER)) == [to_svg(GAME, LATER)]
    assert to_svg(GAME, LATER) != to_svg(GAME, START)


def test_a_batch_of_boards():
    shown = boards(GAME, BATCH, columns=2)
    assert documents(shown) == [to_svg(GAME, state) for state in (START, LATER, START)]
    assert "repeat(2, auto)" in shown._repr_html_()


@pytest.mark.parametrize(
    ("draw", "states", "message"),
    [
        (board, BATCH, "boards(game, states)"),
        (boards, START, "board(game, state)"),
        (board, make("connect_four").init(), "not a state of tic_tac_toe"),
        (board, None, "not a state of tic_tac_toe"),
    ],
)
def test_errors_name_the_right_call(draw, states, message):
    with pytest.raises(UserError, match=re.escape(message)):
        draw(GAME, states)
