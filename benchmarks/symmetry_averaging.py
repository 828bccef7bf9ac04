"""Mistakes of a trained player whose predictions are averaged over the game's symmetries.

    python benchmarks/symmetry_averaging.py connect_four --json symmetry_averaging.json

A network sees each position once in each orientation. The logits and the values are averaged. An
evaluation costs one forward for each symmetry. The result is the number of mistakes in the
positions with exact values, next to those of the player as it is.
"""

import dataclasses
import json
import time
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from azjax_envs import Game

from azjax.evaluation.batch_evaluation import choose
from azjax.evaluation.position_suites import GameSuites, PositionSuite
from azjax.evaluation.scores import score_actions
from azjax.network.network import Prediction, Variables
from azjax.network.two_headed import TwoHeadedNetwork
from azjax.players.load import load_player
from azjax.players.network_players import PolicyPlayer, SearchPlayer
from azjax.types import Array


@dataclasses.dataclass(frozen=True)
class Arguments:
    player: tyro.conf.Positional[str]
    """A player with search, named as in `azjax eval`."""
    simulations: tuple[int, ...] = (0, 64, 128, 600, 1200)
    """Numbers of simulations a move; 0 is the policy alone."""
    scales: tuple[float, ...] = ()
    """Scales of the values in Gumbel search; the player's own by default."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


@dataclasses.dataclass(frozen=True)
class AveragedNetwork(TwoHeadedNetwork):
    """A network whose policy and value are averaged over the symmetries of a game."""

    game: Game | None = None

    def apply(self, variables: Variables, observations: Array) -> Prediction:
        assert self.game is not None
        symmetries = self.game.symmetries()
        positions, planes = observations.shape[0], observations.shape[-1]
        flat = observations.reshape(positions, -1, planes)
        turned = [flat[:, cells].reshape(observations.shape) for cells in symmetries.cells]
        found = super().apply(variables, jnp.concatenate(turned))
        logits = found.policy_logits.reshape(len(turned), positions, -1)
        # Logit a of an orientation is that of action `actions[a]`.
        places = np.argsort(np.asarray(symmetries.actions), axis=1)
        back = [each[:, place] for each, place in zip(logits, places, strict=True)]
        return Prediction(
            policy_logits=jnp.mean(jnp.stack(back), axis=0),
            value_logits=found.value_logits[:positions],  # not read here
            value=jnp.mean(found.value.reshape(-1, positions), axis=0),
        )


def main(options: Arguments) -> None:
    player = load_player(options.player)
    if not isinstance(player, SearchPlayer):
        raise SystemExit(f"{options.player} must be a player with a network and a search")
    names = [field.name for field in dataclasses.fields(TwoHeadedNetwork)]
    fields = {name: getattr(player.network, name) for name in names}
    averaged = AveragedNetwork(**fields, game=player.game)
    suites = GameSuites(player.game).fixed
    rows = []
    for scale in options.scales or (player.config.gumbel.value_scale,):
        for simulations in options.simulations:
            for network in (player.network, averaged):
                found = dataclasses.replace(player, network=network)
                row = {"simulations": simulations, "averaged": network is averaged}
                row["value scale"] = scale
                rows.append(row | _mistakes(found, simulations, scale, suites))
                print(json.dumps(rows[-1]), flush=True)
    if options.json is not None:
        result = {"player": options.player, "symmetries": player.game.num_symmetries, "rows": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def _mistakes(
    player: SearchPlayer, simulations: int, scale: float, suites: tuple[PositionSuite, ...]
) -> dict[str, Any]:
    """Returns the mistakes in each suite, and in its classes, and the seconds."""
    gumbel = dataclasses.replace(player.config.gumbel, value_scale=scale)
    config = dataclasses.replace(player.config, num_simulations=max(simulations, 1), gumbel=gumbel)
    found: Any = dataclasses.replace(player, config=config)
    if not simulations:
        found = PolicyPlayer(player.game, player.network, player.variables)
    began, result = time.monotonic(), {}
    for suite in suites:
        actions = choose(found, jax.random.key(0), suite.states, 512)
        score = score_actions(suite, actions)
        classes = {each.name: each.mistakes for each in score.buckets}
        result[suite.name] = {
            "positions": score.positions,
            "mistakes": score.mistakes,
            "classes": classes,
        }
    return result | {"seconds": round(time.monotonic() - began, 1)}


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
