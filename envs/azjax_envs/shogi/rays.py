"""Moves along several directions at once: a board for each, as lanes of one array.

`Rays` are three words like any board's (see `azjax_envs.bitboard`). Each word is an array uint32
[..., lanes] with a board in each lane. Boards that move otherwise, such as those of the other
player, are in other rows of lanes. Operations on such arrays compile in a fraction of the time of
operations written out for each board, and run as fast.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from azjax_envs.bitboard import Words, both, either

# Rows and columns of a step, clockwise from straight up; DIRECTIONS[(d + 4) % 8] is the opposite.
DIRECTIONS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
JUMPS = ((-2, -1), (-2, 1))  # of a knight
STEPS = (*DIRECTIONS, *JUMPS)

Rays = Words


def lanes(*numbers: int, of: int = 8) -> np.ndarray:
    """Returns words with all bits set in the given lanes, uint32 [of]."""
    return np.where(np.isin(np.arange(of), numbers), np.uint32(2**32 - 1), np.uint32(0))


def spread(words: Words, where: np.ndarray) -> Rays:
    """Returns the board in the lanes `where`, and an empty one in the others."""
    return tuple(word & where for word in words)


class Moves(NamedTuple):
    """How far the boards of lanes move, uint32 [..., lanes] each.

    A lane's bits go either down or up in a word, and some come from its neighbour. The amounts of
    the other way move all bits out of the word.
    """

    down: np.ndarray
    from_above: np.ndarray
    up: np.ndarray
    from_below: np.ndarray
    arrives: np.ndarray  # the cells that a move on the board can reach

    @classmethod
    def of(cls, steps: np.ndarray) -> "Moves":
        """Makes the moves by rows and columns, int [..., lanes, 2]."""
        places = steps @ np.array([9, 1])
        columns = np.arange(9) - steps[..., 1:]
        arrives = ((columns >= 0) & (columns < 9)) @ (1 << np.arange(9))
        down, up = (np.where(n > 0, n, 27) for n in (-places, places))
        amounts = (down, np.where(down < 27, 27 - down, 27), up, np.where(up < 27, 27 - up, 27))
        return cls(*(array.astype(np.uint32) for array in (*amounts, arrives * 0x40201)))


def move(rays: Rays, by: Moves) -> Rays:
    """Moves each lane; drops what leaves the board."""
    low, middle, high = rays
    return (
        (low >> by.down | middle << by.from_above | low << by.up) & by.arrives,
        (middle >> by.down | high << by.from_above | middle << by.up | low >> by.from_below)
        & by.arrives,
        (high >> by.down | high << by.up | middle >> by.from_below) & by.arrives,
    )


class Slides(NamedTuple):
    """Moves by one cell and by two in the directions of slides."""

    once: Moves
    twice: Moves

    @classmethod
    def of(cls, steps: np.ndarray) -> "Slides":
        """Makes the slides by steps of rows and columns, int [..., lanes, 2]."""
        return cls(Moves.of(steps), Moves.of(2 * steps))


def slide(rays: Rays, through: Words, by: Slides, steps: Rays | None = None) -> Rays:
    """Returns what the lanes reach through `through` and one cell beyond, and `steps` in one."""
    again = both(through, move(through, by.once))
    rays = either(rays, both(move(rays, by.once), through))
    for _ in range(3):
        rays = either(rays, both(move(rays, by.twice), again))
    return move(rays if steps is None else either(rays, steps), by.once)


def merge(rays: Rays) -> Words:
    """Returns the union of all lanes."""
    return tuple(jnp.bitwise_or.reduce(word, axis=-1) for word in rays)


def opposite(rays: Rays) -> Rays:
    """Moves each lane to the opposite direction."""
    return tuple(jnp.concatenate([word[..., 4:], word[..., :4]], axis=-1) for word in rays)
