"""Conversions of boards, actions and choices between azjax's othello and `othello.py`."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from tests.oracles.othello import PASS, WHITE, Position


@functools.cache
def step_of(game):
    return jax.jit(game.step)


def discs(game, state):
    """Returns the board in the form of `Position.text`."""
    codes = np.asarray(game.view(state))[:-1].reshape(game.size, game.size)
    return "\n".join("".join(".XO."[code] for code in row) for row in codes)


def actions_of(position):
    size = position.size
    return [
        size**2 if choice == PASS else size * choice[0] + choice[1] for choice in position.legal()
    ]


def choice_of(position, action):
    return PASS if action == position.size**2 else divmod(int(action), position.size)


def place(game, text, turn):
    """Returns a state with that board."""
    position = Position.read(text, turn)
    own, taken, moves = np.zeros((3, game.size, game.size), bool)
    for cell, disc in position.board.items():
        own[cell], taken[cell] = disc == turn, True
    for cell in position.places(turn):
        moves[cell] = True

    def pack(cells):
        return tuple(jnp.asarray(word) for word in game._lanes.constant(cells))

    player = jnp.uint8(turn == WHITE)
    return dataclasses.replace(
        game.init(), own=pack(own), taken=pack(taken), moves=pack(moves), player=player
    )
