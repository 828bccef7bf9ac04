"""The data about a game and its player that the page's scripts need before the first move."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.game import HasClicks, HasPlayerNames, HasWinningCells, State, legal_actions

from azjax.config import Option, SearchConfig
from azjax.errors import UserError
from azjax.games import game_from_name
from azjax.search.policies import algorithm_of
from azjax.web.onnx_model import FACTS, Model, extra_facts

_LEVELS = (1, 8, 32, 128, 512)
_MAX_POSITIONS = 3  # in which the name of an action is looked up


def title_of(game: Game) -> str:
    """Returns the heading of a game's page, with the options that its name does not tell.

    Go on 7x7 with a komi of 9 is "Go 7x7, komi 9".
    """
    title = game.name.replace("_", " ").capitalize()
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
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def describe_game(game: Game, own: int) -> dict[str, Any]:
    """Returns the strengths to choose from, and the names of players, wins and choices.

    `own` is the player's own number of simulations.
    """
    simulations = sorted({*_LEVELS, own})
    labels = {1: "1 (no search)", own: f"{own} (default)"}
    return {
        "simulations": own,
        "levels": [{"simulations": n, "label": labels.get(n, str(n))} for n in simulations],
        "choices": list(game.click_choices) if isinstance(game, HasClicks) else None,
        "players": list(game.player_names) if isinstance(game, HasPlayerNames) else None,
        "win": game.winning_shape if isinstance(game, HasWinningCells) else None,
    }


def describe_model(
    game: Game, search: SearchConfig, model: Model, actions: list[str] | None
) -> dict[str, Any]:
    """Returns the worker's data: how to call the model, and the names of moves.

    `actions` is None if the names follow from clicks.
    """
    start = jax.tree.leaves(game.init())
    names = model.inputs[:-1]
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
            for name, x in zip(names, start, strict=True)
        ],
        "next": after,
        "searched": [*after, *(fact for fact in FACTS if fact != "view")],
        "shown": [*after, *FACTS, *extra_facts(game)],
        "actions": actions,
        "cells": list(game.cell_names) if isinstance(game, HasClicks) else None,
        "rule": algorithm_of(search).constants(),
    }


class ActionNames:
    """The names of actions in many positions, from which those that never change are found."""

    def __init__(self, game: Game):
        self._game = game
        self._found: dict[int, set[str]] = defaultdict(set)
        self._counts: dict[int, int] = defaultdict(int)

    def add(self, state: State) -> None:
        """Adds the legal actions of a position."""
        for action in legal_actions(self._game, state):
            if self._counts[action] < _MAX_POSITIONS:
                self._counts[action] += 1
                self._found[action].add(self._game.action_to_string(state, action))

    def names(self) -> list[str]:
        """Returns the name of each action; its number if it has no name, or several."""
        found = [self._found[action] for action in range(self._game.num_actions)]
        return [min(names) if len(names) == 1 else str(a) for a, names in enumerate(found)]
