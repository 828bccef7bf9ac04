"""What a game's players can be measured against exactly: solved positions, or scored ones."""

import dataclasses
import functools
import importlib.resources
import json

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.arena.solver import solve
from azjax.errors import UserError


@dataclasses.dataclass(frozen=True, eq=False)
class Ruler:
    """P positions in which the worth of every action is known."""

    name: str
    states: object  # batched [P, ...]
    plies: np.ndarray  # int32 [P], moves made so far (the fewest that can have been)
    action_scores: np.ndarray  # float32 [P, num_actions], seen by the mover; -inf if illegal
    # The sign of a score is the result: a win, a draw or a loss for the mover. Its size may tell
    # good wins from better ones.

    @property
    def num_positions(self) -> int:
        return len(self.plies)


@functools.lru_cache(maxsize=2)
def find_rulers(game: Game, max_states: int) -> tuple[Ruler, ...]:
    """The ruler there is for `game`; none for a large game without a file of positions.

    Args:
      max_states: a game with more reachable states is taken as unsolvable.
    """
    # A game with a file of scored positions has one because it is too large to solve.
    ruler = _scored(game) or _solved(game, max_states)
    return () if ruler is None else (ruler,)


def _solved(game: Game, max_states: int) -> Ruler | None:
    """Every position that can be reached and has somebody to move, if they can be enumerated."""
    try:
        solution = solve(game, max_states=max_states)
    except UserError:
        return None
    decisions = solution.decisions
    return Ruler(
        name="all reachable positions",
        states=solution.states(decisions),
        plies=solution.plies[decisions],
        action_scores=solution.action_values(decisions),
    )


def _scored(game: Game) -> Ruler | None:
    """The positions in the file named after the game, if there is one.

    A line is an object with `moves`, the actions that lead there from the start, one character
    each in the game's own notation, and `scores`, one for each action: positive if the mover
    wins by it, 0 a draw, negative a loss, null where it is illegal.
    """
    file = importlib.resources.files("azjax.arena") / "data" / f"{game.name}.jsonl"
    if not file.is_file():
        return None
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    start = game.init()
    action_of = {game.action_to_string(start, a): a for a in range(game.num_actions)}
    plies = np.array([len(line["moves"]) for line in lines], np.int32)
    actions = np.full((len(lines), plies.max()), -1, np.int32)
    for row, line in zip(actions, lines, strict=True):
        row[: len(line["moves"])] = [action_of[character] for character in line["moves"]]
    scores = [[-np.inf if s is None else s for s in line["scores"]] for line in lines]
    action_scores = np.array(scores, np.float32)
    states, legal = _replay(game, actions)
    if not np.array_equal(legal, np.isfinite(action_scores)):
        raise ValueError(f"{file.name} and the rules of {game.name} disagree on what is legal")
    return Ruler("scored positions", states, plies, action_scores)


@functools.partial(jax.jit, static_argnums=0)
def _replay(game: Game, actions: np.ndarray):
    """Play `actions` [P, longest], -1 being none: the final states and their legal masks."""

    def one(actions):
        def ply(state, action):
            moved = game.step(state, action)
            return jax.tree.map(lambda x, y: jnp.where(action < 0, x, y), state, moved), None

        state, _ = jax.lax.scan(ply, game.init(), actions)
        return state, game.legal_action_mask(state)

    return jax.vmap(one)(jnp.asarray(actions))
