"""A game and a network as one ONNX model: all that a browser needs to search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.game import has_clicks

from azjax.errors import UserError
from azjax.network.network import Network, Variables
from azjax.search.model import mask_logits
from azjax.types import Array


@dataclass(frozen=True)
class Model:
    """The exported function (state arrays..., action) -> (state arrays..., facts...)."""

    proto: bytes
    inputs: tuple[str, ...]  # the state's arrays, then "action"
    outputs: tuple[str, ...]  # the state's arrays again, then FACTS, and "clicks" where there are


FACTS = ("player", "over", "returns", "legal", "prior", "value", "view")


def evaluation(game: Game, network: Network, variables: Variables) -> Callable[..., list[Array]]:
    """The function that is exported, of a state's arrays and an action; -1 moves nothing.

    Returns the arrays of the next state and what is to be said of it: `player` int32 [], `over`
    bool [], `returns` float32 [2], `legal` bool [A], `prior` float32 [A] over the legal actions,
    `value` float32 [] seen by the player to move, `view` int32 [cells], and `clicks` int32 [A, 3]
    of games that have them.
    """
    network = replace(network, config=replace(network.config, dtype="float32"))
    structure = jax.tree.structure(jax.eval_shape(game.init))

    def evaluate(*inputs: Array) -> list[Array]:
        *leaves, action = inputs
        before = jax.tree.unflatten(structure, leaves)
        stays = action < 0
        state = jax.tree.map(
            lambda old, new: jnp.where(stays, old, new), before, game.step(before, action)
        )
        prediction = network.apply(variables, game.observe(state)[None])
        legal = game.legal_action_mask(state)
        facts = [
            game.current_player(state),
            game.is_terminal(state),
            game.returns(state),
            legal,
            jax.nn.softmax(mask_logits(prediction.policy_logits[0], legal)),
            prediction.value[0],
            game.view(state),
        ]
        if has_clicks(game):
            facts.append(game.clicks(state))
        return [*jax.tree.leaves(state), *facts]

    return evaluate


def export_model(game: Game, network: Network, variables: Variables) -> Model:
    """The model of a game and a network.

    Raises:
      UserError: the packages are missing, or the game uses what cannot be exported.
    """
    try:
        from azjax.onnx_export.convert import UnsupportedPrimitive, to_onnx
    except ImportError as error:
        raise UserError(f'{error}: pip install "azjax[web]" brings what azjax web needs') from error
    start = jax.tree.leaves(jax.eval_shape(game.init))
    names = [f"state_{i}" for i in range(len(start))]
    inputs = (*names, "action")
    outputs = (*(f"next_{i}" for i in range(len(start))), *FACTS)
    outputs += ("clicks",) if has_clicks(game) else ()
    try:
        proto = to_onnx(
            evaluation(game, network, variables),
            *start,
            jax.ShapeDtypeStruct((), np.int32),
            inputs=inputs,
            outputs=outputs,
        )
    except UnsupportedPrimitive as error:
        raise UserError(
            f"{game.name} cannot run in a browser ({error}); "
            "azjax play RUN --web plays it from a local server"
        ) from error
    return Model(proto.SerializeToString(), inputs, outputs)


def run_model(session: Any, model: Model, leaves: list[np.ndarray], action: int) -> dict[str, Any]:
    """One evaluation in onnxruntime, by the names of the outputs."""
    feeds = dict(zip(model.inputs, [*leaves, np.array(action, np.int32)], strict=True))
    return dict(zip(model.outputs, session.run(list(model.outputs), feeds), strict=True))
