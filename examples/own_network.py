"""Trains a network of one's own, a small transformer over the cells of the board.

    python examples/own_network.py

It learns tic-tac-toe in about two minutes on two CPU cores. `transformer` can also be named in a
config, next to this file:

    [network]
    module = "own_network:transformer"
    options = {width = 32}

    azjax train my_config.toml
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from azjax_envs import Game, make
from flax import nnx

import azjax


class Block(nnx.Module):
    """Attention between the cells, then a dense layer in each."""

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs):
        self.attention_norm = nnx.LayerNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(heads, width, decode=False, rngs=rngs)
        self.dense_norm = nnx.LayerNorm(width, rngs=rngs)
        self.expand = nnx.Linear(width, 2 * width, rngs=rngs)
        self.contract = nnx.Linear(2 * width, width, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + self.attention(self.attention_norm(x))
        return x + self.contract(nnx.gelu(self.expand(self.dense_norm(x))))


class Transformer(nnx.Module):
    """A transformer whose tokens are the cells, with a policy head and a value head."""

    def __init__(self, game: Game, width: int, blocks: int, *, rngs: nnx.Rngs):
        height, columns, planes = game.observation_shape
        self.cells = height * columns
        self.embed = nnx.Linear(planes, width, rngs=rngs)
        self.place = nnx.Param(0.02 * jax.random.normal(rngs.params(), (self.cells, width)))
        self.blocks = nnx.List([Block(width, 4, rngs) for _ in range(blocks)])
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.policy = nnx.Linear(self.cells * width, game.num_actions, rngs=rngs)
        self.value = nnx.Linear(width, 3, rngs=rngs)  # logits of win, draw and loss

    def __call__(self, observations: jax.Array) -> tuple[jax.Array, jax.Array]:
        tokens = observations.reshape(len(observations), self.cells, -1)
        x = self.embed(tokens) + self.place[None]
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.policy(x.reshape(len(x), -1)), self.value(jnp.mean(x, axis=1))


def transformer(game: Game, *, width: int = 32, blocks: int = 2) -> azjax.Network:
    """Returns the network of a game."""
    return azjax.flax_network(lambda rngs: Transformer(game, width, blocks, rngs=rngs))


def main(run_dir: str | Path = "runs/own_network", cycles: int = 150) -> azjax.MatchResult:
    """Trains in a new run directory, and plays a match against UCT with 100 simulations."""
    game = make("tic_tac_toe")
    network = transformer(game)
    config = azjax.load_config("tic_tac_toe", {"cycles": cycles, "evaluation": {"every": 0}})
    azjax.train(config, run_dir, network=network)
    player = azjax.load_player(run_dir, network=network, simulations=32)
    opponent = azjax.load_player("uct:100", game=game)
    key = jax.random.key(0)
    result = azjax.play_match(game, player, opponent, key, num_games=200, opening_plies=1)
    print(f"{result.score:.1%} of the points against UCT with 100 simulations")
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
