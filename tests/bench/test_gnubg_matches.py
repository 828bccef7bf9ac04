"""GNU Backgammon and pubeval as opponents: their turns arrive on the board as they are meant."""

import jax
import numpy as np
import pytest
from azjax_envs import draw_chance, init_batch, make
from azjax_envs.backgammon import board

from benchmarks.gnubg_matches import ENGINES, GnuBackgammon
from tests import absent

GAME = make("backgammon")
GAMES = 16


@jax.jit
def checkers(states):
    """Returns the checkers of the mover and of the other, each by their own points."""
    sides = (jax.vmap(board.counts)(x)[:, 1:] for x in (states.own, states.other))
    return tuple(sides)


is_over = jax.jit(jax.vmap(GAME.is_terminal))


@jax.jit
def play(key, states, actions):
    after = jax.vmap(GAME.step)(states, actions)
    return after, draw_chance(GAME, key, after)


def fresh_rolls(states):
    two = np.array([bin(dice).count("1") == 2 for dice in np.asarray(states.dice).tolist()])
    return two | (np.asarray(states.left) == 4)


@pytest.mark.parametrize("name", ENGINES)
def test_a_turn_ends_where_the_engine_wants(name):
    gnubg = absent.package("gnubg_nn", unreleased=(3, 14), reason="gnubg-nn has no release here")
    player, states = GnuBackgammon(GAME, name), init_batch(GAME, jax.random.key(0), GAMES)
    wanted, compared = [None] * GAMES, 0
    for ply in range(80):
        own, other = jax.device_get(checkers(states))
        movers, over = np.asarray(states.player), np.asarray(is_over(states))
        for i in np.flatnonzero(fresh_rolls(states) & ~over):
            faces = [die for die in range(1, 7) if int(states.dice[i]) >> die & 1]
            pair = [other[i].tolist(), own[i].tolist()]
            wanted[i] = after_turn(gnubg, name, pair, faces[0], faces[-1])
        after, states = play(jax.random.key(ply), states, player(jax.random.key(0), states))
        own, other = jax.device_get(checkers(after))
        ended = ~over & (np.asarray(after.player) != movers)
        for i in np.flatnonzero(ended):
            np.testing.assert_array_equal(np.stack([other[i], own[i]]), wanted[i])
        compared += ended.sum()
    assert compared > 400


def after_turn(gnubg, name, pair, low, high):
    """Returns the checkers of the mover and of the other after the turn that an engine plays."""
    if name == ENGINES[0]:
        moves, key = gnubg.best_move(pair, low, high, b=1)
        if not moves:
            return np.array(pair[::-1])
        return np.array(gnubg.board_from_position_key(key))
    other, mover = (list(x) for x in pair)
    ends = gnubg.pub_best_move(pair, low, high)
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        mover[start] -= 1
        if end >= 0:
            mover[end] += 1
            if other[23 - end]:
                other[23 - end] = 0
                other[24] += 1
    return np.array([mover, other])
