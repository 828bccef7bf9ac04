"""The network of a config, which may be the user's own, and checks of it."""

import functools
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from flax import linen, nnx

from azjax.config import NetworkConfig
from azjax.config.custom_parts import call_custom, resolve_custom
from azjax.errors import UserError
from azjax.network.flax_network import flax_network
from azjax.network.network import Network, Variables
from azjax.network.nnx_arrays import variable_shapes
from azjax.network.results import told_apart
from azjax.network.two_headed import make_network
from azjax.pytrees import check_array

_KEY = "network.module"


def resolve_network(
    game: Game, config: NetworkConfig, given: Network | None = None, *, owner: str = ""
) -> Network:
    """Returns the network that a config describes or names, or the given one.

    Args:
      given: the user's network; None for that of the config.
      owner: what has the config, such as a run directory, for the messages.

    Raises:
      UserError: the name leads nowhere, the network must be given, or its outputs are wrong.
    """
    try:
        found = resolve_custom(config.module, given, key=_KEY, argument="network")
        if found is None:
            return make_network(game, config)
        network = found if given is not None else _named(found, game, config)
        told = told_apart(game, config) if config.value_head == "results" else ()
        check_network(network, game, auxiliary=config.auxiliary, kinds=len(told))
    except UserError as error:
        raise UserError(f"{owner}: {error}") if owner else error from error
    return network


def check_network(
    network: Any, game: Game, *, auxiliary: tuple[str, ...] = (), kinds: int = 0
) -> None:
    """Raises a UserError if a network lacks a method or predicts wrong shapes.

    Args:
      kinds: the number of results that its value must tell apart; 0 for three, or a scalar.
    """
    if not isinstance(network, Network):
        raise UserError(
            f"network must be an azjax.Network, not a {type(network).__name__}; azjax.flax_network "
            "makes one of a Flax module"
        )
    count = 2
    example = jax.ShapeDtypeStruct((count, *game.observation_shape), jnp.float32)
    variables = variable_shapes(network)
    if not isinstance(variables, dict) or set(variables) != {"params", "stats"}:
        raise UserError('the variables of a network must be {"params": ..., "stats": ...}')
    prediction = jax.eval_shape(network.apply, variables, example)
    expected: dict[str, tuple[int, ...]] = {
        "policy_logits": (count, game.num_actions),
        "value": (count,),
    }
    expected["value_logits"] = (
        count,
        kinds or (3 if prediction.value_logits.shape[-1:] == (3,) else 1),
    )
    arrays = {name: getattr(prediction, name) for name in expected}
    extra = prediction.extra
    if not isinstance(extra, dict) or not all(hasattr(x, "dtype") for x in extra.values()):
        raise UserError("the network's extra outputs must be a dict of arrays by name")
    known = {"score": (count,), "ownership": (count, *game.observation_shape[:2])}
    for name in auxiliary:
        if name not in extra:
            raise UserError(f"the network predicts no {name}, which network.auxiliary asks for")
    for name, array in extra.items():
        arrays[name] = array
        expected[name] = known[name] if name in auxiliary else (count, *jnp.shape(array)[1:])
    for name, shape in expected.items():
        array = arrays[name]
        try:
            check_array(
                array, shape, jnp.float32, name=f"the network's {name} of {count} positions"
            )
        except ValueError as error:
            raise UserError(f"{error} for {game.name}") from None


def check_first_predictions(network: Network, game: Game, variables: Variables) -> None:
    """Raises a UserError if a first logit is not finite, or a first value not in [-1, 1]."""
    state = game.init(jax.random.key(0))
    prediction = jax.jit(network.apply)(variables, game.observe(state)[None])
    for name in ("policy_logits", "value_logits", "value"):
        numbers = np.asarray(getattr(prediction, name))
        if not np.isfinite(numbers).all():
            raise UserError(
                f"the untrained network's {name} at the start of {game.name} are not "
                f"finite numbers: {numbers.ravel()[:8].tolist()}"
            )
    value = float(prediction.value[0])
    if abs(value) > 1:
        raise UserError(
            f"the untrained network's value at the start of {game.name} is {value:.3g}; a value "
            "must be in [-1, 1] (use tanh), or three logits for win, draw and loss"
        )


def _named(part: Any, game: Game, config: NetworkConfig) -> Network:
    """Returns the network of a module's class or function that a config names."""
    make = functools.partial(call_custom, part, game, options=config.options, key=_KEY)
    if inspect.isclass(part) and issubclass(part, nnx.Module):
        return flax_network(lambda rngs: make(rngs=rngs))
    if inspect.isclass(part) and issubclass(part, linen.Module):
        return flax_network(lambda: make(), observation_shape=game.observation_shape)
    return make()
