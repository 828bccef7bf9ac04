"""The PRNG keys that a run makes of its seed's key, once."""

from typing import NamedTuple

import jax

from azjax.types import Array


class FirstKeys(NamedTuple):
    """The keys of a run's first state."""

    run: Array  # of all cycles
    network: Array  # of the untrained network
    games: Array  # of the first games


def first_keys(key: Array) -> FirstKeys:
    """Returns the keys of the run whose seed gives `key`."""
    return FirstKeys(*jax.random.split(key, 3))
