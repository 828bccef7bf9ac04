"""What the local server answers: positions, and searches in JAX."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.game import legal_actions

from azjax.players.network import SearchPlayer
from azjax.search import (
    gumbel_policy,
    make_recurrent_fn,
    mask_logits,
    network_evaluate,
    puct_policy,
)
from azjax.web.model import has_clicks

Array = jax.Array

_LINE = 8  # moves of the line that a search expects


class IllegalMove(ValueError):
    """A game that was sent has a move that is not legal."""


def look(player: SearchPlayer, moves: Sequence[int]) -> dict[str, Any]:
    """The position after `moves`, as a page wants it (see engines.js).

    Raises:
      IllegalMove: saying which.
    """
    state = _replayed(player.game, moves)
    facts = jax.device_get(_facts(player.game, player.network, player.variables, state))
    mover = int(facts["player"])
    returns = facts["returns"].tolist()
    return {
        "player": mover,
        "over": bool(facts["over"]),
        "returns": returns,
        "value": returns[0] if facts["over"] else _of_first(float(facts["value"]), mover),
        "view": facts["view"].tolist(),
        "moves": _named_moves(player.game, state),
    }


def think(player: SearchPlayer, moves: Sequence[int], simulations: int) -> dict[str, Any]:
    """A search of the position after `moves`, as a page wants it.

    Raises:
      IllegalMove: saying which; also where the game is over.
    """
    began = time.perf_counter()
    game, state = player.game, _replayed(player.game, moves)
    mover = int(game.current_player(state))
    if bool(game.is_terminal(state)):
        raise IllegalMove("the game is over: there is nothing to think about")
    config = replace(player.config, num_simulations=simulations)
    found = jax.device_get(_search(replace(player, config=config), state))
    line, after = [], state
    for action in _line(found):
        if game.is_terminal(after):
            break  # a search goes on below an end, where nothing changes
        line.append(game.action_to_string(after, action))
        after = _step(game, after, np.int32(action))
    visits = np.bincount(
        found["edges"][1:][found["parents"][1:] == 0],
        weights=found["visits"][1:][found["parents"][1:] == 0],
        minlength=game.num_actions,
    )
    return {
        "action": int(found["action"]),
        "visits": [[int(a), int(visits[a])] for a in np.flatnonzero(visits)],
        "value": _of_first(float(found["value"]), mover),
        "line": line,
        "simulations": simulations,
        "ms": 1000 * (time.perf_counter() - began),
    }


def _of_first(value: float, mover: int) -> float:
    return value if mover == 0 else -value


def _named_moves(game: Game, state: Any) -> list[dict[str, Any]]:
    state = jax.device_get(state)
    clicks = np.asarray(_clicks(game, state)) if has_clicks(game) else None
    return [
        {
            "action": action,
            "name": game.action_to_string(state, action),
            "clicks": None if clicks is None else clicks[action].tolist(),
        }
        for action in legal_actions(game, state)
    ]


def _replayed(game: Game, moves: Sequence[int]) -> Any:
    actions = np.zeros(game.max_steps, np.int32)
    actions[: len(moves)] = moves
    state, legal = _replay(game, actions, np.int32(len(moves)))
    if int(legal) < len(moves):
        number = int(legal)
        raise IllegalMove(f"move {number + 1}, action {moves[number]}, is not legal there")
    return state


@functools.partial(jax.jit, static_argnums=0)
def _replay(game: Game, actions: Array, count: Array) -> tuple[Any, Array]:
    """The state after `count` actions, and how many of them are legal, up to the first that is
    not."""

    def play(i: Array, carry: tuple[Any, Array]) -> tuple[Any, Array]:
        state, legal = carry
        is_legal = game.legal_action_mask(state)[actions[i]]
        legal = jnp.where(is_legal & (legal == i), i + 1, legal)
        return game.step(state, actions[i]), legal

    return jax.lax.fori_loop(0, count, play, (game.init(), jnp.int32(0)))


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, state: Any, action: Array) -> Any:
    return game.step(state, action)


@functools.partial(jax.jit, static_argnums=0)
def _clicks(game: Any, state: Any) -> Array:
    return game.clicks(state)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _facts(game: Game, network: Any, variables: Any, state: Any) -> dict[str, Array]:
    return {
        "player": game.current_player(state),
        "over": game.is_terminal(state),
        "returns": game.returns(state),
        "view": game.view(state),
        "value": network.apply(variables, game.observe(state)[None]).value[0],
    }


@jax.jit
def _search(player: SearchPlayer, state: Any) -> dict[str, Array]:
    """The player's search of one position, and its tree: of each node (number 0 is the root) its
    parent, the action that leads to it, and its visits."""
    game, config = player.game, player.config
    states = jax.tree.map(lambda x: x[None], state)
    evaluate = network_evaluate(game, player.network)
    key = jax.random.PRNGKey(0)  # there is no noise, and this breaks no ties
    logits, value = evaluate(player.variables, key, states)
    mask = game.legal_action_mask(state)[None]
    arguments = (player.variables, key, mask_logits(logits, mask), value, states)
    recurrent_fn = make_recurrent_fn(game, evaluate)
    if config.algorithm == "gumbel":
        scale = jnp.zeros((1, 1), logits.dtype)
        output = gumbel_policy(*arguments, recurrent_fn, mask, scale, config)
        action = output.action[0]
    else:
        output = puct_policy(*arguments, recurrent_fn, mask, config)
        action = jnp.argmax(output.action_weights[0])
    tree = output.search_tree
    return {
        "action": action,
        "value": tree.summary().qvalues[0, action],
        "parents": tree.parents[0],
        "edges": tree.action_from_parent[0],
        "visits": tree.node_visits[0],
    }


def _line(found: dict[str, np.ndarray]) -> list[int]:
    """The move chosen, and from there the most visited ones."""
    line: list[int] = []
    node = 0
    while len(line) < _LINE:
        children = np.flatnonzero((found["parents"] == node) & (found["visits"] > 0))
        children = children[children > 0]
        if node == 0:
            children = children[found["edges"][children] == found["action"]]
        if not len(children):
            break
        node = int(children[np.argmax(found["visits"][children])])
        line.append(int(found["edges"][node]))
    return line
