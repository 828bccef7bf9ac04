"""A game and a network as one ONNX model, with which a browser can search."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance
from azjax_envs.game import HasClicks, HasScore, HasSetUp, HasTextParts, HasWinningCells

from azjax.errors import UserError
from azjax.network import Network, Variables, in_float32
from azjax.pytrees import expand
from azjax.search import mask_logits, network_evaluate, with_chance_nodes
from azjax.types import Array, State


@dataclass(frozen=True)
class Model:
    """An exported function: by `export_model` or `export_set_up`."""

    proto: bytes
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lanes: int = 1  # positions that it evaluates at once


FACTS = ("player", "over", "returns", "legal", "prior", "value", "view")


def extra_facts(game: Game) -> dict[str, Callable[[State], Array]]:
    """Returns the functions of a state that only some games have, by the names of their outputs."""
    facts: dict[str, Callable[[State], Array]] = {}
    if isinstance(game, HasChance):
        facts["chance"] = functools.partial(_chance, game)
    if isinstance(game, HasClicks):
        facts["clicks"] = game.clicks
    if isinstance(game, HasTextParts):
        facts["parts"] = game.action_parts
    if isinstance(game, HasScore):
        facts["score"] = game.score
    if isinstance(game, HasWinningCells):
        facts["winning"] = game.winning_cells
    return facts


def _chance(game: HasChance, state: State) -> Array:
    """Returns the probabilities of outcomes, all 0 where chance is not next, float32 [K]."""
    return jnp.where(game.is_chance(state), game.chance_probabilities(state), 0.0)


def facts_of(game: Game, network: Network, variables: Variables, state: State) -> dict[str, Array]:
    """Returns what a page knows of a position, by the names in FACTS and of `extra_facts`.

    `player` is int32 [], `over` bool [], `returns` float32 [2], `legal` bool [A], `prior` float32
    [A] over the legal actions, `value` float32 [] from the mover's perspective, `view` int32
    [cells]. Some games add `chance` float32 [K], the probabilities of outcomes where they are next
    and 0 elsewhere, `clicks` int32 [A, 3], `parts` int32 [A, P], `score` float32 [2], and `winning`
    bool [cells].

    The prior and the value are those of a node in the search.
    """
    _, evaluate = with_chance_nodes(game, network_evaluate(game, network))
    logits, value = evaluate(variables, jnp.zeros(2, jnp.uint32), expand(state))
    legal = game.legal_action_mask(state)
    return facts_of_game(game, state) | {
        "legal": legal,
        "prior": jax.nn.softmax(mask_logits(logits[0, : len(legal)], legal)),
        "value": value[0],
    }


def facts_of_game(game: Game, state: State) -> dict[str, Array]:
    """Returns the facts of a position that need no network, see `facts_of`."""
    facts = {
        "player": game.current_player(state),
        "over": game.is_terminal(state),
        "returns": game.returns(state),
        "view": game.view(state),
    }
    return facts | {name: fact(state) for name, fact in extra_facts(game).items()}


def make_evaluation(
    game: Game, network: Network, variables: Variables
) -> Callable[..., list[Array]]:
    """Returns the function to export.

    It takes a state's arrays and an action, where -1 makes no move, and returns the arrays of the
    next state and `facts_of` it. In a game of chance, action A + k is outcome k.
    """
    network = in_float32(network)
    rules, _ = with_chance_nodes(game, network_evaluate(game, network))
    structure = jax.tree.structure(jax.eval_shape(game.init))
    names = (*FACTS, *extra_facts(game))

    def evaluate(*inputs: Array) -> list[Array]:
        *leaves, action = inputs
        before = jax.tree.unflatten(structure, leaves)
        no_move = action < 0
        state = jax.tree.map(
            lambda old, new: jnp.where(no_move, old, new), before, rules.step(before, action)
        )
        facts = facts_of(game, network, variables, state)
        return [*jax.tree.leaves(state), *(facts[name] for name in names)]

    return evaluate


def export_model(game: Game, network: Network, variables: Variables, *, lanes: int = 1) -> Model:
    """Exports a game and a network; a UserError if that is not possible.

    The function takes the arrays of `lanes` states and "action" [lanes]. It returns the next
    states' arrays, FACTS, and those of `extra_facts`, [lanes, ...] each. Four lanes take little
    longer than one, because most of the time goes into reading weights and starting nodes.
    """
    start = jax.tree.leaves(jax.eval_shape(game.init))
    batch = [jax.ShapeDtypeStruct((lanes, *x.shape), x.dtype) for x in (*start, _INTEGER)]
    inputs = (*(f"state_{i}" for i in range(len(start))), "action")
    outputs = (*(f"next_{i}" for i in range(len(start))), *FACTS, *extra_facts(game))
    function = jax.vmap(make_evaluation(game, network, variables))
    model = _export(game, function, *batch, inputs=inputs, outputs=outputs)
    return replace(model, lanes=lanes)


def export_set_up(game: Game) -> Model | None:
    """Exports a game's `set_up`, if it has one; its outputs are a state's arrays and "possible"."""
    if not isinstance(game, HasSetUp):
        return None
    start, view = jax.eval_shape(lambda: (game.init(), game.view(game.init())))
    inputs = tuple(inspect.signature(game.set_up).parameters)
    outputs = (*(f"state_{i}" for i in range(len(jax.tree.leaves(start)))), "possible")
    examples = [view, *[_INTEGER] * (len(inputs) - 1)]

    def set_up(*values: Array) -> list[Array]:
        return jax.tree.leaves(game.set_up(*values))

    return _export(game, set_up, *examples, inputs=inputs, outputs=outputs)


_INTEGER = jax.ShapeDtypeStruct((), np.int32)


def _export(game: Game, function: Callable[..., Any], *examples: Any, **names: Any) -> Model:
    try:
        from azjax.onnx_export.convert import UnsupportedPrimitive, to_onnx
    except ImportError as error:
        raise UserError(f'{error}: azjax web needs pip install "azjax[web]"') from error
    try:
        proto = to_onnx(function, *examples, **names)
    except UnsupportedPrimitive as error:
        raise UserError(
            f"{game.name} cannot run in a browser ({error}); "
            "azjax play RUN --web plays it from a local server"
        ) from error
    return Model(proto.SerializeToString(), **names)


def run_model(session: Any, model: Model, leaves: list[np.ndarray], action: int) -> dict[str, Any]:
    """Evaluates a position in onnxruntime and returns the model's outputs by name."""
    return run_lanes(session, model, [leaves] * model.lanes, [action] * model.lanes)[0]


def run_lanes(
    session: Any, model: Model, lanes: Sequence[list[np.ndarray]], actions: Sequence[int]
) -> list[dict[str, Any]]:
    """Evaluates as many positions as the model has lanes; returns the outputs of each by name."""
    inputs = [*map(np.stack, zip(*lanes, strict=True)), np.array(actions, np.int32)]
    outputs = session.run(list(model.outputs), dict(zip(model.inputs, inputs, strict=True)))
    return [
        {name: output[i] for name, output in zip(model.outputs, outputs, strict=True)}
        for i in range(model.lanes)
    ]
