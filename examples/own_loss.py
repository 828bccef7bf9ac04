"""Trains with a loss and an optimizer of one's own, in four lines each.

    python examples/own_loss.py

The loss adds to AlphaZero's a term that keeps the logits of the policy small (the z-loss of PaLM,
Chowdhery et al. 2022). The optimizer is Muon. Both go to `azjax.train`, and everything else stays
as the config says.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import optax

import azjax


def z_loss(base: azjax.Loss, weight: float) -> azjax.Loss:
    """Returns a loss with one term more, which is logged as "train/z_loss"."""

    def loss(
        prediction: azjax.Prediction, batch: azjax.Batch
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        total, metrics = base(prediction, batch)
        extra = jnp.mean(jax.nn.logsumexp(prediction.policy_logits, axis=-1) ** 2)
        return total + weight * extra, metrics | {"z_loss": extra}

    return loss


def muon(learning_rate: optax.Schedule) -> optax.GradientTransformation:
    """Returns the optimizer of a learning rate, which is the config's: warm-up, then cosine."""
    return optax.chain(optax.clip_by_global_norm(1.0), optax.contrib.muon(learning_rate))


def main(run_dir: str | Path = "runs/own_loss", cycles: int = 400) -> dict[str, float]:
    """Trains in a new run directory; returns the last cycle's metrics."""
    config = azjax.load_config("tic_tac_toe", {"cycles": cycles, "evaluation": {"every": 0}})
    loss = z_loss(azjax.alphazero_loss, weight=1e-3)
    azjax.train(config, run_dir, loss=loss, optimizer=muon)
    last = azjax.read_metrics(run_dir)[-1]
    print(f"policy {last['train/policy_loss']:.3f}, z-loss {last['train/z_loss']:.3f}")
    return last


if __name__ == "__main__":
    main(*sys.argv[1:])
