"""Mancala in its best known form, Kalah, with 1 to 10 pits and seeds."""

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.game import require_flag, require_range, returns_of, settle


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class MancalaState:
    """A position as the number of seeds in each pit and store."""

    own: Array  # uint8 [pits + 1], seeds of the player to move: pits from their left, then store
    other: Array  # uint8 [pits + 1], seeds of the opponent: pits from their left, then store
    player: Array  # uint8 [], the player to move
    forfeited: Array  # bool [], the player to move has lost by an illegal action


@dataclasses.dataclass(frozen=True)
class Mancala(BaseGame):
    """Kalah: the player with more seeds at the end wins.

    **Rules.** Each player has `pits` pits with `seeds` seeds each, and a store to the right of
    them. Player 0 moves first. The player to move empties one of their pits and sows its seeds one
    by one to the right. The seeds go through their own pits, into their own store, and through the
    opponent's pits from the opponent's left. They skip the opponent's store and go on into the
    player's own pits, including the emptied one.

    - If the last seed falls into their own store, they move again.
    - If the last seed falls into an empty pit of their own, it captures the seeds of the opposite
      pit: all of them go to their store. After a full lap, the emptied pit counts as empty. If the
      opposite pit has no seeds, nothing is captured; with `empty_capture` the last seed alone goes
      to the store.

    **End and result.** The game ends when the pits of either side are empty after a move. Each
    player then puts the seeds in their own pits into their store. The player with more seeds wins;
    equal numbers draw. `score` counts the seeds in the stores.

    **Actions** (`pits`). Action i empties pit i, from the left of the player to move. The text is
    the number of the pit, from 1.

    **Observation.** float32 [2, pits + 2, 2 * pits + 5]. The lower row holds the pits of the player
    to move from left to right. The upper row holds the opponent's pits, each above the opposite
    pit. The first column is the opponent's store and the last column the store of the player to
    move, over both rows.

    - plane 0: seeds in a store, as a fraction of a side's seeds at the start
    - plane 1: seeds in a pit, as a fraction of a lap (2 * pits + 1)
    - plane 2: pits whose last seed falls into their owner's store
    - planes 3 to 2 * pits + 3: pits with 0, 1, ..., 2 * pits seeds
    - plane 2 * pits + 4: pits with more seeds

    **Sources.** G. Irving, J. Donkers and J. Uiterwijk, Solving Kalah, ICGA Journal 23(3), 2000,
    for the rules with `empty_capture`. OpenSpiel's `mancala` for the rules without it; it numbers
    the pits 1 to 6 and 8 to 13.
    """

    pits: int = 6
    seeds: int = 4
    empty_capture: bool = False

    def __post_init__(self):
        require_range("mancala", "pits", self.pits, 1, 10)
        require_range("mancala", "seeds", self.seeds, 1, 10)
        require_flag("mancala", "empty_capture", self.empty_capture)

    player_names = ("the lower row", "the upper row")
    unobserved = ("player",)

    @property
    def name(self) -> str:
        is_default = (self.pits, self.seeds) == (Mancala.pits, Mancala.seeds)
        return "mancala" if is_default else f"mancala_{self.pits}x{self.seeds}"

    @property
    def num_actions(self) -> int:
        return self.pits

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (2, self.pits + 2, 2 * self.pits + 5)

    @property
    def max_steps(self) -> int:
        # A weight that every move decreases bounds the number of moves. Let the distance of a seed
        # be the number of pits to the right of its pit on that side. The distances of all pits sum
        # to pits * (pits - 1). A seed in a pit weighs its distance plus that sum plus one; a seed
        # in a store weighs nothing. A move that reaches no store decreases the weight of each seed
        # that it moves. A move that puts k seeds into the store loses k times (sum + 1) there, and
        # the seeds sown after each of the k add at most the sum. So every move loses at least one.
        lap = self.pits * (self.pits - 1)
        return self._total * (lap + 1) + self.seeds * lap

    def init(self, key: Array | None = None) -> MancalaState:
        side = jnp.where(np.arange(self.pits + 1) < self.pits, np.uint8(self.seeds), np.uint8(0))
        return MancalaState(
            own=side,
            other=side,
            player=jnp.zeros((), jnp.uint8),
            forfeited=jnp.zeros((), jnp.bool_),
        )

    def step(self, state: MancalaState, action: Array) -> MancalaState:
        pits, lap = self.pits, 2 * self.pits + 1
        action = jnp.asarray(action, jnp.int32)
        pit = jnp.clip(action, 0, pits - 1)
        sown = state.own[pit].astype(jnp.int32)
        legal = (action == pit) & (sown > 0)

        # The holes that receive seeds: the mover's pits and store, then the opponent's pits.
        hole = np.arange(lap)
        holes = jnp.append(state.own, state.other[:pits]).astype(jnp.int32)
        ahead = jnp.where(hole > pit, 0, lap) + hole - pit - 1  # holes between the pit and each
        holes = jnp.where(hole == pit, 0, holes) + sown // lap
        holes += (ahead < sown % lap).astype(jnp.int32)
        last = (pit + sown) % lap

        opposite = 2 * pits - last
        facing = holes[jnp.clip(opposite, 0, lap - 1)]
        captures = (last < pits) & (holes[last] == 1)
        if not self.empty_capture:
            captures &= facing > 0
        holes = jnp.where(captures & ((hole == last) | (hole == opposite)), 0, holes)
        holes += jnp.where(captures & (hole == pits), 1 + facing, 0)

        own, other = holes[:pits], holes[pits + 1 :]
        ends = (jnp.sum(own) == 0) | (jnp.sum(other) == 0)
        own = self._collect(own, holes[pits], ends)
        other = self._collect(other, state.other[pits], ends)
        again = last == pits
        return settle(
            state,
            over=self.is_terminal(state),
            legal=legal,
            moved=MancalaState(
                own=jnp.where(again, own, other),
                other=jnp.where(again, other, own),
                player=jnp.where(again, state.player, 1 - state.player),
                forfeited=state.forfeited,
            ),
            forfeited=dataclasses.replace(state, forfeited=jnp.ones_like(state.forfeited)),
        )

    def current_player(self, state: MancalaState) -> Array:
        return state.player.astype(jnp.int32)

    def legal_action_mask(self, state: MancalaState) -> Array:
        return (state.own[: self.pits] > 0) & ~state.forfeited

    def is_terminal(self, state: MancalaState) -> Array:
        # At the end all seeds are in the stores.
        return state.forfeited | jnp.all(state.own[: self.pits] == 0)

    def returns(self, state: MancalaState) -> Array:
        first, second = self._by_player(state)[:, self.pits]
        result = jnp.where(self.is_terminal(state), jnp.sign(first - second), 0)
        return returns_of(jnp.where(state.forfeited, 2 * self.current_player(state) - 1, result))

    def score(self, state: MancalaState) -> Array:
        """Returns the number of seeds in each player's store, float32 [2]."""
        return self._by_player(state)[:, self.pits].astype(jnp.float32)

    def observe(self, state: MancalaState) -> Array:
        pits, lap = self.pits, 2 * self.pits + 1
        column = np.arange(pits + 2)
        stores = jnp.where(column == 0, state.other[pits], np.uint8(0))
        stores = jnp.where(column == pits + 1, state.own[pits], stores) / (pits * self.seeds)

        sides = jnp.stack([state.other[:pits][::-1], state.own[:pits]]).astype(jnp.int32)
        to_store = np.stack([np.arange(pits) + 1, pits - np.arange(pits)])
        again = (sides > 0) & (sides % lap == to_store)
        counts = jnp.minimum(sides, lap)[..., None] == np.arange(lap + 1)[None, None, :]
        planes = (sides / lap)[..., None], again[..., None], counts
        planes = jnp.concatenate([plane.astype(jnp.float32) for plane in planes], -1)
        planes = jnp.pad(planes, ((0, 0), (1, 1), (0, 0)))
        stores = jnp.broadcast_to(stores[None, :, None], (2, pits + 2, 1))
        return jnp.concatenate([stores, planes], -1).astype(jnp.float32)

    def observe_other(self, state: MancalaState) -> Array:
        return self.observe(state)[::-1, ::-1]

    @property
    def observation_bounds(self) -> tuple[float, float]:
        seeds = 2 * self.pits * self.seeds  # all in one pit, or in one store
        return 0.0, max(2.0, seeds / (2 * self.pits + 1))

    def action_to_string(self, state: MancalaState, action: int) -> str:
        return str(action + 1)

    def to_string(self, state: MancalaState) -> str:
        below, above = np.asarray(self._by_player(state)).tolist()
        pits = range(1, self.pits + 1)

        def line(numbers: Sequence[int]) -> str:
            return "    " + "".join(f"{number:>4}" for number in numbers)

        stores = f"{above[-1]:>4}{'':{4 * self.pits}}{below[-1]:>4}"
        pits_above, pits_below = line(above[-2::-1]), line(below[:-1])
        return "\n".join([line(pits[::-1]), pits_above, stores, pits_below, line(pits)])

    def svg_board(self) -> str:
        return _svg_board(self.pits, self._total)

    def view(self, state: MancalaState) -> Array:
        """Returns the codes of each hole: player 0's pits and store, then player 1's.

        The first code of a hole is 1 if it may be emptied now, otherwise 0. The second counts its
        seeds. The others are 1 for each place where a seed is drawn, and 0 for free places.

        Returns:
          int32 [2 * (pits + 1) * 26].
        """
        counts = self._by_player(state)[..., None]
        playable = jnp.pad(self.legal_action_mask(state), (0, 1))[None, :]
        playable &= (np.arange(2) == self.current_player(state))[:, None]
        places = counts > np.arange(_PLACES)[None, None, :]
        codes = playable[..., None], counts, places
        return jnp.concatenate([code.astype(jnp.int32) for code in codes], -1).reshape(-1)

    @property
    def _total(self) -> int:
        return 2 * self.pits * self.seeds

    def _collect(self, side: Array, store: Array, ends: Array) -> Array:
        """Returns a side's pits and store, uint8 [pits + 1]; at the end, all seeds in the store."""
        left = jnp.where(ends, jnp.sum(side), 0)
        return jnp.append(jnp.where(ends, 0, side), store.astype(jnp.int32) + left).astype(
            jnp.uint8
        )

    def _by_player(self, state: MancalaState) -> Array:
        """Returns the seeds of player 0 and of player 1, int32 [2, pits + 1]."""
        sides = jnp.stack([state.own, state.other]).astype(jnp.int32)
        return jnp.where(state.player == 0, sides, sides[::-1])


_PLACES = 24  # places for drawn seeds in a hole; the number next to it counts any more
_PARTS = 2 + _PLACES  # codes of a hole in `view`


def _svg_board(pits: int, total: int) -> str:
    size, end, top, height = 88, 114, 40, 240
    width, middle = 2 * end + pits * size, top + height / 2
    parts = [
        svg.element("rect", cls="board", x=0, y=top, width=width, height=height, rx=48),
        svg.element("line", cls="hinge", x1=end, y1=middle, x2=width - end, y2=middle),
    ]
    for player in range(2):
        side = 1 - 2 * player  # player 0 is at the bottom and sows to the right
        first = player * (pits + 1)
        for pit in range(pits):
            x, y = width / 2 + side * (pit - (pits - 1) / 2) * size, middle + side * 48
            content = [
                svg.element("circle", cls="hole", cx=x, cy=y, r=37),
                *_seeds(first + pit, x, y, stretch=1),
                _number(first + pit, x, y + side * 54, total),
            ]
            cell = (first + pit) * _PARTS
            parts.append(svg.element("g", content, cls="pit", data_cell=cell, data_action=pit))
            parts.append(svg.label(pit + 1, x, middle + side * (height / 2 + 16)))
        x = width / 2 + side * (width / 2 - 60)
        area = {"x": x - 36, "y": middle - 88, "width": 72, "height": 176, "rx": 36}
        content = [
            svg.element("rect", cls="hole", **area),
            *_seeds(first + pits, x, middle, stretch=2),
            _number(first + pits, x, middle + side * 104, total),
        ]
        parts.append(svg.element("g", content, data_cell=(first + pits) * _PARTS))
    # The style sheet shows only the number that equals the code of the cell.
    numbers = {f'[data-code="{n}"] > .n{n}': "display: inline" for n in range(total + 1)}
    return svg.document("Mancala", width, height + 2 * top, _STYLE | numbers, parts)


def _number(hole: int, x: float, y: float, total: int) -> str:
    place = {"x": x, "y": y + 7}
    texts = [svg.element("text", str(n), cls=f"number n{n}", **place) for n in range(total + 1)]
    return svg.element("g", texts, data_cell=hole * _PARTS + 1)


def _seeds(hole: int, x: float, y: float, *, stretch: float) -> list[str]:
    seeds = []
    for place in range(_PLACES):
        # Each seed is turned by the golden angle, as in a sunflower: any number is spread evenly.
        distance, turn = 6.3 * math.sqrt(place + 0.4), place * math.pi * (3 - math.sqrt(5))
        spot = {
            "cx": round(x + distance * math.cos(turn), 2),
            "cy": round(y + stretch * distance * math.sin(turn), 2),
        }
        cell = hole * _PARTS + 2 + place
        seeds.append(svg.element("circle", cls=f"seed s{place % 3}", r=5.6, data_cell=cell, **spot))
    return seeds


_STYLE = {
    ".board": "fill: #b98b56; stroke: #94683a; stroke-width: 3",
    ".hinge": "stroke: #a4773f; stroke-width: 2",
    ".hole": "fill: #8a5f34; stroke: #74502b; stroke-width: 3",
    '.pit[data-code="0"]': "pointer-events: none",
    '.pit[data-code="1"] .hole': "stroke: #ffe3a3",
    ".seed": "display: none; stroke-width: 1",
    '.seed[data-code="1"]': "display: inline",
    ".s0": "fill: #efe6d2; stroke: #b5a98c",
    ".s1": "fill: #d9805f; stroke: #a2543a",
    ".s2": "fill: #93b3a7; stroke: #5f8376",
    ".number": "fill: #fff6e3; font-size: 23px; display: none",
}
