"""The rules of every game under JAX's strictest settings: nothing changes its dtype by itself."""

import functools

import jax
import jax.numpy as jnp
import pytest
from azjax_envs import auto_reset, available_games, make, observe_as, random_action, weighted_action

NUMBER = jax.ShapeDtypeStruct((), jnp.int32)
METHODS = (
    *("current_player", "legal_action_mask", "is_terminal", "returns", "observe", "view"),
    *("observe_other", "score", "ownership", "winning_cells", "clicks"),
)


def traced(game):
    """Traces everything that a game computes, and returns its functions by name."""
    state, key = jax.eval_shape(game.init), jax.eval_shape(lambda: jax.random.key(0))
    calls = {name: (getattr(game, name), state) for name in METHODS if hasattr(game, name)}
    calls |= {"init": (game.init, key), "step": (game.step, state, NUMBER)}
    calls |= {"reset": (auto_reset(game), state, NUMBER, key)}
    calls |= {f"seat {i}": (lambda s, i=i: observe_as(game, s, i), state) for i in (0, 1)}
    if hasattr(game, "set_up"):
        numbers = 4 if "chess" in game.name else 2
        view = jax.eval_shape(game.view, state)
        calls["set_up"] = (game.set_up, view, *[NUMBER] * numbers)
    return {name: jax.eval_shape(call, *values) for name, (call, *values) in calls.items()}


@pytest.fixture
def strict():
    """Sets what a user's environment would, for all threads: some games start in another one."""
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    yield
    jax.config.update("jax_numpy_dtype_promotion", "standard")


@pytest.mark.parametrize("name", [*available_games(), "hex_3x3", "go_5x5"])
def test_rules_promote_no_dtype(name, strict):
    assert traced(make(name))


@pytest.mark.parametrize("name", [*available_games(), "hex_3x3", "go_5x5"])
def test_rules_have_the_same_dtypes_with_numbers_of_64_bits(name):
    game = make(name)
    usual = traced(game)
    with jax.enable_x64(True):
        wide = traced(game)
    assert jax.tree.structure(wide) == jax.tree.structure(usual)
    for name, arrays in usual.items():
        kinds = [[(x.shape, x.dtype) for x in jax.tree.leaves(y)] for y in (arrays, wide[name])]
        assert kinds[0] == kinds[1], name


@pytest.mark.parametrize("actions", [9, 40, 500])
def test_draws_promote_no_dtype(actions, strict):
    mask = jax.ShapeDtypeStruct((3, actions), bool)
    weights = jax.ShapeDtypeStruct((3, actions), jnp.float32)
    for draw, of in ((random_action, mask), (weighted_action, weights)):
        drawn = jax.eval_shape(functools.partial(draw, jax.random.key(0)), of)
        assert (drawn.shape, drawn.dtype) == ((3,), jnp.int32)
        with jax.enable_x64(True):
            assert jax.eval_shape(functools.partial(draw, jax.random.key(0)), of) == drawn
