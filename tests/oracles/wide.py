"""A game with any number of actions, as a cheap substitute for chess in tests of size."""

import dataclasses

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class WideState:
    history: jax.Array  # uint32 [words], the newest first
    plies: jax.Array  # int32 []
    player: jax.Array  # int32 []
    result: jax.Array  # int32 [], the result of player 0, 2 before the end


@dataclasses.dataclass(frozen=True)
class Wide:
    """A game in which every move mixes its action into a number that decides everything else.

    About `choices` of the actions are legal. One position in twelve ends the game. After one move
    in four, the same player moves again. `words` sets the size of the state.
    """

    num_actions: int = 120
    choices: int = 12
    words: int = 4
    max_steps: int = 16

    observation_shape = (5, 5, 1)
    num_symmetries = 1

    @property
    def name(self) -> str:
        return f"wide_{self.num_actions}"

    def init(self, key=None):
        history = jnp.ones(self.words, jnp.uint32)
        return WideState(history, jnp.int32(0), jnp.int32(0), jnp.int32(2))

    def legal_action_mask(self, state):
        lots = _mix(jnp.arange(self.num_actions, dtype=jnp.uint32) + _mix(state.history[0]))
        share = min(self.choices / self.num_actions, 1.0)
        chosen = (lots < jnp.uint32(share * (2**32 - 1))) | (lots == lots.min())
        return chosen & ~self.is_terminal(state)

    def is_terminal(self, state):
        return state.result != 2

    def current_player(self, state):
        return state.player

    def step(self, state, action):
        actions = jnp.arange(self.num_actions)
        legal = jnp.any(self.legal_action_mask(state) & (actions == action))
        number = _mix(state.history[0] + _mix(action.astype(jnp.uint32) + 1))
        plies = state.plies + 1
        ends = (number % 12 == 0) | (plies >= self.max_steps)
        result = jnp.where(ends, (number >> 8).astype(jnp.int32) % 3 - 1, 2)
        moved = WideState(
            history=jnp.roll(state.history, 1).at[0].set(number),
            plies=plies,
            player=jnp.where((number >> 4) % 4 == 0, state.player, 1 - state.player),
            result=jnp.where(legal, result, 2 * state.player - 1),
        )
        over = self.is_terminal(state)
        return jax.tree.map(lambda x, y: jnp.where(over, x, y), state, moved)

    def returns(self, state):
        result = jnp.where(self.is_terminal(state), state.result, 0).astype(jnp.float32)
        return jnp.stack([result, -result])

    def observe(self, state):
        lots = _mix(jnp.arange(25, dtype=jnp.uint32) + _mix(state.history[0]))
        return (lots % 5 == 0).astype(jnp.float32).reshape(self.observation_shape)


def _mix(x):
    """Returns the hash of uint32 numbers by the finaliser of MurmurHash3."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)
