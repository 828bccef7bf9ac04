"""The buffer of a config, which may be the user's own, and checks of it."""

from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import Config
from azjax.config.custom_parts import call_custom, resolve_custom
from azjax.errors import UserError
from azjax.network.results import WIN_DRAW_LOSS, Results, told_apart
from azjax.pytrees import check_array, expand, first
from azjax.replay.buffer import Replay, Transition
from azjax.replay.custom_targets import RunTargets
from azjax.replay.ring import ReplayBuffer, Ring
from azjax.replay.sampling import Sample
from azjax.types import Array

_KEY = "replay.module"
_METHODS = ("init", "add", "targets", "sample")


def make_replay(
    config: Config, given: Any = None, *, results: Results = WIN_DRAW_LOSS
) -> ReplayBuffer:
    """Returns a run's buffer: the given one, the one that the config names, or a `Ring`.

    Raises:
      UserError: the name leads nowhere, the buffer must be given, or it lacks a method.
    """
    own = resolve_custom(config.replay.module, given, key=_KEY, argument="replay")
    if own is None:
        return Ring.of(results)
    if given is None:
        own = call_custom(own, options=config.replay.options, key=_KEY)
    name = own.__name__ if isinstance(own, type) else type(own).__name__
    missing = [method for method in _METHODS if not callable(getattr(own, method, None))]
    if missing or isinstance(own, type):
        raise UserError(
            f"replay must be an object with the methods {', '.join(_METHODS)}, as "
            f"azjax.replay.Ring() is; {name} "
            + (f"lacks {', '.join(missing)}" if missing else f"is a class, so give {name}()")
        )
    return own


def checked_replay(
    own: ReplayBuffer,
    game: Game,
    run_targets: RunTargets,
    config: Config,
    transitions: Transition,
    n: int,
) -> tuple[ReplayBuffer, Sample]:
    """Returns a user's buffer as a run uses it, and the shapes of what is drawn from it.

    All shapes are checked, and nothing is computed.

    Args:
      run_targets: the run's targets besides policy and value.
      transitions: shapes and dtypes of one device's plies of a cycle, [T, B, ...].
      n: the number of examples that one device draws in a cycle.

    Raises:
      UserError: a method, or a function of targets, does not take or return what it must.
    """
    ply = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), transitions)

    def use(buffer: ReplayBuffer, transitions: Transition, key: Array) -> tuple[Any, Sample]:
        replay = buffer.init(ply, config.replay.capacity_plies)
        added = buffer.add(replay, transitions)
        _check_equal(added, replay, "what add returns", "what init returns")
        targets = buffer.targets(
            added,
            root_value_weight=config.learning.root_value_weight,
            max_games=config.replay.max_games,
        )
        if getattr(getattr(targets, "valid", None), "dtype", None) != jnp.bool_:
            raise UserError("replay: targets must return a pytree with an array `valid`, bool")
        targets = run_targets(game, added, targets)
        drawn = buffer.sample(added, targets, key, n)
        if not isinstance(drawn, Sample):
            raise UserError(
                f"replay: sample must return an azjax.replay.Sample, not a {type(drawn).__name__}"
            )
        return replay, drawn

    key = jax.ShapeDtypeStruct((2,), jnp.uint32)
    try:
        replay, drawn = jax.eval_shape(lambda *given: use(own, *given), transitions, key)
    except TypeError as error:
        raise UserError(f"replay: {str(error).splitlines()[0]}") from error
    if type(own) is not Ring:
        ring = Ring.of(told_apart(game, config.network))
        expected = jax.eval_shape(lambda *given: use(ring, *given)[1], transitions, key)
        _check_equal(drawn, expected, "what sample returns", "what azjax.replay.Ring returns")
    return (own if isinstance(replay, Replay) else PerDevice(own)), drawn


class PerDevice:
    """A buffer whose arrays have a leading axis of devices, of which each has one row.

    So whatever arrays a user's own buffer keeps, they can be split over the devices.
    """

    def __init__(self, buffer: ReplayBuffer) -> None:
        self.buffer = buffer

    def init(self, transition: Transition, capacity: int) -> Any:
        return expand(self.buffer.init(transition, capacity))

    def add(self, replay: Any, transitions: Transition) -> Any:
        return expand(self.buffer.add(first(replay), transitions))

    def targets(self, replay: Any, *, root_value_weight: Array | float, max_games: int) -> Any:
        return self.buffer.targets(
            first(replay), root_value_weight=root_value_weight, max_games=max_games
        )

    def sample(self, replay: Any, targets: Any, key: Array, n: int) -> Sample:
        return self.buffer.sample(first(replay), targets, key, n)


def _check_equal(given: Any, expected: Any, name: str, like: str) -> None:
    """Raises a UserError if two pytrees differ in their structure, a shape or a dtype."""
    if jax.tree.structure(given) != jax.tree.structure(expected):
        raise UserError(f"replay: {name} must have the same structure as {like}")
    theirs, ours = map(jax.tree_util.tree_leaves_with_path, (given, expected))
    for (path, array), (_, want) in zip(theirs, ours, strict=True):
        try:
            place = f"replay: {name}: {jax.tree_util.keystr(path, simple=True, separator='.')}"
            check_array(array, want.shape, want.dtype, name=place)
        except ValueError as error:
            raise UserError(f"{error}, as {like}") from None
