"""Parts of equations, told without the names that JAX gives to their parameters."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from azjax.jaxprs.equations import called_function, evaluate, scan_sizes, while_sizes

X = jnp.float32(3)
KEYS = jax.random.split(jax.random.key(0), 4)


def equation_of(function, *arguments):
    """Returns the only equation of a function."""
    (equation,) = jax.make_jaxpr(function)(*arguments).jaxpr.eqns
    return equation


def without_sizes(equation):
    """Returns the equation as a version of JAX would make it that renames its numbers."""
    kept = {name: value for name, value in equation.params.items() if name.endswith("jaxpr")}
    return SimpleNamespace(invars=equation.invars, outvars=equation.outvars, params=kept)


@pytest.mark.parametrize("consts", [0, 1, 2])
@pytest.mark.parametrize("carried", [0, 1, 3])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_sizes_of_a_scan(consts, carried, rows):
    def function(fixed, carry, along):
        def body(carry, row):
            total = sum([*fixed, *carry, *(jax.random.key_data(x).sum() for x in row)], 0.0)
            return [total + i for i in range(carried)], (total, row)

        return lax.scan(body, carry, along, length=4)

    equation = equation_of(function, [X] * consts, [X] * carried, [KEYS] * rows)
    assert scan_sizes(equation) == scan_sizes(without_sizes(equation)) == (consts, carried)


@pytest.mark.parametrize("condition", [0, 2])
@pytest.mark.parametrize("body", [0, 1])
@pytest.mark.parametrize("batch", [(), (5,)])
def test_sizes_of_a_while(condition, body, batch):
    def function(limits, steps, i):
        def loop(i):
            def turn(carry):
                return sum(steps, carry[0] + 1), carry[1] * 2

            return lax.while_loop(lambda carry: carry[0] < sum(limits, 9.0), turn, (i, i))

        return jax.vmap(loop)(i) if batch else loop(i)

    equation = equation_of(function, [X] * condition, [X] * body, jnp.zeros(batch))
    assert while_sizes(equation) == while_sizes(without_sizes(equation)) == (condition, body)


@jax.custom_jvp
def own_derivative(x):
    return x * 2


@jax.custom_vjp
def own_gradient(x):
    return x * 2


own_derivative.defjvp(lambda primals, tangents: (2 * primals[0], tangents[0]))
own_gradient.defvjp(lambda x: (x * 2, x), lambda x, g: (g,))
CALLS = (jax.jit(lambda x: x * 2), jax.checkpoint(lambda x: x * 2), own_derivative, own_gradient)


@pytest.mark.parametrize("call", CALLS, ids=["jit", "checkpoint", "custom_jvp", "custom_vjp"])
def test_called_functions(call):
    called = called_function(equation_of(call, X))
    assert [equation.primitive.name for equation in called.jaxpr.eqns] == ["mul"]
    assert len(called.consts) == len(called.jaxpr.constvars)


def test_what_combines_two_elements_is_not_called_with_the_inputs():
    assert called_function(equation_of(lambda x: x * 2, X)) is None
    multiplied = equation_of(lambda x: lax.reduce(x, 1.0, lambda a, b: a * b + 1, [0]), jnp.ones(3))
    assert called_function(multiplied) is None


def test_equations_are_evaluated():
    assert evaluate(equation_of(lambda x: x * x, X), [X, X]) == [9]
    numbers = np.float32([1, 3, 2])
    values, indices = evaluate(equation_of(lambda x: lax.top_k(x, 1), numbers), [numbers])
    assert (values.tolist(), indices.tolist()) == ([3], [1])
