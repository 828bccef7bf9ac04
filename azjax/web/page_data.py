"""What a page knows of a game and its player before the first move."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.game import State, has_clicks, legal_actions

from azjax.config import SearchConfig
from azjax.web.onnx_model import FACTS, Model

_LEVELS = (1, 8, 32, 128, 512)
_LOOKS = 3  # at an action's name, in as many positions


def title_of(game: Game) -> str:
    return game.name.replace("_", " ").capitalize()


def describe_game(game: Game, search: SearchConfig) -> dict[str, Any]:
    """The strengths to choose from, and what tells promotions apart."""
    simulations = sorted({*_LEVELS, search.num_simulations})
    own = search.num_simulations
    labels = {1: "1 (no search)", own: f"{own} (default)"}
    return {
        "simulations": search.num_simulations,
        "levels": [{"simulations": n, "label": labels.get(n, str(n))} for n in simulations],
        "choices": list(game.click_choices) if has_clicks(game) else None,
    }


def describe_model(
    game: Game, search: SearchConfig, model: Model, actions: list[str] | None
) -> dict[str, Any]:
    """What the worker needs besides: how to call the model, and how moves are called.

    Args:
      game: the game.
      search: its PUCT constant is used.
      model: the exported model.
      actions: the actions' names; None where clicks name them.
    """
    start = jax.tree.leaves(game.init())
    names = model.inputs[:-1]
    clicks = [name for name in model.outputs if name == "clicks"]
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
        "shown": [*after, *FACTS, *clicks],
        "actions": actions,
        "cells": list(game.cell_names) if has_clicks(game) else None,
        "exploration": search.puct.pb_c_init,
    }


class ActionNames:
    """Learns the actions' names from positions: those that never change."""

    def __init__(self, game: Game):
        self._game = game
        self._found: dict[int, set[str]] = defaultdict(set)
        self._looks: dict[int, int] = defaultdict(int)

    def see(self, state: State) -> None:
        """Looks at the legal actions of a position."""
        for action in legal_actions(self._game, state):
            if self._looks[action] < _LOOKS:
                self._looks[action] += 1
                self._found[action].add(self._game.action_to_string(state, action))

    def names(self) -> list[str]:
        """Of each action; its number where it has no name, or several."""
        found = [self._found[action] for action in range(self._game.num_actions)]
        return [min(names) if len(names) == 1 else str(a) for a, names in enumerate(found)]
