"""Searches all positions of a game, many at once, and finds where it was decided."""

from collections.abc import Callable, Sequence

import jax
import numpy as np
from azjax_envs import Game, HasChance

from azjax.analysis.game_analysis import AnalysedMove, GameAnalysis
from azjax.analysis.games_of_chance import analyse_with_dice
from azjax.analysis.position_search import LINE, Found, search_all, tried_most
from azjax.chance import require_no_chance
from azjax.errors import UserError
from azjax.exact.known_values import exact_values
from azjax.files import notation
from azjax.files.game_record import GameRecord, Position, replay
from azjax.players.base import Player
from azjax.players.engines.pool import EnginePlayer, Judgement
from azjax.players.exact import ExactChancePlayer
from azjax.players.network_players import SearchPlayer
from azjax.pytrees import take
from azjax.types import State

_ASKED = 8  # positions that engines are asked about before progress is told


def analyse(
    game: Game,
    moves: Sequence[str | int] | GameRecord,
    player: Player,
    *,
    start: State | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> GameAnalysis:
    """Searches every position of a played game and compares the moves with the best ones found.

    Args:
      moves: its moves from the start, as text or as actions, or a record of the game. In a game of
        dice each roll stands before its moves: "6-1: 13/7 8/7".split().
      player: a player with a search, such as `load_player("connect_four:400")`, or an engine, such
        as `load_player("uci:stockfish?nodes=20000", game="chess")`. Engines of GTP that give no
        chances tell only which moves they would have played. In a game of dice also perfect play,
        `load_player("exact", game="ur_2")`.
      start: the position before the first move; None for the game's own start.
      progress: called as `progress(positions searched, positions in all)`.

    Returns:
      The analysis, which prints as a table and draws itself in a notebook. Where exact values are
      known quickly, it tells those. Each move of a game of dice is judged after its roll, so luck
      is no mistake.

    Raises:
      UserError: a move is illegal, the player does not search or plays another game, or an engine
        fails.

    Example:
        ```python
        player = azjax.load_player("connect_four:400")
        azjax.analyse(player.game, "4 4 3 5 2".split(), player)
        ```
    """
    if not isinstance(player, SearchPlayer | EnginePlayer | ExactChancePlayer):
        raise UserError(
            f"{player.name} has no search to analyse with: give a trained network's, or an engine"
        )
    if player.game != game:
        raise UserError(f"the player plays {player.game.name}, not {game.name}")
    if isinstance(player, EnginePlayer):
        require_no_chance(game)
    record = moves if isinstance(moves, GameRecord) else replay(game, moves, start=start)
    if isinstance(game, HasChance):
        assert isinstance(player, SearchPlayer | ExactChancePlayer)
        return analyse_with_dice(record, player, progress)
    assert isinstance(player, SearchPlayer | EnginePlayer)
    positions = record.positions
    searched = [position for position in positions if not position.over]
    states = jax.tree.map(lambda *x: np.stack(x), *(jax.device_get(p.state) for p in searched))
    if isinstance(player, EnginePlayer):
        found = _ask_all(player, record, len(searched), progress)
    else:
        found = search_all(player, states, len(searched), progress)
    scores = _exact_scores(game, states, len(searched))
    values = [_value(p, i, found, scores) for i, p in enumerate(positions)]
    analysed = [_analysed_move(record, i, values, found, scores) for i in range(len(positions) - 1)]
    return GameAnalysis(
        record=record, player=player.name, values=tuple(values), moves=tuple(analysed)
    )


def _ask_all(
    player: EnginePlayer,
    record: GameRecord,
    count: int,
    progress: Callable[[int, int], None] | None,
) -> Found:
    """Asks an engine about the first `count` positions of a game."""
    states = [jax.device_get(position.state) for position in record.positions[:count]]
    moves = [(position.moved_by, position.move) for position in record.positions[1:]]
    player = player.from_position(states[0])
    action, value = np.full(count, -1, np.int32), np.full(count, np.nan, np.float32)
    line = np.full((count, LINE), -1, np.int32)
    for first in range(0, count, _ASKED):
        rows = range(first, min(first + _ASKED, count))
        judgements = player.judge([(states[i], moves[:i]) for i in rows])
        for i, judgement in zip(rows, judgements, strict=True):
            expected = _expected(player, record.truncate(i), judgement)
            line[i, : len(expected)] = expected
            # Who resigns has no better move than the one that was played.
            played = record.positions[min(i + 1, record.num_moves)].action
            action[i] = expected[0] if expected else played
            given_up = {"resign": -1.0, "win": 1.0}.get(judgement.move.lower(), np.nan)
            value[i] = given_up if np.isnan(judgement.value) else judgement.value
        if progress is not None:
            progress(rows[-1] + 1, count)
    visits = np.zeros((count, player.game.num_actions), np.int32)
    return Found(action, value, visits, line)


def _expected(player: EnginePlayer, record: GameRecord, judgement: Judgement) -> list[int]:
    """Returns the actions of the line that an engine expects; empty if it only ends the game.

    Raises:
      UserError: its move is illegal.
    """
    ends = judgement.move.lower() in ("resign", "win")
    begins = judgement.line[:1] == (judgement.move,) or ends
    actions: list[int] = []
    for name in (judgement.line if begins else (judgement.move,))[:LINE]:
        if record.current.over:
            break
        try:
            actions.append(player.read_move(record.current.state, name))
        except UserError:
            if not actions and not ends:
                raise
            break
        record = record.play(actions[-1])
    return actions


def _exact_scores(game: Game, states: State, count: int) -> np.ndarray:
    """Returns the exact scores of all actions, [P, A], NaN where they are not known quickly."""
    scores, exact = np.full((count, game.num_actions), np.nan, np.float32), exact_values(game)
    if exact is not None and (known := np.flatnonzero(exact.known(states))).size:
        scores[known] = np.sign(np.asarray(exact.load().action_scores(take(states, known))))
    return scores


def _value(position: Position, i: int, found: Found, scores: np.ndarray) -> float:
    """Returns the expected result of best play, from player 0's perspective."""
    if position.over:
        return position.returns[0]
    value = float(found.value[i] if np.isnan(scores[i, 0]) else scores[i].max())
    return -value if position.mover else value


def _analysed_move(
    record: GameRecord, i: int, values: list[float], found: Found, scores: np.ndarray
) -> AnalysedMove:
    before, after = record.positions[i], record.positions[i + 1]
    sign = -1.0 if before.mover else 1.0
    best, visits = int(found.action[i]), found.visits[i]
    lost = max(sign * (values[i] - values[i + 1]), 0.0) if after.action != best else 0.0
    if after.action != best and np.isnan(values[i : i + 2]).any():
        lost = np.nan
    line = [int(action) for action in found.line[i] if action >= 0]
    exact = not np.isnan(scores[i, 0])
    if exact:
        lost = float(scores[i].max() - scores[i, after.action])
        if scores[i, best] < scores[i].max():  # the search's own mistake
            best = int(np.argmax(scores[i]))
            line = [best]
    return AnalysedMove(
        number=i + 1,
        mover=before.mover,
        move=notation.shown_move(record, i + 1),
        best=best,
        line=tuple(notation.shown_line(record.truncate(i), line)),
        loss=float(lost) / 2,
        exact=bool(exact),
        visits=tried_most(visits),
    )
