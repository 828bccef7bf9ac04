"""Whether an exported model does what the game and the network do, over whole random games."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from azjax_envs import Game

from azjax.errors import UserError
from azjax.web.onnx_model import FACTS, Model, run_model

_FLOATS = ("prior", "value")  # all else must be equal
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Check:
    """What a check found."""

    games: int
    positions: int
    error: float  # the largest difference of priors and values
    milliseconds: float  # of an evaluation in onnxruntime, the median


def open_session(model: Model) -> Any:
    """The model in onnxruntime, on one thread, as it runs in a browser."""
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
    seen: Callable[[Any], None] = lambda state: None,
) -> Check:
    """Plays random games in onnxruntime and in JAX side by side.

    Every array of every state must be equal, and priors and values equal but for rounding. One
    game in eight ends with an illegal move, and one move is made after each end.

    Args:
      game: the game.
      evaluate: the exported function, `model.evaluation`.
      model: what became of it.
      games: how many games.
      seed: of the moves.
      seconds: after these, no further game begins; None for no limit.
      seen: told of every position that moves are made from.

    Raises:
      UserError: naming the first difference.
    """
    session, rng = open_session(model), np.random.default_rng(seed)
    reference = jax.jit(evaluate)
    start = [np.asarray(x) for x in jax.tree.leaves(game.init())]
    structure = jax.tree.structure(jax.eval_shape(game.init))
    played, positions, error, times, began = 0, 0, 0.0, [], time.monotonic()
    while played < games:
        leaves, action, over = start, -1, False
        blunder = int(rng.integers(1, 9)) == 1
        blunder_at = int(rng.integers(0, game.max_steps)) if blunder else -1
        for ply in range(game.max_steps + 2):
            stopwatch = time.perf_counter()
            facts = run_model(session, model, leaves, action)
            times.append(time.perf_counter() - stopwatch)
            wanted = dict(zip(model.outputs, reference(*leaves, np.int32(action)), strict=True))
            error = max(error, _difference(game, ply, facts, wanted))
            positions += 1
            if over:
                break  # and one move after the end was made
            leaves = [facts[name] for name in model.outputs[: len(start)]]
            over, legal = bool(facts["over"]), np.flatnonzero(facts["legal"])
            if not over:
                seen(jax.tree.unflatten(structure, leaves))
            if over:
                action = 0
            elif ply == blunder_at and len(legal) < game.num_actions:
                action = int(np.flatnonzero(~facts["legal"])[0])
            else:
                action = int(rng.choice(legal))
        played += 1
        if seconds is not None and time.monotonic() - began > seconds:
            break
    return Check(played, positions, error, 1000 * float(np.median(times)))


def _difference(game: Game, ply: int, found: dict[str, Any], wanted: dict[str, Any]) -> float:
    """The largest difference of what is rounded."""
    worst = 0.0
    for name, right in wanted.items():
        left, right = np.asarray(found[name]), np.asarray(right)
        same = left.dtype == right.dtype and left.shape == right.shape
        if same and name in _FLOATS:
            difference = float(np.max(np.abs(left - right)))
            same = difference <= _TOLERANCE  # False of NaN, too
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
