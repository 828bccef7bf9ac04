"""Models in ONNX Runtime give the same results as the JAX functions that they were made from."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from azjax_envs.xla_cpu import fusion_barrier, reshape_barrier
from jax import lax

from azjax.onnx_export.convert import UnsupportedPrimitive, to_onnx

onnxruntime = pytest.importorskip("onnxruntime")

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
EDGES = (
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    15,
    31,
    32,
    33,
    100,
    127,
    128,
    255,
    2**15,
    2**31 - 1,
    2**31,
    2**32 - 1,
)


def converted(function, *examples):
    """Returns the function as ONNX Runtime computes it: from numpy arrays to a list of them."""
    inputs = [f"in_{i}" for i in range(len(examples))]
    outputs = [f"out_{i}" for i in range(len(jax.eval_shape(function, *examples)))]
    model = to_onnx(function, *examples, inputs=inputs, outputs=outputs)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda *arrays: session.run(outputs, dict(zip(inputs, arrays, strict=True)))


def assert_same(function, *cases):
    """Checks that results, shapes and dtypes are equal for each case (a tuple of arguments)."""
    examples = [np.asarray(x) for x in cases[0]]
    run, expected = converted(function, *examples), jax.jit(function)
    for case in cases:
        arrays = [np.asarray(x) for x in case]
        for found, right in zip(run(*arrays), expected(*arrays), strict=True):
            right = np.asarray(right)
            assert (found.dtype, found.shape) == (right.dtype, right.shape)
            if right.dtype.kind == "f":
                np.testing.assert_allclose(found, right, rtol=2e-6, atol=1e-6)
            else:
                np.testing.assert_array_equal(found, right)


def pairs(dtype):
    """Returns all pairs of numbers at which arithmetic may go wrong, as two arrays."""
    numbers = np.array(EDGES, np.uint64).astype(dtype)
    numbers = np.unique(np.concatenate([numbers, np.negative(numbers)]))
    left, right = zip(*itertools.product(numbers, repeat=2), strict=True)
    return np.array(left, dtype), np.array(right, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_shift_and_divide_as_xla_does(dtype):
    bits = np.iinfo(dtype).bits

    def function(x, y):
        inside = jnp.where((y >= 0) & (y < bits), y, 3)
        results = [x + y, x - y, x * y, x & y, x | y, x ^ y, ~x, jnp.maximum(x, y)]
        results += [lax.shift_left(x, y), lax.shift_right_logical(x, y)]
        results += [lax.shift_right_arithmetic(x, inside), lax.population_count(x), lax.clz(x)]
        # The one quotient without a value: the smallest number divided by -1.
        least = (x == jnp.iinfo(dtype).min) & (y == jnp.asarray(-1).astype(dtype)) & (x != 0)
        y = jnp.where(least, 1, y)
        results += [lax.div(x, y), lax.rem(x, y), x // 7, x % 5, jnp.minimum(x, y), jnp.sign(x)]
        results += [x == y, x != y, x < y, x <= y, x > y, x >= y, jnp.where(x < y, x, y)]
        return [*results, lax.clamp(np.asarray(1, dtype), x, np.asarray(100, dtype)), x << 3]

    assert_same(function, pairs(dtype))


def test_numbers_of_64_bits():
    edges = [n + d for n in (*EDGES, 2**33, 2**62, 2**63, 2**64 - 64) for d in (0, 63)]
    numbers = np.unique(np.array(edges, np.uint64))
    x, y = map(np.array, zip(*itertools.product(numbers, repeat=2), strict=True))

    def of_both(x, y):
        results = [x + y, x - y, x * y, x & y, x | y, x ^ y, ~x, lax.population_count(x)]
        results += [lax.shift_left(x, y), lax.shift_right_logical(x, y), x == y, x != y]
        results += [lax.shift_left(x, y & 63), x << 63]
        results += [lax.shift_right_logical(x, np.asarray(n, x.dtype)) for n in (0, 1, 63, 64)]
        results += [x < y, x <= y, x > y, x >= y, jnp.where(x < y, x, y), jnp.maximum(x, y)]
        return [*results, jnp.sum(x), jnp.bitwise_or.reduce(x), *(x.astype(t) for t in INTEGERS)]

    def of_unsigned(x, y):
        small = x.astype(jnp.uint32)
        return [
            *of_both(x, y & 127),
            small.astype(x.dtype),
            small.astype(jnp.int32).astype(x.dtype),
        ]

    def of_signed(x, y):
        return [*of_both(x, y), lax.div(x, jnp.where(y == 0, 3, jnp.abs(y) | 1)), -x, jnp.sign(x)]

    with jax.enable_x64(True):
        assert_same(of_unsigned, (x, y))
        assert_same(of_signed, (x.astype(np.int64), y.astype(np.int64)))


@pytest.mark.parametrize("source", [*INTEGERS, "bool"])
def test_conversions_cut_to_the_width(source):
    numbers = pairs("uint32")[0] > 3 if source == "bool" else pairs(source)[0]
    assert_same(lambda x: [x.astype(dtype) for dtype in (*INTEGERS, "bool")], (numbers,))
    assert_same(lambda x: [x.astype(jnp.float32)], (numbers,))


def test_booleans_and_floats():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)

    def logic(a, b):
        results = [a & b, a | b, a ^ b, ~a, a == b, a != b, a < b, jnp.where(a, b, ~b)]
        return [*results, jnp.any(a & b), jnp.all(a), jnp.sum(a), jnp.argmax(b), a.max(), a.min()]

    assert_same(logic, (a, b), (b, a), (a & ~a, b | True))

    def arithmetic(x, y):
        results = [x + y, x * y, x / y, jnp.exp(x), jnp.tanh(x), jax.nn.sigmoid(x), lax.rsqrt(y)]
        results += [jnp.sqrt(y), jnp.log(y), x**3, jnp.floor(x), jnp.sign(x), jnp.abs(x)]
        return [*results, jax.nn.softmax(x), jnp.isfinite(x / (x - x[0])), x.astype(jnp.int32)]

    assert_same(arithmetic, (np.float32([1.5, -2.25, 0.5]), np.float32([0.5, 2, 3])))


def test_reductions():
    x = np.random.default_rng(0).integers(0, 2**32, (3, 5, 4), np.uint32)

    def function(x):
        signed, small = x.astype(jnp.int32), x.astype(jnp.uint8)
        results = [f(x, axis=axis) for f in (jnp.sum, jnp.max, jnp.min) for axis in (0, 1, (0, 2))]
        results += [jnp.bitwise_xor.reduce(x, axis=1), jnp.bitwise_or.reduce(x, axis=2)]
        results += [jnp.bitwise_and.reduce(x, axis=0), jnp.cumsum(small, axis=1, dtype=jnp.uint8)]
        results += [jnp.argmax(signed, axis=1), jnp.argmin(x, axis=2), jnp.prod(signed, axis=0)]
        return [*results, jnp.cumsum(signed, axis=2), lax.cumsum(small, 1, reverse=True)]

    assert_same(function, (x,), (x >> np.uint32(30),))


def test_shapes():
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4)

    def function(x):
        results = [x.reshape(4, 6), lax.reshape(x, (6, 4), (2, 0, 1)), x.T, x[::-1, :, ::-1]]
        results += [x[1:, ::2], jnp.squeeze(x[:1]), x[:, None], jnp.concatenate([x, x + 1], axis=1)]
        results += [jnp.stack([x, -x], axis=1), *jnp.split(x, 2, axis=2), jnp.append(x, 7)]
        results += [*jnp.unstack(x), *jnp.unstack(x, axis=2)]
        results += [jnp.pad(x, ((1, 0), (0, 2), (0, 0)), constant_values=-1)]
        results += [lax.pad(x, np.int16(9), ((0, 1, 1), (-1, 2, 0), (-1, -1, 2)))]
        return [*results, jnp.broadcast_to(x[:, :1], (5, 2, 3, 4)), reshape_barrier(x)]

    assert_same(function, (x,))


@pytest.mark.parametrize("mode", ["clip", "fill", "drop"])
def test_gathers_and_scatters_with_indices_out_of_range(mode):
    x = np.arange(20, dtype=np.int32).reshape(5, 4)
    cases = [np.int32([0, 4, 2]), np.int32([-9, 7, 1]), np.int32([-1, -5, 5])]
    gathering = "fill" if mode == "drop" else mode
    scattering = "drop" if mode == "fill" else mode

    def function(x, i):
        at = x.at[i]
        results = [at.get(mode=gathering), x.at[i, :2].get(mode=gathering)]
        results += [x.at[:, i].get(mode=gathering), x.at[i, i[::-1]].get(mode=gathering)]
        results += [x.astype(bool).at[i].get(mode=gathering), jnp.take_along_axis(x, i[:, None], 0)]
        results += [at.set(-1, mode=scattering), at.add(x[:3], mode=scattering)]
        results += [x.at[i, 1].max(9, mode=scattering), x.at[:, i].set(5, mode=scattering)]
        results += [x.astype(jnp.uint8).at[i].add(250, mode=scattering)]
        # A vmap makes batch dimensions of both.
        columns = jax.vmap(lambda row, k: row.at[k].get(mode=gathering), (1, None))(x, i)
        written = jax.vmap(lambda row, k: row.at[k].set(3, mode=scattering))(x[:3], i)
        return [*results, columns, written]

    assert_same(function, *((x, case) for case in cases))


def test_windows_that_stick_out_are_moved_back():
    x = np.arange(30, dtype=np.float32).reshape(5, 6)

    def function(x, i, j):
        sliced = lax.dynamic_slice(x, (i, j), (2, 3))
        return [sliced, lax.dynamic_update_slice(x, -sliced, (j, i)), x.at[i].get(mode="clip")]

    assert_same(function, *((x, np.int32(i), np.int32(j)) for i in (-3, 1, 9) for j in (0, 4, 70)))


@pytest.mark.parametrize("length", [3, 40])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_written_out_and_as_loops(length, reverse):
    def function(x, rows):
        def body(carry, row):
            total, flag = carry
            return (total * 3 + row[0], ~flag), (total, row.astype(jnp.uint8))

        carry, stacks = lax.scan(body, (x, jnp.bool_(False)), rows, length=length, reverse=reverse)
        return [*carry, *stacks]

    rows = np.random.default_rng(1).integers(0, 2**32, (length, 2), np.uint32)
    assert_same(function, (np.uint32(5), rows), (np.uint32(2**31), rows))


def test_loops_and_branches():
    def function(n, x):
        def step(carry):
            i, y = carry
            # The product is the same in every turn. A branch that is not taken is not computed:
            # it would divide by zero.
            z = lax.cond(i % 2 == 0, lambda: y + jnp.sum(x * x), lambda: y - 10 // (i - i % 2))
            return i + 1, z

        i, y = lax.while_loop(lambda c: c[0] < n, step, (jnp.int32(0), jnp.int32(1)))
        branches = [lambda v, k=k: v * k for k in range(4)]
        nested = lax.fori_loop(
            0, n, lambda i, v: lax.fori_loop(0, i, lambda j, w: w + i * j, v), jnp.int32(0)
        )
        return [i, y, lax.switch(n, branches, y), nested, *fusion_barrier(x, y)]

    x = np.int32([1, 2, 3])
    assert_same(function, *((np.int32(n), x) for n in (-1, 0, 1, 3, 9)))


def test_loops_that_end_at_different_times_in_a_batch():
    def collatz(n):
        def step(carry):
            n, turns, odd = carry
            return jnp.where(n % 2, 3 * n + 1, n // 2), turns + 1, odd.at[turns % 3].set(n % 2 == 1)

        return lax.while_loop(lambda carry: carry[0] > 1, step, (n, 0, jnp.zeros(3, bool)))

    assert_same(jax.vmap(collatz), (np.int32([1, 6, 27, 0]),), (np.int32([1, 1, 1, 1]),))


def test_products_and_convolutions():
    rng = np.random.default_rng(2)
    x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((2, 5, 6, 3), (3, 3, 3, 4)))

    def function(x, y):
        conv = functools.partial(lax.conv_general_dilated, x, y, window_strides=(1, 2))
        numbers = ("NHWC", "HWIO", "NHWC")
        results = [conv(padding="SAME", dimension_numbers=numbers)]
        results += [conv(padding=((0, 1), (2, 0)), rhs_dilation=(1, 2), dimension_numbers=numbers)]
        results += [jnp.einsum("bhwc,hxyc->hbwyx", x[:, :3], y[..., :3])]
        return [*results, x[0, 0] @ y[0, 0], jnp.dot(x[0, 0, :, 0], x[0, 1, :, 1])]

    assert_same(function, (x, y))
    numbers = rng.integers(-99, 99, (4, 4)).astype(np.int8)
    assert_same(lambda a: [a @ a, jnp.dot(a, a, preferred_element_type=jnp.int32)], (numbers,))


def test_the_default_of_a_platform_dependent_function_is_exported():
    def function(x):
        return [jax.lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: 2 * x)]

    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(converted(function, x)(x)[0], 2 * x)


def test_known_values_are_computed_while_converting():
    def function(x):
        return [x + jnp.sum(jnp.arange(1000, dtype=jnp.int32) % 7), jnp.arange(4)]

    model = to_onnx(function, np.int32(0), inputs=["x"], outputs=["y", "z"])
    assert [node.op_type for node in model.graph.node] == ["Add", "Identity", "Identity"]
    assert_same(function, (np.int32(3),))


def test_what_cannot_be_converted_is_named():
    with pytest.raises(UnsupportedPrimitive, match="sort"):
        to_onnx(lambda x: [jnp.sort(x)], np.zeros(3, np.float32), inputs=["x"], outputs=["y"])
    half = np.zeros(3, np.float16)
    with pytest.raises(UnsupportedPrimitive, match="float16"):
        to_onnx(lambda x: [x], half, inputs=["x"], outputs=["y"])
