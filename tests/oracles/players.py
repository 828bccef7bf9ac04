"""Players with fixed, known behaviour."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from azjax_envs.game import legal_actions

from azjax.players.base import Analysis
from azjax.pytrees import take
from azjax.types import static


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Lowest:
    """A player that always plays the lowest legal action."""

    game: object = static()
    name = "lowest"
    jittable = True

    def __call__(self, key, states):
        return jnp.argmax(jax.vmap(self.game.legal_action_mask)(states), axis=-1)


@dataclasses.dataclass(frozen=True)
class HostLowest:
    """`Lowest` on the host, which JAX cannot trace; `asked` lists the batch size of each call."""

    game: object
    asked: list
    name = "host-lowest"
    jittable = False

    def __call__(self, key, states):
        states = jax.device_get(states)
        self.asked.append(len(jax.tree.leaves(states)[0]))
        # One by one, because sizes differ from call to call, and each would be compiled.
        return [min(legal_actions(self.game, take(states, i))) for i in range(self.asked[-1])]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Except:
    """A player that plays like `player`, except for `action` in a single position."""

    game: object = static()
    player: object
    position: object  # one unbatched state
    action: jax.Array  # int32 []
    name = "except"
    jittable = True

    def __call__(self, key, states):
        same = jax.tree.map(lambda xs, x: xs == x[None], states, self.position)
        same = [leaf.reshape(len(leaf), -1).all(-1) for leaf in jax.tree.leaves(same)]
        return jnp.where(
            functools.reduce(jnp.logical_and, same), self.action, self.player(key, states)
        )


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class SureLowest:
    """`Lowest` with an analysis: it visits its move 9 times and gives it the value `believes`."""

    game: object = static()
    believes: float = static(default=0.5)
    name = "lowest"
    jittable = True

    def __call__(self, key, states):
        return self.analyse(key, states).action

    def analyse(self, key, states):
        mask = jax.vmap(self.game.legal_action_mask)(states)
        action = jnp.argmax(mask, axis=-1).astype(jnp.int32)
        best = jax.nn.one_hot(action, mask.shape[-1])
        count = jnp.maximum(jnp.sum(mask, axis=-1, keepdims=True), 1)
        return Analysis(
            action=action,
            visits=(9 * best).astype(jnp.int32),
            policy=best,
            prior=mask / count,
            action_values=self.believes * best,
            value=jnp.full(action.shape, self.believes),
        )
