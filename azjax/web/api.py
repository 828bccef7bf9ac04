"""The computations of the local server: descriptions of positions, and searches in JAX."""

import functools
import itertools
import time
from collections.abc import Generator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance
from azjax_envs.game import legal_actions

from azjax.chance import mean_over_outcomes, most_entries
from azjax.engine.anytime import AnytimeSearch
from azjax.engine.decision import continue_search
from azjax.engine.search_analysis import SearchAnalysis
from azjax.files import notation
from azjax.files.game_record import record_from_state, start_game
from azjax.files.positions import read_position
from azjax.network import Network, Variables
from azjax.pytrees import expand
from azjax.search import ChanceNodes, Rules, num_outcomes
from azjax.types import Array, State
from azjax.web.exact_api import PerfectPlay
from azjax.web.onnx_model import facts_of, facts_of_game
from azjax.web.page_data import describe_moves, describe_rolls

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
      moves: actions since the start. In a game of dice, A + k is a roll: outcome k.
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
    rolls = describe_rolls(game, state)
    if rolls and isinstance(search, AnytimeSearch):
        mean = _before_roll(game, search.network, search.variables, state)
        facts["value"] = -mean if facts["player"] else mean
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
        "rolls": rolls,
    }


def search_position(
    search: AnytimeSearch | PerfectPlay, moves: Sequence[int], simulations: int, start: str = ""
) -> Generator[dict[str, Any], None, None]:
    """Yields the analysis of the position after `moves`, as the page reads it, while searching.

    There are four a second, and one at the end.

    Raises:
      IllegalMove: at the first report, if one of the moves is not legal, the game is over, or the
        dice are to be rolled.
    """
    began = reported = time.perf_counter()
    game, state = search.game, _replay(search.game, moves, start)
    if bool(game.is_terminal(state)):
        raise IllegalMove("the game is over: there is no move to search for")
    if isinstance(game, HasChance) and bool(game.is_chance(state)):
        raise IllegalMove("the dice must be rolled before there is a move to search for")
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
    line = list(itertools.takewhile(lambda action: action < game.num_actions, line))  # to the dice
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
    actions = np.zeros(most_entries(game), np.int32)
    actions[: len(moves)] = moves
    state, num_legal = _replay_jit(_rules(game), first, actions, np.int32(len(moves)))
    number = int(num_legal)
    if number < len(moves):
        raise IllegalMove(f"move {number + 1}, action {moves[number]}, is not legal there")
    return state


def num_entries(game: Game) -> int:
    """Returns how many different numbers stand for moves, and for rolls in a game of dice."""
    return game.num_actions + num_outcomes(_rules(game))


def _rules(game: Game) -> Rules:
    return ChanceNodes(game) if isinstance(game, HasChance) else game


@functools.partial(jax.jit, static_argnums=(0, 1))
def _before_roll(game: Game, network: Network, variables: Variables, state: State) -> Array:
    """Returns what the network expects for player 0 before a roll, float32 []."""

    def value(states: State) -> Array:
        return network.apply(variables, jax.vmap(game.observe)(states)).value

    return mean_over_outcomes(game, value, expand(state))[0]


@functools.partial(jax.jit, static_argnums=0)
def _replay_jit(game: Rules, first: State, actions: Array, count: Array) -> tuple[State, Array]:
    """Returns the state after `count` actions, and how many come before the first illegal one."""

    def play(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, num_legal = carry
        is_legal = game.legal_action_mask(state)[actions[i]]
        num_legal = jnp.where(is_legal & (num_legal == i), i + 1, num_legal)
        return game.step(state, actions[i]), num_legal

    return jax.lax.fori_loop(0, count, play, (first, jnp.int32(0)))


_facts = jax.jit(facts_of, static_argnums=(0, 1))
_facts_of_game = jax.jit(facts_of_game, static_argnums=0)
