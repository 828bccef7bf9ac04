"""The Royal Game of Ur by Finkel's rules, with 1 to 7 pieces of each player."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.game import is_over, require_range, returns_of, settle, view_of
from azjax_envs.xla_cpu import fusion_barrier


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class UrState:
    """A position as a bitboard of each player's path; bit i is field i + 1."""

    own: Array  # uint16 [], fields with pieces of the player to move
    other: Array  # uint16 [], fields with pieces of the opponent
    own_off: Array  # uint8 [], pieces that the player to move has borne off
    other_off: Array  # uint8 [], pieces that the opponent has borne off
    roll: Array  # int8 [], the dice: 0 to 4, or -1 before they are rolled
    player: Array  # uint8 [], the player to move
    forfeited: Array  # bool [], the player to move has lost by an illegal action
    moves: Array  # uint16 [], so far


@dataclasses.dataclass(frozen=True)
class Ur(BaseGame):
    """The Royal Game of Ur: a race of `pieces` pieces of each player along a path of 14 fields.

    **Rules** (I. Finkel's, for play). The board has three rows of eight fields, without the fifth
    and the sixth field of the outer rows. A player's path begins with four fields of their own row,
    goes through all eight fields of the middle row, and ends with two fields of their own row. All
    pieces begin beside the board. Player 0 moves first.

    - Four dice show 0 or 1 each, and the mover moves one piece by their sum: a new piece on to the
      board, or one along its path. A piece leaves the board by a roll that takes it one field
      beyond the last.
    - No two pieces stand on one field. A piece that moves on to one of the opponent captures it:
      that piece begins anew. The middle rosette, field 8, is safe: no piece there is captured.
    - A piece that moves on to a rosette, fields 4, 8 and 14, gives its player another roll.
    - A player who rolls 0 or has no legal move passes.

    **End and result.** Who first bears off all pieces wins. After 200 moves for each piece of a
    player the game is drawn, which hardly ever happens.

    **Chance.** Outcome k is a roll of k, with the probabilities 1, 4, 6, 4 and 1 of 16.

    **Actions** (16). Action 0 brings a new piece on to the board, and action i moves the piece on
    field i. Action 15 passes. The text is the name of the field that the piece leaves, "new" or
    "pass". Player 0's path is a4 a3 a2 a1, b1 to b8, a8 a7; player 1's has c in place of a.

    **Observation.** float32 [3, 8, 12]. The first row holds the mover's own fields, the middle row
    those that both share, the last row the opponent's own fields.

    - planes 0 and 1: pieces of the player to move and of the opponent
    - plane 2: rosettes
    - planes 3 and 4: the mover's pieces that are still to begin, and those borne off, as a fraction
      of all, everywhere
    - planes 5 and 6: the same of the opponent
    - planes 7 to 11: the roll is 0, 1, ..., 4, everywhere; all are 0 before the roll

    **Sources.** I. Finkel, On the Rules for the Royal Game of Ur, 2007. RoyalUr.net for the form of
    the rules.
    """

    pieces: int = 7

    def __post_init__(self):
        require_range("ur", "pieces", self.pieces, 1, 7)

    player_names = ("the lower row", "the upper row")
    unobserved = ("player", "moves")
    cell_names, click_choices = (), ("",)
    num_actions = 16
    observation_shape = (3, 8, 12)

    @property
    def name(self) -> str:
        return "ur" if self.pieces == Ur.pieces else f"ur_{self.pieces}"

    @property
    def max_steps(self) -> int:
        return 200 * self.pieces

    def init(self, key: Array | None = None) -> UrState:
        return UrState(
            own=jnp.zeros((), jnp.uint16),
            other=jnp.zeros((), jnp.uint16),
            own_off=jnp.zeros((), jnp.uint8),
            other_off=jnp.zeros((), jnp.uint8),
            roll=jnp.full((), -1, jnp.int8),
            player=jnp.zeros((), jnp.uint8),
            forfeited=jnp.zeros((), jnp.bool_),
            moves=jnp.zeros((), jnp.uint16),
        )

    def step(self, state: UrState, action: Array) -> UrState:
        action = jnp.asarray(action, jnp.int32)
        start = jnp.clip(action, 0, _PASS)
        is_set = (self._legal(state) >> start.astype(jnp.uint32)) & 1 == 1
        legal = (action == start) & is_set & (state.roll >= 0)

        # Bit i of a path with its ends is field i, bit 0 a piece to come, bit 15 one borne off.
        own, other = state.own.astype(jnp.uint32) << 1, state.other.astype(jnp.uint32) << 1
        moves = start < _PASS
        end = jnp.where(moves, start + jnp.maximum(state.roll, 0).astype(jnp.int32), 0)
        landed = jnp.where(moves, jnp.uint32(1) << end.astype(jnp.uint32), jnp.uint32(0))
        own = (own & ~(jnp.uint32(1) << start.astype(jnp.uint32))) | landed
        own_off = state.own_off + (landed >> _OFF).astype(jnp.uint8)
        own = ((own & _PATH) >> 1).astype(jnp.uint16)
        other = ((other & ~(landed & _SHARED)) >> 1).astype(jnp.uint16)

        again = (landed & _ROSETTES) != 0
        stays = again | (own_off == self.pieces)
        moved = UrState(
            own=jnp.where(stays, own, other),
            other=jnp.where(stays, other, own),
            own_off=jnp.where(stays, own_off, state.other_off),
            other_off=jnp.where(stays, state.other_off, own_off),
            roll=jnp.full((), -1, jnp.int8),
            player=jnp.where(stays, state.player, 1 - state.player),
            forfeited=state.forfeited,
            moves=state.moves + jnp.uint16(1),
        )
        return settle(
            state,
            over=self.is_terminal(state),
            legal=legal,
            moved=moved,
            forfeited=dataclasses.replace(state, forfeited=jnp.ones_like(state.forfeited)),
        )

    def is_chance(self, state: UrState) -> Array:
        return (state.roll < 0) & ~self.is_terminal(state)

    def chance_probabilities(self, state: UrState) -> Array:
        return jnp.asarray(_ROLLS)

    def chance_step(self, state: UrState, outcome: Array) -> UrState:
        outcome = jnp.asarray(outcome)
        happens = self.is_chance(state) & (outcome >= 0) & (outcome < len(_ROLLS))
        return dataclasses.replace(
            state, roll=jnp.where(happens, outcome.astype(jnp.int8), state.roll)
        )

    def current_player(self, state: UrState) -> Array:
        return state.player.astype(jnp.int32)

    def legal_action_mask(self, state: UrState) -> Array:
        bits = self._legal(state) >> np.arange(self.num_actions, dtype=np.uint32)
        return (bits & 1 == 1) & (state.roll >= 0) & ~self.is_terminal(state)

    def is_terminal(self, state: UrState) -> Array:
        return state.forfeited | self._is_won(state) | (state.moves >= self.max_steps)

    def returns(self, state: UrState) -> Array:
        # The player who has borne off the last piece stays the player to move.
        won = jnp.where(state.forfeited, -1, self._is_won(state).astype(jnp.int32))
        return returns_of(jnp.where(state.player == 0, won, -won))

    def observe(self, state: UrState) -> Array:
        own, other = _on(state.own, _PLACES), _on(state.other, _PLACES[::-1])
        counts = (self._home(state.own, state.own_off), state.own_off)
        counts += (self._home(state.other, state.other_off), state.other_off)
        whole = jnp.stack(counts).astype(jnp.float32) / self.pieces
        rolls = state.roll == np.arange(5, dtype=np.int8)
        whole = jnp.concatenate([whole, rolls.astype(jnp.float32)])
        planes = jnp.stack([own, other, _IS_ROSETTE], -1)
        whole = jnp.broadcast_to(whole[None, None, :], (3, 8, whole.size))
        return jnp.concatenate([planes.astype(jnp.float32), whole], -1)

    def observe_other(self, state: UrState) -> Array:
        return self.observe(state)[::-1, :, np.array([1, 0, 2, 5, 6, 3, 4, 7, 8, 9, 10, 11])]

    def action_to_string(self, state: UrState, action: int) -> str:
        if action in (0, _PASS):
            return "pass" if action else "new"
        return _name(int(action), int(state.player))

    @property
    def text_parts(self) -> tuple[str, ...]:
        return "new", "pass", *_TILES

    def action_parts(self, state: UrState) -> Array:
        fields = jnp.asarray(2 + _FIELD_TILES)[state.player]
        ends = np.zeros((1, 1), np.int32)
        return jnp.concatenate([ends, fields[:, None], ends + 1])

    def clicks(self, state: UrState) -> Array:
        """Returns the cells of `view` that each move leaves and enters; a pass has none."""
        beside, player = len(_TILES), state.player.astype(jnp.int32)
        fields = jnp.asarray(_FIELD_TILES)[player]
        path = jnp.concatenate([beside + player[None], fields, beside + 2 + player[None]])
        starts = np.arange(_PASS)
        ends = jnp.minimum(starts + jnp.maximum(state.roll, 0).astype(jnp.int32), _OFF)
        rows = jnp.stack([path[starts], path[ends], jnp.zeros(_PASS, jnp.int32)], axis=1)
        return jnp.concatenate([rows, jnp.array([[-1, -1, 0]], jnp.int32)])

    def outcome_to_string(self, state: UrState, outcome: int) -> str:
        return str(int(outcome))

    def to_string(self, state: UrState) -> str:
        *fields, home, home_above, off, off_above, _, _ = view_of(self, state).tolist()
        codes = dict(zip(_TILES, fields, strict=True))
        beside = {"a": f"   X: {home} to come, {off} off", "b": ""}
        beside["c"] = f"   O: {home_above} to come, {off_above} off"
        lines = []
        for row in "cba":
            tiles = [f"{row}{column}" for column in range(1, 9)]
            empty = ["*" if tile in _ROSETTE_TILES else "." for tile in tiles]
            symbols = [
                " " if t not in codes else (e, "X", "O")[codes[t]]
                for t, e in zip(tiles, empty, strict=True)
            ]
            lines.append(f"{row} {' '.join(symbols)}{beside[row]}".rstrip())
        turn = "over" if is_over(self, state) else f"{'XO'[int(state.player)]} to move"
        dice = "dice to be rolled" if state.roll < 0 else f"dice: {int(state.roll)}"
        return "\n".join([*lines, "  1 2 3 4 5 6 7 8", f"{turn}, {dice}"])

    def svg_board(self) -> str:
        return _svg_board(self.pieces)

    def view(self, state: UrState) -> Array:
        """Returns the codes of the fields, of both players' pieces beside the board, and the dice.

        A field is 0, or 1 + the player whose piece is on it. Then follow the pieces to come of both
        players, the pieces borne off, 1 + the roll or 0 before it, and 1 where the mover must pass.

        Returns:
          int32 [26].
        """
        first = state.player == 0
        boards = jnp.where(first, state.own, state.other), jnp.where(first, state.other, state.own)
        pieces = [_on(board, path) for board, path in zip(boards, _TILE_PATHS, strict=True)]
        fields = pieces[0].astype(jnp.int32) + 2 * pieces[1].astype(jnp.int32)
        off = (
            jnp.where(first, state.own_off, state.other_off),
            jnp.where(first, state.other_off, state.own_off),
        )
        home = [self._home(board, gone) for board, gone in zip(boards, off, strict=True)]
        passes = self.legal_action_mask(state)[_PASS]
        rest = (*home, *off, state.roll + 1, passes)
        return jnp.concatenate([fields, jnp.stack([code.astype(jnp.int32) for code in rest])])

    def _home(self, board: Array, off: Array) -> Array:
        """Returns how many pieces are still to come, uint8 []."""
        return self.pieces - off - jax.lax.population_count(board).astype(jnp.uint8)

    def _is_won(self, state: UrState) -> Array:
        return state.own_off == self.pieces

    def _legal(self, state: UrState) -> Array:
        """Returns the legal actions of a roll as bits, uint32 []; bit 15 is the pass."""
        own, other = state.own.astype(jnp.uint32) << 1, state.other.astype(jnp.uint32) << 1
        waiting = (self._home(state.own, state.own_off) > 0).astype(jnp.uint32)
        roll = jnp.maximum(state.roll, 0).astype(jnp.uint32)
        free = (_PATH | (1 << _OFF)) & ~own & ~(other & _SAFE)
        bits = jnp.where(roll > 0, (((own | waiting) << roll) & free) >> roll, 0)
        return fusion_barrier(jnp.where(bits == 0, np.uint32(1 << _PASS), bits))[0]


_PASS, _OFF = 15, 15
_PATH = np.uint32(0x7FFE)  # fields 1 to 14
_SHARED = np.uint32(0x1FE0)  # fields 5 to 12
_SAFE = np.uint32(1 << 8)
_ROSETTES = np.uint32(1 << 4 | 1 << 8 | 1 << 14)
_ROLLS = np.array([1, 4, 6, 4, 1], np.float32) / 16


def _name(field: int, player: int) -> str:
    """Returns the name of a field of a player's path."""
    if 5 <= field <= 12:
        return f"b{field - 4}"
    return "ac"[player] + str(5 - field if field < 5 else 21 - field)


# The field of the mover's path at each place of an observation, 0 where there is none.
_PLACES = np.array([[4, 3, 2, 1, 0, 0, 14, 13], [*range(5, 13)], [0] * 8])
_IS_ROSETTE = np.isin(_PLACES, (4, 8, 14)) | np.isin(_PLACES[::-1], (4, 14))
_NAMES = [[_name(field, player) for field in range(1, 15)] for player in (0, 1)]
_TILES = sorted({*_NAMES[0], *_NAMES[1]})
_TILE_PATHS = np.array(
    [[1 + names.index(t) if t in names else 0 for t in _TILES] for names in _NAMES]
)
_FIELD_TILES = np.array([[_TILES.index(tile) for tile in names] for names in _NAMES], np.int32)
_ROSETTE_TILES = {names[field - 1] for names in _NAMES for field in (4, 8, 14)}


def _on(board: Array, path: np.ndarray) -> Array:
    """Returns whether pieces of a board stand on fields of its path, bool; none are on field 0."""
    is_set = (board >> np.maximum(path - 1, 0).astype(np.uint16)) & 1 == 1
    return is_set & (path > 0)


def _svg_board(pieces: int) -> str:
    size, margin = 64, 16
    width, height = 10 * size + 2 * margin, 3 * size + 2 * margin + 20
    board = {"x": margin - 6, "y": margin - 6, "width": 8 * size + 12, "height": 3 * size + 12}
    parts = [svg.element("rect", cls="board", rx=10, **board)]

    def corner(tile: str) -> tuple[float, float]:
        return margin + (int(tile[1]) - 1) * size, margin + "cba".index(tile[0]) * size

    for cell, tile in enumerate(_TILES):
        x, y = corner(tile)
        content = [
            svg.element(
                "rect", cls="field", x=x + 2, y=y + 2, width=size - 4, height=size - 4, rx=6
            )
        ]
        middle = {"cx": x + size / 2, "cy": y + size / 2}
        if tile in _ROSETTE_TILES:
            content += [
                svg.element(
                    "ellipse",
                    cls="petal",
                    rx=6,
                    ry=24,
                    **middle,
                    transform=f"rotate({turn} {middle['cx']:g} {middle['cy']:g})",
                )
                for turn in (0, 45, 90, 135)
            ]
        content.append(svg.element("circle", cls="piece", r=20, **middle))
        parts.append(svg.element("g", content, data_cell=cell))
    beside = len(_TILES)
    for kind, column, word in ((0, 5, "start"), (2, 6, "off")):
        for player, row in enumerate("ac"):
            x, y = corner(f"{row}{column}")
            disc = svg.element("circle", cls=f"p{player}", cx=x + size / 2, cy=y + 26, r=18)
            count = {"x": x + size / 2, "y": y + 32}
            content = [
                disc,
                *(
                    svg.element("text", str(n), cls=f"only n{n}", **count)
                    for n in range(pieces + 1)
                ),
            ]
            content.append(svg.label(word, x + size / 2, y + 54))
            parts.append(svg.element("g", content, cls="beside", data_cell=beside + kind + player))
    x, y = margin + 8 * size + 20, margin + size
    dice = []
    for die in range(4):
        left = x + die * 27
        corners = f"{left:g},{y + 26:g} {left + 24:g},{y + 26:g} {left + 12:g},{y + 4:g}"
        dice.append(svg.element("polygon", cls="die", points=corners))
        dice.append(svg.element("circle", cls=f"pip d{die}", cx=left + 12, cy=y + 16, r=4))
    dice += [svg.label("to roll", x + 52, y + 42, cls="only n0")]
    dice += [svg.label(roll, x + 52, y + 42, cls=f"only n{roll + 1}") for roll in range(5)]
    parts.append(svg.element("g", dice, data_cell=beside + 4))
    button = {"x": x + 16, "y": y + 68, "width": 72, "height": 30, "rx": 8}
    content = [svg.element("rect", cls="button", **button), svg.label("pass", x + 52, y + 83)]
    parts.append(svg.element("g", content, data_cell=beside + 5, data_action=_PASS))
    parts += [svg.label(i + 1, margin + (i + 0.5) * size, height - 14) for i in range(8)]
    shown = {f'[data-code="{n}"] > .n{n}': "display: inline" for n in range(8)}
    shown |= {
        f'[data-code="{roll + 1}"] > .d{die}': "fill: #fff"
        for roll in range(5)
        for die in range(roll)
    }
    return svg.document("Royal Game of Ur", width, height, _STYLE | shown, parts)


_LIGHT = "fill: #fbf7ec; stroke: #6b5b45; stroke-width: 2.5"
_DARK = "fill: #27323d; stroke: #0f161d; stroke-width: 2.5"
_STYLE = {
    ".board": "fill: #5a3d28",
    ".field": "fill: #ecdcb9; stroke: #b99d6c; stroke-width: 2",
    ".petal": "fill: #a8433b",
    ".piece": "fill: none",
    '[data-code="1"] .piece': _LIGHT,
    '[data-code="2"] .piece': _DARK,
    ".p0": _LIGHT,
    ".p1": _DARK,
    ".only": "display: none",
    ".beside .only": "font-size: 20px; fill: #b87f2a",
    ".beside text": "fill: #d9c7a0",
    ".die": "fill: #2f5d73",
    ".pip": "fill: none",
    ".button": "fill: #f1efe9; stroke: #d8d3c6",
    '[data-code="1"] > .button': "fill: #cfe3fb; stroke: #7eaee6",
}
