"""What a game's players can be measured against exactly: positions in which all is known."""

import dataclasses
import functools
import importlib.resources
import json

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.errors import UserError
from azjax.evaluation.positions import positions_of_games, random_positions
from azjax.exact.known_values import ExactValues, exact_values
from azjax.exact.solver import Solution, solve
from azjax.pytrees import take


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

    @property
    def results(self) -> np.ndarray:
        """The positions' results under best play, float32 [P]: 1, 0 or -1 for the mover."""
        return np.sign(self.action_scores.max(-1))


_RANDOM_GAMES = 512
_MOST_POSITIONS = 2048  # of a ruler that is a sample
_OPENING_PLIES = 6  # of a player's own games
_FEW_STATES = 100_000  # enumerated even where all values are known without


def find_rulers(game: Game, max_states: int, seed: int) -> tuple[Ruler, ...]:
    """The rulers there are for `game` whoever is measured; none for a large game of which nothing
    is known.

    Those are all reachable positions, if they can be enumerated. Otherwise they are the file of
    scored positions, if there is one, and the positions of random games, as far as their values are
    known: all of them, or endgames.

    Args:
      max_states: a game with more reachable states is not enumerated.
      seed: of random games.
    """
    solved = _solved(game, max_states)
    rulers = (_scored(game), _random(game, seed)) if solved is None else (solved,)
    return tuple(ruler for ruler in rulers if ruler is not None)


def own_ruler(game: Game, player, max_states: int, key: jax.Array, num_games: int) -> Ruler | None:
    """Positions of a player's games with itself, as far as their values are known.

    Each game starts after up to six random moves.
    """
    solution, values = _solution(game, max_states), exact_values(game)
    if solution is None and values is None:
        return None
    game_key, sample_key = jax.random.split(key)
    states, plies = positions_of_games(
        game, player, game_key, num_games=num_games, opening_plies=_OPENING_PLIES
    )
    if solution is None:
        return _known(values, "its own games", states, plies, sample_key)
    rows = _sample(len(plies), sample_key)
    states = take(states, rows)
    scores = solution.action_values(solution.lookup(states))
    return Ruler("positions of its own games", states, plies[rows], scores)


@functools.lru_cache(maxsize=2)
def _solution(game: Game, max_states: int) -> Solution | None:
    if _score_file(game).is_file():
        return None  # a game has such a file because it is too large to solve
    values = exact_values(game)
    if values is not None and values.complete:
        max_states = min(max_states, _FEW_STATES)
    try:
        return solve(game, max_states=max_states)
    except UserError:
        return None


@functools.lru_cache(maxsize=2)
def _solved(game: Game, max_states: int) -> Ruler | None:
    """Every position that can be reached and has somebody to move, if they can be enumerated."""
    solution = _solution(game, max_states)
    if solution is None:
        return None
    decisions = solution.decisions
    return Ruler(
        name="all reachable positions",
        states=solution.states(decisions),
        plies=solution.plies[decisions],
        action_scores=solution.action_values(decisions),
    )


@functools.lru_cache(maxsize=2)
def _random(game: Game, seed: int) -> Ruler | None:
    values = exact_values(game)
    if values is None:
        return None
    game_key, sample_key = jax.random.split(jax.random.key(seed))
    states, plies = random_positions(game, game_key, num_games=_RANDOM_GAMES)
    return _known(values, "random games", states, plies, sample_key)


def _known(values: ExactValues, whose: str, states, plies, key: jax.Array) -> Ruler | None:
    """Of these positions, those whose values are known."""
    rows = np.flatnonzero(values.known(states))
    rows = rows[_sample(len(rows), key)]
    if len(rows) == 0:
        return None
    states = take(states, rows)
    scores = np.asarray(values.load().action_scores(states))
    return Ruler(f"{values.what} of {whose}", states, plies[rows], scores)


def _sample(count: int, key: jax.Array) -> np.ndarray:
    """`_MOST_POSITIONS` of so many rows at random, or all where they are fewer; sorted."""
    if count <= _MOST_POSITIONS:
        return np.arange(count)
    return np.sort(np.asarray(jax.random.permutation(key, count)[:_MOST_POSITIONS]))


@functools.lru_cache(maxsize=2)
def _scored(game: Game) -> Ruler | None:
    """The positions in the file named after the game, if there is one.

    A line is an object with `moves`, the actions that lead there from the start, one character
    each in the game's own notation, and `scores`, one for each action: positive if the mover
    wins by it, 0 a draw, negative a loss, null where it is illegal.
    """
    file = _score_file(game)
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


def _score_file(game: Game):
    return importlib.resources.files("azjax.evaluation") / "data" / f"{game.name}.jsonl"


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
