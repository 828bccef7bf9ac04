"""Recorded games as examples to learn from: their positions, moves and results."""

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.errors import UserError
from azjax.files.game_record import GameRecord
from azjax.files.played_game import PlayedGame
from azjax.pytrees import where
from azjax.replay.buffer import Transition, pack_policy
from azjax.replay.compact_states import drop_unobserved
from azjax.replay.sampling import Sample
from azjax.types import Array, State

_GAMES = 64  # games that are replayed at once
_PLIES = 32  # lengths are rounded up to a multiple, so that few programs are compiled
_OUTCOMES = {1: (1, 0, 0), 0: (0, 1, 0), -1: (0, 0, 1)}  # of the first player


@dataclass(frozen=True, eq=False)
class Dataset:
    """N positions of recorded games, as numpy arrays."""

    sample: Sample  # [N, ...], the policy is the move that was played
    games: np.ndarray  # int32 [N], ascending: which game each position is of
    left_out: tuple[str, ...] = ()  # why games are not in it, a line each

    def __len__(self) -> int:
        return len(self.games)

    @property
    def num_games(self) -> int:
        """The number of games."""
        return int(self.games[-1]) + 1 if len(self) else 0

    def rows(self, chosen: np.ndarray) -> Sample:
        """Returns some of the examples, by their numbers int [...]: arrays [..., ...]."""
        return jax.tree.map(lambda x: x[chosen], self.sample)

    def split(self, share: float, seed: int) -> "tuple[Dataset, Dataset]":
        """Returns two datasets of whole games; the second has this share of them, drawn by lot."""
        order = np.random.default_rng(seed).permutation(self.num_games)
        held = np.isin(self.games, order[: round(share * self.num_games)])
        return self._only(~held), self._only(held)

    def _only(self, chosen: np.ndarray) -> "Dataset":
        games = np.unique(self.games[chosen], return_inverse=True)[1].astype(np.int32)
        return Dataset(self.rows(np.flatnonzero(chosen)), games)

    def save(self, path: Path) -> None:
        """Writes the examples into a file of numpy (.npz)."""
        leaves = {f"array_{i}": x for i, x in enumerate(jax.tree.leaves(self.sample))}
        np.savez(path, games=self.games, **leaves)


def load_dataset(game: Game, path: Path) -> Dataset:
    """Returns the examples that `Dataset.save` wrote.

    Raises:
      UserError: the file is damaged, or of another game.
    """
    start = jax.eval_shape(lambda: jax.tree.map(lambda x: jnp.asarray(x)[None], game.init()))
    one = jax.ShapeDtypeStruct((1, 1), np.int32), jax.ShapeDtypeStruct((1, 3), np.float32)
    expected = jax.eval_shape(functools.partial(_replay, game), start, *one)[0]
    try:
        with np.load(path) as file:
            games = file["games"]
            leaves = [file[f"array_{i}"] for i in range(len(file.files) - 1)]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: damaged ({error})") from error
    wanted = jax.tree.leaves(expected)
    if [(x.shape[1:], x.dtype) for x in leaves] != [(x.shape[2:], x.dtype) for x in wanted]:
        raise UserError(f"{path}: its examples are not of {game.name}")
    return Dataset(jax.tree.unflatten(jax.tree.structure(expected), leaves), games)


def dataset(game: Game, games: Iterable[PlayedGame | GameRecord]) -> Dataset:
    """Returns the positions of recorded games as examples: what was played, and who won.

    A game counts if it is over by its rules, or if its file tells the result. `left_out` names the
    others. Games are replayed by a compiled program, many at once.

    Args:
      game: whose rules the games follow.
      games: from `azjax.read_games`, or records.

    Raises:
      UserError: no game can be used.

    Example:
        ```python
        games = azjax.dataset(azjax_envs.make("go_9x9"), azjax.read_games(["a.sgf", "b.sgf"]))
        print(len(games), "positions of", games.num_games, "games")
        ```
    """
    parts, left_out, count = [], [], 0
    usable = _usable(game, games, left_out)
    while some := list(itertools.islice(usable, _GAMES)):
        parts.append(_examples(game, some, count))
        count += len(some)
    if not parts:
        first = f": {left_out[0]}" if left_out else ""
        raise UserError(f"there is no game of {game.name} to learn from{first}")
    sample = jax.tree.map(lambda *rows: np.concatenate(rows), *(part[0] for part in parts))
    return Dataset(sample, np.concatenate([part[1] for part in parts]), tuple(left_out))


_Usable = tuple[State, list[int], tuple[int, int, int]]  # start, actions, the first player's result


def _usable(game: Game, games: Iterable[PlayedGame | GameRecord], left_out: list[str]) -> Any:
    """Yields the games with a result; writes why others are left out."""
    for number, given in enumerate(games, 1):
        played = PlayedGame(given) if isinstance(given, GameRecord) else given
        name = f"game {number}" if isinstance(given, GameRecord) else played.where
        record, result = played.record, played.result
        if record is None:
            left_out.append(f"{name}: {played.error}")
            continue
        if record.current.over:
            result = int(np.sign(record.current.returns[0]))
        start = record.positions[0].state
        same_sizes = _shapes(start) == _shapes(jax.eval_shape(game.init))
        if type(record.game) is not type(game) or not same_sizes:
            left_out.append(f"{name}: it is of {record.game.name}, not {game.name}")
        elif result is None:
            left_out.append(f"{name}: it has no result")
        else:
            actions = [position.action for position in record.positions[1:]]
            yield start, actions, _OUTCOMES[result]


def _shapes(state: State) -> list[tuple[int, ...]]:
    return [x.shape for x in jax.tree.leaves(state)]


def _examples(game: Game, games: list[_Usable], first: int) -> tuple[Sample, np.ndarray]:
    """Returns the examples of some games, and the number of the game of each."""
    longest = max(len(actions) for _, actions, _ in games)
    table = np.full((-(-longest // _PLIES) * _PLIES, _GAMES), -1, np.int32)
    outcomes = np.zeros((_GAMES, 3), np.float32)
    starts = [start for start, _, _ in games]
    starts += starts[:1] * (_GAMES - len(games))  # without moves
    for lane, (_, actions, outcome) in enumerate(games):
        table[: len(actions), lane], outcomes[lane] = actions, outcome
    states = jax.tree.map(lambda *x: np.stack(x), *starts)
    sample, legal = jax.device_get(_replay_jit(game, states, table, outcomes))
    lanes, plies = np.nonzero((table >= 0).T)
    if not legal[plies, lanes].all():
        at = np.flatnonzero(~legal[plies, lanes])[0]
        raise UserError(f"game {first + lanes[at] + 1}: move {plies[at] + 1} is not legal")
    return jax.tree.map(lambda x: x[plies, lanes], sample), (first + lanes).astype(np.int32)


def _replay(game: Game, states: State, actions: Array, outcomes: Array) -> tuple[Sample, Array]:
    """Plays games again.

    Args:
      states: where B games begin, [B, ...].
      actions: int32 [T, B], -1 after the last move of a game.
      outcomes: float32 [B, 3], 1 where the first player won, drew, and lost.

    Returns:
      (examples [T, B, ...], whether each action is legal, bool [T, B]).
    """

    def ply(states: State, action: Array) -> tuple[State, tuple[Sample, Array]]:
        lanes, made = jnp.arange(len(action)), action >= 0
        mover = jax.vmap(game.current_player)(states)
        mask = jax.vmap(game.legal_action_mask)(states)
        nothing = jnp.zeros(len(action), jnp.float16)
        transition = Transition(
            states=drop_unobserved(game, states),
            policy=pack_policy(jax.nn.one_hot(action, game.num_actions)),
            reward=nothing,
            discount=nothing.astype(jnp.int8),
            value=nothing,
            full=made,
            terminal=None,
        )
        outcome = jnp.where((mover == 0)[:, None], outcomes, outcomes[:, ::-1])
        after = where(made, jax.vmap(game.step)(states, jnp.maximum(action, 0)), states)
        return after, (Sample(transition, outcome, None), mask[lanes, jnp.maximum(action, 0)])

    return jax.lax.scan(ply, states, actions)[1]


_replay_jit = jax.jit(_replay, static_argnums=0)
