"""Position suites: positions of a game in which the value of every move is known exactly."""

import dataclasses
import functools
import importlib.resources
import json
from collections.abc import Callable
from importlib.resources.abc import Traversable

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance

from azjax.errors import UserError
from azjax.evaluation.positions import positions_of_games, random_positions
from azjax.exact.chance_solver import solve_chance
from azjax.exact.known_values import ExactValues, Scorer, exact_values
from azjax.exact.solver import Solution, solve
from azjax.exact.state_graph import TooLargeError
from azjax.players.base import Player
from azjax.players.exact import ExactChancePlayer, exact_chance_player
from azjax.pytrees import batch_size, take
from azjax.types import Array, State

_RANDOM_GAMES = 512
_MAX_POSITIONS = 2048  # of a suite that is a sample
_DRAWN_POSITIONS = 600  # where random games lead to none
_OPENING_PLIES = 6  # of a player's own games
_SHORT_GAME = 16  # plies; such a game is solved within seconds, if it has few states
_FEW_STATES = 100_000  # enumerated even if all values are known otherwise


@dataclasses.dataclass(frozen=True, eq=False)
class PositionSuite:
    """P positions in which the value of every action is known.

    The sign of an action's score is the result: a win, a draw or a loss for the mover. Its size may
    distinguish good wins from better ones. In a game of chance the score is the expected result.
    """

    name: str
    states: State  # batched [P, ...]
    plies: np.ndarray  # int32 [P], moves made so far (the fewest possible)
    action_scores: np.ndarray  # float32 [P, num_actions], the mover's; -inf if illegal
    classes: tuple[str, ...] | None = None  # of each position; None: classes by plies
    expected: bool = False  # whether the scores are expected results, in [-1, 1]

    @property
    def num_positions(self) -> int:
        return len(self.plies)

    @property
    def action_results(self) -> np.ndarray:
        """Results after each action, float32 [P, num_actions], the mover's; -inf if illegal."""
        legal = np.isfinite(self.action_scores)
        results = self.action_scores if self.expected else np.sign(self.action_scores)
        return np.where(legal, results, -np.inf)

    @property
    def results(self) -> np.ndarray:
        """Results under best play, float32 [P], for the mover: 1, 0 or -1, or expected ones."""
        return self.action_results.max(-1)


@dataclasses.dataclass(frozen=True, eq=False)
class GameSuites:
    """The position suites of one game, computed when first used and kept with this object.

    A solved game may take 2 GB of memory. Hold this object while you measure several times, and
    drop it afterwards.
    """

    game: Game
    max_states: int = 2_000_000  # a game with more reachable states is not enumerated
    seed: int = 0  # of the random games

    @functools.cached_property
    def fixed(self) -> tuple[PositionSuite, ...]:
        """The suites that do not depend on a player; none if no exact values are known.

        These are all reachable positions, if they can be enumerated. Otherwise they are the files
        of scored positions, or else the positions of random games whose values are known. Of a
        game of chance that can be solved they are the choices in random games.
        """
        if isinstance(self.game, HasChance):
            game_key, sample_key = jax.random.split(jax.random.key(self.seed))
            if self.expectations is None:
                return ()
            met = random_positions(self.game, game_key, num_games=_RANDOM_GAMES)
            return (self._expected("choices in random games", *met, sample_key),)
        if self.solution is not None:
            decisions = self.solution.decisions
            return (
                PositionSuite(
                    name="all reachable positions",
                    states=self.solution.states(decisions),
                    plies=self.solution.plies[decisions],
                    action_scores=self.solution.action_values(decisions),
                ),
            )
        files = (
            _scored_positions(self.game, "scored positions", ""),
            _scored_positions(self.game, "scored positions by class", "_classes"),
        )
        suites = [suite for suite in files if suite is not None] or [self._random_games()]
        return tuple(suite for suite in suites if suite is not None)

    def of_own_games(self, player: Player, key: Array, num_games: int) -> PositionSuite | None:
        """Plays a player against itself, after up to six random moves.

        Returns the positions whose values are known; None if games seldom or never reach such.
        """
        values, chance = self.values, self.expectations is not None
        if (
            self.solution is None
            and not chance
            and (values is None or values.draw or values.missing)
        ):
            return None
        game_key, sample_key = jax.random.split(key)
        states, plies = positions_of_games(
            self.game, player, game_key, num_games=num_games, opening_plies=_OPENING_PLIES
        )
        if chance:
            return self._expected("choices in its own games", states, plies, sample_key)
        if self.solution is None:
            return self._known("its own games", states, plies, sample_key)
        rows = _sample(len(plies), sample_key)
        states = take(states, rows)
        scores = self.solution.action_values(self.solution.lookup(states))
        return PositionSuite("positions of its own games", states, plies[rows], scores)

    @functools.cached_property
    def expectations(self) -> ExactChancePlayer | None:
        """A perfect player of a game of chance; None if the game has no dice or is too large."""
        if not isinstance(self.game, HasChance):
            return None
        try:
            solution = solve_chance(self.game, max_states=self.max_states)
        except TooLargeError:
            return None
        return exact_chance_player(solution)

    @functools.cached_property
    def solution(self) -> Solution | None:
        if isinstance(self.game, HasChance) or _score_file(self.game).is_file():
            return None  # a game has such a file because it is too large to solve
        max_states = self.max_states
        if self.values is not None and self.values.complete:
            max_states = min(max_states, _FEW_STATES)
        try:
            return solve(self.game, max_states=max_states)
        except UserError:
            return None

    def results(self, states: State) -> np.ndarray:
        """Returns player 0's results under best play, float32 [P], of states that are not over.

        They are 1, 0 or -1, and NaN where they are unknown, as in games of chance.
        """
        if self.solution is not None:
            return np.sign(self.solution.values[self.solution.lookup(states)])
        positions, values = batch_size(states, name="states"), self.values
        complete = values is not None and values.complete and not values.missing
        rows = np.full(positions, complete)
        if values is not None and not complete:
            rows = np.asarray(values.known(states))
        found = np.full(positions, np.nan, np.float32)
        if rows.any():
            known = take(states, rows)
            best = np.asarray(self._scorer.action_scores(known)).max(-1)
            movers = np.asarray(jax.vmap(self.game.current_player)(known))
            found[rows] = np.sign(best) * (1 - 2 * movers)
        return found

    @functools.cached_property
    def values(self) -> ExactValues | None:
        return exact_values(self.game)

    @functools.cached_property
    def _scorer(self) -> Scorer:
        assert self.values is not None
        return self.values.load()

    def _random_games(self) -> PositionSuite | None:
        if self.values is None:
            return None
        if self.values.draw is not None:
            rng = np.random.default_rng(self.seed)
            states, classes = self.values.draw(self._scorer, rng, _DRAWN_POSITIONS)
            scores = np.asarray(self._scorer.action_scores(states))
            plies = np.zeros(len(classes), np.int32)
            return PositionSuite(self.values.positions, states, plies, scores, tuple(classes))
        game_key, sample_key = jax.random.split(jax.random.key(self.seed))
        states, plies = random_positions(self.game, game_key, num_games=_RANDOM_GAMES)
        return self._known("random games", states, plies, sample_key)

    def _expected(self, name: str, states: State, plies: np.ndarray, key: Array) -> PositionSuite:
        """Returns those of the positions where the mover has several actions, or a sample."""
        assert self.expectations is not None
        legal = np.asarray(jax.vmap(self.game.legal_action_mask)(states))
        rows = np.flatnonzero(legal.sum(-1) > 1)
        rows = rows[_sample(len(rows), key)]
        states = take(states, rows)
        scores = np.asarray(jax.jit(self.expectations.move_values)(states))
        return PositionSuite(name, states, plies[rows], scores, expected=True)

    def _known(
        self, source: str, states: State, plies: np.ndarray, key: Array
    ) -> PositionSuite | None:
        assert self.values is not None
        rows = np.flatnonzero(self.values.known(states))
        rows = rows[_sample(len(rows), key)]
        if len(rows) == 0:
            return None
        states = take(states, rows)
        scores = np.asarray(self._scorer.action_scores(states))
        return PositionSuite(f"{self.values.positions} of {source}", states, plies[rows], scores)


def quick_results(game: Game) -> Callable[[State], np.ndarray] | None:
    """Returns `GameSuites.results` of a game whose results are found within seconds, or None."""
    values = exact_values(game)
    searched = values is not None and values.complete and not values.pure and not values.missing
    if game.max_steps > _SHORT_GAME and not searched:
        return None
    return GameSuites(game, max_states=2 * _FEW_STATES).results


def _sample(count: int, key: Array) -> np.ndarray:
    """Returns `_MAX_POSITIONS` of `count` rows at random, or all if they are fewer; sorted."""
    if count <= _MAX_POSITIONS:
        return np.arange(count)
    return np.sort(np.asarray(jax.random.permutation(key, count)[:_MAX_POSITIONS]))


def _scored_positions(game: Game, name: str, suffix: str) -> PositionSuite | None:
    """Returns the positions in a file named after the game, if there is one.

    A line is an object with `moves` and `scores`, and a `class` or none. `moves` are the actions
    that lead there from the start, one character each in the game's own notation. `scores` has a
    number for each action: positive if the mover wins by it, 0 for a draw, negative for a loss,
    null if it is illegal.
    """
    file = _score_file(game, suffix)
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
    classes = tuple(line["class"] for line in lines) if "class" in lines[0] else None
    return PositionSuite(name, states, plies, action_scores, classes)


def _score_file(game: Game, suffix: str = "") -> Traversable:
    return importlib.resources.files("azjax.evaluation") / "data" / f"{game.name}{suffix}.jsonl"


@functools.partial(jax.jit, static_argnums=0)
def _replay(game: Game, actions: np.ndarray) -> tuple[State, Array]:
    """Plays actions int32 [P, longest] from the start of the game; -1 follows the end of a line.

    Returns the final states [P, ...] and their legal actions, bool [P, num_actions].
    """

    def one(actions: Array) -> tuple[State, Array]:
        def ply(state: State, action: Array) -> tuple[State, None]:
            moved = game.step(state, action)
            return jax.tree.map(lambda x, y: jnp.where(action < 0, x, y), state, moved), None

        state, _ = jax.lax.scan(ply, game.init(), actions)
        return state, game.legal_action_mask(state)

    return jax.vmap(one)(jnp.asarray(actions))
