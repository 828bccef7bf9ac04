"""Judges the moves of a game of chance after their rolls, as players of backgammon do.

What a move loses is the difference between two expected results, its own and the best move's, both
before the next roll. So luck is no mistake. Where a roll leaves no choice, nothing is searched.
"""

from collections.abc import Callable

import jax
import numpy as np

from azjax.analysis.game_analysis import AnalysedMove, GameAnalysis
from azjax.analysis.position_search import (
    LINE,
    Found,
    compare_all,
    in_batches,
    search_all,
    tried_most,
)
from azjax.chance import mean_over_outcomes
from azjax.files import notation
from azjax.files.game_record import GameRecord
from azjax.play.text import points_of
from azjax.players.exact import ExactChancePlayer
from azjax.players.network_players import SearchPlayer
from azjax.pytrees import take
from azjax.types import Array, State

Judge = SearchPlayer | ExactChancePlayer


def analyse_with_dice(
    record: GameRecord, player: Judge, progress: Callable[[int, int], None] | None
) -> GameAnalysis:
    """Returns the analysis of a game; see `azjax.analysis.analyse.analyse`.

    A search compares each move that is not its own with its own in a second search, in which the
    root has these two. Positions without a choice have the value that the network gives them.
    """
    game, positions = record.game, record.positions
    states = jax.tree.map(lambda *x: np.stack(x), *(jax.device_get(p.state) for p in positions))
    count = len(positions)
    looks = [jax.device_get(_look(player, take(states, rows))) for _, rows in in_batches(count)]
    legal, expected = (np.concatenate(parts)[:count] for parts in zip(*looks, strict=True))
    played = np.array([position.action for position in positions[1:]], np.int32)
    chosen = np.flatnonzero(legal.sum(axis=1) > 1)  # where there is a choice
    values = [p.returns[0] if p.over else float(expected[i]) for i, p in enumerate(positions)]
    losses = np.zeros(len(played))
    found = _no_choice(legal)
    if chosen.size:
        there, moves_there = take(states, chosen), np.append(played, -1)[chosen]
        if isinstance(player, ExactChancePlayer):
            found_there, lost = _judge_exactly(player, there, moves_there)
        else:
            found_there, lost = _judge_by_search(player, there, moves_there, progress)
        for all_rows, rows in zip(found, found_there, strict=True):
            np.asarray(all_rows)[chosen] = rows
        losses[chosen[chosen < len(played)]] = lost[chosen < len(played)]
        for i in chosen.tolist():
            values[i] = float(-found.value[i] if positions[i].mover else found.value[i])
    moves = [
        AnalysedMove(
            number=i + 1,
            mover=positions[i].mover,
            move=notation.shown_move(record, i + 1),
            best=int(found.action[i]),
            line=tuple(
                notation.shown_line(record.truncate(i), [int(a) for a in found.line[i] if a >= 0])
            ),
            loss=float(losses[i]) / 2,
            exact=isinstance(player, ExactChancePlayer),
            visits=tried_most(found.visits[i]),
            roll=positions[i].roll,
            forced=bool(legal[i].sum() == 1),
            points=points_of(game),
        )
        for i in range(len(played))
    ]
    return GameAnalysis(record=record, player=player.name, values=tuple(values), moves=tuple(moves))


def _no_choice(legal: np.ndarray) -> Found:
    """Returns what is found without a search: the first legal action."""
    action = legal.argmax(axis=1).astype(np.int32)
    line = np.full((len(legal), LINE), -1, np.int32)
    line[:, 0] = np.where(legal.any(axis=1), action, -1)
    return Found(action, np.zeros(len(legal), np.float32), np.zeros(legal.shape, np.int32), line)


def _judge_exactly(
    player: ExactChancePlayer, states: State, played: np.ndarray
) -> tuple[Found, np.ndarray]:
    """Returns the best moves, and what the played ones lose, float [B]; -1 are no moves."""
    scores = np.asarray(jax.jit(player.move_values)(states))
    found = _no_choice(scores >= scores.max(axis=1, keepdims=True))
    of_played = np.take_along_axis(scores, np.maximum(played, 0)[:, None], axis=1)[:, 0]
    lost = scores.max(axis=1) - of_played
    # A move that is as good as the best needs no other one beside it.
    same = (played >= 0) & (lost < _ROUNDING)
    found.action[same] = found.line[same, 0] = played[same]
    return found._replace(value=scores.max(axis=1)), np.where(same, 0.0, lost)


_ROUNDING = 1e-6  # of float32 values


def _judge_by_search(
    player: SearchPlayer,
    states: State,
    played: np.ndarray,
    progress: Callable[[int, int], None] | None,
) -> tuple[Found, np.ndarray]:
    """Returns the best moves, and what the played ones lose, float [B]; -1 are no moves.

    A search of the user's own cannot be asked about two moves: NaN for others than its own.
    """
    found = search_all(player, states, len(played), progress)
    others = np.flatnonzero((played >= 0) & (played != found.action))
    lost = np.zeros(len(played))
    if player.has_custom_search:
        lost[others] = np.nan
    elif others.size:
        pairs = np.stack([found.action[others], played[others]], axis=1)

        def tell(done: int, count: int) -> None:
            if progress is not None:
                progress(len(played) + done, len(played) + count)

        best, own = compare_all(player, take(states, others), pairs, tell).T
        lost[others] = np.maximum(best - own, 0)
    return found, lost


@jax.jit
def _look(player: Judge, states: State) -> tuple[Array, Array]:
    """Returns the legal actions, bool [B, A], and expected results without a search, float32 [B].

    These are from player 0's perspective; before a roll they are the mean over its outcomes.
    """
    game = player.game

    def value(states: State) -> Array:
        if isinstance(player, ExactChancePlayer):
            return player.move_values(states).max(axis=-1)
        return player.predict(states).value

    legal = jax.vmap(game.legal_action_mask)(states)
    return legal, mean_over_outcomes(game, value, states)
