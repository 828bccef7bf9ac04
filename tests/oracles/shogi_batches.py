"""Batches of shogi positions in one compiled step of fixed size.

The step takes seconds to compile, so all tests share it.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs.shogi import Shogi

from tests.oracles.shogi import Referee

GAME = Shogi()
SIZE = 256
_BITS = np.arange(27, dtype=np.uint32)[None, :, None]

_step = jax.jit(jax.vmap(GAME.step))


def batch(states):
    """Returns one state for each position, with numpy arrays."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def row(states, index):
    return jax.tree.map(lambda leaf: leaf[index], states)


@functools.cache
def start():
    return jax.tree.map(np.asarray, GAME.init())


def advance(states, actions):
    """Returns each of the states after its action."""
    count = len(actions)
    parts = []
    for begin in range(0, count, SIZE):
        indices = np.minimum(np.arange(begin, begin + SIZE), count - 1)
        chunk = jax.tree.map(lambda leaf, i=indices: leaf[i], states)
        parts.append(_step(chunk, jnp.asarray(np.asarray(actions, np.int32)[indices])))
    parts = [jax.tree.map(np.asarray, part) for part in parts]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *parts)


def masks(states):
    """Returns bool [positions, actions] from the packed moves, without the game's own mask."""
    bits = states.legal[:, :, None] >> _BITS & np.uint32(1)
    return (bits != 0).reshape(len(states.legal), -1) & ~states.over[:, None]


def play_line(moves, sfen=None):
    """Returns the state and the referee after moves in USI, from the start or from SFEN.

    All moves must be legal, and none may follow the end.
    """
    state = GAME.from_sfen(sfen) if sfen else start()
    referee = Referee(sfen)
    states = batch([jax.tree.map(np.asarray, state)])
    for move in moves:
        assert_agree(states, 0, referee)
        actions = {name: action for action, name in referee.moves().items()}
        states = advance(states, [actions[move]])
        referee.play(move)
    assert_agree(states, 0, referee)
    return row(states, 0), referee


def assert_agree(states, index, referee, mask=None):
    """Asserts that a position of a batch agrees with the referee."""
    mask = masks(row(states, [index]))[0] if mask is None else mask
    moves = referee.moves()
    assert np.flatnonzero(mask).tolist() == sorted(moves), referee.board.sfen()
    assert bool(states.over[index]) == referee.over
    assert int(states.player[index]) == referee.player
    assert int(states.result[index]) == (referee.result or 0)
    assert int(states.ply[index]) == referee.ply


def agree(games, seed, choose, plies=512, sfen=None):
    """Plays games, asserts that the referee agrees, and returns the referees at the end.

    Args:
      games: the number of games.
      seed: the seed of the random choices.
      choose: (referee, moves, numpy's Generator) -> one of the moves, in USI.
      plies: the number of plies of each game.
      sfen: the position from which they start.
    """
    rng = np.random.default_rng(seed)
    first = jax.tree.map(np.asarray, GAME.from_sfen(sfen)) if sfen else start()
    states = batch([first] * games)
    referees = [Referee(sfen) for _ in range(games)]
    for _ in range(plies + 1):
        legal = masks(states)
        actions = np.zeros(games, np.int32)
        for i, referee in enumerate(referees):
            assert_agree(states, i, referee, legal[i])
            moves = referee.moves()
            if moves:
                names = {name: action for action, name in moves.items()}
                chosen = choose(referee, list(names), rng)
                actions[i] = names[chosen]
                referee.play(chosen)
        if all(referee.over for referee in referees) and states.over.all():
            break
        states = advance(states, actions)
    return referees
