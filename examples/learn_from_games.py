"""Learns tic-tac-toe from recorded games alone, in less than a minute.

    python examples/learn_from_games.py

A player that looks two plies ahead, and often moves at random, plays the games. They are written
as a list of moves, which `azjax.read_games` reads like SGF or PGN. On the command line it would be

    azjax pretrain tic_tac_toe games.txt
    azjax train tic_tac_toe --start-from runs/tic_tac_toe_from_games

with all settings of the config. `docs/learn-from-games.md` tells more.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, init_batch, make, random_action

import azjax

GAME = make("tic_tac_toe")
GAMES = 400
CYCLES = 60  # of 16 updates
RANDOM = 0.3  # share of random moves, without which all games would be alike


def play_games(game: Game, teacher: azjax.Player, games: int, seed: int) -> list[list[str]]:
    """Plays games in one batch, and returns the moves of each."""

    @jax.jit
    def ply(key: jax.Array, states: object) -> tuple[object, jax.Array, jax.Array]:
        choose, at_random, move = jax.random.split(key, 3)
        masks = jax.vmap(game.legal_action_mask)(states)
        surprise = jax.random.bernoulli(choose, RANDOM, (games,))
        actions = jnp.where(surprise, random_action(at_random, masks), teacher(move, states))
        return jax.vmap(game.step)(states, actions), actions, jax.vmap(game.is_terminal)(states)

    states, key = init_batch(game, jax.random.key(seed), games), jax.random.key(seed + 1)
    moves: list[list[str]] = [[] for _ in range(games)]
    for number in range(game.max_steps):
        before = jax.device_get(states)
        states, actions, over = jax.device_get(ply(jax.random.fold_in(key, number), states))
        for i in np.flatnonzero(~over):
            state = jax.tree.map(lambda x, i=i: x[i], before)
            moves[i].append(game.action_to_string(state, int(actions[i])))
    return moves


def main(folder: str | Path = "runs/learn_from_games", cycles: int = CYCLES) -> tuple[float, float]:
    """Makes games, learns from them and measures.

    Returns:
      The share of the held-out games' moves that the network predicts, and its policy's score
      against random play.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    teacher = azjax.load_player("minimax:2", game=GAME)
    moves = play_games(GAME, teacher, GAMES, seed=0)
    lines = [f"# {GAME.name}", *map(" ".join, moves)]
    (folder / "games.txt").write_text("\n".join(lines) + "\n")

    changes = {
        "cycles": cycles,
        "learning": {"batch_size": 64, "updates_per_cycle": 16},
        "evaluation": {"every": 0},
    }
    config = azjax.load_config("tic_tac_toe", changes)
    azjax.pretrain(config, [folder / "games.txt"], folder / "run")
    predicted = azjax.read_metrics(folder / "run")[-1]["heldout/move_accuracy"]

    player = azjax.load_player(f"{folder / 'run'}:policy")
    opponent = azjax.load_player("random", game=GAME)
    result = azjax.play_match(GAME, player, opponent, jax.random.key(2), num_games=400)
    print(f"{predicted:.0%} of the moves predicted; {result.score:.1%} against random play")
    return predicted, result.score


if __name__ == "__main__":
    main(*sys.argv[1:])
