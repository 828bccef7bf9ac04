"""The checkers that can be moved by dice, found for all points at once."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.backgammon.board import BAR, HOME, OFF, POINTS

_ALL = np.uint32(0xFFFFFFFF)
_ONE = np.uint32(1)


def higher(dice: Array) -> Array:
    """Returns the highest die of those left, bit d for die d, uint32 []; 0 without dice."""
    return jnp.where(dice == 0, 0, 31 - jax.lax.clz(dice))


def lower(dice: Array) -> Array:
    """Returns the lowest die of those left, uint32 []; 0 without dice."""
    return higher(dice & (~dice + jnp.uint32(1)))  # NumPy would warn of the overflow at 0


def movable(some: Array, free: Array, die: Array) -> Array:
    """Returns the points from which a checker can be moved by one die, uint32 [].

    Args:
      some: uint32 [], the points and the bar with checkers of the mover.
      free: uint32 [], the points without two checkers or more of the opponent.
      die: uint32 [], 1 to 6.
    """
    on_bar = (some & BAR) != 0
    on_board = jnp.where(on_bar, BAR, some) & _before(free, die)
    is_home = (some & ~HOME) == 0
    # The die itself, or the highest checker if that is lower.
    exact = some & (_ONE << die)
    off = jnp.where(some < (_ONE << (die + 1)), _highest(some), exact)
    return on_board | jnp.where(is_home, off, 0)


def then_movable(some: Array, several: Array, free: Array, die: Array, then: Array) -> Array:
    """Returns the points from which a move by `die` leaves a move by `then`, uint32 [].

    Moves by `die` from other points than those of `movable` have no meaning.
    """
    target = _before(free, then)
    # From the bar: the next one enters, or any checker moves.
    entered = (some & ~BAR) | (BAR >> die)
    enters = jnp.where((several & BAR) != 0, target & BAR, entered & target) != 0
    from_bar = jnp.where(enters, BAR, 0)

    # On the board: another checker moves, or the same one moves on.
    others = some & target
    two = ((others & (others - 1)) != 0) | ((others & several) != 0)
    on_board = jnp.where(two, _ALL, jnp.where(others != 0, ~others, 0))
    on_board |= _before(target & POINTS, die)

    # A checker is borne off by the same die, or by a higher one if no checker is behind it.
    spot, above = _ONE << then, _ALL << (then + 1)
    exact = jnp.where((several & spot) != 0, _ALL, jnp.where((some & spot) != 0, ~spot, 0))
    exact |= spot << die
    is_home = (some & ~HOME) == 0
    off = jnp.where(is_home, jnp.where((some & above) == 0, _ALL, exact), 0)
    # The first move may bring the last checker home, or its highest one down.
    last = _highest(some)
    after = (some & ~last) | (last >> die)
    comes_home = ((several & last) == 0) & ((after & ~(HOME | OFF)) == 0)
    last_off = comes_home & (((after & above) == 0) | ((exact & last) != 0))
    off |= jnp.where(last_off, last, 0)
    # After the last checker nothing is left to be played.
    ends = (some == last) & ((several & last) == 0) & (last < (_ONE << (die + 1)))
    return jnp.where((some & BAR) != 0, from_bar, jnp.where(ends, 0, on_board | off))


def legal(some: Array, several: Array, free: Array, dice: Array) -> tuple[Array, Array]:
    """Returns the points from which the higher and the lower of the dice left can be played.

    Both dice must be played if that is possible. If only one can be, it is the higher one, if
    possible. With one die left, or with a double, the points are those of the higher die.

    Args:
      several: uint32 [], the points and the bar with two checkers or more of the mover.
      dice: uint32 [], bit d for each die d that is left.

    Returns:
      uint32 [] and uint32 [].
    """
    high, low = higher(dice), lower(dice)
    two = high != low
    by_high, by_low = movable(some, free, high), movable(some, free, low)
    first_high = by_high & then_movable(some, several, free, high, low)
    first_low = by_low & then_movable(some, several, free, low, high)
    both = (first_high | first_low) != 0
    alone = jnp.where(by_high == 0, by_low, 0)
    return (
        jnp.where(two & both, first_high, by_high),
        jnp.where(two, jnp.where(both, first_low, alone), 0),
    )


def _before(points: Array, die: Array) -> Array:
    """Returns the points from which a die leads to some points, uint32 []."""
    return (points & POINTS) << die


def _highest(points: Array) -> Array:
    """Returns the highest of some points, uint32 [], one bit; 0 without points."""
    return jnp.where(points == 0, 0, _ONE << (31 - jax.lax.clz(points)))
