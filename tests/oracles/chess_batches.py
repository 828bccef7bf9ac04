"""Batches of chess positions in a few compiled functions.

`action_of` is a second implementation of AlphaZero's numbering of moves.
"""

import functools

import jax
import numpy as np

LANES = 128  # positions in each call, so that everything is compiled once
_CLOCKWISE = [(-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1)]
_JUMPS = [(-2, 1), (-1, 2), (1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1)]


@functools.cache
def action_of(uci: str, is_white: bool, size: int) -> int:
    """Returns the number of a move: square * planes + plane, from the perspective of the mover.

    The pawns of the mover go up.

    The planes are the eight directions at each distance from 1 to size - 1, the knight's jumps, and
    promotions to knight, bishop and rook towards the left, straight on and to the right.
    """
    (row, column), (to_row, to_column) = (
        (size - int(name[1]) if is_white else int(name[1]) - 1, "abcdefgh".index(name[0]))
        for name in (uci[:2], uci[2:4])
    )
    down, right, rides = to_row - row, to_column - column, 8 * (size - 1)
    if uci[4:] not in ("", "q"):
        plane = rides + 8 + 3 * "nbr".index(uci[4:]) + right + 1
    elif (down, right) in _JUMPS:
        plane = rides + _JUMPS.index((down, right))
    else:
        direction = _CLOCKWISE.index((np.sign(down), np.sign(right)))
        plane = 8 * (max(abs(down), abs(right)) - 1) + direction
    return (row * size + column) * (rides + 17) + plane


def load(game, fens):
    """Returns the states of up to `LANES` FENs, in numpy; the last one fills the other lanes."""
    return stack([jax.device_get(game.from_fen(fen)) for fen in fens])


def stack(states):
    states = [*states, *[states[-1]] * (LANES - len(states))]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def lane(states, index):
    return jax.tree.map(lambda x: np.asarray(x)[index], states)


def look(game, states):
    """Returns what the public methods return for each lane, and the states, in numpy."""
    seen = _look(game, states) | {"state": states}
    return jax.tree.map(np.asarray, seen)


def step(game, states, actions):
    """Returns the states after `actions`, one for each lane; missing actions are 0."""
    padded = np.zeros(LANES, np.int32)
    padded[: len(actions)] = actions
    return _step(game, states, padded)


def observe(game, states):
    return np.asarray(_observe(game, states))


def perft(game, fen, depth):
    """Returns the number of sequences of legal moves of each length from 1 to `depth`."""
    root = jax.tree.map(lambda x: np.asarray(x)[None], game.from_fen(fen))
    counts = np.zeros(depth, np.int64)

    def visit(states, level):
        """Visits all lines through some states, because a whole level would not fit into memory."""
        for start in range(0, len(states.over), LANES):
            part = jax.tree.map(lambda x, i=start: x[i : i + LANES], states)
            number = len(part.over)
            padded = stack([lane(part, i) for i in range(number)]) if number < LANES else part
            masks = np.asarray(_look(game, padded)["mask"])[:number]
            counts[level] += masks.sum()
            if level + 1 < depth:
                visit(_children(game, part, masks), level + 1)

    visit(root, 0)
    return counts.tolist()


def _children(game, states, masks):
    parents, moves = np.nonzero(masks)
    parts = []
    for start in range(0, len(parents), LANES):
        index = parents[start : start + LANES]
        padded = np.pad(index, (0, LANES - len(index)))
        chosen = jax.tree.map(lambda x, i=padded: x[i], states)
        after = step(game, chosen, moves[start : start + LANES])
        parts.append(jax.tree.map(lambda x, i=index: np.asarray(x)[: len(i)], after))
    return jax.tree.map(lambda *x: np.concatenate(x), *parts)


@functools.partial(jax.jit, static_argnums=0)
def _look(game, states):
    def one(state):
        return {
            "mask": game.legal_action_mask(state),
            "player": game.current_player(state),
            "over": game.is_terminal(state),
            "returns": game.returns(state),
        }

    return jax.vmap(one)(states)


@functools.partial(jax.jit, static_argnums=0)
def _step(game, states, actions):
    return jax.vmap(game.step)(states, actions)


@functools.partial(jax.jit, static_argnums=0)
def _observe(game, states):
    return jax.vmap(game.observe)(states)


def assert_same(after, before):
    jax.tree.map(np.testing.assert_array_equal, jax.device_get(after), jax.device_get(before))


def from_start(game):
    return stack([jax.device_get(game.init())])


def assert_illegal_actions_lose(game, wrong, opening, later):
    """Plays the wrong actions, a lane each, as White at the start and as Black after `opening`.

    After the end `later`, which was legal before, changes nothing.
    """
    start, count = from_start(game), len(wrong)
    for states, loser in ((start, 0), (step(game, start, [opening] * LANES), 1)):
        after = step(game, states, wrong)
        seen = look(game, after)
        assert seen["over"][:count].all()
        assert (seen["player"][:count] == loser).all()
        assert seen["returns"][:count].tolist() == [[2 * loser - 1, 1 - 2 * loser]] * count
        assert not seen["mask"][:count].any()
        again = step(game, after, [later] * LANES)
        for i in range(count):
            assert_same(lane(again, i), lane(after, i))
