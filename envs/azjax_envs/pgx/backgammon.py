"""pgx's backgammon as a game of chance; importing this module needs pgx."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pgx import backgammon as rules

from azjax_envs.backgammon import drawing
from azjax_envs.game import is_over, view_of
from azjax_envs.pgx.adapters import Facts, Pgx, PgxState, keep


@dataclasses.dataclass(frozen=True)
class PgxBackgammon(Pgx):
    """pgx's backgammon, with dice as `HasChance` has them: `make("pgx:backgammon")`.

    **Rules, actions and observations** are those of pgx. A move of one checker is an action. Unlike
    in azjax's own backgammon, a player may play one die so that the other cannot be played,
    although both could be. A player who cannot move chooses among six passes, which are the same.

    **Chance.** A turn ends before the dice. The first 15 outcomes are 2-1, 3-1, 4-1, 5-1, 6-1, 3-2,
    ..., 6-5, with the probability 1/18. Then follow the doubles, with 1/36. In the first roll, the
    15 have 1/15 each. Player 0 has the first roll.

    **End and result.** The results are 1, 2 and 3 points for either side. After `max_steps` steps,
    2,000 by default, a game is drawn. An illegal action loses three.

    **Text and drawing.** A move is written as in azjax's backgammon, "13/7" or "bar/21"; what bears
    off has the die, "6/off(6)", and so has a pass. The drawing is that of azjax's backgammon.
    """

    env: Any = "backgammon"

    def __post_init__(self):
        if self.max_steps is None:
            object.__setattr__(self, "max_steps", 2000)
        super().__post_init__()

    @property
    def results(self) -> tuple[float, ...]:
        return (3.0, 2.0, 1.0, 0.0, -1.0, -2.0, -3.0)

    @property
    def observation_bounds(self) -> tuple[float, float]:
        return -15.0, 15.0

    def is_chance(self, state: PgxState) -> Array:
        return jnp.all(state.kept._playable_dice < 0) & ~self.is_terminal(state)

    def chance_probabilities(self, state: PgxState) -> Array:
        return jnp.where(state.kept._step_count == 0, _FIRST_ROLL, _ROLLS)

    def chance_step(self, state: PgxState, outcome: Array) -> PgxState:
        outcome = jnp.asarray(outcome, jnp.int32)
        inside = jnp.clip(outcome, 0, len(_DICE) - 1)
        happens = self.is_chance(state) & (outcome == inside)
        happens &= self.chance_probabilities(state)[inside] > 0
        dice = jnp.asarray(_DICE)[inside]
        left = rules._set_playable_dice(dice)
        rolled = self.pgx_state(state).replace(
            legal_action_mask=rules._legal_action_mask(state.kept._board, left),
            _dice=dice,
            _playable_dice=left,
        )
        rolled = self._keep(rolled)
        return jax.tree.map(lambda x, y: jnp.where(happens, x, y), rolled, state)

    def returns(self, state: PgxState) -> Array:
        points = super().returns(state).astype(jnp.int32)
        # From a table, because XLA may divide by 3 in a way that both do not sum to 0.
        return jnp.asarray(_SHARES)[3 + points]

    def observe_other(self, state: PgxState) -> Array:
        """Returns the board as the other player sees it, without dice; pgx does not turn it."""
        board = rules._flip_board(state.kept._board)
        seen = jnp.concatenate([board, jnp.zeros(6, board.dtype)])
        return seen.astype(jnp.float32).reshape(self.observation_shape)

    def outcome_to_string(self, state: PgxState, outcome: int) -> str:
        high, low = _DICE[int(outcome)] + 1
        return f"{high}-{low}"

    def action_to_string(self, state: PgxState, action: int) -> str:
        place, die = divmod(int(action), 6)
        if place == 0:
            return f"pass({die + 1})"
        point = 25 if place == 1 else 26 - place
        end = point - die - 1
        return f"{'bar' if point == 25 else point}/{end if end > 0 else f'off({die + 1})'}"

    def to_string(self, state: PgxState) -> str:
        game: Any = self
        to_move = f"{'XO'[int(self.current_player(state))]} to move"
        return drawing.text(view_of(game, state), "over" if is_over(game, state) else to_move)

    def svg_board(self) -> str:
        return drawing.svg_board(self.name, 15)

    def view(self, state: PgxState) -> Array:
        """Returns the codes of azjax's `Backgammon.view`, int32 [37]."""
        kept, player = state.kept, self.current_player(state)
        # pgx counts points from the start of the mover's way, and the opponent's checkers negative.
        board = jnp.where(player == 0, kept._board, rules._flip_board(kept._board))
        mine, theirs = jnp.maximum(board, 0), jnp.maximum(-board, 0)
        points = jnp.where(theirs > 0, 15 + theirs, mine)[23::-1]
        rest = jnp.stack([mine[24], theirs[25], mine[26], theirs[27]])
        goes_on = ~self.is_terminal(state)
        dice = jnp.where(goes_on, jnp.sort(kept._playable_dice + 1)[::-1], 0)
        shown = [jnp.where(player == seat, dice, 0) for seat in (0, 1)]
        passes = jnp.any(self.legal_action_mask(state)[:6])
        turn = jnp.where(self.is_chance(state), 0, jnp.where(passes, 4, 2)) + 1 + player
        parts = points, rest, *shown, jnp.where(goes_on, turn, 0)[None]
        return jnp.concatenate([part.astype(jnp.int32) for part in parts])

    def pgx_state(self, state: PgxState) -> Any:
        whole, left = super().pgx_state(state), state.kept._playable_dice
        dice = jnp.where(state.kept._dice[0] == state.kept._dice[1], 4, 2)
        played = jnp.where(self.is_chance(state), 0, dice - jnp.sum(left >= 0))
        return whole.replace(_played_dice_num=played.astype(jnp.int32))

    @property
    def _forfeit(self) -> int:
        return 3

    @property
    def _facts(self) -> Facts:
        return _inspect(self._env)

    def _moved(self, state: PgxState, action: Array) -> PgxState:
        # The dice that pgx rolls with this key are taken away again.
        after = self._env.step(self.pgx_state(state), action, _KEY)
        turned = after.current_player != state.kept.current_player
        before = _before_dice(after)
        after = jax.tree.map(lambda x, y: jnp.where(turned, x, y), before, after)
        return self._keep(after)

    def _keep(self, state: Any) -> PgxState:
        return keep(_without_count(state), self._facts.start)


_KEY = np.zeros(2, np.uint32)
_PAIRS = [(high, low) for low in range(6) for high in range(low + 1, 6)]
_PAIRS += [(die, die) for die in range(6)]
_DICE = np.array(_PAIRS, np.int32)  # as pgx counts them, from 0
_ROLLS = np.array([2 - (high == low) for high, low in _PAIRS], np.float32) / 36
_FIRST_ROLL = np.array([high != low for high, low in _PAIRS], np.float32) / 15
_SHARES = np.arange(-3, 4, dtype=np.float32) / 3  # of three points


def _before_dice(state: Any) -> Any:
    return state.replace(
        legal_action_mask=jnp.zeros_like(state.legal_action_mask),
        _dice=jnp.zeros_like(state._dice),
        _playable_dice=jnp.full_like(state._playable_dice, -1),
    )


def _without_count(state: Any) -> Any:
    """Returns a state of pgx without the number of dice played, which the others tell."""
    return state.replace(_played_dice_num=None)


@functools.cache
def _inspect(env: Any) -> Facts:
    """Returns the constants of the environment, whose start is the one before the dice."""
    with jax.ensure_compile_time_eval():
        start = jax.device_get(jax.jit(env.init)(jax.random.PRNGKey(0)))
        before = _without_count(_before_dice(start.replace(_turn=jnp.int32(0))))
    return Facts(
        num_actions=start.legal_action_mask.shape[0],
        observation=jax.ShapeDtypeStruct(start.observation.shape, start.observation.dtype),
        first=int(start.current_player),
        start=jax.device_get(keep(before)),
    )
