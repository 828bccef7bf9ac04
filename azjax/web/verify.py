"""Compares an exported model with the game and the network in JAX, over whole random games."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from azjax_envs import Game

from azjax.chance import most_entries
from azjax.errors import UserError
from azjax.types import State
from azjax.web.onnx_model import FACTS, Model, extra_facts, run_lanes

_TOLERANCES = {"prior": 1e-4, "value": 1e-4, "chance": 1e-6}  # all else must be equal


@dataclass(frozen=True)
class Check:
    """The results of a comparison."""

    games: int
    positions: int
    error: float  # largest difference of priors, values and probabilities of chance
    milliseconds: float  # median of an evaluation of all lanes in onnxruntime


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

    As many games are played side by side as the model has lanes.
    All arrays of all states must be equal. Priors, values and probabilities of chance must be equal
    except for rounding. One game in eight has an illegal move or an impossible roll. One move is
    made after the end of each game.

    Args:
      evaluate: the exported function, from `onnx_model.make_evaluation`.
      seconds: time after which no further game begins; None for no limit.
      on_position: called with every position in which a move is made.

    Raises:
      UserError: names the first difference.
    """
    session, rng = open_session(model), np.random.default_rng(seed)
    reference = jax.jit(jax.vmap(evaluate))
    start = [np.asarray(x) for x in jax.tree.leaves(game.init())]
    structure = jax.tree.structure(jax.eval_shape(game.init))
    played, positions, error, began = 0, 0, 0.0, time.monotonic()
    times: list[float] = []
    while played < games:
        lanes = [_Lane(start, game, rng) for _ in range(min(model.lanes, games - played))]
        idle = [_Lane(start, game, rng)] * (model.lanes - len(lanes))  # makes no move
        for ply in range(most_entries(game) + 2):
            states, actions = [[getattr(x, k) for x in lanes + idle] for k in ("leaves", "action")]
            stopwatch = time.perf_counter()
            found = run_lanes(session, model, states, actions)
            times.append(time.perf_counter() - stopwatch)
            inputs = [*map(np.stack, zip(*states, strict=True)), np.array(actions, np.int32)]
            expected = [np.asarray(x) for x in reference(*inputs)]
            for i, (lane, facts) in enumerate(zip(lanes, found, strict=False)):
                if lane.done:
                    continue
                here = dict(zip(model.outputs, (x[i] for x in expected), strict=True))
                error = max(error, _difference(game, ply, facts, here))
                positions += 1
                lane.move([facts[name] for name in model.outputs[: len(start)]], facts, ply)
                if not lane.over:
                    on_position(jax.tree.unflatten(structure, lane.leaves))
            if all(lane.done for lane in lanes):
                break
        played += len(lanes)
        if seconds is not None and time.monotonic() - began > seconds:
            break
    return Check(played, positions, error, 1000 * float(np.median(times)))


class _Lane:
    """A random game with one move after its end; one game in eight has an illegal move.

    Action A + k is outcome k of chance.
    """

    def __init__(self, leaves: list[np.ndarray], game: Game, rng: np.random.Generator) -> None:
        self.leaves, self.action, self._rng = leaves, -1, rng
        self.over = self.done = False
        has_illegal_move = int(rng.integers(1, 9)) == 1
        plies = most_entries(game)
        self._illegal_at = int(rng.integers(0, plies)) if has_illegal_move else -1

    def move(self, leaves: list[np.ndarray], facts: dict[str, Any], ply: int) -> None:
        """Goes to the next position, and chooses the move or the roll there."""
        self.leaves, self.done, self.over = leaves, self.over, bool(facts["over"])
        legal, chance = facts["legal"], facts.get("chance", np.zeros(0))
        if self.over:
            self.action = 0
        elif chance.any():
            impossible = np.flatnonzero(chance == 0)
            is_wrong = ply == self._illegal_at and len(impossible)
            outcome = int(impossible[0]) if is_wrong else draw_outcome(self._rng, chance)
            self.action = len(legal) + outcome
        elif ply == self._illegal_at and not legal.all():
            self.action = int(np.flatnonzero(~legal)[0])
        else:
            self.action = int(self._rng.choice(np.flatnonzero(legal)))


def draw_outcome(rng: np.random.Generator, chance: np.ndarray) -> int:
    """Returns a random outcome of chance, of the probabilities float32 [K]."""
    shares = chance.astype(np.float64)
    return int(rng.choice(len(shares), p=shares / shares.sum()))


def _difference(game: Game, ply: int, found: dict[str, Any], expected: dict[str, Any]) -> float:
    """Returns the largest difference of the rounded outputs."""
    worst = 0.0
    for name in expected:
        left, right = np.asarray(found[name]), np.asarray(expected[name])
        same = left.dtype == right.dtype and left.shape == right.shape
        if same and name in _TOLERANCES:
            difference = float(np.max(np.abs(left - right)))
            same = difference <= _TOLERANCES[name]  # False for NaN
            worst = max(worst, difference)
        elif same:
            same = np.array_equal(left, right)
        if not same:
            what = name if name in (*FACTS, *extra_facts(game)) else f"the state's array {name}"
            raise UserError(
                f"{game.name} cannot be exported: in onnxruntime, {what} differs from JAX's "
                f"after {ply} moves of a random game; azjax play RUN --web needs no export"
            )
    return worst
