import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from azjax.exact.codec import Codec, join, split


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["a", "b", "c", "d", "e"], meta_fields=[]
)
@dataclasses.dataclass(frozen=True)
class Mixed:
    a: jax.Array
    b: jax.Array
    c: jax.Array
    d: jax.Array
    e: jax.Array


@dataclasses.dataclass(frozen=True)
class MixedGame:
    """A game with nothing but a start, which is all that the codec needs."""

    def init(self, key=None):
        return Mixed(
            a=jnp.arange(11) % 3 == 0,
            b=jnp.array([[-1, 2, 127]], jnp.int8),
            c=jnp.array(-70000, jnp.int32),
            d=jnp.array([1, 65535, 9], jnp.uint16),
            e=jnp.array([0.5, -2.0], jnp.float32),
        )


def test_every_dtype_survives_packing():
    state = MixedGame().init()
    codec = Codec(MixedGame())
    words = codec.pack(state)
    assert words.shape == (codec.num_words,) == (6,)  # 2 + 3 + 4 + 6 + 8 bytes
    jax.tree.map(np.testing.assert_array_equal, codec.unpack(words), state)


def test_words_and_keys_differ_if_any_leaf_differs():
    state, codec = MixedGame().init(), Codec(MixedGame())
    others = [state]
    for field in ("a", "b", "c", "d", "e"):
        leaf = getattr(state, field)
        changed = leaf.ravel().at[-1].set(~leaf.ravel()[-1] if field == "a" else 5)
        others.append(dataclasses.replace(state, **{field: changed.reshape(leaf.shape)}))
    words = [codec.pack(other) for other in others]
    keys = [int(join(codec.key(row))) for row in words]
    assert len({row.tobytes() for row in map(np.asarray, words)}) == len(set(keys)) == 6


def test_split_undoes_join():
    words = np.array([[1, 2], [0xFFFFFFFF, 0], [0, 0xFFFFFFFF]], np.uint32)
    np.testing.assert_array_equal(split(join(words)), words)
    assert list(join(words)) == [(1 << 32) + 2, 0xFFFFFFFF << 32, 0xFFFFFFFF]
