"""Dirichlet noise over the legal actions of a search's root."""

import functools

import jax
import jax.numpy as jnp
from azjax_envs.xla_gpu import on_gpu

from azjax.search.model import log_of, mask_logits
from azjax.types import Array

_TRIES = 8  # of a GPU


def add_dirichlet_noise(
    key: Array, logits: Array, mask: Array, fraction: Array, *, total: float
) -> Array:
    """Returns the logits of a prior mixed with Dirichlet noise over the legal actions.

    mctx draws noise over all actions and masks it afterwards, which leaves most of it on illegal
    moves. Here the noise is made of gamma variates of the legal actions, normalised.

    Args:
      logits: masked prior logits [B, A].
      mask: legal actions, bool [B, A].
      fraction: share of the noise [B, 1]. 0 leaves the prior unchanged.
      total: concentration of all legal actions together. Each has an equal share, its alpha.
    """
    alpha = total / jnp.maximum(jnp.sum(mask, axis=-1, keepdims=True), 1)
    # The variates are normalised as logarithms, because they underflow if alpha is small.
    noise = jax.nn.softmax(mask_logits(log_gamma_variates(key, alpha, logits.shape), mask))
    mixed = (1 - fraction) * jax.nn.softmax(logits) + fraction * noise
    return jnp.where(fraction > 0, mask_logits(log_of(mixed), mask), logits)


def log_gamma_variates(key: Array, alpha: Array | float, shape: tuple[int, ...]) -> Array:
    """Draws logarithms of Gamma(alpha) variates, float32 of the given shape.

    The method is Marsaglia and Tsang, "A simple method for generating gamma variables" (2000):
    rejection for alpha + 1, then multiplication by U ** (1 / alpha). All variates are drawn at once
    until the last one is accepted; each try succeeds with a probability above 0.95. A GPU, which
    would wait for its host at each try, makes 8 tries. Less than one variate of 10^10 fails them
    all, and gets the value at a normal variate of 0. On a CPU the 8 tries take up to five times as
    long as those that are needed.

    `jax.random.loggamma` draws one after the other on CPU, which takes about 15 times as long.
    """
    key, power_key = jax.random.split(key)
    d = alpha + 2 / 3
    c = (9 * d) ** -0.5

    def try_again(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, found, done = state
        key, normal_key, uniform_key = jax.random.split(key, 3)
        x = jax.random.normal(normal_key, shape)
        v = jnp.maximum(1 + c * x, 0) ** 3
        u = jax.random.uniform(uniform_key, shape)
        accepted = jnp.log(u) < 0.5 * x * x + d * (1 - v + jnp.log(v))
        return key, jnp.where(accepted & ~done, v, found), done | accepted

    start = (key, jnp.ones(shape), jnp.zeros(shape, bool))

    counted = functools.partial(jax.lax.fori_loop, 0, _TRIES, lambda _, state: try_again(state))
    until_accepted = functools.partial(
        jax.lax.while_loop, lambda state: ~jnp.all(state[2]), try_again
    )
    with jax.named_scope("noise"):
        _, found, _ = on_gpu(counted, until_accepted)(start)
    return jnp.log(d * found) - jax.random.exponential(power_key, shape) / alpha
