"""What the local server answers: positions, and searches in JAX."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.game import clicks_of, has_clicks, legal_actions

from azjax.search.analysis import Findings
from azjax.search.anytime import Thinker, keep_thinking
from azjax.types import Array

_LINE = 8  # moves of the line that a search expects
_REPORT_S = 0.25  # between two reports of a search


class IllegalMove(ValueError):
    """A game that was sent has a move that is not legal."""


def look(thinker: Thinker, moves: Sequence[int]) -> dict[str, Any]:
    """The position after `moves`, as a page wants it (see engines.js).

    Raises:
      IllegalMove: saying which.
    """
    game, state = thinker.game, _replayed(thinker.game, moves)
    facts = jax.device_get(_facts(game, thinker.network, thinker.variables, state))
    mover = int(facts["player"])
    returns = facts["returns"].tolist()
    return {
        "player": mover,
        "over": bool(facts["over"]),
        "returns": returns,
        "value": returns[0] if facts["over"] else _of_first(float(facts["value"]), mover),
        "view": facts["view"].tolist(),
        "moves": _named_moves(game, state),
    }


def think(thinker: Thinker, moves: Sequence[int], simulations: int) -> Iterator[dict[str, Any]]:
    """A search of the position after `moves`, as a page wants it: what it has found four times a
    second, and at last what it found.

    Raises:
      IllegalMove: at the first report; saying which, also where the game is over.
    """
    began = reported = time.perf_counter()
    game, state = thinker.game, _replayed(thinker.game, moves)
    if bool(game.is_terminal(state)):
        raise IllegalMove("the game is over: there is nothing to think about")
    for thinking in keep_thinking(thinker.start(state), simulations=simulations):
        now = time.perf_counter()
        if now - reported >= _REPORT_S and thinking.simulations < simulations:
            reported = now
            yield _report(game, state, thinking.findings(), now - began)
    yield _report(game, state, thinking.findings(), time.perf_counter() - began)


def _report(game: Game, state: Any, found: Findings, seconds: float) -> dict[str, Any]:
    line, after = [], state
    for action in found.line(found.action)[:_LINE]:
        line.append(game.action_to_string(after, action))
        after = _step(game, after, np.int32(action))
    return {
        "action": found.action,
        "visits": [[int(a), int(found.visits[a])] for a in np.flatnonzero(found.visits)],
        "value": _of_first(found.value, int(game.current_player(state))),
        "line": line,
        "simulations": found.simulations,
        "ms": 1000 * seconds,
    }


def _of_first(value: float, mover: int) -> float:
    return value if mover == 0 else -value


def _named_moves(game: Game, state: Any) -> list[dict[str, Any]]:
    state = jax.device_get(state)
    clicks = clicks_of(game, state) if has_clicks(game) else None
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


@functools.partial(jax.jit, static_argnums=(0, 1))
def _facts(game: Game, network: Any, variables: Any, state: Any) -> dict[str, Array]:
    return {
        "player": game.current_player(state),
        "over": game.is_terminal(state),
        "returns": game.returns(state),
        "view": game.view(state),
        "value": network.apply(variables, game.observe(state)[None]).value[0],
    }
