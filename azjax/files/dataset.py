"""Recorded games as examples to learn from: their positions, moves and results."""

import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance
from azjax_envs.game import legal_actions, possible_results

from azjax.compact_states import drop_unobserved, restore_unobserved
from azjax.errors import UserError
from azjax.files.game_record import GameRecord, start_game
from azjax.files.played_game import PlayedGame
from azjax.network import WIN_DRAW_LOSS, Results, expected_result
from azjax.pytrees import take
from azjax.replay import (
    BeforeDice,
    Replay,
    RunTargets,
    Sample,
    TopPolicy,
    Transition,
    final_points,
    pack_actions,
    project,
    value_targets,
)
from azjax.runs.recorded_games import DAMAGED
from azjax.types import Array, State

_ROWS = 1024  # of one call of a compiled function


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """N positions of recorded games, as numpy arrays."""

    sample: Sample  # [N, ...], the policy is the move that was played, the outcome how it ended
    games: np.ndarray  # int32 [N], ascending: which game each position is of
    left_out: tuple[str, ...] = ()  # why games are not in it, a line each
    unread: tuple[str, ...] = ()  # files of which no game can be read, and why, a line each

    def __len__(self) -> int:
        return len(self.games)

    def __repr__(self) -> str:
        missing = f"; games left out: {len(self.left_out)}, files unread: {len(self.unread)}"
        shown = missing if self.left_out or self.unread else ""
        return f"<Dataset of {len(self):,} positions, games: {self.num_games:,}{shown}>"

    @property
    def num_games(self) -> int:
        """The number of games."""
        return int(self.games[-1]) + 1 if len(self) else 0

    @functools.cached_property
    def originals(self) -> np.ndarray:
        """The first game with the same moves from the same start as each, int32 [num_games]."""
        starts = np.flatnonzero(np.diff(self.games, prepend=-1))
        moves = jax.tree.leaves(self.sample.transitions.policy)
        states = jax.tree.leaves(self.sample.transitions.states)
        seen, found = dict[bytes, int](), []
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(self)], strict=True)):
            # The last state tells apart games of dice.
            parts = [x[start:end] for x in moves] + [x[[start, end - 1]] for x in states]
            digest = hashlib.blake2b(b"".join(part.tobytes() for part in parts)).digest()
            found.append(seen.setdefault(digest, number))
        return np.array(found, np.int32)

    def rows(self, chosen: np.ndarray) -> Sample:
        """Returns some of the examples, by their numbers int [...]: arrays [..., ...]."""
        return jax.tree.map(lambda x: x[chosen], self.sample)

    def split(self, share: float, seed: int) -> "tuple[Dataset, Dataset]":
        """Returns two datasets of whole games; the second has this share of them, drawn by lot.

        A game of the second has no repeat, neither there nor in the first one.
        """
        order = np.random.default_rng(seed).permutation(np.unique(self.originals))
        held = np.isin(self.originals, order[: round(share * len(order))])
        repeats = self.originals != np.arange(self.num_games)
        return self._only(~held[self.games]), self._only((held & ~repeats)[self.games])

    def with_auxiliary(self, names: Sequence[str]) -> "Dataset":
        """Returns the examples that tell of each game's end no more than "score", "ownership"."""
        known = self.sample.transitions.recorded
        kept = {name: known[name] for name in names if name in known}
        transitions = replace(self.sample.transitions, recorded=kept)
        return replace(self, sample=replace(self.sample, transitions=transitions))

    def with_targets(
        self,
        game: Game,
        targets: RunTargets,
        results: Results = WIN_DRAW_LOSS,
        root_value_weight: float = 0.0,
    ) -> "Dataset":
        """Returns the examples with a run's targets, for updates.

        Args:
          targets: more targets than policy and value, such as `trainer.targets`.
          results: what the value head tells apart, see `told_apart`. The outcome is that of the
            ring: a gammon, 2 of 3 points, is a win with the chance 2/3 and a draw otherwise, if
            these are not the game's own results.
          root_value_weight: weight of the values that the files tell of positions, next to the
            results.

        Raises:
          UserError: they need something recorded in self-play that is not known here.
        """

        @jax.jit
        def compute(rows: Transition) -> dict[str, Any]:
            size = jnp.int32(len(rows.reward))
            replay = Replay(rows, position=jnp.int32(0), filled=size)
            found = value_targets(replay, root_value_weight=root_value_weight, results=results)
            return targets(game, replay, found).extra

        # One lane of a ring, which holds the games one after the other.
        rows = jax.tree.map(lambda x: x[:, None], self.sample.transitions)
        try:
            found = jax.device_get(compute(rows)) if targets.parts else {}
        except KeyError as error:
            raise UserError(f"targets: {error} is not known of recorded games") from error
        transitions = replace(self.sample.transitions, recorded={})
        found = jax.tree.map(lambda x: x[:, 0], found)
        outcome: Any = self.sample.outcome
        own = possible_results(game)
        if tuple(results) != own:
            outcome = np.asarray(project(expected_result(outcome, own), results))
        if root_value_weight:
            told = np.asarray(project(transitions.value, results))
            outcome = (1 - root_value_weight) * outcome + root_value_weight * told
        return replace(self, sample=Sample(transitions, outcome, found))

    def plies(self, lanes: int, most: int, multiple: int) -> Transition | None:
        """Returns games as plies [T, lanes, ...] that a replay buffer can add.

        Each lane holds whole games one after the other, but for its first, whose start may be cut
        off. Games that are too many are left out.

        Args:
          most: largest T.
          multiple: what T is a multiple of.

        Returns:
          The plies; None if the games have too few.
        """
        starts = np.flatnonzero(np.diff(self.games, prepend=-1))
        lengths = np.diff(starts, append=len(self))
        wanted = most // multiple * multiple
        rows: list[list[np.ndarray]] = [[] for _ in range(lanes)]
        filled = np.zeros(lanes, np.int64)
        for start, length in zip(starts, lengths, strict=True):
            lane = int(np.argmin(filled))
            if filled[lane] >= wanted:
                break
            rows[lane].append(np.arange(start, start + length))
            filled[lane] += length
        size = min(wanted, int(filled.min()) // multiple * multiple)
        if size == 0:
            return None
        chosen = np.stack([np.concatenate(lane)[-size:] for lane in rows], axis=1)
        return jax.tree.map(lambda x: x[chosen], self.sample.transitions)

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
    start = start_game(game, jax.random.key(0))
    record = start.play(legal_actions(game, start.current.state)[0], "")
    expected = _sample(game, [_moves(record, possible_results(game)[0])])
    try:
        with path.open("rb") as data, np.load(data) as file:
            games = file["games"]
            leaves = [file[f"array_{i}"] for i in range(len(file.files) - 1)]
    except DAMAGED as error:
        raise UserError(f"{path}: damaged ({error})") from error
    wanted = jax.tree.leaves(expected)
    if [(x.shape[1:], x.dtype) for x in leaves] != [(x.shape[1:], x.dtype) for x in wanted]:
        raise UserError(f"{path}: its examples are not of {game.name}")
    return Dataset(jax.tree.unflatten(jax.tree.structure(expected), leaves), games)


def dataset(game: Game, games: Iterable[PlayedGame | GameRecord]) -> Dataset:
    """Returns the positions of recorded games as examples: what was played, and how it ended.

    A game counts if it is over by its rules, or if its file tells the result. `left_out` names the
    others, and `unread` the files of which no game can be read. Scores and owners of cells are
    known where a game is over by its rules. The value of a position is that which its file tells,
    such as an engine's in PGN, or else the result.

    In a game of dice each position is one after a roll. Outcomes are chances of the K
    `possible_results` of the game, such as six in backgammon.

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
    parts: list[_Moves] = []
    left_out: list[tuple[Path | None, str]] = []  # with the file if the game cannot be read
    readable: set[Path] = set()
    for number, given in enumerate(games, 1):
        played = PlayedGame(given) if isinstance(given, GameRecord) else given
        name = f"game {number}" if isinstance(given, GameRecord) else played.where
        record, result = played.record, played.result
        if record is not None and record.current.over:
            result = _points(game, record.current.returns[0])
        if record is None:
            left_out.append((played.path, f"{name}: {played.error}"))
            continue
        readable.add(played.path)
        if not _same_sizes(record.game, game):
            left_out.append((None, f"{name}: it is of {record.game.name}, not {game.name}"))
        elif result is None:
            left_out.append((None, f"{name}: it has no result"))
        else:
            parts.append(_moves(record, result, played.values))
    if not parts:
        first = f": {left_out[0][1]}" if left_out else ""
        more = f"; {len(left_out) - 1:,} more are left out" if len(left_out) > 1 else ""
        raise UserError(f"there is no game of {game.name} to learn from{first}{more}")
    numbers = np.repeat(np.arange(len(parts)), [len(part.actions) for part in parts])
    unread = {path: line for path, line in reversed(left_out) if path and path not in readable}
    lines = tuple(line for path, line in left_out if path not in unread)
    files = tuple(reversed(unread.values()))  # the line about the first game of each
    return Dataset(_sample(game, parts), numbers.astype(np.int32), lines, files)


def _points(game: Game, result: float) -> float:
    """Returns the result in points of which a result in [-1, 1] is the share of the greatest."""
    points = possible_results(game)
    return min(points, key=lambda x: abs(x / points[0] - result))


def _same_sizes(ours: Game, other: Game) -> bool:
    """Returns whether two games differ at most in numbers such as the komi."""
    return type(ours) is type(other) and _shapes(ours) == _shapes(other)


@functools.cache
def _shapes(game: Game) -> list[tuple[int, ...]]:
    return [x.shape for x in jax.tree.leaves(jax.eval_shape(game.init))]


class _Moves(NamedTuple):
    """The N moves of a game, in NumPy."""

    states: State  # [N, ...] before each, without what only the rules need
    movers: np.ndarray  # int32 [N]
    actions: np.ndarray  # int32 [N]
    end: State  # the last state
    over: bool  # by the rules
    result: float  # in points of the first player
    values: Sequence[float]  # [N] of the first player, in [-1, 1], or nan; none if none is known


def _moves(record: GameRecord, result: float, values: Sequence[float] = ()) -> _Moves:
    last = record.current
    return _Moves(*record.stacked(), jax.device_get(last.state), last.over, result, values)


def _sample(game: Game, parts: Sequence[_Moves]) -> Sample:
    """Returns the moves of games as examples, with what the ends of the games tell."""
    states, movers, actions = _joined([part[:3] for part in parts])
    counts = np.array([len(part.actions) for part in parts])
    ends = np.cumsum(counts) - 1
    first, points = movers == 0, possible_results(game)
    results = np.array([part.result for part in parts])
    shares = np.repeat(results.astype(np.float32) / np.float32(points[0]), counts)
    outcomes = np.repeat((results[:, None] == points).astype(np.float32), counts, axis=0)
    told = [part.values or [np.nan] * len(part.actions) for part in parts]
    values = np.concatenate(told)
    values = np.where(np.isnan(values), shares, values)
    values, shares = (np.where(first, x, -x).astype(np.float16) for x in (values, shares))
    discount = np.where(np.append(first[1:] == first[:-1], False), 1, -1).astype(np.int8)
    discount[ends] = 0
    reward = np.zeros_like(shares)
    reward[ends] = shares[ends]
    end = jax.tree.map(lambda *x: np.stack(x), *[part.end for part in parts])
    over = np.array([part.over for part in parts])
    recorded = _in_blocks(functools.partial(_record, game), (movers[ends], end, over))
    fields: dict[str, Any] = {
        "states": states,
        "before_dice": _before_dice(game, states, movers, actions, ends),
        "policy": _in_blocks(functools.partial(_pack, game.num_actions), (actions,)),
        "reward": reward,
        "discount": discount,
        "value": values,
        "learn": np.ones(len(actions), bool),
        "recorded": jax.tree.map(lambda x: np.repeat(x, counts, axis=0), recorded),
    }
    outcome: Any = np.where(first[:, None], outcomes, outcomes[:, ::-1])
    return Sample(Transition(**fields), outcome)


def _in_blocks(function: Callable[..., Any], rows: tuple[Any, ...]) -> Any:
    """Returns `function(*rows)` of arrays [N, ...], in blocks of one size: one program for all."""
    size = len(jax.tree.leaves(rows)[0])
    padded = jax.tree.map(lambda x: np.resize(x, (-(-size // _ROWS) * _ROWS, *x.shape[1:])), rows)
    blocks = [slice(start, start + _ROWS) for start in range(0, size, _ROWS)]
    found = [jax.device_get(function(*take(padded, block))) for block in blocks]
    return take(_joined(found), slice(size))


def _joined(parts: Sequence[Any]) -> Any:
    """Returns the arrays [N, ...] of several trees as one."""
    return jax.tree.map(lambda *rows: np.concatenate(rows), *parts)


def _before_dice(
    game: Game, states: State, movers: np.ndarray, actions: np.ndarray, ends: np.ndarray
) -> BeforeDice | None:
    """Returns the positions before the dice of each move, whose games have their last at `ends`."""
    if not isinstance(game, HasChance):
        return None
    after, same = _in_blocks(functools.partial(_play, game), (states, actions))
    starts = np.append(0, ends[:-1] + 1)  # of which the position before the dice is not known

    def of_next(after: np.ndarray, own: np.ndarray) -> np.ndarray:
        before = np.roll(after, 1, axis=0)
        before[starts] = own[starts]
        return before

    before = of_next(np.where(same, movers, 1 - movers), movers)
    unknown: Any = np.zeros(len(movers), np.float16)
    return BeforeDice(jax.tree.map(of_next, after, states), before == movers, luck=unknown)


@functools.partial(jax.jit, static_argnums=0)
def _play(game: Game, states: State, actions: Array) -> tuple[State, Array]:
    """Returns the states after one move each, before the dice, and if the mover is the same."""
    states = restore_unobserved(game, states)
    after = jax.vmap(game.step)(states, actions)
    mover = jax.vmap(game.current_player)
    return drop_unobserved(game, after), mover(after) == mover(states)


@functools.partial(jax.jit, static_argnums=0)
def _record(game: Game, mover: Array, states: State, over: Array) -> dict[str, Array]:
    """Returns what is recorded of last positions, for the player who moved last."""
    return final_points(game).record(game, mover, states, over)


@functools.partial(jax.jit, static_argnums=0)
def _pack(num_actions: int, actions: Array) -> Array | TopPolicy:
    return pack_actions(actions, num_actions)
