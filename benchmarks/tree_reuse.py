"""How many of a search's simulations the next move's search could keep, in self-play.

    python benchmarks/tree_reuse.py connect_four go_7x7 --json tree_reuse.json

Positions are those after 4 to 20 random plies, searched without noise. The simulations below the
chosen move are all that the next search could keep.
"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro

from azjax.config import SearchConfig
from azjax.players.load import load_player
from azjax.players.network_players import SearchPlayer
from azjax.rollouts import random_openings

SEARCHES = (("gumbel", 8), ("gumbel", 32), ("puct", 8), ("puct", 32))
PLIES = (4, 8, 12, 16, 20)
POSITIONS = 256  # after each number of plies


@dataclasses.dataclass(frozen=True)
class Arguments:
    players: tyro.conf.Positional[tuple[str, ...]]
    """Players with search, named as in `azjax eval`."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


def main(options: Arguments) -> None:
    rows = []
    for name in options.players:
        player = load_player(name)
        if not isinstance(player, SearchPlayer):
            raise SystemExit(f"{name} must be a player with a network and a search")
        for algorithm, simulations in SEARCHES:
            config = dataclasses.replace(
                player.config, algorithm=algorithm, num_simulations=simulations
            )
            row = {"player": name, "search": algorithm, "simulations": simulations}
            rows.append(row | _kept(player, config))
            print(json.dumps(rows[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def _kept(player: SearchPlayer, config: SearchConfig) -> dict[str, Any]:
    """Returns the mean number of simulations below the chosen move, and its share."""
    searching = jax.jit(dataclasses.replace(player, config=config).analyse)
    kept = []
    for plies in PLIES:
        states, _ = random_openings(player.game, jax.random.key(plies), POSITIONS, plies)
        found = searching(jax.random.key(0), states)
        visits = jnp.take_along_axis(found.visits, found.action[:, None], axis=1)[:, 0]
        # One visit made the node itself, which the next search evaluates as its root.
        going_on = ~jax.vmap(player.game.is_terminal)(states)
        kept.append(jnp.where(going_on, jnp.maximum(visits - 1, 0), jnp.nan))
    mean = float(jnp.nanmean(jnp.stack(kept)))
    return {"kept": round(mean, 2), "share": round(mean / config.num_simulations, 3)}


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
