"""The targets of a run besides policy and value, which may be the user's own, and checks of them.

Score and ownership are such targets, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.compact_states import restore_unobserved
from azjax.config import Config
from azjax.config.custom_parts import call_custom, resolve_custom
from azjax.errors import UserError
from azjax.replay.auxiliary import check_auxiliary, final_points
from azjax.replay.buffer import Replay, TopPolicy, Transition
from azjax.replay.targets import Targets
from azjax.types import Array, State

TargetFunction = Callable[[Game, Transition, Targets], Mapping[str, Any]]
"""(game, transitions, results) -> targets by name, arrays [R, B, ...]; NaN where one is unknown.

The transitions [R, B, ...] are the rows of the ring, and `results` are their games' results. The
function may have a method `record(game, mover, states, known)`. It is called with the positions
[B, ...] after each ply, and what it returns is in `transitions.recorded`, as `FinalPoints` shows.
"""

_KEY = "learning.targets"
_TAKEN = ("policy", "value")  # whose losses have their names


@dataclass(frozen=True)
class RunTargets:
    """The targets of a run: those of several functions together."""

    parts: tuple[TargetFunction, ...]

    def record(self, game: Game, mover: Array, states: State, known: Array) -> dict[str, Array]:
        """Returns what the functions record of the positions after a ply."""
        found: dict[str, Array] = {}
        for part in self.parts:
            if hasattr(part, "record"):
                found |= part.record(game, mover, states, known)
        return found

    def __call__(self, game: Game, replay: Any, results: Any) -> Any:
        """Returns the results with targets; those of a buffer of one's own stay as they are."""
        if not self.parts or not isinstance(results, Targets) or not isinstance(replay, Replay):
            return results
        whole = jax.vmap(lambda states: restore_unobserved(game, states))
        transitions = replace(replay.transitions, states=whole(replay.transitions.states))
        extra: dict[str, Any] = {}
        for part in self.parts:
            try:
                found = part(game, transitions, results)
            except TypeError as error:
                raise UserError(f"targets: {str(error).splitlines()[0]}") from error
            extra |= _checked(found, results.valid.shape, extra)
        return replace(results, extra=extra)


def make_targets(game: Game, config: Config, given: TargetFunction | None = None) -> RunTargets:
    """Returns a run's targets: those that `network.auxiliary` names, and the user's own.

    Raises:
      UserError: the game lacks an auxiliary target, or the name of the function leads nowhere.
    """
    learning, names = config.learning, config.network.auxiliary
    check_auxiliary(game, names)
    own = resolve_custom(learning.targets, given, key=_KEY, argument="targets")
    if own is not None and given is None:
        own = call_custom(own, config, options=learning.targets_options, key=_KEY)
    if own is not None and not callable(own):
        raise UserError(
            "targets must be a function of (game, transitions, results), not a "
            f"{type(own).__name__}"
        )
    parts = (final_points(game, names) if names else None, own)
    return RunTargets(tuple(part for part in parts if part is not None))


def _checked(found: Any, shape: tuple[int, ...], others: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the targets of a function.

    Raises:
      UserError: they are no dict by name of arrays [R, B, ...].
    """
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise UserError(
            f"targets must return a dict of arrays by name, not a {type(found).__name__}"
        )
    for name, target in found.items():
        if name in others or name in _TAKEN:
            raise UserError(f"targets: {name!r} is azjax's own; choose another name")
        rows = [jnp.shape(x) for x in jax.tree.leaves(target)]
        if not (hasattr(target, "dtype") or isinstance(target, TopPolicy)):
            raise UserError(f"targets: {name} must be an array, not a {type(target).__name__}")
        if any(x[:2] != shape for x in rows):
            raise UserError(
                f"targets: {name} must have the shape [{shape[0]}, {shape[1]}, ...], rows and "
                f"lanes of the buffer, given {list(rows[0])}"
            )
    return found
