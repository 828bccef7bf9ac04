"""Hex: how often a player wins after each winning first move.

    python benchmarks/hex_openings.py runs/hex --against uct:1000 --games 8 --json openings.json

The winning cells are those of the published solutions (boards of 3x3 to 9x9). The player makes the
given first move, then plays the first player's other moves against the opponent.
"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from azjax.evaluation.batch_evaluation import choose
from azjax.exact.first_moves import first_moves
from azjax.players.load import load_player


@dataclasses.dataclass(frozen=True)
class Arguments:
    run: tyro.conf.Positional[str]
    """The player, named as in `azjax eval`: RUN:64, RUN:policy and so on."""
    against: str = "uct:1000"
    """The opponent."""
    games: int = 8
    """Games from each winning first move."""
    seed: int = 0
    """Seed of the players."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


def main(options: Arguments) -> None:
    player = load_player(options.run)
    game = player.game
    opponent = load_player(options.against, game=game)
    first = first_moves(game)
    if first is None:
        raise SystemExit(f"the winning first moves of {game.name} are not known")
    opened = np.flatnonzero(first.results[1:] < 0)  # lost for the player to move
    rows = np.repeat(opened + 1, options.games)
    states = jax.tree.map(lambda x: jnp.asarray(x)[rows], first.states)
    step, over = jax.jit(jax.vmap(game.step)), jax.jit(jax.vmap(game.is_terminal))
    key, seat = jax.random.key(options.seed), 1
    while not np.asarray(over(states)).all():
        key, move_key = jax.random.split(key)
        mover = opponent if seat else player
        # A finished game does not change, whatever is played.
        states = step(states, choose(mover, move_key, states, len(rows)))
        seat = 1 - seat
    won = np.asarray(jax.vmap(game.returns)(states))[:, 0].reshape(-1, options.games) > 0
    names = [game.action_to_string(game.init(), int(action)) for action in opened]
    result = {
        "player": options.run,
        "against": options.against,
        "seed": options.seed,
        "games": int(won.size),
        "won": int(won.sum()),
        "lost_after": {
            name: int((~w).sum()) for name, w in zip(names, won, strict=True) if not w.all()
        },
    }
    print(json.dumps(result, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
