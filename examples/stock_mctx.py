"""Trains with mctx's own searches in place of azjax's, which are the same but faster.

    python examples/stock_mctx.py

A search of one's own is a function with the arguments of `azjax.search.search`. It may do anything
that gives a policy to learn and a move to play.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game

import azjax
from azjax.search import (
    Evaluate,
    Exploration,
    SearchResult,
    make_recurrent_fn,
    mask_logits,
    search_result,
)


def stock_gumbel(
    game: Game,
    evaluate: Evaluate,
    params: object,
    key: jax.Array,
    states: object,
    *,
    config: azjax.SearchConfig,
    exploration: Exploration,
) -> SearchResult:
    """Searches by `mctx.gumbel_muzero_policy`; `mctx.muzero_policy` takes its place as it is."""
    mask = jax.vmap(game.legal_action_mask)(states)
    logits, value = evaluate(params, key, states)
    root = mctx.RootFnOutput(prior_logits=mask_logits(logits, mask), value=value, embedding=states)
    output = mctx.gumbel_muzero_policy(
        params,
        key,
        root,
        make_recurrent_fn(game, evaluate),
        config.num_simulations,
        invalid_actions=~mask,
        gumbel_scale=jnp.reshape(exploration.gumbel_scale, (-1, 1)),
    )
    return search_result(output)


def main(run_dir: str | Path = "runs/stock_mctx", cycles: int = 100) -> dict[str, float]:
    """Trains in a new run directory; returns the last cycle's metrics."""
    config = azjax.load_config("tic_tac_toe", {"cycles": cycles, "evaluation": {"every": 0}})
    azjax.train(config, run_dir, search=stock_gumbel)
    last = azjax.read_metrics(run_dir)[-1]
    print(f"policy {last['train/policy_loss']:.3f}, {last['time/cycle_s']:.2f} s a cycle")
    return last


if __name__ == "__main__":
    main(*sys.argv[1:])
