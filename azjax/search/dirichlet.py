"""Dirichlet noise over the legal actions of a root, of which there may be thousands."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from azjax.search.model import log_of, mask_logits
from azjax.types import Array


def add_dirichlet_noise(
    key: Array, logits: Array, mask: Array, fraction: Array, *, total: float
) -> Array:
    """Mixes Dirichlet noise over the legal actions into the prior.

    mctx draws its noise over all actions and masks afterwards, which leaves most of it on illegal
    moves. A Dirichlet over the legal actions is their gamma variables, normalised.

    Args:
      key: PRNG key.
      logits: masked prior logits [B, A].
      mask: legal actions, bool [B, A].
      fraction: share of noise [B, 1]; 0 leaves the prior as it is.
      total: concentration of all legal actions together; alpha is an equal share of it.
    """
    alpha = total / jnp.maximum(jnp.sum(mask, axis=-1, keepdims=True), 1)
    # Normalised as logarithms: for a small alpha, the variables themselves underflow.
    noise = jax.nn.softmax(mask_logits(log_gamma_variates(key, alpha, logits.shape), mask))
    mixed = (1 - fraction) * jax.nn.softmax(logits) + fraction * noise
    return jnp.where(fraction > 0, mask_logits(log_of(mixed), mask), logits)


def log_gamma_variates(key: Array, alpha: Array | float, shape: tuple[int, ...]) -> Array:
    """Logarithms of Gamma(alpha) variates, float32 `shape`; alpha > 0, broadcast to `shape`.

    Marsaglia and Tsang, "A simple method for generating gamma variables" (2000): for alpha + 1 by
    rejection, then times U ** (1 / alpha). All variates are tried for at once until the last is
    accepted (each try succeeds with more than 0.95): `jax.random.loggamma` draws one after the
    other on CPU, which takes some 15 times as long.
    """
    key, power_key = jax.random.split(key)
    d = alpha + 2 / 3
    c = (9 * d) ** -0.5

    def going_on(state: tuple[Array, Array, Array]) -> Array:
        return ~jnp.all(state[2])

    def try_again(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, found, done = state
        key, normal_key, uniform_key = jax.random.split(key, 3)
        x = jax.random.normal(normal_key, shape)
        v = jnp.maximum(1 + c * x, 0) ** 3
        u = jax.random.uniform(uniform_key, shape)
        accepted = jnp.log(u) < 0.5 * x * x + d * (1 - v + jnp.log(v))
        return key, jnp.where(accepted & ~done, v, found), done | accepted

    start = (key, jnp.ones(shape), jnp.zeros(shape, bool))
    _, found, _ = jax.lax.while_loop(going_on, try_again, start)
    return jnp.log(d * found) - jax.random.exponential(power_key, shape) / alpha
