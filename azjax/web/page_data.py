"""The data about a game and its player that the page's scripts need before the first move."""

import re
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from azjax_envs import Game, HasChance
from azjax_envs.game import (
    HasClicks,
    HasPlayerNames,
    HasShownMoves,
    HasTextParts,
    HasWinningCells,
    State,
    clicks_of,
    legal_actions,
)

from azjax.config import Option, SearchConfig
from azjax.errors import UserError
from azjax.files.positions import notation_of
from azjax.games import game_from_name
from azjax.search import ChanceNodes, make_algorithm
from azjax.web.onnx_model import FACTS, Model, extra_facts

_LEVELS = (1, 8, 32, 128, 512)
_MAX_POSITIONS = 3  # in which the name of an action is looked up


def title_of(game: Game) -> str:
    """Returns the heading of a game's page, with the options that its name does not tell.

    Go on 7x7 with a komi of 9 is "Go 7x7, komi 9". A game my_games:LineUp with other than its usual
    n is "Line up, n = 3".
    """
    name = re.split("[:.]", game.name)[-1]  # a game of the user's own may be called "module:Class"
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("_", " ").split()
    title = " ".join(words).capitalize() or game.name
    try:
        usual = vars(game_from_name(game.name))
    except UserError:
        return title  # a game of the user's own
    options = [
        _option_text(key.replace("_", " "), value)
        for key, value in sorted(vars(game).items())
        if isinstance(value, Option) and value != usual.get(key, value)
    ]
    return ", ".join([title, *options])


def _option_text(name: str, value: Option) -> str:
    if isinstance(value, bool):
        return name if value else f"no {name}"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{name} = {text}" if len(name) == 1 else f"{name} {text}"


def describe_game(game: Game, own: int) -> dict[str, Any]:
    """Returns the strengths to choose from, and the names of players, wins and choices.

    `own` is the player's own number of simulations.
    """
    return {
        "simulations": own,
        "levels": [
            {"simulations": n, "label": _level_text(n, own)} for n in sorted({*_LEVELS, own})
        ],
        "notation": notation_of(game),
        "san": isinstance(game, HasShownMoves),
        "dice": isinstance(game, HasChance),
        "choices": list(game.click_choices) if isinstance(game, HasClicks) else None,
        "players": list(game.player_names) if isinstance(game, HasPlayerNames) else None,
        "win": game.winning_shape if isinstance(game, HasWinningCells) else None,
    }


def _level_text(simulations: int, own: int) -> str:
    """Returns a strength for people: "64 simulations (default)"."""
    text = "no search" if simulations == 1 else f"{simulations:,} simulations"
    return f"{text} (default)" if simulations == own else text


def describe_model(
    game: Game, search: SearchConfig, model: Model, names: dict[int, list[str]]
) -> dict[str, Any]:
    """Returns the worker's data: how to call the model, and the names of moves and rolls.

    `names` are those that `add_names` has found.
    """
    start = jax.tree.leaves(game.init())
    count, extra = game.num_actions, extra_facts(game)
    outcomes = ChanceNodes(game).num_outcomes if isinstance(game, HasChance) else 0
    after = list(model.outputs[: len(start)])
    return {
        "state": [
            {
                "name": name,
                "dtype": str(x.dtype),
                "shape": list(x.shape),
                "initial": np.asarray(x)
                .astype(float if x.dtype.kind == "f" else int)
                .reshape(-1)
                .tolist(),
            }
            for name, x in zip(model.inputs[:-1], start, strict=True)
        ],
        "lanes": model.lanes,
        "next": after,
        "searched": [
            *after,
            *(fact for fact in FACTS if fact != "view"),
            *(fact for fact in extra if fact == "chance"),
        ],
        "shown": [*after, *FACTS, *extra],
        "actions": fixed_names(names, range(count)) if _has_fixed_names(game) else None,
        "outcomes": fixed_names(names, range(count, count + outcomes)) if outcomes else None,
        "parts": list(game.text_parts) if isinstance(game, HasTextParts) else None,
        "cells": (list(game.cell_names) or None) if isinstance(game, HasClicks) else None,
        "rule": make_algorithm(search).constants(),
    }


def describe_moves(game: Game, state: State, actions: Sequence[int]) -> list[dict[str, Any]]:
    """Returns legal actions of a position with their names, and the clicks that make them.

    `shown` is the name for people, if it is another one, otherwise None.
    """
    state = jax.device_get(state)
    clicks = clicks_of(game, state) if isinstance(game, HasClicks) and actions else None
    shown = game.shown_moves(state) if isinstance(game, HasShownMoves) else {}
    return [
        {
            "action": action,
            "name": game.action_to_string(state, action),
            "shown": shown.get(action),
            "clicks": None if clicks is None or clicks[action, 0] < 0 else clicks[action].tolist(),
        }
        for action in actions
    ]


def describe_rolls(game: Game, state: State) -> list[dict[str, Any]] | None:
    """Returns the outcomes of the dice that are to be rolled, with their numbers among the moves.

    None where no dice are to be rolled. Outcome k has the number A + k, after the A actions.
    """
    if not isinstance(game, HasChance) or not game.is_chance(state):
        return None
    shares = np.asarray(game.chance_probabilities(state))
    return [
        {
            "action": game.num_actions + outcome,
            "name": game.outcome_to_string(state, outcome),
            "probability": float(shares[outcome]),
        }
        for outcome in np.flatnonzero(shares > 0).tolist()
    ]


def add_names(game: Game, state: State, found: dict[int, list[str]]) -> None:
    """Adds the names of a position's legal actions, each at most three times, to those `found`.

    Names that follow from clicks or from parts are left out. Rolls have their numbers of
    `describe_rolls`.
    """
    rolls = {roll["action"]: roll["name"] for roll in describe_rolls(game, state) or ()}
    actions = legal_actions(game, state) if _has_fixed_names(game) else []
    for action in (*rolls, *actions):
        names = found.setdefault(action, [])
        if len(names) < _MAX_POSITIONS:
            names.append(rolls.get(action) or game.action_to_string(state, action))


def _has_fixed_names(game: Game) -> bool:
    """Returns whether the names of moves are looked up by their numbers."""
    by_clicks = isinstance(game, HasClicks) and bool(game.cell_names)
    return not by_clicks and not isinstance(game, HasTextParts)


def fixed_names(found: dict[int, list[str]], actions: Sequence[int]) -> list[str]:
    """Returns the name of each action; its number if it has no name, or several."""
    names = {action: set(found.get(action, ())) for action in actions}
    return [each.pop() if len(each) == 1 else str(action) for action, each in names.items()]
