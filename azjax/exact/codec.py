"""A state as a short row of words and a 64-bit key: what the solver stores, sorts and looks up."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game


@dataclasses.dataclass(frozen=True)
class Codec:
    """Packs one state of `game` into uint32 words and back. All methods are pure and unbatched.

    Booleans take one bit, everything else its own bytes, so two states are equal exactly when
    their words are. `salt` chooses the hash of `key`; another salt separates two states that
    happened to share a key.
    """

    game: Game
    salt: int = 0

    @property
    def num_words(self) -> int:
        return -(-sum(_num_bytes(leaf) for leaf in _leaves(self.game)[0]) // 4)

    def pack(self, state) -> jax.Array:
        """State -> uint32 [num_words]."""
        data = jnp.concatenate([_to_bytes(jnp.asarray(leaf)) for leaf in jax.tree.leaves(state)])
        data = jnp.pad(data, (0, 4 * self.num_words - data.size))
        return jax.lax.bitcast_convert_type(data.reshape(-1, 4), jnp.uint32)

    def unpack(self, words: jax.Array):
        """uint32 [num_words] -> state; the inverse of `pack`."""
        data = jax.lax.bitcast_convert_type(words, jnp.uint8).reshape(-1)
        specs, structure = _leaves(self.game)
        leaves, start = [], 0
        for spec in specs:
            stop = start + _num_bytes(spec)
            leaves.append(_from_bytes(data[start:stop], spec))
            start = stop
        return jax.tree.unflatten(structure, leaves)

    def key(self, words: jax.Array) -> jax.Array:
        """uint32 [num_words] -> uint32 [2], (high, low): a 64-bit hash.

        Each word is mixed with a constant of its own place and the results are added, as in
        tabulation hashing; the finaliser is Wellons' `lowbias32`.
        """
        places = np.arange(1, self.num_words + 1, dtype=np.uint32)
        halves = []
        for half in (1, 2):
            seed = np.uint32((0x9E3779B9 * (2 * self.salt + half)) & 0xFFFFFFFF)
            constants = _mix(places * np.uint32(0x85EBCA6B) ^ seed)
            mixed = jnp.sum(_mix(words ^ constants), dtype=jnp.uint32)
            halves.append(_mix(mixed + seed))
        return jnp.stack(halves)


def join(keys) -> np.ndarray:
    """uint32 [..., 2] -> uint64 [...] on the host."""
    keys = np.asarray(keys).astype(np.uint64)
    return keys[..., 0] << np.uint64(32) | keys[..., 1]


def split(keys: np.ndarray) -> np.ndarray:
    """uint64 [...] -> uint32 [..., 2]; the inverse of `join`."""
    return np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], -1).astype(np.uint32)


def _mix(x):
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x21F0AAAD)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x735A2D97)
    return x ^ (x >> np.uint32(15))


@functools.lru_cache(maxsize=64)
def _leaves(game: Game):
    return jax.tree.flatten(jax.eval_shape(game.init))


def _num_bytes(leaf) -> int:
    size = int(np.prod(leaf.shape, dtype=np.int64))
    return -(-size // 8) if leaf.dtype == jnp.bool_ else size * leaf.dtype.itemsize


def _to_bytes(leaf: jax.Array) -> jax.Array:
    if leaf.dtype == jnp.bool_:
        return jnp.packbits(leaf.reshape(-1))
    return jax.lax.bitcast_convert_type(leaf, jnp.uint8).reshape(-1)


def _from_bytes(data: jax.Array, spec) -> jax.Array:
    size = int(np.prod(spec.shape, dtype=np.int64))
    if spec.dtype == jnp.bool_:
        return jnp.unpackbits(data, count=size).astype(jnp.bool_).reshape(spec.shape)
    if spec.dtype.itemsize > 1:
        data = data.reshape(size, spec.dtype.itemsize)
    return jax.lax.bitcast_convert_type(data, spec.dtype).reshape(spec.shape)
