"""The interface of networks: what search, learning and players need of one."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax

from azjax.types import Array, Params

Variables = dict[str, Any]
"""A network's arrays: {"params": nested dict of arrays, "stats": nested dict of arrays}."""


_NOTHING: Mapping[str, Array] = {}


class Prediction(NamedTuple):
    """The network's outputs for B positions, always float32."""

    policy_logits: Array  # [B, num_actions], not masked: illegal actions have logits too
    value_logits: Array
    """[B, 3] win, draw, loss from the mover's perspective; of a game's own results [B, K], the
    greatest first; [B, 1] before tanh."""
    value: Array  # [B] expected result from the mover's perspective, in [-1, 1]
    extra: Mapping[str, Array] = _NOTHING
    """More outputs [B, ...] by name. What they are to be says a function of targets; azjax has
    "score" [B], the mover's final margin as a share of all points, and "ownership" [B, height,
    width], 1 where the mover owns the cell in the end and -1 where the opponent does."""


@runtime_checkable
class Network(Protocol):
    """A network: pure functions of its arrays. It is static, hashable, and holds no arrays.

    A subclass writes `init` and `apply`, and the others where it needs them.
    `azjax.flax_network` makes one of a Flax module.
    """

    @property
    def shared_statistics(self) -> bool:
        """Whether `apply_train` returns the same statistics on all devices.

        Otherwise, and by default, the mean over the devices is kept.
        """
        return False

    def init(self, key: Array) -> Variables:
        """Returns new variables, {"params": what is trained, "stats": other arrays, often none}.

        Both are nested dicts with strings as keys, which files can hold.
        """
        ...

    def apply(self, variables: Params, observations: Array) -> Prediction:
        """Returns the predictions for observations, float32 [B, height, width, channels].

        The variables are as `init` or `for_inference` makes them.
        """
        ...

    def apply_train(
        self, variables: Variables, observations: Array, key: Array
    ) -> tuple[Prediction, dict[str, Any]]:
        """Returns the predictions to learn from, and the new `variables["stats"]`.

        It is called with this device's share of the batch, float32 [B, height, width, channels],
        under `shard_map` over `azjax.sharding.AXIS`; outside of that, with the whole batch. By
        default it is `apply`.
        """
        del key
        return self.apply(variables, observations), variables["stats"]

    def for_inference(self, variables: Variables) -> Params:
        """Returns variables that `apply` needs fewer operations for, to use them many times.

        By default they are those that it is given, which `init` made.
        """
        return variables


def count_parameters(variables: Variables) -> int:
    """Returns the number of trained parameters."""
    return sum(x.size for x in jax.tree.leaves(variables["params"]))
