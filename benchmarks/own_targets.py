"""Compares trainings with targets of one's own: none, the moves left, the opponent's next policy.

    python benchmarks/own_targets.py runs/targets --seeds 0 1 2 --cycles 400 --json targets.json

All have the same network, whose further heads learn nothing in the first. The report counts the
mistakes of the policy and of the search in positions with exact values.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import azjax_envs
import jax
import jax.numpy as jnp
import tyro
from flax import nnx

import azjax
from azjax.evaluation.run_report import report_run


@dataclasses.dataclass(frozen=True)
class Arguments:
    folder: tyro.conf.Positional[Path]
    """Where the runs are kept."""
    game: str = "dots_and_boxes_3x3"
    """A game whose config has a network without convolutions."""
    seeds: tuple[int, ...] = (0, 1, 2)
    cycles: int = 400
    json: Path | None = None
    """Where the result is written."""


class Heads(nnx.Module):
    """Dense layers with two more heads."""

    def __init__(self, game: azjax_envs.Game, width: int = 256, *, rngs: nnx.Rngs):
        height, columns, channels = game.observation_shape
        self.first = nnx.Linear(height * columns * channels, width, rngs=rngs)
        self.hidden = nnx.List([nnx.Linear(width, width, rngs=rngs) for _ in range(3)])
        self.policy = nnx.Linear(width, game.num_actions, rngs=rngs)
        self.value = nnx.Linear(width, 3, rngs=rngs)
        self.left = nnx.Linear(width, 1, rngs=rngs)
        self.following = nnx.Linear(width, game.num_actions, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = nnx.relu(self.first(x.reshape(len(x), -1)))
        for layer in self.hidden:
            x = x + nnx.relu(layer(x))
        more = {"moves_left": self.left(x)[:, 0], "next_policy": self.following(x)}
        return self.policy(x), self.value(x), more


def moves_left(game: Any, transitions: Any, results: Any) -> dict[str, Any]:
    """Returns the plies until the end of the game, in tens."""
    rows = jnp.arange(len(results.end))[:, None]
    return {"moves_left": (results.end - rows) % len(rows) / 10}


def next_policy(game: Any, transitions: Any, results: Any) -> dict[str, Any]:
    """Returns the opponent's next policy, where it is known."""
    rows = jnp.arange(len(results.end))[:, None]
    known = (results.end != rows) & jnp.roll(transitions.learn, -1, axis=0)
    known &= transitions.discount < 0
    following = jnp.roll(transitions.policy, -1, axis=0)
    return {"next_policy": jnp.where(known[..., None], following, jnp.nan)}


def next_policy_loss(prediction: Any, batch: Any) -> Any:
    """Returns AlphaZero's loss and 0.15 times the cross-entropy of the next policy (Wu 2019)."""
    total, metrics = azjax.alphazero_loss(prediction, batch, weights={"next_policy": 0.0})
    target = batch.targets["next_policy"]
    known = ~jnp.isnan(target).any(axis=-1)
    logits = jax.nn.log_softmax(prediction.extra["next_policy"])
    errors = jnp.where(known, -jnp.sum(jnp.nan_to_num(target) * logits, axis=-1), 0.0)
    error = jnp.sum(errors) / jnp.maximum(jnp.sum(known), 1)
    return total + 0.15 * error, metrics | {"next_policy_loss": error}


VARIANTS: dict[str, dict[str, Any]] = {
    "none": {},
    "moves left": {"targets": moves_left},
    "next policy": {"targets": next_policy, "loss": next_policy_loss},
}


def main(options: Arguments) -> None:
    game, found = azjax_envs.make(options.game), {}
    network = azjax.flax_network(lambda rngs: Heads(game, rngs=rngs))
    for name, parts in VARIANTS.items():
        for seed in options.seeds:
            changes = {
                "seed": seed,
                "cycles": options.cycles,
                "network": {"auxiliary": []},
                "evaluation": {"every": 0},
            }
            config = azjax.load_config(options.game, changes)
            run = options.folder / f"{name.replace(' ', '_')}_{seed}"
            azjax.train(config, run, network=network, **parts)
            report = report_run(run, network=network, baselines=(), against=())
            players = {player.name: player.scores for player in report.players}
            found[f"{name}, seed {seed}"] = {
                player: [score.mistakes for score in scores] for player, scores in players.items()
            }
            print(json.dumps(found, indent=2), flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
