"""Mancala in its best known form, Kalah, with any number of pits and seeds."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.game import Symmetries, find_legal, require_range, returns_of, settle


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class MancalaState:
    own: Array  # uint8 [pits + 1], seeds of the player to move: pits from their left, then store
    other: Array  # uint8 [pits + 1], seeds of the opponent, from the opponent's left
    player: Array  # uint8 [], to move
    forfeited: Array  # bool [], the player to move has lost by an illegal action


@dataclasses.dataclass(frozen=True)
class Mancala:
    """Kalah: sow the seeds of a pit; the player with more seeds at the end wins.

    Each player has `pits` pits with `seeds` seeds each, and a store to the right of them. The
    player to move empties one of their pits and sows its seeds one by one to the right: through
    their own pits, into their own store, through the opponent's pits from the opponent's left, past
    the opponent's store, and on into their own pits, the emptied one included.

    - If the last seed falls into their own store, they move again.
    - If it falls into a pit of their own that was empty (a full lap's does: the pit it left), it
      goes to their store with all seeds of the opposite pit, provided there are any. With
      `empty_capture` it goes there even if there are none.
    - The game ends when either side's pits are empty after a move; each player then puts the seeds
      left in their own pits into their store. Equal numbers draw. `score` counts the stores.

    Action i is pit i, from the mover's left; in text its number, from 1.

    Observation [2, pits + 2, 2 * pits + 5], the board from the mover's side: the mover's pits below
    from left to right, the opponent's above, each opposite to its counterpart, and in the first and
    last column the opponent's store and the mover's, over both rows. Planes: seeds in a store, as a
    fraction of a side's seeds at the start; seeds in a pit, as a fraction of a lap, 2 * pits + 1;
    pits whose last seed falls into their owner's store; then pits with 0, 1, ... 2 * pits seeds;
    and pits with more.

    Rules as in G. Irving, J. Donkers and J. Uiterwijk, Solving Kalah, ICGA Journal 23(3), 2000,
    which has `empty_capture`; without it, those of OpenSpiel's `mancala`, which numbers the pits
    1 to 6 and 8 to 13.
    """

    pits: int = 6
    seeds: int = 4
    empty_capture: bool = False

    def __post_init__(self):
        require_range("mancala", "pits", self.pits, 1, 10)
        require_range("mancala", "seeds", self.seeds, 1, 10)
        if not isinstance(self.empty_capture, bool):
            raise ValueError(
                f"mancala: empty_capture must be true or false, not {self.empty_capture!r}"
            )

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
        # Let each seed in a pit weigh the number of pits to the right of it on its side, plus one
        # more than a whole lap's such numbers, which sum up to pits * (pits - 1). A move that
        # reaches no store takes weight off each seed it moves. A move that puts k into the store
        # takes k times that sum and k more away there, and the seeds that it sows after each of
        # the k add at most the sum. So every move takes off at least one.
        lap = self.pits * (self.pits - 1)
        return self._total * (lap + 1) + self.seeds * lap

    @property
    def num_symmetries(self) -> int:
        return 1

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

        # The holes that are sown in: the mover's pits and store, then the opponent's pits.
        hole = np.arange(lap)
        holes = jnp.append(state.own, state.other[:pits]).astype(jnp.int32)
        ahead = jnp.where(hole > pit, 0, lap) + hole - pit - 1  # holes between the pit and each
        holes = jnp.where(hole == pit, 0, holes) + sown // lap + (ahead < sown % lap)
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
        # At the end the seeds are all in the stores.
        return state.forfeited | jnp.all(state.own[: self.pits] == 0)

    def returns(self, state: MancalaState) -> Array:
        first, second = self._by_player(state)[:, self.pits]
        result = jnp.where(self.is_terminal(state), jnp.sign(first - second), 0)
        return returns_of(jnp.where(state.forfeited, 2 * self.current_player(state) - 1, result))

    def score(self, state: MancalaState) -> Array:
        """Returns the seeds in each player's store, float32 [2]."""
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
        planes = jnp.concatenate([(sides / lap)[..., None], again[..., None], counts], -1)
        planes = jnp.pad(planes, ((0, 0), (1, 1), (0, 0)))
        stores = jnp.broadcast_to(stores[None, :, None], (2, pits + 2, 1))
        return jnp.concatenate([stores, planes], -1).astype(jnp.float32)

    def symmetries(self) -> Symmetries:
        return Symmetries(
            cells=np.arange(2 * (self.pits + 2), dtype=np.int32)[None],
            actions=np.arange(self.pits, dtype=np.int32)[None],
        )

    def action_to_string(self, state: MancalaState, action: int) -> str:
        return str(action + 1)

    def string_to_action(self, state: MancalaState, text: str) -> int:
        return find_legal(self, state, text)

    def to_string(self, state: MancalaState) -> str:
        below, above = np.asarray(self._by_player(state)).tolist()
        names = [f"{pit + 1:>4}" for pit in range(self.pits)]

        def line(parts: list[str]) -> str:
            return "    " + "".join(parts)

        return "\n".join(
            [
                line(names[::-1]),
                line([f"{count:>4}" for count in above[-2::-1]]),
                f"{above[-1]:>4}{'':{4 * self.pits}}{below[-1]:>4}",
                line([f"{count:>4}" for count in below[:-1]]),
                line(names),
            ]
        )

    def svg_board(self) -> str:
        return _svg_board(self.pits, self._total)

    def view(self, state: MancalaState) -> Array:
        """For each hole, player 0's pits and store and then player 1's: 1 if it may be emptied
        now, else 0; the number of its seeds; and for each of the places where seeds are drawn, 1 if
        it is taken, else 0."""
        counts = self._by_player(state)[..., None]
        playable = jnp.pad(self.legal_action_mask(state), (0, 1))[None, :]
        playable &= (np.arange(2) == state.player)[:, None]
        places = counts > np.arange(_PLACES)[None, None, :]
        return jnp.concatenate([playable[..., None], counts, places], -1).reshape(-1)

    @property
    def _total(self) -> int:
        return 2 * self.pits * self.seeds

    def _collect(self, side: Array, store: Array, ends: Array) -> Array:
        """Returns a side's pits and store, uint8 [pits + 1]; at the end, all is in the store."""
        left = jnp.where(ends, jnp.sum(side), 0)
        return jnp.append(jnp.where(ends, 0, side), store + left).astype(jnp.uint8)

    def _by_player(self, state: MancalaState) -> Array:
        """int32 [2, pits + 1], the seeds of player 0 and of player 1."""
        sides = jnp.stack([state.own, state.other]).astype(jnp.int32)
        return jnp.where(state.player == 0, sides, sides[::-1])


_PLACES = 24  # where seeds are drawn in a hole; its number tells of more
_PARTS = 2 + _PLACES  # cells of a hole, as `view` has them


def _svg_board(pits: int, total: int) -> str:
    size, end, top, height = 88, 114, 40, 240
    width, middle = 2 * end + pits * size, top + height / 2
    parts = [
        svg.element("rect", cls="board", x=0, y=top, width=width, height=height, rx=48),
        svg.element("line", cls="hinge", x1=end, y1=middle, x2=width - end, y2=middle),
    ]
    for player in range(2):
        side = 1 - 2 * player  # player 0 sits below and sows to the right
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
    # The style shows the number that is the cell's code.
    numbers = {f'[data-code="{n}"] > .n{n}': "display: inline" for n in range(total + 1)}
    return svg.document("Mancala", width, height + 2 * top, _STYLE | numbers, parts)


def _number(hole: int, x: float, y: float, total: int) -> str:
    place = {"x": x, "y": y + 5}
    texts = [svg.element("text", str(n), cls=f"number n{n}", **place) for n in range(total + 1)]
    return svg.element("g", texts, data_cell=hole * _PARTS + 1)


def _seeds(hole: int, x: float, y: float, *, stretch: float) -> list[str]:
    seeds = []
    for place in range(_PLACES):
        # Turned by the golden angle each, as in a sunflower, so that any number lies evenly.
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
    ".number": "fill: #fff6e3; font-size: 15px; display: none",
}
