"""States as short rows of words and 64-bit keys, which the solver stores, sorts and looks up."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.types import Array, State


@dataclasses.dataclass(frozen=True)
class Codec:
    """A codec between states of `game` and uint32 words. All methods are pure and unbatched.

    Booleans take one bit, everything else its own bytes, so two states are equal exactly when
    their words are.
    """

    game: Game

    @property
    def num_words(self) -> int:
        """Number of words of a state."""
        return -(-sum(_num_bytes(leaf) for leaf in _leaves(self.game)[0]) // 4)

    def pack(self, state: State) -> Array:
        """Packs one state into words, uint32 [num_words]."""
        data = jnp.concatenate([_to_bytes(jnp.asarray(leaf)) for leaf in jax.tree.leaves(state)])
        data = jnp.pad(data, (0, 4 * self.num_words - data.size))
        return jax.lax.bitcast_convert_type(data.reshape(-1, 4), jnp.uint32)

    def unpack(self, words: Array) -> State:
        """Unpacks words, uint32 [num_words], into a state: the inverse of `pack`."""
        data = jax.lax.bitcast_convert_type(words, jnp.uint8).reshape(-1)
        specs, structure = _leaves(self.game)
        leaves, start = [], 0
        for spec in specs:
            stop = start + _num_bytes(spec)
            leaves.append(_from_bytes(data[start:stop], spec))
            start = stop
        return jax.tree.unflatten(structure, leaves)

    def key(self, words: Array) -> Array:
        """Hashes words, uint32 [num_words], to 64 bits: uint32 [2], the high and the low half.

        Each word is mixed with a constant of its position and the results are added, as in
        tabulation hashing. The finaliser is Wellons' `lowbias32`.
        """
        places = np.arange(1, self.num_words + 1, dtype=np.uint32)
        halves = []
        for half in (1, 2):
            seed = np.uint32((0x9E3779B9 * half) & 0xFFFFFFFF)
            constants = _mix(places * np.uint32(0x85EBCA6B) ^ seed)
            mixed = jnp.sum(_mix(words ^ constants), dtype=jnp.uint32)
            halves.append(_mix(mixed + seed))
        return jnp.stack(halves)


@functools.partial(jax.jit, static_argnums=0)
def pack_all(codec: Codec, states: State) -> tuple[Array, Array]:
    """Returns the words, uint32 [B, num_words], and the keys, uint32 [B, 2], of states [B, ...]."""
    words = jax.vmap(codec.pack)(states)
    return words, jax.vmap(codec.key)(words)


def join(keys: Array | np.ndarray) -> np.ndarray:
    """Joins the halves of keys, uint32 [..., 2], to uint64 [...] on the host."""
    keys = np.asarray(keys).astype(np.uint64)
    return keys[..., 0] << np.uint64(32) | keys[..., 1]


def split(keys: np.ndarray) -> np.ndarray:
    """Splits keys, uint64 [...], into halves, uint32 [..., 2]: the inverse of `join`."""
    return np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], -1).astype(np.uint32)


def _mix(x: Any) -> Any:
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x21F0AAAD)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x735A2D97)
    return x ^ (x >> np.uint32(15))


@functools.lru_cache(maxsize=64)
def _leaves(game: Game) -> tuple[list[jax.ShapeDtypeStruct], jax.tree_util.PyTreeDef]:
    return jax.tree.flatten(jax.eval_shape(game.init))


def _num_bytes(leaf: jax.ShapeDtypeStruct) -> int:
    size = int(np.prod(leaf.shape, dtype=np.int64))
    return -(-size // 8) if leaf.dtype == jnp.bool_ else size * leaf.dtype.itemsize


def _to_bytes(leaf: Array) -> Array:
    if leaf.dtype == jnp.bool_:
        return jnp.packbits(leaf.reshape(-1))
    return jax.lax.bitcast_convert_type(leaf, jnp.uint8).reshape(-1)


def _from_bytes(data: Array, spec: jax.ShapeDtypeStruct) -> Array:
    size = int(np.prod(spec.shape, dtype=np.int64))
    if spec.dtype == jnp.bool_:
        return jnp.unpackbits(data, count=size).astype(jnp.bool_).reshape(spec.shape)
    if spec.dtype.itemsize > 1:
        data = data.reshape(size, spec.dtype.itemsize)
    return jax.lax.bitcast_convert_type(data, spec.dtype).reshape(spec.shape)
