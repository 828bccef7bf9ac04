"""Backgammon as a game: a move of one checker, and the roll of two dice."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.backgammon import board, drawing, moves
from azjax_envs.backgammon.board import BAR, LAST_QUARTER, Words
from azjax_envs.base_game import BaseGame
from azjax_envs.game import find_legal, is_over, settle, view_of
from azjax_envs.xla_cpu import fusion_barrier


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BackgammonState:
    """A position. Each player's checkers are on points as that player counts them; see `board`."""

    own: Words  # checkers of the player to move
    other: Words  # checkers of the opponent
    dice: Array  # uint8 [], bit d for each die d that is left; 0 before the roll
    left: Array  # uint8 [], moves that are left with these dice: up to 4 after a double
    player: Array  # uint8 [], the player to move
    forfeited: Array  # bool [], the player to move has lost by an illegal action
    moves: Array  # uint16 [], so far


@dataclasses.dataclass(frozen=True)
class Backgammon(BaseGame):
    """Backgammon without the doubling cube: a race of 15 checkers of each player by two dice.

    **Rules.** Each player moves from their point 24 to their point 1, which is the opponent's point
    24. At the start each has two checkers on point 24, five on 13, three on 8 and five on 6.

    - The mover rolls two dice and moves one checker by each. A double is played four times.
    - A checker never lands on a point with two or more of the opponent's. One that lands on a
      single one hits it: that goes to the bar.
    - Who has checkers on the bar first enters them, on point 25 minus the die.
    - When all checkers are on points 1 to 6, they are borne off: from the point of the die, or by a
      higher die from the highest point with checkers.
    - Both dice must be played if that is possible. If only one can be, it is the higher one if
      possible. Of a double, as many must be played as possible.

    **Opening.** The first roll is no double, as after an opening roll of one die by each player.
    Player 0 always has it: whoever has the higher die is player 0.

    **End and result.** Who first bears off all checkers wins one point; two (a gammon) if the
    opponent has borne off none; three (a backgammon) if one of the opponent's checkers then is also
    on the bar or on the winner's points 1 to 6. An illegal action loses three. After 2,000 moves,
    which games hardly ever take, who has fewer pips to go wins one point, or the player to move if
    these are equal.

    **Chance.** The first 15 outcomes are 2-1, 3-1, 4-1, 5-1, 6-1, 3-2, ..., 6-5, with the
    probability 1/18. Then follow the doubles 1-1, ..., 6-6, with 1/36. In the first roll, the 15
    have 1/15 each.

    **Actions** (51). A move of one checker is one action, so that a roll takes two, or four. Action
    i - 1 moves a checker from the mover's point i by the higher die that is left, and action 24 + i
    by the lower one; point 25 is the bar. With equal dice, or one left, it is the higher one.
    Action 50 passes, where a roll cannot be played. A turn of which the rest cannot be played ends
    by itself. The text is that of players: "13/7", "13/7*" for a hit, "bar/20", "6/off". With two
    dice by either of which it is borne off, it also has the die, "3/off(5)".

    **Observation.** float32 [1, 26, 23]. Column i is the mover's point i, columns 25 and 0 are the
    bars of the mover and of the opponent.

    - planes 0 to 5: there are at least 1, 2, 3, 4 and 5 checkers of the player to move; those above
      five, divided by ten
    - planes 6 to 11: the same of the opponent
    - planes 12 and 13: checkers that the mover and the opponent have borne off, as a fraction of
      all, everywhere
    - planes 14 to 19: a die with 1, ..., 6 is left, everywhere; all are 0 before the roll
    - planes 20 to 22: at least 2, 3 and 4 moves are left, everywhere

    **Sources.** The rules of the U.S. Backgammon Federation. The encoding by the number of checkers
    is G. Tesauro's, Temporal Difference Learning and TD-Gammon, 1995.
    """

    player_names = ("the light checkers", "the dark checkers")
    cell_names = ()
    click_choices = ("", "1", "2", "3", "4", "5", "6")  # the die, where two bear a checker off
    results = (3, 2, 1, -1, -2, -3)
    unobserved = ("player", "moves")
    num_actions = 51
    max_steps = 2000

    @property
    def name(self) -> str:
        return "backgammon"

    @property
    def start(self) -> dict[int, int]:
        """The number of checkers by point at the start."""
        return {24: 2, 13: 5, 8: 3, 6: 5}

    @property
    def checkers(self) -> int:
        """The number of checkers of each player."""
        return sum(self.start.values())

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return 1, 26, 2 * self._planes + 11

    def init(self, key: Array | None = None) -> BackgammonState:
        checkers = [self.start.get(point, 0) for point in range(26)]
        words = board.pack(checkers, self.checkers.bit_length())
        return BackgammonState(
            own=words,
            other=words,
            dice=jnp.zeros((), jnp.uint8),
            left=jnp.zeros((), jnp.uint8),
            player=jnp.zeros((), jnp.uint8),
            forfeited=jnp.zeros((), jnp.bool_),
            moves=jnp.zeros((), jnp.uint16),
        )

    def step(self, state: BackgammonState, action: Array) -> BackgammonState:
        action = jnp.asarray(action, jnp.int32)
        inside = jnp.clip(action, 0, _PASS)
        by_low = (inside >= 25) & (inside < _PASS)
        point = jnp.where(by_low, inside - 25, inside).astype(jnp.uint32) + 1
        high, low, passes = self._legal(state)
        is_set = jnp.where(
            inside == _PASS, passes, (jnp.where(by_low, low, high) >> point) & 1 == 1
        )

        dice = state.dice.astype(jnp.uint32)
        die = jnp.where(by_low, moves.lower(dice), moves.higher(dice))
        moves_on = point > die
        start = jnp.where(inside < _PASS, np.uint32(1) << point, 0)
        end = jnp.where(moves_on, start >> die, start >> point)
        own = board.add(board.remove(state.own, start), end)
        # Point i is the opponent's point 25 - i.
        target = jnp.where(moves_on, np.uint32(1) << (25 + die - point), 0)
        hit = jnp.where(inside < _PASS, target & board.blots(state.other), 0)
        other = board.add(board.remove(state.other, hit), jnp.where(hit != 0, BAR, 0))

        two = moves.higher(dice) != moves.lower(dice)
        left = state.left - jnp.uint8(1)
        dice = jnp.where(two, dice & ~(np.uint32(1) << die), dice)
        some, free = board.some(own), ~board.turned(board.several(other))
        goes_on = (left > 0) & (moves.movable(some, free, moves.higher(dice)) != 0)
        goes_on &= inside < _PASS
        stays = goes_on | (some == 0)
        moved = BackgammonState(
            own=_choose(stays, own, other),
            other=_choose(stays, other, own),
            dice=jnp.where(goes_on, dice, 0).astype(jnp.uint8),
            left=jnp.where(goes_on, left, 0),
            player=jnp.where(stays, state.player, 1 - state.player),
            forfeited=state.forfeited,
            moves=state.moves + jnp.uint16(1),
        )
        return settle(
            state,
            over=self.is_terminal(state),
            legal=(action == inside) & is_set & (state.dice > 0),
            moved=moved,
            forfeited=dataclasses.replace(state, forfeited=jnp.ones_like(state.forfeited)),
        )

    def is_chance(self, state: BackgammonState) -> Array:
        return (state.dice == 0) & ~self.is_terminal(state)

    def chance_probabilities(self, state: BackgammonState) -> Array:
        return jnp.where(state.moves == 0, _FIRST_ROLL, _ROLLS)

    def chance_step(self, state: BackgammonState, outcome: Array) -> BackgammonState:
        outcome = jnp.asarray(outcome, jnp.int32)
        possible = jnp.where(state.moves == 0, _DOUBLES, len(_PAIRS))
        happens = self.is_chance(state) & (outcome >= 0) & (outcome < possible)
        dice = jnp.asarray(_DICE)[jnp.clip(outcome, 0, len(_DICE) - 1)]
        left = jnp.where(outcome < _DOUBLES, jnp.uint8(2), jnp.uint8(4))
        return dataclasses.replace(
            state,
            dice=jnp.where(happens, dice, state.dice),
            left=jnp.where(happens, left, state.left),
        )

    def current_player(self, state: BackgammonState) -> Array:
        return state.player.astype(jnp.int32)

    def legal_action_mask(self, state: BackgammonState) -> Array:
        high, low, passes = self._legal(state)
        points = np.arange(1, 26, dtype=np.uint32)
        bits = [(high >> points) & 1 == 1, (low >> points) & 1 == 1, passes[None]]
        return jnp.concatenate(bits) & (state.dice > 0) & ~self.is_terminal(state)

    def is_terminal(self, state: BackgammonState) -> Array:
        return state.forfeited | self._is_won(state) | (state.moves >= self.max_steps)

    def returns(self, state: BackgammonState) -> Array:
        # The player who has borne off the last checker stays the player to move.
        far = ((board.some(state.other) & (LAST_QUARTER | BAR)) != 0).astype(jnp.int32)
        points = jnp.where(board.borne_off(state.other) == 0, 2 + far, 1)
        ahead = jnp.where(board.pips(state.own) <= board.pips(state.other), 1, -1)
        points = jnp.where(self._is_won(state), points, ahead)
        points = jnp.where(state.forfeited, -3, points)
        points = jnp.where(self.is_terminal(state), points, 0)
        first = jnp.where(state.player == 0, points, -points)
        # From a table, because XLA may divide by 3 in a way that both do not sum to 0.
        return jnp.asarray(_SHARES)[jnp.stack([3 + first, 3 - first])]

    def observe(self, state: BackgammonState) -> Array:
        return self._observe(state, state.own, state.other)

    def observe_other(self, state: BackgammonState) -> Array:
        return self._observe(state, state.other, state.own)

    def action_to_string(self, state: BackgammonState, action: int) -> str:
        if action == _PASS:
            return "pass"
        point, dice = int(action) % 25 + 1, _faces(int(state.dice))
        die = dice[-1 if action >= 25 else 0] if dice else 0
        start = "bar" if point == 25 else str(point)
        if point <= die:
            return f"{start}/off" + (f"({die})" if len(dice) == 2 and point <= dice[-1] else "")
        bits = [int(word) >> (25 - point + die) & 1 for word in state.other]
        return f"{start}/{point - die}" + ("*" if bits[0] > max(bits[1:]) else "")

    def string_to_action(self, state: BackgammonState, text: str) -> int:
        """Returns the legal action that `text` names, with or without the star of a hit."""
        try:
            return find_legal(self, state, f"{text.strip()}*")
        except ValueError:
            return find_legal(self, state, text)

    def outcome_to_string(self, state: BackgammonState, outcome: int) -> str:
        low, high = _PAIRS[int(outcome)]
        return f"{high}-{low}"

    def to_string(self, state: BackgammonState) -> str:
        turn = "over" if is_over(self, state) else f"{'XO'[int(state.player)]} to move"
        return drawing.text(view_of(self, state), turn)

    def svg_board(self) -> str:
        return drawing.svg_board(self.name, self.checkers)

    def view(self, state: BackgammonState) -> Array:
        """Returns the codes of points, bars, checkers borne off, dice and the turn.

        Cell i below 24 is point i + 1 of player 0: 0, n for n checkers of player 0, or 15 + n for n
        of player 1. Then follow the bars of both players, their checkers borne off, four dice of
        player 0 and four of player 1, each 0 or its face, and the turn. That is 1 or 2 where player
        0 or 1 is to roll, 3 or 4 where they are to move, 5 or 6 where they must pass, and 0 at the
        end.

        Returns:
          int32 [37].
        """
        first = state.player == 0
        pair = board.counts(state.own), board.counts(state.other)
        mine, theirs = jnp.where(first, *pair), jnp.where(first, *pair[::-1])
        theirs_on = theirs[24:0:-1]
        points = jnp.where(theirs_on > 0, 15 + theirs_on, mine[1:25])
        dice = state.dice.astype(jnp.uint32)
        high, low = moves.higher(dice), moves.lower(dice)
        faces = jnp.where(
            np.arange(4, dtype=np.uint8) < state.left, jnp.stack([high, low, low, low]), 0
        )
        shown = [jnp.where(state.player == player, faces, 0) for player in (0, 1)]
        passes = self.legal_action_mask(state)[_PASS]
        turn = (
            jnp.where(state.dice > 0, jnp.where(passes, 4, 2), 0) + 1 + self.current_player(state)
        )
        turn = jnp.where(self.is_terminal(state), 0, turn)
        rest = jnp.stack([mine[25], theirs[25], mine[0], theirs[0]])
        parts = points, rest, *shown, turn[None]
        return jnp.concatenate([part.astype(jnp.int32) for part in parts])

    def clicks(self, state: BackgammonState) -> Array:
        """Returns the cells that each move leaves and enters, and the die where two bear off.

        Cells are those of `view`: points, bars, and the trays of checkers borne off.
        """
        first = state.player == 0
        point, die, low = self._points_and_dice(state)
        end = point - die

        def cell(place: Array | np.ndarray) -> Array:
            """Returns the cell of the mover's points 1 to 24."""
            return jnp.where(first, place - 1, 24 - place)

        bar, tray = jnp.where(first, 24, 25), jnp.where(first, 26, 27)
        starts = jnp.where(point == 25, bar, cell(point))
        ends = jnp.where(end >= 1, cell(end), tray)
        choices = jnp.where((end < 1) & (die[0] != low), die, 0)
        rows = jnp.stack([starts, ends, choices], axis=1).astype(jnp.int32)
        return jnp.concatenate([rows, jnp.array([[-1, -1, 0]], jnp.int32)])

    @property
    def text_parts(self) -> tuple[str, ...]:
        points = [str(point) for point in range(1, 25)]
        ends, dice = [f"/{point}" for point in points], [f"({die})" for die in range(1, 7)]
        return ("", *points, "bar", *ends, "/off", *dice, "*", "pass")

    def action_parts(self, state: BackgammonState) -> Array:
        point, die, low = self._points_and_dice(state)
        end = point - die
        ends = jnp.where(end >= 1, _TO + end, _TO_OFF)
        either = (end < 1) & (die[0] != low) & (point <= low)
        blots = board.blots(state.other) >> (25 - end).astype(jnp.uint32)
        hits = (end >= 1) & (blots & 1 == 1)
        parts = point, ends, jnp.where(either, _BY + die, 0), jnp.where(hits, _HITS, 0)
        rows = jnp.stack([jnp.broadcast_to(part, die.shape) for part in parts], axis=1)
        return jnp.concatenate([rows, jnp.array([[_HITS + 1, 0, 0, 0]], jnp.int32)])

    def _points_and_dice(self, state: BackgammonState) -> tuple[np.ndarray, Array, Array]:
        """Returns the point and the die of each move of a checker, and the lower die.

        int32 [50], int32 [50] and int32 [].
        """
        dice = state.dice.astype(jnp.uint32)
        high, low = moves.higher(dice).astype(jnp.int32), moves.lower(dice).astype(jnp.int32)
        die = jnp.concatenate([jnp.full(25, high), jnp.full(25, low)])
        return np.tile(np.arange(1, 26, dtype=np.int32), 2), die, low

    @property
    def _planes(self) -> int:
        """The number of planes for the checkers of one player."""
        return min(self.checkers, 6)

    def _observe(self, state: BackgammonState, own: Words, other: Words) -> Array:
        mine, theirs = fusion_barrier(board.counts(own), board.counts(other))
        columns = [mine.at[0].set(0), theirs[::-1].at[25].set(0)]
        planes = []
        for column in columns:
            some = column[:, None] >= np.arange(1, min(self.checkers, 5) + 1, dtype=np.uint8)[None]
            planes.append(some.astype(jnp.float32))
            if self.checkers > 5:
                above = jnp.maximum(column, 5).astype(jnp.float32) - 5
                planes.append(above[:, None] / (self.checkers - 5))
        whole = [
            jnp.stack([mine[0], theirs[0]]).astype(jnp.float32) / self.checkers,
            ((state.dice >> np.arange(1, 7, dtype=np.uint8)) & 1).astype(jnp.float32),
            (state.left >= np.arange(2, 5, dtype=np.uint8)).astype(jnp.float32),
        ]
        whole = jnp.concatenate(whole)
        planes.append(jnp.broadcast_to(whole, (26, whole.size)))
        return jnp.concatenate(planes, -1)[None]

    def _is_won(self, state: BackgammonState) -> Array:
        return board.some(state.own) == 0

    def _legal(self, state: BackgammonState) -> tuple[Array, Array, Array]:
        """Returns the points to play from by the higher and by the lower die, and who passes.

        uint32 [], uint32 [] and bool []. Before the roll they have no meaning.
        """
        some, free = board.some(state.own), ~board.turned(board.several(state.other))
        dice = state.dice.astype(jnp.uint32)
        high, low = moves.legal(some, board.several(state.own), free, dice)
        return fusion_barrier(high, low, (high | low) == 0)


@dataclasses.dataclass(frozen=True)
class Hypergammon(Backgammon):
    """Backgammon with three checkers of each player, the variant that is solved.

    **Rules, opening, result, chance and actions** are those of `Backgammon`, except for the start:
    each player has one checker on points 24, 23 and 22. A game is cut after 1,000 moves.

    **Observation.** float32 [1, 26, 17]: planes 0 to 2, there are at least 1, 2 and 3 checkers of
    the player to move; planes 3 to 5, the same of the opponent; planes 6 to 16 as 12 to 22 of
    backgammon.

    **Sources.** H. Sconyers solved it. The start is that of GNU Backgammon's hypergammon.
    """

    max_steps = 1000

    @property
    def name(self) -> str:
        return "hypergammon"

    @property
    def start(self) -> dict[int, int]:
        return {24: 1, 23: 1, 22: 1}


_PASS = 50
_TO, _TO_OFF, _BY, _HITS = 25, 50, 50, 57  # places of parts of texts: "/1" comes after _TO
_SHARES = np.arange(-3, 4, dtype=np.float32) / 3  # of three points
_PAIRS = [(low, high) for low in range(1, 7) for high in range(low + 1, 7)]
_DOUBLES = len(_PAIRS)  # the first outcome that is one
_PAIRS += [(die, die) for die in range(1, 7)]
_DICE = np.array([1 << low | 1 << high for low, high in _PAIRS], np.uint8)
_ROLLS = np.array([2 - (low == high) for low, high in _PAIRS], np.float32) / 36
_FIRST_ROLL = np.array([low != high for low, high in _PAIRS], np.float32) / _DOUBLES


def _faces(dice: int) -> list[int]:
    """Returns the dice that are left, the higher one first, without repetitions."""
    return [die for die in range(6, 0, -1) if dice >> die & 1]


def _choose(first: Array, one: Words, other: Words) -> Words:
    return tuple(jnp.where(first, x, y) for x, y in zip(one, other, strict=True))
