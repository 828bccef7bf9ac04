"""The loops for CPUs compute the same as what other platforms run."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.xla_cpu import fusion_barrier, reshape_barrier, short_scan


def other_platform(*args, default, **platforms):
    """Replaces `jax.lax.platform_dependent`: the branch of platforms that are not named."""
    del platforms
    return default(*args)


def cuda(*args, default, **platforms):
    """Replaces `jax.lax.platform_dependent`: the branch of Nvidia's GPUs."""
    return platforms.get("cuda", default)(*args)


def test_each_platform_gets_its_form(monkeypatch):
    def function(x):
        both = short_scan(lambda carry, y: (carry + y, carry * y), x[0], x, length=4)
        return fusion_barrier(x, 2 * x), reshape_barrier(x.reshape(2, 2)), both

    x = jnp.arange(4.0)
    looped = jax.jit(function)(x)
    assert "while" in jax.jit(function).lower(x).as_text()
    monkeypatch.setattr(jax.lax, "platform_dependent", other_platform)
    function = functools.partial(function)  # compiled anew
    assert "while" not in jax.jit(function).lower(x).as_text()
    jax.tree.map(np.testing.assert_array_equal, jax.jit(function)(x), looped)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("gardner_chess", marks=pytest.mark.slow),
        "othello_6x6",
        "gomoku_9x9",
        "go_5x5",
    ],
)
def test_games_are_the_same_on_other_platforms(name, monkeypatch):
    """Plays thousands of random plies in both forms, and compares all states and masks."""
    game, games, plies = make(name), 64, 60

    def play(key):
        def ply(states, key):
            masks = jax.vmap(game.legal_action_mask)(states)
            actions = jnp.argmax(jnp.where(masks, jax.random.uniform(key, masks.shape), -1), -1)
            states = jax.vmap(game.step)(states, actions.astype(jnp.int32))
            return states, (states, masks, jax.vmap(game.observe)(states))

        start = jax.vmap(lambda _: game.init())(jnp.arange(games))
        return jax.lax.scan(ply, start, jax.random.split(key, plies))[1]

    looped = jax.jit(play)(jax.random.key(0))
    for platform in (other_platform, cuda) if name == "go_5x5" else (other_platform,):
        monkeypatch.setattr(jax.lax, "platform_dependent", platform)
        written_out = jax.jit(functools.partial(play))(jax.random.key(0))
        jax.tree.map(np.testing.assert_array_equal, written_out, looped)
