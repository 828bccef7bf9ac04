"""Trains a game of pgx, here its connect four, and draws a game's end as pgx does.

    python examples/pgx_game.py

`azjax_envs.pgx` makes a game of any pgx environment for two players without chance; this needs
`pip install "azjax[pgx]"`. A config names it as `game = { name = "pgx:connect_four" }`, and every
command of azjax then takes it. Another name works in the same way, such as "animal_shogi", which
takes a few minutes to compile.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
from azjax_envs import init_batch
from azjax_envs.pgx.adapters import Pgx, from_pgx

import azjax


def draw_last_position(game: Pgx, player: azjax.Player, key: jax.Array, path: Path) -> None:
    """Lets the player play both sides, and saves the last position as pgx draws it."""
    step = jax.jit(jax.vmap(game.step))
    states = init_batch(game, key, 1)
    for ply_key in jax.random.split(key, game.max_steps):
        states = step(states, azjax.act(player, ply_key, states))  # no change after the end
    last = jax.tree.map(lambda leaf: leaf[0], states)
    game.pgx_state(last).save_svg(path)


def main(
    run_dir: str | Path = "runs/pgx_game", cycles: int = 60, env: str = "connect_four"
) -> azjax.MatchResult:
    """Trains in a new run directory, and plays a match against UCT with 100 simulations."""
    game = from_pgx(env)
    changes = {"cycles": cycles, "evaluation": {"every": 0}}
    config = azjax.load_config("tic_tac_toe", changes)
    azjax.train(config, run_dir, game=game)
    player = azjax.load_player(run_dir, game=game, simulations=32)
    opponent = azjax.load_player("uct:100", game=game)
    key = jax.random.key(0)
    result = azjax.play_match(game, player, opponent, key, num_games=100, opening_plies=2)
    print(f"{result.score:.1%} of the points against UCT with 100 simulations")
    draw_last_position(game, player, key, Path(run_dir) / "last_position.svg")
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
