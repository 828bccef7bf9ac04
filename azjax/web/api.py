"""The computations of the local server: descriptions of positions, and searches in JAX."""

import functools
import time
from collections.abc import Generator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.game import legal_actions

from azjax.engine.anytime import AnytimeSearch
from azjax.engine.decision import continue_search
from azjax.engine.search_analysis import SearchAnalysis
from azjax.files import notation
from azjax.files.game_record import record_from_state, start_game
from azjax.files.positions import read_position
from azjax.types import Array, State
from azjax.web.exact_api import PerfectPlay
from azjax.web.onnx_model import facts_of, facts_of_game
from azjax.web.page_data import describe_moves

_MAX_LINE = 8  # moves of the expected line
_REPORT_S = 0.25  # between two reports of a search


class IllegalMove(ValueError):
    """A move of the game that was sent is not legal."""


def describe_position(
    search: AnytimeSearch | PerfectPlay, moves: Sequence[int], start: str = ""
) -> dict[str, Any]:
    """Returns the position after `moves` as the page reads it, see engines.js.

    Args:
      search: the game and its player.
      moves: actions since the start.
      start: the start in the game's notation; "" for the game's own.

    Raises:
      IllegalMove: a move is not legal, or the start is no position of the game.
    """
    game, state = search.game, _replay(search.game, moves, start)
    if isinstance(search, PerfectPlay):
        facts = jax.device_get(_facts_of_game(game, state))
        facts["value"] = 0.0 if facts["over"] else search.value(state)
    else:
        assert search.network is not None
        facts = jax.device_get(_facts(game, search.network, search.variables, state))
    mover = int(facts["player"])
    returns = facts["returns"].tolist()
    value = -facts["value"] if mover else facts["value"]  # for player 0
    return {
        "player": mover,
        "over": bool(facts["over"]),
        "returns": returns,
        "value": returns[0] if facts["over"] else float(value),
        "view": facts["view"].tolist(),
        "score": facts["score"].tolist() if "score" in facts else None,
        "winning": np.flatnonzero(facts["winning"]).tolist() if "winning" in facts else None,
        "moves": describe_moves(game, state, legal_actions(game, state)),
    }


def search_position(
    search: AnytimeSearch | PerfectPlay, moves: Sequence[int], simulations: int, start: str = ""
) -> Generator[dict[str, Any], None, None]:
    """Yields the analysis of the position after `moves`, as the page reads it, while searching.

    There are four a second, and one at the end.

    Raises:
      IllegalMove: at the first report, if one of the moves is not legal or the game is over.
    """
    began = reported = time.perf_counter()
    game, state = search.game, _replay(search.game, moves, start)
    if bool(game.is_terminal(state)):
        raise IllegalMove("the game is over: there is no move to search for")
    if isinstance(search, PerfectPlay):
        yield search.report(state)
        return
    progress = search.start(state)
    for step in continue_search(progress, simulations=simulations):
        progress = step
        now = time.perf_counter()
        if now - reported >= _REPORT_S and progress.simulations < simulations:
            reported = now
            yield _report(game, state, progress.analysis(), now - began)
    yield _report(game, state, progress.analysis(), time.perf_counter() - began)


def _report(game: Game, state: State, analysis: SearchAnalysis, seconds: float) -> dict[str, Any]:
    record = record_from_state(game, state)
    line = analysis.principal_variation(analysis.action)[:_MAX_LINE]
    visited = np.flatnonzero(analysis.visits)
    return {
        "action": analysis.action,
        "visits": [[int(action), int(analysis.visits[action])] for action in visited],
        "value": -analysis.value if record.current.mover else analysis.value,  # for player 0
        "line": notation.shown_line(record, line),
        "simulations": analysis.simulations,
        "ms": 1000 * seconds,
    }


def _start_of(game: Game, text: str) -> State:
    try:
        return read_position(game, text)[0]
    except ValueError as error:
        raise IllegalMove(str(error)) from error


def _replay(game: Game, moves: Sequence[int], start: str) -> State:
    first = _start_of(game, start) if start else start_game(game).current.state
    actions = np.zeros(game.max_steps, np.int32)
    actions[: len(moves)] = moves
    state, num_legal = _replay_jit(game, first, actions, np.int32(len(moves)))
    number = int(num_legal)
    if number < len(moves):
        raise IllegalMove(f"move {number + 1}, action {moves[number]}, is not legal there")
    return state


@functools.partial(jax.jit, static_argnums=0)
def _replay_jit(game: Game, first: State, actions: Array, count: Array) -> tuple[State, Array]:
    """Returns the state after `count` actions, and how many come before the first illegal one."""

    def play(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, num_legal = carry
        is_legal = game.legal_action_mask(state)[actions[i]]
        num_legal = jnp.where(is_legal & (num_legal == i), i + 1, num_legal)
        return game.step(state, actions[i]), num_legal

    return jax.lax.fori_loop(0, count, play, (first, jnp.int32(0)))


_facts = jax.jit(facts_of, static_argnums=(0, 1))
_facts_of_game = jax.jit(facts_of_game, static_argnums=0)
