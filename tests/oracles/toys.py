"""Tiny games with known values, which define only what a search or a solver needs."""

import dataclasses

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class HeapState:
    left: jax.Array  # int8 []
    player: jax.Array  # int32 []


@dataclasses.dataclass(frozen=True)
class Heap:
    """A heap from which the players take one or two in turn; the player who takes the last wins.

    The player to move loses exactly if `left` is a multiple of three. Paths of different lengths
    reach the same state: 1+1+1+1 and 2+2.
    """

    size: int = 10
    num_actions = 2

    @property
    def name(self) -> str:
        return f"heap_{self.size}"

    @property
    def max_steps(self) -> int:
        return self.size

    def init(self, key=None):
        return HeapState(jnp.asarray(self.size, jnp.int8), jnp.zeros((), jnp.int32))

    def legal_action_mask(self, state):
        return jnp.arange(1, 3) <= state.left

    def is_terminal(self, state):
        return state.left <= 0

    def current_player(self, state):
        return state.player

    def step(self, state, action):
        legal = self.legal_action_mask(state)[jnp.clip(action, 0, 1)]
        left = jnp.where(legal, state.left - action - 1, -1).astype(jnp.int8)
        # At the end the turn passes, so the player to move has lost; after a forfeit it stays.
        moved = HeapState(left, jnp.where(legal, 1 - state.player, state.player))
        over = self.is_terminal(state)
        return jax.tree.map(lambda x, y: jnp.where(over, x, y), state, moved)

    def returns(self, state):
        sign = jnp.where(self.is_terminal(state), 2.0 * state.player - 1.0, 0.0)
        return jnp.stack([sign, -sign])


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class RingState:
    place: jax.Array  # int32 []
    ended: jax.Array  # bool []


@dataclasses.dataclass(frozen=True)
class Ring:
    """A walk around a ring of four places; a stop is a draw. The game need not end."""

    name = "ring"
    num_actions = 2
    max_steps = 1000

    def init(self, key=None):
        return RingState(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.bool_))

    def legal_action_mask(self, state):
        return jnp.broadcast_to(~state.ended, (2,))

    def is_terminal(self, state):
        return state.ended

    def current_player(self, state):
        return state.place % 2

    def step(self, state, action):
        walked = RingState((state.place + 1) % 4, state.ended)
        stopped = RingState(state.place, jnp.ones((), jnp.bool_))
        walking = (action == 0) & ~state.ended
        return jax.tree.map(lambda x, y: jnp.where(walking, x, y), walked, stopped)

    def returns(self, state):
        return jnp.zeros(2)
