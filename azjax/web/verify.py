"""Compares an exported model with the game and the network in JAX, over whole random games."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from azjax_envs import Game

from azjax.errors import UserError
from azjax.types import State
from azjax.web.onnx_model import FACTS, Model, run_model

_FLOATS = ("prior", "value")  # all else must be equal
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Check:
    """The results of a comparison."""

    games: int
    positions: int
    error: float  # largest difference of priors and values
    milliseconds: float  # median of an evaluation in onnxruntime


def open_session(model: Model) -> Any:
    """Opens a model in onnxruntime, on one thread, as it runs in a browser."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.proto, options, providers=["CPUExecutionProvider"])


def check_model(
    game: Game,
    evaluate: Callable[..., list[jax.Array]],
    model: Model,
    *,
    games: int,
    seed: int,
    seconds: float | None = None,
    on_position: Callable[[State], None] = lambda state: None,
) -> Check:
    """Plays random games in onnxruntime and in JAX at the same time, and compares them.

    All arrays of all states must be equal. Priors and values must be equal except for rounding. One
    game in eight has an illegal move, and one move is made after the end of each game.

    Args:
      evaluate: the exported function, from `onnx_model.make_evaluation`.
      seconds: time after which no further game begins; None for no limit.
      on_position: called with every position in which a move is made.

    Raises:
      UserError: names the first difference.
    """
    session, rng = open_session(model), np.random.default_rng(seed)
    reference = jax.jit(evaluate)
    start = [np.asarray(x) for x in jax.tree.leaves(game.init())]
    structure = jax.tree.structure(jax.eval_shape(game.init))
    played, positions, error, began = 0, 0, 0.0, time.monotonic()
    times: list[float] = []
    while played < games:
        leaves, action, over = start, -1, False
        has_illegal_move = int(rng.integers(1, 9)) == 1
        illegal_at = int(rng.integers(0, game.max_steps)) if has_illegal_move else -1
        for ply in range(game.max_steps + 2):
            stopwatch = time.perf_counter()
            facts = run_model(session, model, leaves, action)
            times.append(time.perf_counter() - stopwatch)
            expected = dict(zip(model.outputs, reference(*leaves, np.int32(action)), strict=True))
            error = max(error, _difference(game, ply, facts, expected))
            positions += 1
            if over:
                break  # after one move after the end
            leaves = [facts[name] for name in model.outputs[: len(start)]]
            over, legal = bool(facts["over"]), np.flatnonzero(facts["legal"])
            if not over:
                on_position(jax.tree.unflatten(structure, leaves))
            if over:
                action = 0
            elif ply == illegal_at and len(legal) < game.num_actions:
                action = int(np.flatnonzero(~facts["legal"])[0])
            else:
                action = int(rng.choice(legal))
        played += 1
        if seconds is not None and time.monotonic() - began > seconds:
            break
    return Check(played, positions, error, 1000 * float(np.median(times)))


def _difference(game: Game, ply: int, found: dict[str, Any], expected: dict[str, Any]) -> float:
    """Returns the largest difference of the rounded outputs."""
    worst = 0.0
    for name in expected:
        left, right = np.asarray(found[name]), np.asarray(expected[name])
        same = left.dtype == right.dtype and left.shape == right.shape
        if same and name in _FLOATS:
            difference = float(np.max(np.abs(left - right)))
            same = difference <= _TOLERANCE  # False for NaN
            worst = max(worst, difference)
        elif same:
            same = np.array_equal(left, right)
        if not same:
            what = name if name in FACTS else f"the state's array {name}"
            raise UserError(
                f"{game.name} cannot be exported: in onnxruntime, {what} differs from JAX's "
                f"after {ply} moves of a random game; azjax play RUN --web needs no export"
            )
    return worst
